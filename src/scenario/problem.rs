//! What is wrong with settings, and where it stands.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use crate::scenario::render;
use crate::scenario::{Node, Sources, Value};

/// Where a key or value came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A text of the [`Sources`].
    File {
        /// The number of the text.
        source: usize,
        /// The bytes of the key or value in it.
        span: Range<usize>,
    },
    /// A `--set` option.
    Override {
        /// `KEY=VALUE` as it was given.
        text: String,
    },
    /// A `--vary` option.
    Level {
        /// `KEY=SPEC` as it was given, or `KEY=VALUE` of one level.
        text: String,
    },
    /// Nowhere in particular.
    #[default]
    None,
}

/// One thing that is wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The dotted key, such as `task.iterations.lognormal.p95`; empty when it is the whole text.
    pub path: String,
    /// A lower-case fragment that names the value and what is accepted.
    pub message: String,
    /// What to try, such as "did you mean `max_parallel`?".
    pub help: Option<String>,
    /// Where it stands.
    pub origin: Origin,
}

impl Problem {
    /// Returns the key and the message as one line, with nothing in it that a terminal obeys.
    pub(super) fn headline(&self) -> String {
        let separator = if self.path.is_empty() { "" } else { ": " };
        render::inert(&format!("{}{separator}{}", self.path, self.message))
    }

    fn place(&self) -> (u8, usize, usize) {
        match &self.origin {
            Origin::File { source, span } => (0, *source, span.start),
            Origin::Override { .. } | Origin::Level { .. } => (1, 0, 0),
            Origin::None => (2, 0, 0),
        }
    }
}

/// All that is wrong with the settings, in the order of the texts, each once.
#[derive(Clone, Debug)]
pub struct Problems {
    problems: Vec<Problem>,
    sources: Sources,
}

impl Problems {
    /// Sorts problems by their place and drops those said twice.
    pub fn new(mut problems: Vec<Problem>, sources: &Sources) -> Problems {
        problems.sort_by_key(Problem::place);
        let mut distinct: Vec<Problem> = Vec::new();
        for problem in problems {
            let alike = |other: &&Problem| other.place() == problem.place();
            if !distinct.iter().rev().take_while(alike).any(|other| *other == problem) {
                distinct.push(problem);
            }
        }
        Problems { problems: distinct, sources: sources.clone() }
    }

    /// Returns the problems.
    pub fn list(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns the texts the problems point into.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Shows the problems the way rustc does, each with the line it is about; at most 50.
    pub fn render(&self, color: bool) -> String {
        render::render(self, color)
    }
}

impl fmt::Display for Problems {
    /// Writes one problem per line: `name:line:column: key: message`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            let place = match &problem.origin {
                Origin::File { source, span } => {
                    let (line, column) = self.sources.line_and_column(*source, span.start);
                    format!("{}:{line}:{column}: ", render::inert(self.sources.name(*source)))
                }
                Origin::Override { text } => format!("--set {}: ", render::inert(text)),
                Origin::Level { text } => format!("--vary {}: ", render::inert(text)),
                Origin::None => String::new(),
            };
            write!(formatter, "{line_break}{place}{}", problem.headline())?;
        }
        Ok(())
    }
}

impl Error for Problems {}

/// Returns a value as part of a sentence: "`x` is a string".
pub(super) fn describe(node: &Node) -> String {
    match &node.value {
        Value::String(text) => format!("the string `{}`", clipped(text)),
        Value::Integer(number) => format!("the number `{number}`"),
        Value::Float(number) => format!("the number `{number}`"),
        Value::Boolean(value) => format!("`{value}`"),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}

/// Returns the beginning of a text that is too long to be quoted.
pub(super) fn clipped(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
