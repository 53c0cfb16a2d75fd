//! What is wrong with a trace, in the terms of its file.

use std::error::Error;
use std::fmt;

/// One problem of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceProblem {
    /// Line of the file, from 1; 0 where the whole file is meant.
    pub line: usize,
    /// Column in characters, from 1, where it is known.
    pub column: Option<usize>,
    /// What is wrong, with the value and what is accepted.
    pub message: String,
    /// What to try.
    pub help: Option<String>,
}

impl TraceProblem {
    /// Returns a problem of a line as a whole.
    pub fn new(line: usize, message: impl Into<String>) -> TraceProblem {
        TraceProblem { line, column: None, message: message.into(), help: None }
    }

    /// Returns the same problem with a column.
    #[must_use]
    pub fn at(self, column: usize) -> TraceProblem {
        TraceProblem { column: Some(column), ..self }
    }

    /// Returns the same problem with a hint.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> TraceProblem {
        TraceProblem { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for TraceProblem {
    /// Writes `12:34: message`, to which the caller puts the name of the file in front.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(formatter, "{}:", self.line)?;
        }
        if let Some(column) = self.column {
            write!(formatter, "{column}:")?;
        }
        write!(formatter, " {}", self.message)
    }
}

/// All problems of a trace, in the order of the file; the first [`TraceProblems::SHOWN_MAX`] are
/// kept and the others counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceProblems {
    /// The problems that are kept.
    pub shown: Vec<TraceProblem>,
    /// Number of further ones.
    pub unshown: usize,
}

impl TraceProblems {
    /// The most problems that are kept.
    pub const SHOWN_MAX: usize = 50;

    /// Adds a problem.
    pub fn push(&mut self, problem: TraceProblem) {
        if self.shown.len() < TraceProblems::SHOWN_MAX {
            self.shown.push(problem);
        } else {
            self.unshown += 1;
        }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns the number of problems, kept or not.
    pub fn len(&self) -> usize {
        self.shown.len() + self.unshown
    }
}

impl fmt::Display for TraceProblems {
    /// Writes one problem a line, and how many more there are.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.shown.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(formatter, "{gap}{problem}")?;
        }
        if self.unshown > 0 {
            write!(formatter, "\nand {} more", self.unshown)?;
        }
        Ok(())
    }
}

impl Error for TraceProblems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_beyond_the_cap_are_counted() {
        let mut problems = TraceProblems::default();
        for line in 1..=52 {
            problems.push(TraceProblem::new(line, "wrong").at(3));
        }
        assert_eq!((problems.len(), problems.unshown), (52, 2));
        let text = problems.to_string();
        assert!(text.starts_with("1:3: wrong\n2:3: wrong\n"), "{text}");
        assert!(text.ends_with("50:3: wrong\nand 2 more"), "{text}");
    }
}
