//! The reference of scenario files, generated from the settings types.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::scenario::Scenario;

/// Returns the JSON Schema of scenario files.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), "forkcast scenario, format version 1".into());
    }
    schema
}

/// Returns the reference of all keys as Markdown: key, meaning, what is accepted, default.
pub fn markdown() -> String {
    let schema = json_schema();
    let mut text = "# Scenario files\n\nA scenario is a TOML file. What it leaves out comes from \
                    its profile, then from the defaults below. Durations are seconds or texts such \
                    as \"5m\"; tokens are numbers or texts such as \"48.5k\"; a distribution is a \
                    constant or a table such as { lognormal = { median = 24, mean = 35 } }.\n"
        .to_owned();
    text.push_str(&keys_markdown(&schema));
    text.push_str(DISTRIBUTIONS);
    text
}

/// Returns the keys of a schema as Markdown tables: key, meaning, what is accepted, default.
pub fn keys_markdown(schema: &Value) -> String {
    let mut text = String::new();
    table(schema, schema, "", &mut text);
    text
}

const DISTRIBUTIONS: &str = "
## Distributions

A constant, or a table with one of these keys. All take `min` and `max`: the distribution is then
conditional on lying between them. Values have the unit of the key: tokens, durations or whole
numbers.

| key | value | meaning |
|---|---|---|
| `constant` | a value | always the same |
| `sequence` | list of values | in order, by task or by iteration; the last repeats |
| `uniform` | `{ low, high }` | equally likely between two values |
| `exponential` | `{ mean }` | waiting without memory |
| `lognormal` | `{ median }` and one of `mean`, `sigma`, `p90`, `p95`, `p99` | skewed to the right |
| `weibull` | `{ shape }` and one of `scale`, `mean` | lifetimes |
| `gamma` | `{ shape }` and one of `scale`, `mean` | sums of waits; shape 2 is Erlang-2 |
| `pareto` | `{ scale, shape }` | a power law above `scale` |
| `mixture` | list of `{ weight, of }` | one of several distributions, by weight |
| `empirical` | list of values, or `{ file }` with one value a line | measured values, equally likely |
| `quantiles` | list of `[probability, value]` | log-linear between the points, constant outside |

## Response times

Where `latency` is left out, a response begins after 1.17 s + 85 ms per 1,000 tokens not read from
the cache + 15 ms per 1,000 tokens of prompt, and takes 14.8 ms per token of output (a regression on
39,747 requests).
";

/// Writes the keys of one table, then those of the tables in it.
fn table(root: &Value, node: &Value, path: &str, text: &mut String) {
    let Some(properties) = node.get("properties").and_then(Value::as_object) else {
        return;
    };
    let heading = if path.is_empty() { "Top level".to_owned() } else { format!("`[{path}]`") };
    let _ = write!(text, "\n## {heading}\n\n{}\n\n", sentence(node));
    text.push_str("| key | meaning | accepted | default |\n|---|---|---|---|\n");
    for (key, property) in properties {
        row(root, key, property, text);
    }
    for (key, property) in properties {
        let target = resolve(root, property);
        if target.get("properties").is_some() && target.get("anyOf").is_none() {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            table(root, target, &inner, text);
        }
    }
}

fn row(root: &Value, key: &str, property: &Value, text: &mut String) {
    let meaning = sentence(property).replace('|', "\\|");
    let accepted = accepted(root, property).replace('|', "\\|");
    let default = property.get("default").map_or_else(String::new, |value| match value {
        Value::Object(_) | Value::Null => String::new(),
        other => format!("`{other}`"),
    });
    let _ = writeln!(text, "| `{key}` | {meaning} | {accepted} | {default} |");
}

fn sentence(node: &Value) -> String {
    let text = node.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Follows a reference to the definition of a type.
fn resolve<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    let target = node.get("$ref").and_then(Value::as_str);
    target
        .and_then(|target| target.strip_prefix('#'))
        .and_then(|pointer| root.pointer(pointer))
        .map_or(node, |found| resolve(root, found))
}

/// Says in words what a schema accepts.
fn accepted(root: &Value, node: &Value) -> String {
    if let Some(name) = type_name(node) {
        return name;
    }
    let node = resolve(root, node);
    if let Some(constant) = node.get("const") {
        return format!("`{constant}`");
    }
    if let Some(values) = node.get("enum").and_then(Value::as_array) {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(options) = node.get(key).and_then(Value::as_array) {
            let mut words: Vec<String> =
                options.iter().map(|option| accepted(root, option)).collect();
            words.retain(|word| word != "null" && !word.is_empty());
            words.dedup();
            return words.join(", ");
        }
    }
    plain_type(root, node)
}

/// Names the quantities instead of spelling out their patterns.
fn type_name(node: &Value) -> Option<String> {
    let name = node.get("$ref").and_then(Value::as_str)?.rsplit('/').next()?;
    let lower = name.to_ascii_lowercase();
    if lower.contains("distribution") {
        return Some(format!("distribution of {}", quantity(&lower)));
    }
    match name {
        "Tokens" => Some("tokens".to_owned()),
        "Duration" => Some("duration".to_owned()),
        _ => None,
    }
}

fn quantity(name: &str) -> &'static str {
    if name.contains("duration") {
        "durations"
    } else if name.contains("count") {
        "whole numbers"
    } else {
        "tokens"
    }
}

fn plain_type(root: &Value, node: &Value) -> String {
    let types: Vec<&str> = match node.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return String::new(),
    };
    let words: Vec<String> = types
        .into_iter()
        .filter(|name| *name != "null")
        .map(|name| match name {
            "array" => {
                let item = node.get("items").map(|items| accepted(root, items));
                format!("list of {}", item.unwrap_or_default())
            }
            "object" => object(root, node),
            "integer" => "whole number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "string" => "text".to_owned(),
            other => other.to_owned(),
        })
        .collect();
    words.join(" or ")
}

fn object(root: &Value, node: &Value) -> String {
    let none = Map::new();
    let properties = node.get("properties").and_then(Value::as_object).unwrap_or(&none);
    if properties.is_empty() || properties.len() > 3 {
        return "table".to_owned();
    }
    let fields: Vec<String> = properties
        .iter()
        .map(|(key, value)| format!("{key} = {}", accepted(root, value)))
        .collect();
    format!("{{ {} }}", fields.join(", "))
}
