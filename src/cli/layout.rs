//! Tables of the commands that list and show: plain, CSV or Markdown.

use comfy_table::{Table, presets};
use forkcast::report::csv;

use super::args::TableOptions;

/// Returns a table as text, in the format that was asked for.
pub(super) fn lay_out(mut table: Table, options: &TableOptions) -> String {
    if options.csv {
        let header = table.header().into_iter();
        return header.chain(table.row_iter()).fold(String::new(), |text, row| {
            let cells: Vec<String> = row.cell_iter().map(comfy_table::Cell::content).collect();
            text + &csv::line(&cells)
        });
    }
    let style = if options.markdown { presets::ASCII_MARKDOWN } else { presets::NOTHING };
    table.load_style(style);
    table.trim_fmt() + "\n"
}
