//! A Rust file as the checks see it: code, comments, literals and tests told apart.

use std::ops::Range;

const TEST_MARK: &str = "#[cfg(test)]";

/// What a character belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

/// A Rust file.
#[derive(Debug)]
pub(super) struct Source {
    /// Its path under `src`, with forward slashes.
    pub(super) path: String,
    pub(super) text: String,
    /// The text with blanks for comments, for the inside of literals and for test code.
    pub(super) code: String,
    /// The text with blanks for everything but comments.
    pub(super) comments: String,
    /// The text with blanks for the inside of literals and for test code.
    pub(super) outside_literals: String,
    /// By line, whether it is test code.
    is_test: Vec<bool>,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Source {
        let parts = classify(text);
        let keep = |kept: &[Part]| -> String {
            let blank = |(c, part)| if c == '\n' || kept.contains(&part) { c } else { ' ' };
            text.chars().zip(parts.iter().copied()).map(blank).collect()
        };
        let code = keep(&[Part::Code]);
        let tests = test_ranges(&code);
        let mut is_test = vec![is_test_file(path); text.lines().count()];
        for range in &tests {
            is_test[line_of(&code, range.start) - 1..line_of(&code, range.end - 1)].fill(true);
        }
        let without_tests = |text: &str| -> String {
            let lines = text.split_inclusive('\n').zip(&is_test);
            lines.map(|(line, is_test)| if *is_test { "\n" } else { line }).collect()
        };
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code: without_tests(&code),
            comments: keep(&[Part::Comment]),
            outside_literals: without_tests(&keep(&[Part::Code, Part::Comment])),
            is_test,
        }
    }

    /// Returns the module at the top of the crate that the file belongs to.
    pub(super) fn module(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap_or_default()
    }

    /// Returns the lines that are not test code, numbered from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().filter(|(index, _)| !self.is_test[*index]);
        lines.map(|(index, line)| (index + 1, line))
    }
}

/// Returns the line, from 1, in which a byte of `text` stands.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Returns whether a whole file is test code, as its name says.
fn is_test_file(path: &str) -> bool {
    path.ends_with("_tests.rs") || path.ends_with("/tests.rs")
}

fn classify(text: &str) -> Vec<Part> {
    let chars: Vec<char> = text.chars().collect();
    let mut parts = vec![Part::Code; chars.len()];
    let mut at = 0;
    while at < chars.len() {
        let (end, part) = token(&chars, at);
        parts[at..end].fill(part);
        at = end;
    }
    parts
}

/// Returns where the comment or literal that begins at `at` ends, or else the next character.
fn token(chars: &[char], at: usize) -> (usize, Part) {
    let next = chars.get(at + 1).copied();
    match (chars[at], next) {
        ('/', Some('/')) => (find(chars, at, |c| c[0] == '\n'), Part::Comment),
        ('/', Some('*')) => (end_of_block_comment(chars, at), Part::Comment),
        ('"', _) => (end_of_quoted(chars, at, '"'), Part::Literal),
        ('r', Some('"' | '#')) if is_literal_start(chars, at) => end_of_raw(chars, at),
        ('\'', Some('\\')) => (end_of_quoted(chars, at, '\''), Part::Literal),
        ('\'', Some(_)) if chars.get(at + 2) == Some(&'\'') => (at + 3, Part::Literal),
        _ => (at + 1, Part::Code),
    }
}

fn find(chars: &[char], from: usize, is_end: impl Fn(&[char]) -> bool) -> usize {
    (from..chars.len()).find(|at| is_end(&chars[*at..])).unwrap_or(chars.len())
}

fn end_of_block_comment(chars: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < chars.len() {
        match chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn end_of_quoted(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from + 1;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

/// `r`, `br` or `cr` begins a raw literal unless it ends a longer word.
fn is_literal_start(chars: &[char], at: usize) -> bool {
    let before = &chars[..at];
    let before = before.strip_suffix(&['b']).or(before.strip_suffix(&['c'])).unwrap_or(before);
    !before.last().is_some_and(|c| c.is_alphanumeric() || *c == '_')
}

fn end_of_raw(chars: &[char], from: usize) -> (usize, Part) {
    let hashes = chars[from + 1..].iter().take_while(|c| **c == '#').count();
    let open = from + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return (from + 1, Part::Code); // a raw identifier such as `r#type`
    }
    let closes = |rest: &[char]| {
        rest[0] == '"' && rest[1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    ((find(chars, open + 1, closes) + 1 + hashes).min(chars.len()), Part::Literal)
}

/// Returns the bytes of each item under `#[cfg(test)]`, the mark included.
fn test_ranges(code: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find(TEST_MARK) {
        let start = from + found;
        let end = end_of_item(code, start + TEST_MARK.len());
        ranges.push(start..end);
        from = end;
    }
    ranges
}

fn end_of_item(code: &str, from: usize) -> usize {
    let mut depth = 0;
    for (offset, c) in code[from..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && matches!(c, ';' | '}') {
            return from + offset + 1;
        }
    }
    code.len()
}

#[test]
fn comments_literals_and_tests_are_told_apart() {
    let text = concat!(
        "//! use crate::a;\n",
        "let x = \"// crate::b \\\" \"; /* crate::c /* */ */ let y = 'c';\n",
        "let raw = r#\"crate::d \" \"#; fn f<'a>(r#type: &'a str) {}\n",
        "#[cfg(test)]\nuse crate::{e, f};\n",
        "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests;\n",
        "use crate::g;\n",
        "#[cfg(test)]\nmod tests {\n    use crate::h;\n}\n",
    );
    let source = Source::new("units/x.rs", text);
    for word in ["crate::a", "crate::b", "crate::c", "crate::d", "e, f", "crate::h", "'c'"] {
        assert!(!source.code.contains(word), "{word} is not code: {}", source.code);
    }
    for word in ["let x = ", "let y = ", "fn f<'a>(r#type: &'a str) {}", "use crate::g;"] {
        assert!(source.code.contains(word), "{word} is code: {}", source.code);
    }
    assert!(source.comments.contains("crate::a") && source.comments.contains("crate::c"));
    assert_eq!(source.lines().map(|(number, _)| number).collect::<Vec<_>>(), [1, 2, 3, 9]);
    assert_eq!(source.module(), "units");
}
