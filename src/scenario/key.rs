//! Dotted keys: `prices."claude-3.5".input`.

use std::fmt::Write;

use toml::de::DeValue;

/// The most parts a key may have; far above any settings file, far below any stack.
const MAX_PARTS: usize = 64;

/// Splits a dotted key into its parts. A part with a dot in it is quoted as in TOML.
///
/// A position in a list is a part too, counted from 0: `stage.1.fanout.tasks`.
///
/// # Errors
/// What is wrong with the key, as the end of a sentence about it.
pub fn split_key(key: &str) -> Result<Vec<String>, &'static str> {
    let mut parts = Vec::new();
    let mut rest = key;
    if key.trim().is_empty() {
        return Err("is empty; write a dotted key such as fanout.agent");
    }
    loop {
        let (part, tail) = take_part(rest.trim_start())?;
        if part.is_empty() {
            return Err("has an empty part; write names between its dots, as in fanout.agent");
        }
        parts.push(part);
        let tail = tail.trim_start();
        if parts.len() > MAX_PARTS {
            return Err("has more than 64 parts");
        }
        if tail.is_empty() {
            return Ok(parts);
        }
        rest = tail.strip_prefix('.').ok_or("has text after a quoted part; write a dot there")?;
    }
}

/// Joins parts into a dotted key that [`split_key`] takes apart again.
pub fn join_key<S: AsRef<str>>(parts: &[S]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| quoted_if_needed(part.as_ref())).collect();
    parts.join(".")
}

fn take_part(text: &str) -> Result<(String, &str), &'static str> {
    if !text.starts_with(['"', '\'']) {
        let (bare, tail) = text.split_at(text.find('.').unwrap_or(text.len()));
        return Ok((bare.trim().to_owned(), tail));
    }
    let end = quoted_length(text).ok_or("has a quote that is not closed")?;
    let (quoted, tail) = text.split_at(end);
    match DeValue::parse(quoted).map(toml::Spanned::into_inner) {
        Ok(DeValue::String(part)) => Ok((part.into_owned(), tail)),
        _ => Err("has a quoted part that is no TOML string"),
    }
}

fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return Some(at + 1);
        }
        escaped = c == '\\' && quote == '"' && !escaped;
    }
    None
}

fn quoted_if_needed(part: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !part.is_empty() && part.chars().all(is_bare) {
        return part.to_owned();
    }
    let mut quoted = String::from('"');
    for c in part.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            _ if c.is_control() => write!(quoted, "\\u{:04X}", u32::from(c)).unwrap_or_default(),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_and_joins() {
        let cases: [(&str, &[&str]); 5] = [
            ("fanout.agent", &["fanout", "agent"]),
            ("prices.\"claude-3.5\".input", &["prices", "claude-3.5", "input"]),
            ("prices . 'a\\'. b", &["prices", "a\\", "b"]),
            ("\"a\\\"\\u001b\"", &["a\"\u{1b}"]),
            ("stage.0.é", &["stage", "0", "é"]),
        ];
        for (key, parts) in cases {
            assert_eq!(split_key(key).unwrap(), parts, "{key}");
            assert_eq!(split_key(&join_key(parts)).unwrap(), parts, "{key}");
        }
    }

    #[test]
    fn refuses_malformed_keys() {
        let long = "a.".repeat(1000) + "a";
        for key in ["", " ", ".", "a.", ".a", "a..b", "\"a", "'a'b", "\"\".a", "\"\\q\"", &long] {
            assert!(split_key(key).is_err(), "{key}");
        }
    }
}
