//! What a sweep varies: `KEY=SPEC` options become factors with levels.
//!
//! A spec is a list of elements between commas. An element is a value (TOML, else text), a named
//! value `LABEL:=VALUE`, or a range: `1..20`, `0..60:15`, `10k..200k#5` (so many evenly),
//! `1k..1M*4` (so many, each the same factor above the one before). Both ends belong to a range.
//! Ends may have units, of which the smaller is kept; ends that are whole numbers give whole
//! numbers where there are enough of them between.

use std::sync::Arc;

use serde::Serialize;

use crate::scenario::problem::clipped;
use crate::scenario::{Origin, Problem, split_key};

/// The most points of a design.
pub const POINTS_MAX: usize = 1_000_000;

/// The pseudo key that picks variants by their names.
pub const VARIANT_KEY: &str = "variant";

/// A key and the values it takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Factor {
    /// The dotted key; [`VARIANT_KEY`] picks whole variants.
    pub key: String,
    /// Its values, no label twice.
    pub levels: Vec<Level>,
}

/// One value of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Level {
    /// What results call it: the value as it was written, or the name it was given.
    pub label: Arc<str>,
    /// The value, as `--set` takes it: TOML, else text.
    pub value: Arc<str>,
}

/// Parses `KEY=SPEC` options.
///
/// # Errors
/// All problems of all options: each names the value and what is accepted.
pub fn parse_factors(options: &[String]) -> Result<Vec<Factor>, Vec<Problem>> {
    let (mut factors, mut problems): (Vec<Factor>, Vec<Problem>) = (Vec::new(), Vec::new());
    for option in options {
        match parse_factor(option) {
            Ok(factor) if factors.iter().any(|other| other.key == factor.key) => {
                let message = "this key is varied twice; list all its values in one option";
                problems.push(problem(option, &factor.key, message.to_owned()));
            }
            Ok(factor) => factors.push(factor),
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(factors) } else { Err(problems) }
}

/// Parses one `KEY=SPEC` option.
///
/// # Errors
/// All problems of its elements.
pub fn parse_factor(option: &str) -> Result<Factor, Vec<Problem>> {
    let one = |key: &str, message: String| vec![problem(option, key, message)];
    let Some((key, spec)) = option.split_once('=') else {
        let message = "no `=`; write KEY=SPEC, such as fanout.tasks=1..20".to_owned();
        return Err(one(option, message));
    };
    let key = key.trim();
    if let Err(reason) = split_key(key) {
        return Err(one(key, format!("the key {reason}")));
    }
    let elements = split_outside(spec, ",").map_err(|message| one(key, message))?;
    let (mut levels, mut problems): (Vec<Level>, Vec<Problem>) = (Vec::new(), Vec::new());
    for element in elements {
        match parse_element(element.trim()) {
            Ok(found) => levels.extend(found),
            Err(message) => problems.push(problem(option, key, message)),
        }
        if levels.len() > POINTS_MAX {
            return Err(one(key, too_many(levels.len() as u128)));
        }
    }
    let mut labels: Vec<&str> = levels.iter().map(|level| &*level.label).collect();
    labels.sort_unstable();
    if let Some(twice) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("`{}` is there twice; list each level once", clipped(twice[0]));
        problems.push(problem(option, key, message));
    }
    if problems.is_empty() { Ok(Factor { key: key.to_owned(), levels }) } else { Err(problems) }
}

/// Returns what to say of a design with too many points.
pub fn too_many(points: u128) -> String {
    format!("{points} points; a sweep has at most {POINTS_MAX}, take fewer levels or `--lhs N`")
}

fn problem(option: &str, key: &str, message: String) -> Problem {
    let origin = Origin::Level { text: option.to_owned() };
    Problem { path: key.to_owned(), message, help: None, origin }
}

/// Splits at a separator that stands outside of quotes and brackets.
fn split_outside<'a>(text: &'a str, separator: &str) -> Result<Vec<&'a str>, String> {
    let (mut parts, mut start, mut open) = (Vec::new(), 0, Vec::new());
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if let Some(mark) = quote {
            if c == mark && !escaped {
                quote = None;
            }
            escaped = c == '\\' && mark == '"' && !escaped;
            continue;
        }
        let is_text = at > start && !text[start..at].trim().is_empty() && open.is_empty();
        match c {
            // Inside of a text that has begun, a quote is an apostrophe.
            '"' | '\'' if !is_text || text[..at].ends_with('=') => quote = Some(c),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ']' | '}' if open.pop() != Some(c) => {
                return Err(format!("`{c}` closes nothing in `{}`", clipped(text)));
            }
            _ if open.is_empty() && at >= start && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
    }
    if let Some(missing) = quote.or(open.pop()) {
        return Err(format!("`{missing}` is missing in `{}`", clipped(text)));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn parse_element(element: &str) -> Result<Vec<Level>, String> {
    let named = split_outside(element, ":=")?;
    if let [label, rest @ ..] = named.as_slice()
        && !rest.is_empty()
    {
        let (label, value) = (label.trim(), element[label.len() + 2..].trim());
        if label.is_empty() || value.is_empty() {
            let shown = clipped(element);
            return Err(format!("`{shown}` lacks a part; write LABEL:=VALUE, such as calm:=0.5"));
        }
        return Ok(vec![Level { label: unquoted(label).into(), value: value.into() }]);
    }
    if element.is_empty() {
        return Err(
            "a value is missing; write values between commas, or \"\" for an empty text".to_owned()
        );
    }
    match range(element) {
        Some(values) => {
            let level = |value: String| {
                let value: Arc<str> = value.into();
                Level { label: Arc::clone(&value), value }
            };
            Ok(values?.into_iter().map(level).collect())
        }
        None => Ok(vec![Level { label: unquoted(element).into(), value: element.into() }]),
    }
}

/// Takes the quotes off a text.
fn unquoted(text: &str) -> String {
    use crate::scenario::{Node, Value};
    match Node::from_text(text, &Origin::None).value {
        Value::String(inner) => inner,
        _ => text.to_owned(),
    }
}

/// How the values of a range lie.
#[derive(Clone, Copy, Debug)]
enum Spacing {
    Step(Decimal),
    Even(u32),
    Log(u32),
}

/// A decimal number in its unit, in billionths.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Decimal {
    billionths: i128,
    is_whole: bool,
    unit: &'static str,
}

const ONE: i128 = 1_000_000_000;

/// Units of one kind with their sizes in billionths of the least; the empty one is the plain
/// number.
const TOKENS: [(&str, i128); 4] = [("", 1), ("k", 1_000), ("K", 1_000), ("M", 1_000_000)];
const TIMES: [(&str, i128); 7] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("", 1_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];
const SHARES: [(&str, i128); 1] = [("%", 1)];
const SPEEDS: [(&str, i128); 1] = [("tokens/s", 1)];
const KINDS: [&[(&str, i128)]; 4] = [&TOKENS, &TIMES, &SHARES, &SPEEDS];

/// Returns the values of a range; `None` of what does not begin as one.
fn range(element: &str) -> Option<Result<Vec<String>, String>> {
    let (low, rest) = element.split_once("..")?;
    let number = low.trim().trim_start_matches(['-', '+']);
    if !number.starts_with(|c: char| c.is_ascii_digit()) || low.contains(['"', '\'', '[', '{']) {
        return None;
    }
    let shown = clipped(element);
    Some(parse_range(low, rest).map_err(|message| {
        format!(
            "`{shown}` {message}; a range is LO..HI, LO..HI:STEP, LO..HI#N or LO..HI*N, such as \
             1..20 or 10k..200k#5"
        )
    }))
}

fn parse_range(low: &str, rest: &str) -> Result<Vec<String>, String> {
    let low = decimal(low)?;
    let (high, spacing) = match rest.find([':', '#', '*']) {
        None => (rest, None),
        Some(at) => (&rest[..at], Some((rest.as_bytes()[at], &rest[at + 1..]))),
    };
    let high = decimal(high)?;
    let spacing = match spacing {
        None => Spacing::Step(Decimal { billionths: ONE, is_whole: true, ..least(low, high)? }),
        Some((b':', step)) => Spacing::Step(decimal(step)?),
        Some((mark, count)) => {
            let count = points(count)?;
            if mark == b'#' { Spacing::Even(count) } else { Spacing::Log(count) }
        }
    };
    let unit = match spacing {
        Spacing::Step(step) => least(least(low, high)?, step)?,
        Spacing::Even(_) | Spacing::Log(_) => least(low, high)?,
    };
    let kind = kind_of(&[low, high, unit])?;
    let in_unit = |number: Decimal| scale(number, unit.unit, kind);
    let (from, to) = (in_unit(low)?, in_unit(high)?);
    if from > to {
        return Err("runs backwards".to_owned());
    }
    let values = match spacing {
        Spacing::Step(step) => stepped(from, to, in_unit(step)?)?,
        Spacing::Even(count) | Spacing::Log(count) => {
            let grain = grain((from, to), unit.unit, low.is_whole && high.is_whole, count);
            let is_log = matches!(spacing, Spacing::Log(_));
            spread(from, to, count, (is_log, grain))?
        }
    };
    Ok(values.into_iter().map(|value| written(value, unit.unit)).collect())
}

fn points(text: &str) -> Result<u32, String> {
    let count: Option<u32> = text.trim().parse().ok();
    count.filter(|count| (2..=POINTS_MAX as u32).contains(count)).ok_or_else(|| {
        format!("has `{}` where the number of points belongs, 2 to {POINTS_MAX}", clipped(text))
    })
}

fn decimal(text: &str) -> Result<Decimal, String> {
    let text = text.trim();
    let wrong = || {
        let shown = clipped(text);
        format!(
            "has `{shown}` where a number belongs: at most nine decimals, and a unit of tokens \
             (k, M), of time (us, ms, s, m, h, d), % or tokens/s"
        )
    };
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end =
        digits.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(digits.len());
    let (number, unit) = digits.split_at(end);
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || whole.len() > 15 || fraction.len() > 9 || fraction.contains('.') {
        return Err(wrong());
    }
    let unit = unit.trim();
    let known =
        |kind: &&'static [(&'static str, i128)]| kind.iter().find(move |(name, _)| *name == unit);
    let unit = KINDS.iter().find_map(known).ok_or_else(wrong)?.0;
    let whole: i128 = whole.parse().map_err(|_| wrong())?;
    let parts: i128 = format!("{fraction:0<9}").parse().map_err(|_| wrong())?;
    let is_whole = !number.contains('.');
    Ok(Decimal { billionths: sign * (whole * ONE + parts), is_whole, unit })
}

/// The kind of quantity that all of these numbers are.
fn kind_of(numbers: &[Decimal]) -> Result<&'static [(&'static str, i128)], String> {
    let is_of = |kind: &&&[(&str, i128)]| {
        let knows = |unit: &str| kind.iter().any(|(name, _)| *name == unit);
        numbers.iter().all(|number| knows(number.unit) || is_bare_zero(*number))
    };
    KINDS.iter().find(is_of).copied().ok_or_else(|| {
        let units: Vec<String> =
            numbers.iter().take(2).map(|number| format!("`{}`", number.unit)).collect();
        format!("mixes the units {}", units.join(" and "))
    })
}

/// 0 is 0 in every unit.
fn is_bare_zero(number: Decimal) -> bool {
    number.billionths == 0 && number.unit.is_empty()
}

/// Returns which of two has the smaller unit.
fn least(a: Decimal, b: Decimal) -> Result<Decimal, String> {
    let kind = kind_of(&[a, b])?;
    let size = |number: Decimal| {
        let found = kind.iter().find(|(unit, _)| *unit == number.unit);
        found.map_or(i128::MAX, |(_, size)| *size)
    };
    let zero_last = |number: Decimal| if is_bare_zero(number) { i128::MAX } else { size(number) };
    Ok(if zero_last(b) < zero_last(a) { b } else { a })
}

fn scale(number: Decimal, unit: &str, kind: &[(&str, i128)]) -> Result<i128, String> {
    let size = |unit: &str| kind.iter().find(|(name, _)| *name == unit).map_or(1, |found| found.1);
    let product = number.billionths * size(number.unit);
    let (value, rest) = (product / size(unit), product % size(unit));
    if rest != 0 { Err("has more decimals than its unit has".to_owned()) } else { Ok(value) }
}

fn stepped(from: i128, to: i128, step: i128) -> Result<Vec<i128>, String> {
    if step <= 0 {
        return Err("needs a step above 0".to_owned());
    }
    let count = (to - from) / step + 1;
    if count > POINTS_MAX as i128 {
        return Err(format!("has {count} values, more than the limit of {POINTS_MAX}"));
    }
    Ok((0..count).map(|index| from + index * step).collect())
}

/// Returns to what values are rounded, in billionths of the unit; 0 where they are not.
fn grain((from, to): (i128, i128), unit: &str, is_whole: bool, count: u32) -> i128 {
    let tokens = TOKENS.iter().find(|(name, size)| *name == unit && *size > 1);
    let times = TIMES.iter().find(|(name, _)| *name == unit && !name.is_empty());
    match (tokens, times) {
        (Some((_, size)), _) | (_, Some((_, size))) if ONE % size == 0 => ONE / size,
        _ if is_whole && unit.is_empty() && to - from >= i128::from(count - 1) * ONE => ONE,
        _ => 0,
    }
}

/// Returns `count` values from end to end, evenly or by one factor; rounded ones each once.
fn spread(
    from: i128,
    to: i128,
    count: u32,
    (is_log, grain): (bool, i128),
) -> Result<Vec<i128>, String> {
    if is_log && from <= 0 {
        return Err("needs a lower end above 0 to be spaced by factors".to_owned());
    }
    let last = i128::from(count - 1);
    let ratio = libm::log(to as f64 / from as f64);
    let value = |index: i128| {
        if index == 0 || index == last {
            return if index == 0 { from } else { to };
        }
        let even = from + ((to - from) * index + last / 2) / last;
        let exact = if is_log {
            six_digits(from as f64 * libm::exp(ratio * index as f64 / last as f64))
        } else {
            even
        };
        if grain > 0 { ((exact + grain / 2) / grain * grain).clamp(from, to) } else { exact }
    };
    let mut values: Vec<i128> = (0..=last).map(value).collect();
    values.dedup();
    Ok(values)
}

/// Rounds to six digits, so that `0.001..1*4` has 0.01 in it.
fn six_digits(value: f64) -> i128 {
    let value = value as i128 + i128::from(value.fract() >= 0.5);
    let mut grain = 1;
    while value / grain >= 1_000_000 {
        grain *= 10;
    }
    (value + grain / 2) / grain * grain
}

fn written(billionths: i128, unit: &str) -> String {
    let sign = if billionths < 0 { "-" } else { "" };
    let (whole, parts) = (billionths.abs() / ONE, billionths.abs() % ONE);
    let digits = format!("{parts:09}");
    let fraction = digits.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let blank = if unit == "tokens/s" { " " } else { "" };
    format!("{sign}{whole}{point}{fraction}{blank}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(option: &str) -> String {
        let factor = parse_factor(option).unwrap_or_else(|wrong| panic!("{option}: {wrong:?}"));
        let labels: Vec<&str> = factor.levels.iter().map(|level| &*level.label).collect();
        labels.join("|")
    }

    #[test]
    fn specs_become_levels() {
        let cases = [
            ("k=1,2 ,x", "1|2|x"),
            ("k=5m", "5m"),
            ("k=1..5", "1|2|3|4|5"),
            ("k=1..3,8,13", "1|2|3|8|13"),
            ("k=0..60:15", "0|15|30|45|60"),
            ("k=0..1:0.25", "0|0.25|0.5|0.75|1"),
            ("k=-1..1", "-1|0|1"),
            ("k=10k..200k#5", "10k|57.5k|105k|152.5k|200k"),
            ("k=1s..10s:3s", "1s|4s|7s|10s"),
            ("k=0..10s:5", "0s|5s|10s"),
            ("k=30s..2m:30s", "30s|60s|90s|120s"),
            ("k=500..2k:500", "500|1000|1500|2000"),
            ("k=0..2m#3", "0m|1m|2m"),
            ("k=1..20#5", "1|6|11|15|20"),
            ("k=0..1#3", "0|0.5|1"),
            ("k=1.0..2.0#3", "1|1.5|2"),
            ("k=1..1000*4", "1|10|100|1000"),
            ("k=0.001..1*4", "0.001|0.01|0.1|1"),
            ("k=1k..1M*4", "1k|10k|100k|1000k"),
            ("k=1..10*3", "1|3|10"),
            ("k=10%..30%:10%", "10%|20%|30%"),
            ("k=40 tokens/s..80 tokens/s#3", "40 tokens/s|60 tokens/s|80 tokens/s"),
            ("k=\"a,b\",'c'", "a,b|c"),
            ("k=[1, 2],{ a = 1, b = [2] }", "[1, 2]|{ a = 1, b = [2] }"),
            ("k=calm:=0.5,\"a, b\":={ x = 1 }", "calm|a, b"),
            ("k=../x.toml,a..b,it's", "../x.toml|a..b|it's"),
            ("prices.\"claude-3.5\".input=5", "5"),
            ("variant=fork,fresh on a cheaper model", "fork|fresh on a cheaper model"),
        ];
        for (option, expected) in cases {
            assert_eq!(labels(option), expected, "{option}");
        }
        let named = parse_factor("k=calm:={ exponential = { mean = 3 } }").unwrap();
        assert_eq!(&*named.levels[0].value, "{ exponential = { mean = 3 } }");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("k", "no `=`"),
            ("=1", "the key is empty"),
            ("k=", "a value is missing"),
            ("k=1,,2", "a value is missing"),
            ("k=[1", "`]` is missing"),
            ("k=1]", "`]` closes nothing"),
            ("k=\"a", "`\"` is missing"),
            ("k=a:=", "`a:=` lacks a part"),
            ("k=5..1", "`5..1` runs backwards"),
            ("k=1..", "has `` where a number belongs"),
            ("k=1..x", "has `x` where a number belongs"),
            ("k=1..2:0", "needs a step above 0"),
            ("k=1..2:-1", "needs a step above 0"),
            ("k=1..2#1", "has `1` where the number of points belongs, 2 to 1000000"),
            ("k=1..2#x", "has `x` where the number of points"),
            ("k=0..2*3", "needs a lower end above 0"),
            ("k=1k..5s", "mixes the units `k` and `s`"),
            ("k=1..2000000", "has 2000000 values, more than the limit of 1000000"),
            ("k=1..3,2", "`2` is there twice"),
        ];
        for (option, message) in cases {
            let problems = parse_factor(option).unwrap_err();
            assert!(problems[0].message.contains(message), "{option}: {}", problems[0].message);
        }
        let options = ["a=1,,,".to_owned(), "b=5..1".to_owned(), "c=1".into(), "c=2".into()];
        let problems = parse_factors(&options).unwrap_err();
        assert_eq!(problems.len(), 5, "one for each: {problems:?}");
    }
}
