//! `forkcast schema`: the file format, for editors and for people.

use forkcast::scenario::{json_schema, reference_markdown};

use super::args::SchemaOptions;
use super::failure::Failure;
use super::files;

/// Prints the schema or the reference.
pub(super) fn run(options: &SchemaOptions) -> Result<(), Failure> {
    let text =
        if options.markdown { reference_markdown() } else { format!("{:#}\n", json_schema()) };
    files::write_out(None, &text)
}
