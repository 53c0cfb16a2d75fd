//! Results in long form: one row per variant, the keys of the JSON object as columns.
//!
//! Dots become underscores, and each agent its own column: `cost_usd_mean`, `tokens_output_mean`,
//! `cost_by_agent_usd_a1_mean`. A value that a row does not have is empty, never 0.

use std::collections::BTreeMap;

use serde_json::Value;

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
    let cells: Vec<_> = rows.iter().map(|row| flatten(row.variant)).collect();
    let columns = columns(&cells);
    let factors = rows.first().map_or(&[][..], |row| &row.factors);
    let mut heading: Vec<&str> = factors.iter().map(|(factor, _)| factor.as_str()).collect();
    heading.extend(["variant", "replications"]);
    heading.extend(columns.iter().map(String::as_str));
    let mut text = line(&heading);
    for (row, cells) in rows.iter().zip(&cells) {
        let cells: BTreeMap<&str, &str> =
            cells.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let replications = row.replications.to_string();
        let mut values: Vec<&str> = row.factors.iter().map(|(_, level)| level.as_str()).collect();
        values.extend([row.variant.name.as_str(), &replications]);
        values.extend(columns.iter().map(|key| cells.get(key.as_str()).copied().unwrap_or("")));
        text.push_str(&line(&values));
    }
    text
}

/// Cells of a variant, grouped by the key of the JSON object under which they stand.
type Cells = Vec<Vec<(String, String)>>;

fn flatten(variant: &VariantResults) -> Cells {
    let value = json::variant(variant);
    let entries = value.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
    let group = |(key, value): (&String, &Value)| {
        let mut cells = Vec::new();
        flatten_into(key, value, &mut cells);
        cells
    };
    entries.map(group).collect()
}

fn flatten_into(key: &str, value: &Value, cells: &mut Vec<(String, String)>) {
    match value {
        Value::Object(entries) => {
            for (part, value) in entries {
                flatten_into(&format!("{key}_{part}"), value, cells);
            }
        }
        Value::Array(agents) => {
            for agent in agents {
                let name = agent["agent"].as_str().unwrap_or_default();
                flatten_into(&format!("{key}_{name}_mean"), &agent["mean"], cells);
            }
        }
        Value::Null => cells.push((key.to_owned(), String::new())),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            cells.push((key.to_owned(), value.to_string()));
        }
    }
}

/// Columns of all rows: group by group, each in the order of the row that has most of it.
fn columns(rows: &[Cells]) -> Vec<String> {
    let groups = rows.iter().map(Vec::len).max().unwrap_or(0);
    let longest = |group: usize| rows.iter().map(|row| &row[group]).max_by_key(|cells| cells.len());
    let keys = (0..groups).filter_map(longest).flatten();
    keys.map(|(key, _)| key.clone()).collect()
}

/// Returns one line, with quotes where a value needs them.
pub(super) fn line(values: &[&str]) -> String {
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
