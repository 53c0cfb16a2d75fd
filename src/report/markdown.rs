//! Results as Markdown: the same tables as in [`text`](crate::report::text).

use crate::experiment::Results;
use crate::report::document::{Block, Table, document};
use crate::report::{Header, View};

/// Returns the report as Markdown; `notes` are sentences for people beside the answer.
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
        Block::Heading(text) => format!("## {}\n", escape(text)),
        Block::Paragraph(text) => format!("{}\n", escape(text)),
        Block::Command(text) => format!("    {text}\n"),
        Block::Table(table) => rows(table),
        Block::Lines(lines) => format!("```text\n{}\n```\n", lines.join("\n")),
    }
}

fn rows(table: &Table) -> String {
    let row = |cells: &Vec<String>| {
        let cells: Vec<_> = cells.iter().map(|cell| escape(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let counts = table.heading.len().saturating_sub(table.names);
    let rule = format!("|{}{}\n", "---|".repeat(table.names), "---:|".repeat(counts));
    let rows: String = table.rows.iter().map(row).collect();
    row(&table.heading) + &rule + &rows
}

/// Puts a backslash before each character that Markdown could take for markup.
fn escape(text: &str) -> String {
    let escaped = |c: char| match c {
        '\\' | '|' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '~' => format!("\\{c}"),
        '&' => "&amp;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(escaped).collect()
}
