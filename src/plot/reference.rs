//! The reference of figure files, generated from their type.

use serde_json::Value;

use crate::plot::FigureFile;
use crate::scenario::keys_markdown;

/// Returns the JSON Schema of figure files.
pub fn json_schema() -> Value {
    let mut schema = schemars::schema_for!(FigureFile).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), "forkcast figure, format version 1".into());
    }
    schema
}

/// Returns the reference of all keys as Markdown.
pub fn markdown() -> String {
    format!(
        "# Figure files\n\nA figure is a TOML file for `forkcast plot`. What it leaves out has the \
         default below.\n{}",
        keys_markdown(&json_schema())
    )
}
