//! Results in long form: one row per variant, the keys of the JSON object as columns.
//!
//! Dots become underscores, and each agent its own column: `cost_usd_mean`, `tokens_output_mean`,
//! `cost_by_agent_usd_a1_mean`. A value that a row does not have is empty, never 0.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::experiment::{Results, VariantResults};
use crate::report::json::{self, Number, Part};
use crate::report::reduction;

/// One row: what was varied, and what came of it.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Factors and their levels, the same factors in each row.
    pub factors: Vec<(String, String)>,
    /// Replications of the variant.
    pub replications: u64,
    /// Results of the variant.
    pub variant: &'a VariantResults,
}

/// Returns one row for each variant, with a heading.
pub fn render(results: &Results) -> String {
    let row = |variant| Row { factors: Vec::new(), replications: results.replications, variant };
    table(&results.variants.iter().map(row).collect::<Vec<_>>())
}

/// Returns rows with a heading: factors, variant, replications, then results.
pub fn table(rows: &[Row<'_>]) -> String {
    let rows: Vec<String> = rows.iter().map(flat).collect();
    of_cells(&rows.iter().map(|row| cells(row).unwrap_or_default()).collect::<Vec<_>>())
}

/// Returns JSON objects as rows with a heading, one column for each scalar in them.
pub fn objects(objects: &[Value]) -> String {
    let row = |object: &Value| {
        let mut cells = Cells::new();
        for (key, value) in object.as_object().into_iter().flatten() {
            flatten_into(key, value, &mut cells);
        }
        cells
    };
    of_cells(&objects.iter().map(row).collect::<Vec<_>>())
}

fn flatten_into(key: &str, value: &Value, cells: &mut Cells<'static>) {
    match value {
        Value::Object(entries) => {
            for (part, value) in entries {
                flatten_into(&format!("{key}_{part}"), value, cells);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                flatten_into(&format!("{key}_{index}"), value, cells);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            cells.push((key.to_owned().into(), cell(&value.to_string()).into_owned().into()));
        }
    }
}

fn of_cells(rows: &[Cells<'_>]) -> String {
    let mut columns = Columns::default();
    for cells in rows {
        columns.add(cells);
    }
    rows.iter().fold(columns.heading(), |text, cells| text + &columns.line(cells))
}

/// The cells of a row by their columns, in order, as text.
pub type Cells<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// Returns a row as one JSON object on one line: the same columns as in CSV.
///
/// A level that is a number or a truth value in JSON is written as such, any other as a string.
pub fn flat(row: &Row<'_>) -> String {
    let mut text: Vec<u8> = Vec::with_capacity(4_096);
    for (factor, level) in &row.factors {
        open(&mut text, factor);
        if is_scalar(level) { text.extend(level.as_bytes()) } else { append(&mut text, level) }
    }
    open(&mut text, "variant");
    append(&mut text, &row.variant.name);
    open(&mut text, "replications");
    append(&mut text, &row.replications);
    for Number { key, part, last, value } in json::numbers(row.variant) {
        text.extend(b",\"");
        text.extend(key.as_bytes());
        if let Part::Key(part) | Part::Agent(part) = part {
            text.push(b'_');
            text.extend(part.as_bytes());
        }
        text.push(b'_');
        text.extend(last.as_bytes());
        text.extend(b"\":");
        append(&mut text, &value);
    }
    for (key, value) in reduction::columns(row.variant) {
        open(&mut text, &key);
        append(&mut text, &value);
    }
    text.push(b'}');
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// Begins an entry of an object.
fn open(text: &mut Vec<u8>, key: &str) {
    text.push(if text.is_empty() { b'{' } else { b',' });
    append(text, key);
    text.push(b':');
}

/// Appends a scalar as JSON.
fn append<T: serde::Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(text, value).expect("a scalar is written to memory");
}

fn is_scalar(level: &str) -> bool {
    let is_plain = level == "true"
        || level == "false"
        || level.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    is_plain && serde_json::from_str::<&RawValue>(level).is_ok_and(|raw| raw.get() == level)
}

/// Returns the cells of a line that [`flat`] made, digit for digit.
///
/// # Errors
/// When the line is not such an object.
pub fn cells(flat: &str) -> Result<Cells<'_>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
    struct Flat;
    impl<'de> Visitor<'de> for Flat {
        type Value = Cells<'de>;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object of scalars")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cells<'de>, A::Error> {
            let mut cells = Cells::with_capacity(128);
            while let Some((Name(key), raw)) = map.next_entry::<Name<'_>, &RawValue>()? {
                cells.push((key, cell(raw.get())));
            }
            Ok(cells)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(flat);
    let cells = reader.deserialize_map(Flat)?;
    reader.end()?;
    Ok(cells)
}

/// A value that there is not is empty, a string is without its quotes.
fn cell(raw: &str) -> Cow<'_, str> {
    if raw == "null" {
        return Cow::Borrowed("");
    }
    let text = if raw.starts_with('"') { serde_json::from_str(raw).ok() } else { None };
    text.map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// The columns of many rows: those of one, and what others have besides after its predecessor.
///
/// The order does not depend on that of the rows as long as they differ in how many agents they
/// have.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    names: Vec<String>,
    known: BTreeSet<String>,
}

impl Columns {
    /// Adds the columns of a row; returns whether there is a new one.
    pub fn add(&mut self, cells: &Cells<'_>) -> bool {
        if cells.len() <= self.names.len() && self.begins_with(cells) {
            return false;
        }
        let (before, mut after) = (self.names.len(), 0);
        for (key, _) in cells {
            if !self.known.contains(key.as_ref()) {
                self.known.insert(key.to_string());
                self.names.insert(after, key.to_string());
                after += 1;
            } else if let Some(place) = self.names.iter().position(|name| name == key) {
                after = place + 1;
            }
        }
        self.names.len() > before
    }

    fn begins_with(&self, cells: &Cells<'_>) -> bool {
        self.names.iter().zip(cells).all(|(name, (key, _))| name == key)
    }

    /// Returns the line of their names.
    pub fn heading(&self) -> String {
        line(self.names.iter())
    }

    /// Returns the line of a row.
    pub fn line(&self, cells: &Cells<'_>) -> String {
        if cells.len() == self.names.len() && self.begins_with(cells) {
            return line(cells.iter().map(|(_, value)| value));
        }
        let cells: BTreeMap<&str, &str> =
            cells.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
        line(self.names.iter().map(|name| cells.get(name.as_str()).copied().unwrap_or("")))
    }
}

/// Returns values as one line.
pub fn line<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> String {
    let mut line = String::new();
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        let value = value.as_ref();
        if value.contains([',', '"', '\n', '\r']) {
            line.push('"');
            line += &value.replace('"', "\"\"");
            line.push('"');
        } else {
            line += value;
        }
    }
    line.push('\n');
    line
}
