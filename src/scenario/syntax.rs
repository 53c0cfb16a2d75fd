//! Syntax errors in the words of a settings file.

use std::ops::Range;

use crate::scenario::problem::clipped;
use crate::scenario::{Origin, Problem};

/// Returns what a TOML error says, or better, where a word only lacks its quotes.
pub(super) fn syntax_problem(error: &toml::de::Error, source: usize, text: &str) -> Problem {
    let span = error.span().unwrap_or(text.len()..text.len());
    let said = error.message();
    let is_bare_word = ["string values must be quoted", "invalid boolean", "invalid float"]
        .iter()
        .any(|start| said.starts_with(start));
    let (message, help, span) = if is_bare_word {
        bare_word(text, span)
    } else if said == "duplicate key" {
        let key = clipped(text.get(span.clone()).unwrap_or_default());
        (format!("`{key}` is written twice in one table; keep one of the two"), None, span)
    } else {
        (said.to_owned(), None, span)
    };
    Problem { path: String::new(), message, help, origin: Origin::File { source, span } }
}

fn bare_word(text: &str, span: Range<usize>) -> (String, Option<String>, Range<usize>) {
    let Some((before, after)) = text.split_at_checked(span.start) else {
        return ("a value is missing".to_owned(), None, span);
    };
    let start = before.rfind(['=', '[', '{', ',', '\n']).map_or(0, |delimiter| delimiter + 1);
    let end = after.find([']', '}', ',', '#', '\n']).unwrap_or(after.len()) + span.start;
    let word = text[start..end].trim();
    let start = end - text[start..end].trim_start().len();
    let span = start..start + word.len();
    let lower = word.to_lowercase();
    if word.is_empty() {
        return ("a value is missing; write one after `=`".to_owned(), None, span);
    }
    let help = match lower.as_str() {
        "true" | "false" => format!("did you mean `{lower}`?"),
        _ if word.contains(['"', '\'', '\\']) => "put text in quotes".to_owned(),
        _ => format!("put text in quotes: \"{}\"", clipped(word)),
    };
    (format!("`{}` is neither a number nor a quoted text", clipped(word)), Some(help), span)
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Problems, Sources, Tree};

    #[test]
    fn says_which_word_lacks_its_quotes() {
        let cases = [
            ("a = fork", "a.toml:1:5: `fork` is neither", "put text in quotes: \"fork\""),
            ("a = 1.2M # x", "a.toml:1:5: `1.2M` is neither", "put text in quotes: \"1.2M\""),
            ("a=[1, 68 t/s]", "a.toml:1:7: `68 t/s` is neither", "put text in quotes: \"68 t/s\""),
            ("a = True\r\n", "a.toml:1:5: `True` is neither", "did you mean `true`?"),
            ("a = \u{201c}é\u{201d}", "a.toml:1:5: `\u{201c}é\u{201d}` is", "put text in quotes"),
            ("a = ", "a.toml:1:5: a value is missing; write one after `=`", ""),
        ];
        for (text, start, help) in cases {
            let mut sources = Sources::new();
            let source = sources.add("a.toml", text);
            let problems = Problems::new(Tree::parse(&sources, source).unwrap_err(), &sources);
            assert!(problems.to_string().starts_with(start), "{problems}");
            let found = problems.list()[0].help.as_deref().unwrap_or_default();
            assert!(found.starts_with(help), "{found}");
        }
    }
}
