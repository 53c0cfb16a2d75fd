//! Serde's view of a [`Node`], with errors that keep their path and what was expected.

use std::collections::btree_map;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, Unexpected};
use serde::de::{EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::scenario::problem::{clipped, describe};
use crate::scenario::{Entry, Node, Value};

/// Why a node does not fit a type.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    /// The parts of the path, innermost first.
    path: Vec<String>,
    /// Whether it is the key at the end of the path, not the value under it.
    pub(super) is_key: bool,
}

/// The ways not to fit, as far as they are told differently.
#[derive(Debug)]
pub(super) enum FaultKind {
    /// A key or a word that is not among those accepted.
    Unknown { name: String, accepted: &'static [&'static str] },
    /// A key that must be there.
    Missing(String),
    /// Anything else, as a message.
    Other(String),
}

impl Fault {
    /// Returns the parts of the path, outermost first.
    pub(super) fn path(&self) -> Vec<String> {
        self.path.iter().rev().cloned().collect()
    }

    fn new(kind: FaultKind) -> Fault {
        Fault { kind, path: Vec::new(), is_key: false }
    }

    fn below(mut self, part: &str) -> Fault {
        self.path.push(part.to_owned());
        self
    }

    fn of_key(mut self, key: &str) -> Fault {
        self.is_key = true;
        self.below(key)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FaultKind::Unknown { name, accepted: [] } => {
                write!(formatter, "unknown key `{}`; no key is accepted here", clipped(name))
            }
            FaultKind::Unknown { name, accepted } if self.is_key => {
                write!(formatter, "unknown key `{}`; expected {}", clipped(name), one_of(accepted))
            }
            FaultKind::Unknown { name, accepted } => {
                write!(formatter, "`{}` is unknown; expected {}", clipped(name), one_of(accepted))
            }
            FaultKind::Missing(key) => write!(formatter, "key `{key}` is missing"),
            FaultKind::Other(message) => formatter.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Fault {
        Fault::new(FaultKind::Other(message.to_string()))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        Fault::custom(format!("{}; expected {}", found(unexpected), accepted(expected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Fault {
        let value = quoted(unexpected);
        Fault::custom(format!("{value} is not accepted; expected {}", accepted(expected)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Fault {
        let expected = accepted(expected);
        Fault::custom(format!("the number of items is {length}; expected {expected}"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Fault {
        Fault::new(FaultKind::Unknown { name: variant.to_owned(), accepted: expected })
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Fault {
        Fault::new(FaultKind::Unknown { name: field.to_owned(), accepted: expected })
    }

    fn missing_field(field: &'static str) -> Fault {
        Fault::new(FaultKind::Missing(field.to_owned()))
    }
}

fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let start = if quoted.len() > 1 { "one of " } else { "" };
    format!("{start}{}", quoted.join(", "))
}

fn found(unexpected: Unexpected<'_>) -> String {
    let kind = match unexpected {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number",
        Unexpected::Float(_) => "a decimal number",
        Unexpected::Char(_) | Unexpected::Str(_) => "a string",
        other => return format!("found {}", quoted(other)),
    };
    format!("{} is {kind}", quoted(unexpected))
}

fn quoted(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("`{value}`"),
        Unexpected::Signed(value) => format!("`{value}`"),
        Unexpected::Float(value) => format!("`{value:?}`"),
        Unexpected::Char(value) => format!("`{value}`"),
        Unexpected::Str(value) => format!("`{}`", clipped(value)),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        other => other.to_string(),
    }
}

/// Returns what is expected, in the words of a settings file instead of those of Rust.
fn accepted(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    let words = match text.as_str() {
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" | "unit" => "a table",
        "f32" | "f64" => "a number",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "u128" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        _ if text.starts_with("a nonzero u") => "a whole number from 1",
        _ if text.starts_with("struct ") => "a table",
        _ => text.as_str(),
    };
    words.to_owned()
}

/// A node to be read by serde; hidden nodes are passed over.
#[derive(Clone, Copy)]
pub(super) struct NodeDeserializer<'a>(pub(super) &'a Node);

impl<'de> Deserializer<'de> for NodeDeserializer<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::String(text) => visitor.visit_str(text),
            Value::Integer(number) => visit_integer(*number, visitor),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::Array(items) => visit_items(items, visitor),
            Value::Table(table) => {
                visitor.visit_map(Entries { entries: table.iter(), value: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if let Value::String(text) = &self.0.value {
            return visitor.visit_enum(Form { name: text, node: None });
        }
        let mut entries = visible_entries(self.0);
        match (&self.0.value, entries.next(), entries.next()) {
            (Value::Table(_), Some((name, entry)), None) => {
                visitor.visit_enum(Form { name, node: Some(&entry.node) })
            }
            (Value::Table(_), Some((first, _)), Some((second, _))) => {
                let form = one_of(variants);
                Err(de::Error::custom(format!(
                    "`{first}` and `{second}` exclude each other; expected {form}"
                )))
            }
            (_, _, _) => {
                let found = describe(self.0);
                Err(de::Error::custom(format!("found {found}; expected {}", one_of(variants))))
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

fn visit_integer<'de, V: Visitor<'de>>(number: i128, visitor: V) -> Result<V::Value, Fault> {
    if let Ok(number) = i64::try_from(number) {
        visitor.visit_i64(number)
    } else if let Ok(number) = u64::try_from(number) {
        visitor.visit_u64(number)
    } else {
        visitor.visit_f64(number as f64)
    }
}

fn visit_items<'de, V: Visitor<'de>>(items: &[Node], visitor: V) -> Result<V::Value, Fault> {
    let count = items.iter().filter(|item| !item.hidden).count();
    let mut access = Items { items: items.iter().enumerate() };
    let value = visitor.visit_seq(&mut access)?;
    let left = access.items.filter(|(_, item)| !item.hidden).count();
    if left > 0 {
        let expected = format!("{} items", count - left);
        return Err(de::Error::invalid_length(count, &expected.as_str()));
    }
    Ok(value)
}

fn visible_entries(node: &Node) -> impl Iterator<Item = (&str, &Entry)> {
    node.entries().filter(|(_, entry)| !entry.node.hidden)
}

/// The visible items of a list.
struct Items<'a> {
    items: std::iter::Enumerate<std::slice::Iter<'a, Node>>,
}

impl<'de> SeqAccess<'de> for &mut Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some((index, item)) = self.items.find(|(_, item)| !item.hidden) else {
            return Ok(None);
        };
        let value = seed.deserialize(NodeDeserializer(item));
        value.map(Some).map_err(|fault| fault.below(&index.to_string()))
    }
}

/// The visible entries of a table.
struct Entries<'a> {
    entries: btree_map::Iter<'a, String, Entry>,
    value: Option<(&'a str, &'a Node)>,
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some((key, entry)) = self.entries.find(|(_, entry)| !entry.node.hidden) else {
            return Ok(None);
        };
        self.value = Some((key, &entry.node));
        let text = Node::new(Value::String(key.clone()), entry.key.clone());
        seed.deserialize(NodeDeserializer(&text)).map(Some).map_err(|fault| fault.of_key(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((key, node)) = self.value.take() else {
            return Err(de::Error::custom("a value was read before its key"));
        };
        seed.deserialize(NodeDeserializer(node)).map_err(|fault| fault.below(key))
    }
}

/// One form of an enum: a word, or a table of one key.
struct Form<'a> {
    name: &'a str,
    node: Option<&'a Node>,
}

impl<'de> EnumAccess<'de> for Form<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let name: StrDeserializer<'_, Fault> = self.name.into_deserializer();
        match seed.deserialize(name) {
            Ok(value) => Ok((value, self)),
            Err(fault) if self.node.is_some() => Err(fault.of_key(self.name)),
            Err(fault) => Err(fault),
        }
    }
}

impl Form<'_> {
    fn read<T>(
        self,
        read: impl FnOnce(NodeDeserializer<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let name = self.name;
        let Some(node) = self.node else {
            let message = format!("`{name}` needs a value; write {{ {name} = ... }}");
            return Err(de::Error::custom(message));
        };
        read(NodeDeserializer(node)).map_err(|fault| fault.below(name))
    }
}

impl<'de> VariantAccess<'de> for Form<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        let name = self.name;
        if self.node.is_none() {
            return Ok(());
        }
        self.read(|_| Err(de::Error::custom(format!("`{name}` takes no value; write \"{name}\""))))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.read(|node| seed.deserialize(node))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Fault> {
        self.read(|node| node.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.read(|node| node.deserialize_any(visitor))
    }
}
