//! `forkcast schema`: the file formats, for editors and for people.

use forkcast::{plot, scenario};

use super::args::SchemaOptions;
use super::failure::Failure;
use super::files;

/// Prints the schema or the reference.
pub(super) fn run(options: &SchemaOptions) -> Result<(), Failure> {
    let text = match (options.figure, options.markdown) {
        (false, false) => format!("{:#}\n", scenario::json_schema()),
        (false, true) => scenario::reference_markdown(),
        (true, false) => format!("{:#}\n", plot::json_schema()),
        (true, true) => plot::reference_markdown(),
    };
    files::write_out(None, &text)
}
