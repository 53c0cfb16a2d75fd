//! How a command can fail, and with which exit code.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use forkcast::scenario::Problems;

use super::{files, terminal};

/// Done.
pub(super) const DONE: u8 = 0;
/// Bad input.
pub(super) const INPUT: u8 = 1;
/// Bad usage.
pub(super) const USAGE: u8 = 2;
/// A check or cap did not hold.
pub(super) const CHECK: u8 = 3;
/// A bug of ours.
pub(super) const BUG: u8 = 70;

/// Why a command did not come to its end.
#[derive(Debug)]
pub(super) enum Failure {
    /// The input is wrong; the text says all of it.
    Input(String),
    /// The input cannot be read or the output not written.
    Message {
        /// What went wrong.
        message: String,
        /// What to try.
        hint: Option<String>,
    },
    /// The command line asks for what does not go together.
    Usage {
        /// What is wrong.
        message: String,
        /// What to try.
        hint: &'static str,
    },
    /// Options are wrong; the text says all of it.
    Options(String),
    /// A check or cap did not hold; the results have been printed.
    Check(String),
    /// The reader of our output has gone: not an error.
    BrokenPipe,
    /// A bug of ours; the panic has been printed.
    Bug,
}

impl Failure {
    /// A failure with one line of message.
    pub(super) fn message(message: impl Into<String>) -> Failure {
        Failure::Message { message: message.into(), hint: None }
    }

    /// Options that do not go together.
    pub(super) fn usage(message: String, hint: &'static str) -> Failure {
        Failure::Usage { message, hint }
    }

    /// The failure to do something with a file.
    pub(super) fn file(action: &str, path: &Path, error: &io::Error) -> Failure {
        Failure::message(format!("cannot {action} `{}`: {}", path.display(), files::reason(error)))
    }

    /// Problems of a scenario or price book.
    pub(super) fn problems(problems: &Problems) -> Failure {
        Failure::Input(problems.render(terminal::stderr_has_color()))
    }

    /// Puts the failures of several inputs together, each text once.
    ///
    /// # Errors
    /// When there is a failure.
    pub(super) fn of_all(failures: Vec<Failure>) -> Result<(), Failure> {
        let mut texts: Vec<String> = Vec::new();
        for failure in failures {
            match failure {
                Failure::Input(text) if texts.contains(&text) => {}
                Failure::Input(text) => texts.push(text),
                other => return Err(other),
            }
        }
        if texts.is_empty() { Ok(()) } else { Err(Failure::Input(texts.join("\n\n"))) }
    }

    /// A failure with one line of message and what to try.
    pub(super) fn hinted(message: String, hint: &str) -> Failure {
        Failure::Message { message, hint: Some(hint.to_owned()) }
    }

    /// Prints the failure and returns its exit code.
    pub(super) fn report(self) -> ExitCode {
        let code = match self {
            Failure::Input(text) => {
                terminal::talk(text.trim_end());
                INPUT
            }
            Failure::Message { message, hint } => {
                terminal::talk(&format!("error: {}", terminal::printable(&message)));
                if let Some(hint) = hint {
                    terminal::talk(&format!("\nhint: {hint}"));
                }
                INPUT
            }
            Failure::Usage { message, hint } => {
                terminal::talk(&format!("error: {message}\n\nhint: {hint}"));
                USAGE
            }
            Failure::Options(text) => {
                terminal::talk(text.trim_end());
                USAGE
            }
            Failure::Check(message) => {
                terminal::talk(&format!("error: {message}"));
                CHECK
            }
            Failure::BrokenPipe => DONE,
            Failure::Bug => {
                terminal::talk("error: this is a bug in forkcast; please report it");
                BUG
            }
        };
        ExitCode::from(code)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Failure::BrokenPipe
        } else {
            Failure::message(format!("cannot write the output: {error}"))
        }
    }
}
