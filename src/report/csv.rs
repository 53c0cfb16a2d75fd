//! Results in long form: one row per variant, the keys of the JSON object as columns.
//!
//! Dots become underscores, and each agent its own column: `cost_usd_mean`, `tokens_output_mean`,
//! `cost_by_agent_usd_a1_mean`. A value that a row does not have is empty, never 0.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::experiment::{Results, VariantResults};
use crate::report::json;

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
    let rows: Vec<Cells> = rows.iter().map(|row| cells(&flat(row)).unwrap_or_default()).collect();
    let mut columns = Columns::default();
    for cells in &rows {
        columns.add(cells);
    }
    rows.iter().fold(columns.heading(), |text, cells| text + &columns.line(cells))
}

/// Returns JSON objects as rows with a heading, one column for each scalar in them.
pub fn objects(objects: &[Value]) -> String {
    let row = |object: &Value| {
        let mut cells = Cells::new();
        for (key, value) in object.as_object().into_iter().flatten() {
            flatten_into(key, value, &mut |key, value| cells.push((key.to_owned(), cell(value))));
        }
        cells
    };
    let rows: Vec<Cells> = objects.iter().map(row).collect();
    let mut columns = Columns::default();
    for cells in &rows {
        columns.add(cells);
    }
    rows.iter().fold(columns.heading(), |text, cells| text + &columns.line(cells))
}

/// The cells of a row by their columns, in order, as text.
pub type Cells = Vec<(String, String)>;

/// Returns a row as one JSON object on one line: the same columns as in CSV.
///
/// A level that is a number or a truth value in JSON is written as such, any other as a string.
pub fn flat(row: &Row<'_>) -> String {
    let mut text = String::from("{");
    let mut put = |key: &str, value: &str| {
        let separator = if text.len() == 1 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{}:{value}", Value::from(key));
    };
    for (factor, level) in &row.factors {
        put(factor, &scalar(level));
    }
    put("variant", &Value::from(row.variant.name.as_str()).to_string());
    put("replications", &row.replications.to_string());
    let value = json::variant(row.variant);
    for (key, value) in value.as_object().into_iter().flatten().filter(|(key, _)| *key != "name") {
        flatten_into(key, value, &mut put);
    }
    text + "}"
}

fn scalar(level: &str) -> String {
    let is_plain = level == "true"
        || level == "false"
        || level.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    match serde_json::from_str::<&RawValue>(level) {
        Ok(raw) if is_plain && raw.get() == level => level.to_owned(),
        _ => Value::from(level).to_string(),
    }
}

fn flatten_into(key: &str, value: &Value, put: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Object(entries) => {
            for (part, value) in entries {
                flatten_into(&format!("{key}_{part}"), value, put);
            }
        }
        Value::Array(agents) => {
            for agent in agents {
                let name = agent["agent"].as_str().unwrap_or_default();
                flatten_into(&format!("{key}_{name}_mean"), &agent["mean"], put);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            put(key, &value.to_string());
        }
    }
}

/// Returns the cells of a line that [`flat`] made, digit for digit.
///
/// # Errors
/// When the line is not such an object.
pub fn cells(flat: &str) -> Result<Cells, serde_json::Error> {
    struct Flat;
    impl<'de> Visitor<'de> for Flat {
        type Value = Cells;
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object of scalars")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cells, A::Error> {
            let mut cells = Cells::new();
            while let Some((key, raw)) = map.next_entry::<String, &RawValue>()? {
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
fn cell(raw: &str) -> String {
    let text = if raw.starts_with('"') { serde_json::from_str(raw).ok() } else { None };
    let shown = if raw == "null" { "" } else { raw };
    text.unwrap_or_else(|| shown.to_owned())
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
    /// Adds the columns of a row.
    pub fn add(&mut self, cells: &Cells) {
        let is_same = |(name, (key, _)): (&String, &(String, String))| name == key;
        if cells.len() <= self.names.len() && self.names.iter().zip(cells).all(is_same) {
            return;
        }
        let mut after = 0;
        for (key, _) in cells {
            if self.known.insert(key.clone()) {
                self.names.insert(after, key.clone());
                after += 1;
            } else if let Some(place) = self.names.iter().position(|name| name == key) {
                after = place + 1;
            }
        }
    }

    /// Returns the line of their names.
    pub fn heading(&self) -> String {
        line(&self.names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the line of a row.
    pub fn line(&self, cells: &Cells) -> String {
        let is_same = |(name, (key, _)): (&String, &(String, String))| name == key;
        if cells.len() == self.names.len() && self.names.iter().zip(cells).all(is_same) {
            return line(&cells.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>());
        }
        let cells: BTreeMap<&str, &str> =
            cells.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let value = |name: &String| cells.get(name.as_str()).copied().unwrap_or("");
        line(&self.names.iter().map(value).collect::<Vec<_>>())
    }
}

/// Returns values as one line.
pub fn line(values: &[&str]) -> String {
    let quoted: Vec<_> = values.iter().map(|value| quote(value)).collect();
    quoted.join(",") + "\n"
}

fn quote(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}
