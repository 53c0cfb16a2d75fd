//! Objects of a JSON line whose values are read one by one, so that every problem is found and
//! none is hidden by an earlier one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::trace::{TraceProblem, TraceProblems};
use crate::units::{SimTime, Tokens};

/// The most characters of a value that a message shows.
const VALUE_SHOWN_MAX: usize = 40;
/// Decimals of a time in microseconds.
const TIME_DECIMALS: usize = 6;
/// The latest time, in seconds either way: far beyond any calendar, far below an overflow.
const TIME_MAX_SECONDS: u64 = 1_000_000_000_000;

/// The fields of a JSON object in the order of the file, duplicates included.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Deserialize<'a> for Fields<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Fields<'a>, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'a> Visitor<'a> for FieldsVisitor {
    type Value = Fields<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }
    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Fields<'a>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

/// One value of a line, unread.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    /// Key under which it stands.
    pub(super) key: &'static str,
    raw: &'a RawValue,
}

/// One object of a line: what it is called in messages, and its known fields.
pub(super) struct Object<'a, const N: usize> {
    name: &'static str,
    keys: [&'static str; N],
    values: [Option<Value<'a>>; N],
    /// Where it stands in the line, in bytes; `None`: it is the line.
    at: Option<usize>,
}

impl<'a, const N: usize> Object<'a, N> {
    /// Returns the value of a key, which must be one of the known ones.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        let index = self.keys.iter().position(|known| *known == key);
        index.and_then(|index| self.values[index])
    }
}

/// Reads the values of one line and notes what is wrong with them.
pub(super) struct Line<'a, 'p> {
    text: &'a str,
    number: usize,
    problems: &'p mut TraceProblems,
}

impl<'a, 'p> Line<'a, 'p> {
    /// Returns a reader of one line; `number` counts from 1.
    pub(super) fn new(text: &'a str, number: usize, problems: &'p mut TraceProblems) -> Self {
        Line { text, number, problems }
    }

    /// Reads the line as an object, before it is known what the line is.
    pub(super) fn parse(&mut self) -> Option<ParsedLine<'a>> {
        match serde_json::from_str(self.text) {
            Ok(Fields(fields)) => Some(ParsedLine { fields }),
            Err(error) => {
                self.broken(&error);
                None
            }
        }
    }

    /// Notes a problem of the line as a whole.
    pub(super) fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(TraceProblem::new(self.number, message));
    }

    /// Notes a problem of one value.
    pub(super) fn problem_at(&mut self, value: Value<'_>, message: impl Into<String>) {
        let column = self.column_of(value.raw.get());
        self.problems.push(TraceProblem::new(self.number, message).at(column));
    }

    /// Splits an object into its known fields and notes unknown and repeated ones.
    pub(super) fn known<'v, const N: usize>(
        &mut self,
        line: ParsedLine<'v>,
        name: &'static str,
        keys: [&'static str; N],
    ) -> Object<'v, N> {
        self.split(line.fields, name, keys, None)
    }

    /// Reads a value as an object with these fields.
    pub(super) fn object<'v, const N: usize>(
        &mut self,
        value: Value<'v>,
        name: &'static str,
        keys: [&'static str; N],
    ) -> Option<Object<'v, N>> {
        let Ok(Fields(fields)) = serde_json::from_str(value.raw.get()) else {
            self.mistyped(value, "an object");
            return None;
        };
        let at = self.offset_of(value.raw.get());
        Some(self.split(fields, name, keys, Some(at)))
    }

    /// Reads a value as a list.
    pub(super) fn list<'v>(&mut self, value: Value<'v>) -> Option<Vec<Value<'v>>> {
        let items: Result<Vec<&'v RawValue>, _> = serde_json::from_str(value.raw.get());
        if items.is_err() {
            self.mistyped(value, "a list");
        }
        Some(items.ok()?.into_iter().map(|raw| Value { key: value.key, raw }).collect())
    }

    /// Returns a field that must be there.
    pub(super) fn required<'v, const N: usize>(
        &mut self,
        object: &Object<'v, N>,
        key: &str,
    ) -> Option<Value<'v>> {
        let found = object.get(key);
        if found.is_none() {
            let message = format!("{} without `{key}`", object.name);
            let problem = TraceProblem::new(self.number, message);
            let column = object.at.map(|at| self.column(at));
            self.problems.push(TraceProblem { column, ..problem });
        }
        found
    }

    /// Reads a number of tokens, exactly.
    pub(super) fn tokens(&mut self, value: Value<'_>) -> Option<Tokens> {
        self.whole(value, 0, Tokens::MAX.get()).map(Tokens::new)
    }

    /// Reads a whole number in a range, exactly.
    pub(super) fn whole(&mut self, value: Value<'_>, least: u64, most: u64) -> Option<u64> {
        let text = value.raw.get();
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|n| digits && (least..=most).contains(n));
        if number.is_none() {
            let (least, most) = (Tokens::new(least), Tokens::new(most));
            self.mistyped(value, &format!("a whole number from {least} to {most}"));
        }
        number
    }

    /// Reads a time in decimal seconds, exactly.
    pub(super) fn time(&mut self, value: Value<'_>) -> Option<SimTime> {
        let time = parse_time(value.raw.get());
        if time.is_none() {
            self.mistyped(
                value,
                "seconds with at most six decimals and without an exponent, such as 2.598",
            );
        }
        time
    }

    /// Reads a text.
    pub(super) fn text(&mut self, value: Value<'_>) -> Option<String> {
        let text = serde_json::from_str(value.raw.get()).ok();
        if text.is_none() {
            self.mistyped(value, "a text");
        }
        text
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&mut self, value: Value<'_>) -> Option<bool> {
        let flag = serde_json::from_str(value.raw.get()).ok();
        if flag.is_none() {
            self.mistyped(value, "`true` or `false`");
        }
        flag
    }

    /// Notes that a value is not what is expected.
    pub(super) fn mistyped(&mut self, value: Value<'_>, expected: &str) {
        let shown = shorten(value.raw.get());
        self.problem_at(value, format!("`{}` is `{shown}`; expected {expected}", value.key));
    }

    fn split<'v, const N: usize>(
        &mut self,
        fields: Vec<(String, &'v RawValue)>,
        name: &'static str,
        keys: [&'static str; N],
        at: Option<usize>,
    ) -> Object<'v, N> {
        let mut values = [None; N];
        for (key, raw) in fields {
            match keys.iter().position(|known| **known == key) {
                None => self.unknown(&key, raw, name, &keys),
                Some(index) if values[index].is_some() => {
                    let value = Value { key: keys[index], raw };
                    self.problem_at(value, format!("`{key}` stands twice in {name}"));
                }
                Some(index) => values[index] = Some(Value { key: keys[index], raw }),
            }
        }
        Object { name, keys, values, at }
    }

    fn unknown(&mut self, key: &str, raw: &RawValue, name: &str, keys: &[&str]) {
        let before = self.offset_of(raw.get());
        let at = self.text[..before].rfind(&format!("\"{key}\"")).unwrap_or(before);
        let message =
            format!("unknown key `{}` in {name}; known keys: {}", shorten(key), keys.join(", "));
        let problem = TraceProblem::new(self.number, message).at(self.column(at));
        let near = keys.iter().min_by_key(|known| strsim::damerau_levenshtein(key, known));
        let near = near.filter(|known| strsim::normalized_damerau_levenshtein(key, known) >= 0.6);
        self.problems.push(match near {
            Some(known) => problem.with_help(format!("did you mean `{known}`?")),
            None => problem,
        });
    }

    /// Notes why the line is no JSON object.
    fn broken(&mut self, error: &serde_json::Error) {
        let at = self.text.char_indices().map(|(at, _)| at).find(|at| *at + 1 >= error.column());
        let at = if error.is_data() { 0 } else { at.unwrap_or(self.text.len()) };
        let column = self.column(at);
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or_default();
        let problem = if error.is_eof() {
            TraceProblem::new(self.number, "the line ends in the middle of its object")
                .with_help("the file may have been cut off, or one object spread over lines")
        } else if error.is_data() {
            let message = format!("`{}` is no request; expected an object", shorten(self.text));
            TraceProblem::new(self.number, message)
        } else {
            let problem = TraceProblem::new(self.number, format!("broken JSON: {reason}"));
            let rest = &self.text[at..];
            let starts = ["NaN", "Infinity"].iter().any(|word| rest.starts_with(word));
            let help = if starts { "a number must be finite" } else { "write one object a line" };
            problem.with_help(help)
        };
        self.problems.push(problem.at(column));
    }

    fn offset_of(&self, part: &str) -> usize {
        part.as_ptr().addr() - self.text.as_ptr().addr()
    }

    fn column_of(&self, part: &str) -> usize {
        self.column(self.offset_of(part))
    }

    fn column(&self, offset: usize) -> usize {
        self.text[..offset].chars().count() + 1
    }
}

/// The fields of a line before it is known what the line is.
pub(super) struct ParsedLine<'a> {
    fields: Vec<(String, &'a RawValue)>,
}

impl ParsedLine<'_> {
    /// Returns whether a key stands in the line.
    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|(known, _)| known == key)
    }
}

/// Shortens a value for a message.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(VALUE_SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Parses decimal seconds to whole microseconds; `None` for anything finer or not plain.
fn parse_time(text: &str) -> Option<SimTime> {
    let (sign, number) = text.strip_prefix('-').map_or((1, text), |number| (-1, number));
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let is_plain = whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_plain || part.len() > TIME_DECIMALS {
        return None;
    }
    let seconds: u64 = whole.parse().ok().filter(|seconds| *seconds <= TIME_MAX_SECONDS)?;
    let micros: u64 = format!("{part:0<TIME_DECIMALS$}").parse().ok()?;
    Some(SimTime::from_micros(sign * (seconds * 1_000_000 + micros) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_exactly() {
        let cases = [
            ("0", 0),
            ("-0.5", -500_000),
            ("2.598", 2_598_000),
            ("0.000001", 1),
            ("1764540000.123457", 1_764_540_000_123_457),
            ("-1000000000000", -1_000_000_000_000_000_000),
        ];
        for (text, micros) in cases {
            assert_eq!(parse_time(text), Some(SimTime::from_micros(micros)), "{text}");
        }
        let bad =
            ["1e3", "1.0000001", "1.0000000", "+1", "", "-", "null", "\"1\"", "1000000000001"];
        for text in bad {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
