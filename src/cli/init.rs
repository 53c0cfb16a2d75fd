//! `forkcast init`: a commented scenario or figure file to start from.

use std::path::PathBuf;

use super::args::{FigureKind, InitOptions};
use super::failure::Failure;
use super::{files, init_session, terminal};

const STARTER: &str = concat!(include_str!("starter.toml"), include_str!("starters/work.toml"));

/// Writes the starter, but never over a file that is there.
pub(super) fn run(options: &InitOptions) -> Result<(), Failure> {
    let standing;
    let (starter, name, command) = match (options.figure, &options.from) {
        (Some(kind), _) => (figure(kind), "figure.toml", "plot"),
        (None, None) => (STARTER, "scenario.toml", "compare"),
        (None, Some(session)) => {
            standing = init_session::scenario(session, options.at)?;
            (standing.as_str(), "scenario.toml", "compare")
        }
    };
    if options.stdout {
        return files::write_out(None, starter);
    }
    let file = options.file.clone().unwrap_or_else(|| PathBuf::from(name));
    if file.exists() {
        return Err(Failure::Message {
            message: format!("`{}` exists already", file.display()),
            hint: Some("name another file, or write to stdout with --stdout".to_owned()),
        });
    }
    files::write_whole(&file, starter)?;
    let shown = terminal::printable(&file.display().to_string());
    terminal::talk(&format!("wrote {shown}; try: forkcast {command} {shown}"));
    Ok(())
}

fn figure(kind: FigureKind) -> &'static str {
    match kind {
        FigureKind::Line => include_str!("starters/line.toml"),
        FigureKind::Bars => include_str!("starters/bars.toml"),
    }
}
