//! A parsed settings text in which each key and value knows where it came from.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

use crate::scenario::key::{join_key, split_key};
use crate::scenario::syntax::syntax_problem;
use crate::scenario::{Origin, Problem, Sources};

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where the value stands; of a table, where its newest part does.
    pub origin: Origin,
    /// Left out while decoding goes on, because it is wrong.
    pub(super) hidden: bool,
}

/// A key's value and where the key stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where the key stands.
    pub key: Origin,
    /// The value under the key.
    pub node: Node,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string; a date or time is kept as its text.
    String(String),
    /// An integer, which may be outside of what 64 bits hold.
    Integer(i128),
    /// A number with a decimal point, infinity, not-a-number, or an integer beyond 128 bits.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A list.
    Array(Vec<Node>),
    /// A table, by key.
    Table(BTreeMap<String, Entry>),
}

/// A table of settings with everything below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    pub(super) root: Node,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { root: Node::table(Origin::None) }
    }
}

impl Tree {
    /// Parses a text of `sources`.
    ///
    /// # Errors
    /// Every syntax error the parser can tell apart.
    pub fn parse(sources: &Sources, source: usize) -> Result<Tree, Vec<Problem>> {
        let text = sources.text(source);
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().map(|e| syntax_problem(e, source, text)).collect());
        }
        let value = Value::from_table(table.into_inner(), &|span| Origin::File { source, span });
        Ok(Tree { root: Node::new(value, Origin::File { source, span: 0..0 }) })
    }

    /// Returns the whole as a table.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Returns the value at a dotted key; list positions are parts counted from 0.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let parts = split_key(key).ok()?;
        parts.iter().try_fold(&self.root, |node, part| node.child(part))
    }

    /// Returns a tree of some top-level keys alone, those of them that are there.
    pub(super) fn part(&self, keys: &[String]) -> Tree {
        let found = keys.iter().filter_map(|key| match &self.root.value {
            Value::Table(table) => table.get(key).map(|entry| (key.clone(), entry.clone())),
            _ => None,
        });
        Tree { root: Node::new(Value::Table(found.collect()), self.root.origin.clone()) }
    }

    /// Takes out the value at a dotted key.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let parts = split_key(key).ok()?;
        let (last, parents) = parts.split_last()?;
        let parent = parents.iter().try_fold(&mut self.root, |node, part| node.child_mut(part))?;
        match &mut parent.value {
            Value::Table(table) => table.remove(last).map(|entry| entry.node),
            Value::Array(items) => {
                let position = last.parse().ok().filter(|at| *at < items.len())?;
                Some(items.remove(position))
            }
            _ => None,
        }
    }

    /// Returns a problem of the value at a dotted key, for checks made after decoding.
    ///
    /// Of a key that is not written, it points at the innermost table around it that is.
    pub fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        let parts = split_key(key).unwrap_or_default();
        let mut node = &self.root;
        for part in &parts {
            match node.child(part) {
                Some(child) => node = child,
                None => break,
            }
        }
        let path = if parts.is_empty() { key.to_owned() } else { join_key(&parts) };
        Problem { path, message: message.into(), help: None, origin: node.origin.clone() }
    }
}

impl Node {
    /// Returns a value with its origin.
    pub fn new(value: Value, origin: Origin) -> Node {
        Node { value, origin, hidden: false }
    }

    /// Returns an empty table.
    pub fn table(origin: Origin) -> Node {
        Node::new(Value::Table(BTreeMap::new()), origin)
    }

    /// Parses one TOML value, all of it with the same origin; any other text is a string.
    pub fn from_text(text: &str, origin: &Origin) -> Node {
        let value = match DeValue::parse(text) {
            Ok(value) => Value::from_toml(value.into_inner(), &|_| origin.clone()),
            Err(_) => Value::String(text.to_owned()),
        };
        Node::new(value, origin.clone())
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries of a table in order of their keys; of anything else, none.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let table = match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        };
        table.into_iter().flatten().map(|(key, entry)| (key.as_str(), entry))
    }

    /// Returns the items of a list; of anything else, none.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    pub(super) fn child(&self, part: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(table) => table.get(part).map(|entry| &entry.node),
            Value::Array(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        }
    }

    pub(super) fn child_mut(&mut self, part: &str) -> Option<&mut Node> {
        match &mut self.value {
            Value::Table(table) => table.get_mut(part).map(|entry| &mut entry.node),
            Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?),
            _ => None,
        }
    }
}

impl Value {
    fn from_toml(value: DeValue<'_>, origin: &dyn Fn(Range<usize>) -> Origin) -> Value {
        match value {
            DeValue::String(text) => Value::String(text.into_owned()),
            DeValue::Integer(integer) => number(&integer),
            DeValue::Float(float) => Value::Float(decimal(&float)),
            DeValue::Boolean(boolean) => Value::Boolean(boolean),
            DeValue::Datetime(datetime) => Value::String(datetime.to_string()),
            DeValue::Array(items) => {
                Value::Array(items.into_iter().map(|item| Node::from_toml(item, origin)).collect())
            }
            DeValue::Table(table) => Value::from_table(table, origin),
        }
    }

    fn from_table(table: DeTable<'_>, origin: &dyn Fn(Range<usize>) -> Origin) -> Value {
        let entries = table.into_iter().map(|(key, value)| {
            let place = origin(key.span());
            let entry = Entry { key: place, node: Node::from_toml(value, origin) };
            (key.into_inner().into_owned(), entry)
        });
        Value::Table(entries.collect())
    }
}

impl Node {
    fn from_toml(value: Spanned<DeValue<'_>>, origin: &dyn Fn(Range<usize>) -> Origin) -> Node {
        let place = origin(value.span());
        Node::new(Value::from_toml(value.into_inner(), origin), place)
    }
}

fn number(integer: &DeInteger<'_>) -> Value {
    let (digits, radix) = (integer.as_str(), integer.radix());
    match i128::from_str_radix(digits, radix) {
        Ok(integer) => Value::Integer(integer),
        Err(_) => Value::Float(beyond_integers(digits, radix)),
    }
}

fn beyond_integers(digits: &str, radix: u32) -> f64 {
    let digit_values = digits.chars().filter_map(|c| c.to_digit(radix));
    let size = digit_values.fold(0.0, |sum, digit| sum * f64::from(radix) + f64::from(digit));
    if digits.starts_with('-') { -size } else { size }
}

/// Every float of TOML is one of Rust's; a number beyond the largest becomes infinite.
fn decimal(float: &DeFloat<'_>) -> f64 {
    float.as_str().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_points_at_the_value_or_at_what_is_around_it() {
        let mut sources = Sources::new();
        let source = sources.add("a.toml", "[fanout]\ntasks = 5\n[[stage]]\n");
        let tree = Tree::parse(&sources, source).unwrap();
        let cases = [("fanout.tasks", 17..18), ("fanout.agent", 0..8), ("stage.0.x", 19..28)];
        for (key, span) in cases {
            let problem = tree.problem(key, "no");
            assert_eq!(
                (problem.path.as_str(), problem.origin),
                (key, Origin::File { source, span })
            );
        }
        assert_eq!(tree.problem("", "no").path, "");
        assert_eq!(tree.root().entries().count(), 2);
    }
}
