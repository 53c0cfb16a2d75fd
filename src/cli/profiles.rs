//! `forkcast profiles`: what clients are known to do, each value with its source.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::Table;
use forkcast::scenario::{Node, PROFILES, Sources, Tree, Value, find_profile, join_key};

use super::args::{ProfilesCommand, TableOptions};
use super::failure::Failure;
use super::files;
use super::layout::lay_out;

/// Runs one of the profile commands.
pub(super) fn run(command: &ProfilesCommand) -> Result<(), Failure> {
    let text = match command {
        ProfilesCommand::List => list(),
        ProfilesCommand::Show { profile, table } => show(&values(profile)?, table),
        ProfilesCommand::Diff { a, b, table } => diff((a, &values(a)?), (b, &values(b)?), table),
    };
    files::write_out(None, &text)
}

/// The values of a profile by dotted key, what it says of itself, and the sources by key.
struct Values {
    about: BTreeMap<String, String>,
    settings: BTreeMap<String, String>,
    sources: BTreeMap<String, String>,
}

fn values(name: &str) -> Result<Values, Failure> {
    let Some(choice) = find_profile(name) else {
        let known: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
        return Err(Failure::Message {
            message: format!("unknown profile `{name}`"),
            hint: Some(format!("known profiles: {}", known.join(", "))),
        });
    };
    let mut sources = Sources::new();
    let index = sources.add(choice.name, choice.text);
    let mut tree = Tree::parse(&sources, index).map_err(|problems| {
        Failure::problems(&forkcast::scenario::Problems::new(problems, &sources))
    })?;
    let mut flat = |key: &str| {
        let mut found = BTreeMap::new();
        if let Some(node) = tree.remove(key) {
            flatten(&node, &mut Vec::new(), &mut found);
        }
        found
    };
    let (about, sources) = (flat("about"), flat("sources"));
    let mut settings = BTreeMap::new();
    flatten(tree.root(), &mut Vec::new(), &mut settings);
    let sources =
        sources.into_iter().map(|(key, text)| (key.trim_matches('"').to_owned(), text)).collect();
    Ok(Values { about, settings, sources })
}

fn flatten(node: &Node, path: &mut Vec<String>, found: &mut BTreeMap<String, String>) {
    if let Value::Table(table) = &node.value {
        for (key, entry) in table {
            path.push(key.clone());
            flatten(&entry.node, path, found);
            path.pop();
        }
        return;
    }
    found.insert(join_key(path), plain(&node.value));
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| plain(&item.value)).collect();
            items.join(", ")
        }
        Value::Table(_) => String::new(),
    }
}

fn list() -> String {
    let mut table = Table::new();
    for (name, _) in PROFILES {
        if let Ok(values) = values(name) {
            let summary = values.about.get("summary").cloned().unwrap_or_default();
            table.add_row([name.to_owned(), summary]);
        }
    }
    lay_out(table, &TableOptions::default())
}

/// The source of the longest key that covers a value.
fn source_of<'a>(sources: &'a BTreeMap<String, String>, key: &str) -> &'a str {
    let covers = |known: &str| {
        key.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    sources
        .iter()
        .filter(|(known, _)| covers(known))
        .max_by_key(|(known, _)| known.len())
        .map_or("", |(_, source)| source)
}

fn show(values: &Values, options: &TableOptions) -> String {
    let mut text = String::new();
    for (key, value) in &values.about {
        let _ = writeln!(text, "{key}: {value}");
    }
    let mut table = Table::new();
    if options.csv || options.markdown {
        table.set_header(["key", "value", "source"]);
    }
    for (key, value) in &values.settings {
        table.add_row([key.as_str(), value.as_str(), source_of(&values.sources, key)]);
    }
    let table = lay_out(table, options);
    if options.csv { table } else { text + "\n" + &table }
}

fn diff((a, left): (&str, &Values), (b, right): (&str, &Values), options: &TableOptions) -> String {
    let mut table = Table::new();
    table.set_header(["key", a, b]);
    let keys: std::collections::BTreeSet<&String> =
        left.settings.keys().chain(right.settings.keys()).collect();
    for key in keys {
        let (old, new) = (left.settings.get(key), right.settings.get(key));
        if old != new {
            let shown = |value: Option<&String>| value.cloned().unwrap_or_else(|| "-".to_owned());
            table.add_row([key.clone(), shown(old), shown(new)]);
        }
    }
    lay_out(table, options)
}
