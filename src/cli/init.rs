//! `forkcast init`: a commented scenario to start from.

use super::args::InitOptions;
use super::failure::Failure;
use super::{files, terminal};

const STARTER: &str = include_str!("starter.toml");

/// Writes the starter, but never over a file that is there.
pub(super) fn run(options: &InitOptions) -> Result<(), Failure> {
    if options.stdout {
        return files::write_out(None, STARTER);
    }
    if options.file.exists() {
        return Err(Failure::Message {
            message: format!("`{}` exists already", options.file.display()),
            hint: Some("name another file, or write to stdout with --stdout".to_owned()),
        });
    }
    files::write_whole(&options.file, STARTER)?;
    terminal::talk(&format!(
        "wrote {}; try: forkcast compare {0}",
        terminal::printable(&options.file.display().to_string())
    ));
    Ok(())
}
