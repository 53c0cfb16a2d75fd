//! What to change in a sensitivity analysis: the numbers that a scenario states, and the rules of
//! the provider that no source confirms.

use toml::Value;

use crate::scenario::range::quantity;
use crate::scenario::{Unit, is_settings, join_key};

/// Provider rules that no source confirms, each with two answers to try.
pub const UNCONFIRMED_RULES: [(&str, &str, &str); 5] = [
    ("cache.concurrent_cold_writes", "each", "first"),
    ("cache.ttl_clock", "request_start", "response_end"),
    ("cache.refresh_shorter", "breakpoints", "none"),
    ("cache.early_miss_probability", "0", "0.002"),
    ("cache.expiry_slack", "0s", "15s"),
];

/// Keys of a distribution that say its form, not its size.
const FORMS: [&str; 3] = ["sigma", "shape", "weight"];

/// Returns each number or distribution that a scenario's text states, as its key and its values
/// at `1 - change` and `1 + change` times what it is.
///
/// Whole numbers stay whole and move by at least one. Of a distribution all sizes are scaled and
/// its form is left alone. Variants, versions and whatever is no number are passed by.
pub fn stated_numbers(text: &str, change: f64) -> Vec<(String, String, String)> {
    let table: toml::Table = text.parse().unwrap_or_default();
    let mut found = Vec::new();
    for (key, value) in &table {
        if !["variant", "format_version", "prices"].contains(&key.as_str()) {
            walk(&[key], value, change, &mut found);
        }
    }
    found
}

fn walk(path: &[&str], value: &Value, change: f64, found: &mut Vec<(String, String, String)>) {
    let key = join_key(path);
    if let Value::Table(table) = value
        && is_settings(&path.join("."))
    {
        for (part, value) in table {
            walk(&[path, &[part]].concat(), value, change, found);
        }
        return;
    }
    let (low, high) = (scaled(value, 1.0 - change), scaled(value, 1.0 + change));
    if low != high {
        found.push((key, written(&low), written(&high)));
    }
}

/// Scales every quantity in a value.
fn scaled(value: &Value, factor: f64) -> Value {
    match value {
        Value::Integer(whole) => {
            let (exact, step) = (*whole as f64 * factor, if factor < 1.0 { -1 } else { 1 });
            let moved =
                if exact.round() as i64 == *whole { whole + step } else { exact.round() as i64 };
            Value::Integer(if *whole == 0 { 0 } else { moved.max(0) })
        }
        Value::Float(number) => Value::Float(number * factor),
        Value::String(text) => match quantity(text) {
            Ok((number, Unit::Seconds)) => Value::String(Unit::Seconds.text(number * factor)),
            Ok((number, Unit::Number)) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                Value::Integer((number * factor).round() as i64)
            }
            _ => value.clone(),
        },
        Value::Table(table) => {
            let scale = |(key, value): (&String, &Value)| {
                let is_form = FORMS.contains(&key.as_str());
                (key.clone(), if is_form { value.clone() } else { scaled(value, factor) })
            };
            Value::Table(table.iter().map(scale).collect())
        }
        // Of a quantile `[share, value]` only the value is a size.
        Value::Array(list) => match &list[..] {
            [share @ Value::Float(_), size] => {
                Value::Array(vec![share.clone(), scaled(size, factor)])
            }
            // Tables in a list are a script, such as one of failures: no sizes.
            [Value::Table(_), ..] => value.clone(),
            list => Value::Array(list.iter().map(|one| scaled(one, factor)).collect()),
        },
        Value::Boolean(_) | Value::Datetime(_) => value.clone(),
    }
}

/// Writes a value on one line, as it would stand behind a key.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled_and_forms_are_not() {
        let text = "title = \"3 agents\"\nformat_version = 1\n[session]\ncontext = \"100k\"\n\
                    warm = true\nage = \"5m\"\n[fanout]\ntasks = 2\n[task]\n\
                    iterations = { lognormal = { median = 10.0, sigma = 0.5 } }\n\
                    output = { quantiles = [[0.5, 100]] }\n[[variant]]\nname = \"x\"\n";
        let found = stated_numbers(text, 0.2);
        let shown: Vec<_> =
            found.iter().map(|(key, low, high)| format!("{key}: {low} | {high}")).collect();
        assert_eq!(
            shown,
            [
                "session.context: 80000 | 120000",
                "session.age: 240s | 360s",
                "fanout.tasks: 1 | 3",
                "task.iterations: { lognormal = { median = 8.0, sigma = 0.5 } } | \
                 { lognormal = { median = 12.0, sigma = 0.5 } }",
                "task.output: { quantiles = [[0.5, 80]] } | { quantiles = [[0.5, 120]] }",
            ]
        );
    }

    #[test]
    fn a_script_of_failures_is_no_size() {
        let text = "[provider]\nfailures = [{ request = 2, status = 429 }]\n";
        assert!(stated_numbers(text, 0.2).is_empty());
    }
}
