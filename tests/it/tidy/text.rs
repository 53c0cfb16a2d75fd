//! Rules for the text of files: length, columns, words, spelling.

use super::source::Source;

/// The most lines of a source file, tests apart.
const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;

/// What code may not hold, and what to do instead.
const BANNED_CODE: [(&str, &str); 5] = [
    ("dbg!", "remove it"),
    ("todo!", "write it"),
    ("unimplemented!", "write it"),
    ("HashMap", "its order is random; use BTreeMap"),
    ("HashSet", "its order is random; use BTreeSet"),
];

/// Beginnings of absolute paths that exist on one machine only.
const MACHINE_PATHS: [&str; 4] = ["/home/", "/root/", "/work/", "/Users/"];

/// Beginnings of words in British spelling.
const BRITISH: [&str; 13] = [
    "artefact",
    "behaviour",
    "catalogued",
    "centre",
    "colour",
    "favour",
    "honour",
    "labelled",
    "labelling",
    "modelled",
    "modelling",
    "neighbour",
    "analyse",
];

/// Stems that American writes with a z where `e`, `i` or `a` follows.
const WITH_Z: [&str; 19] = [
    "capitalis",
    "customis",
    "finalis",
    "generalis",
    "initialis",
    "maximis",
    "minimis",
    "normalis",
    "optimis",
    "organis",
    "parallelis",
    "prioritis",
    "randomis",
    "realis",
    "recognis",
    "serialis",
    "standardis",
    "summaris",
    "utilis",
];

/// Returns what the text of a Rust file has against the rules.
pub(super) fn source_faults(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    let length = source.lines().count();
    if length > LINES_MAX {
        let path = &source.path;
        faults.push(format!("{path}: {length} lines before its tests; at most {LINES_MAX}"));
    }
    let mut fault =
        |line: usize, what: &str| faults.push(format!("{}:{line}: {what}", source.path));
    for (number, line) in numbered(&source.code) {
        for (banned, instead) in BANNED_CODE {
            if line.contains(banned) {
                fault(number, &format!("`{banned}`: {instead}"));
            }
        }
    }
    for (number, line) in numbered(&source.comments) {
        if line.contains("FIXME") {
            fault(number, "`FIXME`: fix it");
        }
        if line.contains("TODO") && !line.contains("TODO(") {
            fault(number, "`TODO` without an owner; write `TODO(owner): when`");
        }
    }
    for (number, line) in numbered(&source.outside_literals) {
        // A comment may quote output between backticks.
        let outside_quotes = line.split('`').step_by(2).flat_map(str::chars);
        if let Some(c) = outside_quotes.into_iter().find(|c| !c.is_ascii()) {
            fault(number, &format!("`{c}` in code or a comment; write ASCII there"));
        }
    }
    for (number, line) in source.lines() {
        let columns = line.chars().count();
        if columns > COLUMNS_MAX && !line.contains("://") && !is_table_row(line) {
            fault(number, &format!("{columns} columns; at most {COLUMNS_MAX}"));
        }
        if let Some(path) = machine_path(line) {
            fault(number, &format!("`{path}` is a path of one machine"));
        }
    }
    faults
}

/// Returns what any text file has against the rules of blanks and spelling.
pub(super) fn text_faults(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in numbered(text) {
        if line.contains('\t') {
            faults.push(format!("{path}:{number}: a tab; use blanks"));
        }
        if line.trim_end() != line {
            faults.push(format!("{path}:{number}: blanks at the end of the line"));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        faults.push(format!("{path}: no line break at the end"));
    }
    faults
}

/// Returns the British spellings of a text.
pub(super) fn spelling_faults(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in numbered(text) {
        for word in line.split_whitespace().filter(|word| !word.contains("://")).flat_map(words) {
            if is_british(&word) {
                faults.push(format!("{path}:{number}: `{word}`: write American"));
            }
        }
    }
    faults
}

/// Returns the first path of one machine in a line.
pub(super) fn machine_path(line: &str) -> Option<&'static str> {
    MACHINE_PATHS.into_iter().find(|path| {
        let begins = |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '.');
        line.match_indices(path).any(|(at, _)| begins(at))
    })
}

pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

fn is_table_row(line: &str) -> bool {
    line.trim_start().trim_start_matches(['/', '!']).trim_start().starts_with('|')
}

/// Splits a run of characters into words in small letters, at capitals too.
fn words(run: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in run.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && was_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    words
}

fn is_british(word: &str) -> bool {
    BRITISH.iter().any(|start| word.starts_with(start))
        || WITH_Z.iter().any(|stem| {
            word.strip_prefix(stem).is_some_and(|rest| rest.starts_with(['e', 'i', 'a']))
        })
}

#[test]
fn breaches_in_a_source_are_found() {
    let long = format!("// {}\n", "x".repeat(COLUMNS_MAX));
    let long_file = "\n".repeat(LINES_MAX + 1);
    let cases: [(&str, &[&str]); 16] = [
        ("let x = dbg!(y);\n", &["u/x.rs:1: `dbg!`: remove it"]),
        ("fn f() {\n    todo!()\n}\n", &["u/x.rs:2: `todo!`: write it"]),
        (
            "use std::collections::HashMap;\n",
            &["u/x.rs:1: `HashMap`: its order is random; use BTreeMap"],
        ),
        ("// no HashMap here, and no dbg!\n", &[]),
        ("#[cfg(test)]\nmod tests {\n    use std::collections::HashMap;\n}\n", &[]),
        ("// FIXME later\n", &["u/x.rs:1: `FIXME`: fix it"]),
        ("// TODO x\n", &["u/x.rs:1: `TODO` without an owner; write `TODO(owner): when`"]),
        ("// TODO(ann): when 2.0 is out\n", &[]),
        ("// 5 \u{b5}s\n", &["u/x.rs:1: `\u{b5}` in code or a comment; write ASCII there"]),
        ("let text = \"\u{b1}\";\n", &[]),
        ("/// Writes `1 \u{b1} 2`.\n", &[]),
        (&long, &["u/x.rs:1: 103 columns; at most 100"]),
        ("// see /home/ann/x\n", &["u/x.rs:1: `/home/` is a path of one machine"]),
        ("// see https://example.org/home/ann\n", &[]),
        (&long_file, &["u/x.rs: 601 lines before its tests; at most 600"]),
        ("#[cfg(test)]\nmod tests {\n    // see /home/ann/x\n}\n", &[]),
    ];
    for (text, faults) in cases {
        assert_eq!(source_faults(&Source::new("u/x.rs", text)), faults, "{text}");
    }
}

#[test]
fn breaches_in_a_text_are_found() {
    assert_eq!(text_faults("a.md", "x\n\ny\n"), [""; 0]);
    assert_eq!(text_faults("a.md", "x \n"), ["a.md:1: blanks at the end of the line"]);
    assert_eq!(text_faults("a.md", "x\n\ty\n"), ["a.md:2: a tab; use blanks"]);
    assert_eq!(text_faults("a.md", "x"), ["a.md: no line break at the end"]);
}

#[test]
fn british_spellings_are_found() {
    let american = "behavior color optimistic optimize organism minimal analysis realistic \
                    generalist https://x.org/colour neighbor summary Serialize";
    assert_eq!(spelling_faults("a.md", american), [""; 0]);
    for word in ["behaviour", "Colours", "optimise", "summarising", "SerialiseIt", "cache_colour"] {
        assert_eq!(spelling_faults("a.md", word).len(), 1, "{word}");
    }
}
