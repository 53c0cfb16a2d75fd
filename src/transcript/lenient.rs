//! Values of transcripts, read without trust in their types: what is of another type than expected
//! counts as absent, since a record must never be lost for a field that nobody needs.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Implements the ways in which a value can be of another type.
macro_rules! absent_unless {
    ($($kind:ident),*) => { $(absent_unless!(@ $kind);)* };
    (@ bool) => {
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ number) => {
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ text) => {
        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ null) => {
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ object) => {
        fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
            while object.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}
pub(super) use absent_unless;

/// A text, borrowed where it has no escapes.
#[derive(Clone, Debug, Default)]
pub(super) struct Text<'a>(Option<Cow<'a, str>>);

impl Text<'_> {
    pub(super) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'a>, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }
            absent_unless!(bool, number, null, list, object);
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// The length of a text in bytes, without the text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextLength(pub(super) u64);

impl<'de> Deserialize<'de> for TextLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TextLength, D::Error> {
        struct LengthVisitor;
        impl<'de> Visitor<'de> for LengthVisitor {
            type Value = TextLength;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<TextLength, E> {
                Ok(TextLength(text.len() as u64))
            }
            absent_unless!(bool, number, null, list, object);
        }
        deserializer.deserialize_any(LengthVisitor)
    }
}

/// A flag; whatever is not `true` is `false`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flag(pub(super) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flag, D::Error> {
        struct FlagVisitor;
        impl<'de> Visitor<'de> for FlagVisitor {
            type Value = Flag;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("true or false")
            }
            fn visit_bool<E: Error>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }
            absent_unless!(number, text, null, list, object);
        }
        deserializer.deserialize_any(FlagVisitor)
    }
}

/// A whole number that must not be negative, such as a token count. Here alone a wrong value is an
/// error: a usage that cannot be understood must not be taken for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count(pub(super) Option<u64>);

impl Count {
    pub(super) fn get(self) -> u64 {
        self.0.unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        struct CountVisitor;
        impl Visitor<'_> for CountVisitor {
            type Value = Count;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number from 0")
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Count, E> {
                Ok(Count(Some(value)))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Count, E> {
                if (0.0..9e15).contains(&value) {
                    return Ok(Count(Some(value as u64)));
                }
                Err(E::custom(format_args!("{value} is no count; a count is a number from 0")))
            }
            absent_unless!(null);
        }
        deserializer.deserialize_any(CountVisitor)
    }
}

/// An object of known fields.
#[derive(Clone, Debug)]
pub(super) struct Nested<T>(pub(super) Option<T>);

impl<T> Default for Nested<T> {
    fn default() -> Nested<T> {
        Nested(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Nested<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Nested<T>, D::Error> {
        struct NestedVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for NestedVisitor<T> {
            type Value = Nested<T>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Nested<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(object)).map(|value| Nested(Some(value)))
            }
            absent_unless!(bool, number, text, null, list);
        }
        deserializer.deserialize_any(NestedVisitor(PhantomData))
    }
}
