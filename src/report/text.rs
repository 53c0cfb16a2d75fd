//! Results as plain text of at most 100 columns, commands to copy excepted.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};

use crate::experiment::Results;
use crate::report::document::{Block, Table, document};
use crate::report::{Header, View};

/// Columns of a line.
const WIDTH: usize = 100;

/// A rule under the heading, and no other lines.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// Returns the report as text; `notes` are sentences for people beside the answer.
pub fn render(header: &Header, results: &Results, view: View, notes: &[String]) -> String {
    join(&document(header, results, view, notes))
}

/// Returns blocks one after the other.
pub(super) fn join(blocks: &[Block]) -> String {
    let blocks: Vec<_> = blocks.iter().map(block).collect();
    blocks.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) | Block::Paragraph(text) => wrap(text),
        Block::Command(text) => format!("  {text}\n"),
        Block::Table(table) => rows(table),
        Block::Lines(lines) => lines.join("\n") + "\n",
    }
}

fn rows(table: &Table) -> String {
    let mut text = comfy_table::Table::new();
    text.load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH as u16)
        .set_header(&table.heading)
        .add_rows(&table.rows);
    for column in text.column_iter_mut().skip(table.names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text.trim_fmt() + "\n"
}

/// Breaks text between words so that no line is longer than it must be.
fn wrap(text: &str) -> String {
    wrapped(text, WIDTH).join("\n") + "\n"
}

/// Returns the lines of a text broken between words, of at most `width` columns where words allow.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        } else if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    lines.push(line);
    lines
}
