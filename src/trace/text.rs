//! The bill of a trace for people to read.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, TableStyle, presets};

use crate::cache::Cause;
use crate::ledger::ITEM_NAMES;
use crate::pricing::PriceBook;
use crate::trace::{TraceBill, TraceRequest};
use crate::units::Money;

/// Returns the bill as text: the answer, where each dollar goes, and each request.
pub fn to_text(found: &TraceBill, book: &PriceBook) -> String {
    render(found, book, presets::NOTHING)
}

/// Returns the same as [`to_text`] with tables in Markdown.
pub fn to_markdown(found: &TraceBill, book: &PriceBook) -> String {
    render(found, book, presets::ASCII_MARKDOWN)
}

fn render(found: &TraceBill, book: &PriceBook, style: TableStyle) -> String {
    let bill = &found.bill;
    let mut text = String::new();
    let _ = writeln!(text, "{} for {} requests{}", bill.total, bill.requests, verdict(found));
    if found.failed_attempts > 0 {
        let _ = writeln!(text, "{} failed attempts, charged nothing", found.failed_attempts);
    }
    let _ = writeln!(text, "prices: {}, as of {}\n", book.name, book.as_of);
    let items = ITEM_NAMES.into_iter().zip(bill.items);
    text.push_str(&shares("line item", items, bill.total, style));
    let causes = Cause::ALL.into_iter().map(Cause::name).zip(bill.causes);
    text.push_str(&shares("cause", causes, bill.total, style));
    let _ = writeln!(
        text,
        "without a cache {}, with a perfect one {}; {} misses, {} expected rebuilds\n",
        bill.no_cache, bill.perfect_cache, bill.misses, bill.expected_rebuilds
    );
    let _ = writeln!(text, "{}", requests(&found.requests, style).trim_fmt());
    for warning in &found.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

fn verdict(found: &TraceBill) -> String {
    match found.agrees {
        None => "; no usage is recorded".to_owned(),
        Some(true) => "; the recorded usage agrees token for token".to_owned(),
        Some(false) => {
            let count = found.requests.iter().filter(|one| one.agrees == Some(false)).count();
            let recorded = found.recorded_cost.unwrap_or(Money::ZERO);
            let more = found.bill.total - recorded;
            let relation = if more < Money::ZERO { "less" } else { "more" };
            let amount = if more < Money::ZERO { -more } else { more };
            format!(
                ", {amount} {relation} than the recorded usage costs, {recorded}: {count} requests \
                 differ (marked *)"
            )
        }
    }
}

fn shares<'a>(
    title: &str,
    parts: impl Iterator<Item = (&'a str, Money)>,
    total: Money,
    style: TableStyle,
) -> String {
    let mut table = Table::new();
    table.load_style(style);
    table.set_header([title, "USD", "share"]);
    for (name, part) in parts.filter(|(_, part)| *part != Money::ZERO) {
        let share = 100.0 * part.as_usd() / total.as_usd();
        table.add_row([name.to_owned(), part.to_string(), format!("{share:.1} %")]);
    }
    right_align(&mut table, 1);
    table.trim_fmt() + "\n\n"
}

fn requests(requests: &[TraceRequest], style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(style);
    table.set_header([
        "start s", "agent", "uncached", "write 5m", "write 1h", "read", "output", "USD", "causes",
    ]);
    for one in requests {
        let causes: Vec<String> = one
            .causes
            .iter()
            .filter(|(cause, ..)| !matches!(cause, Cause::Read | Cause::Output))
            .map(|(cause, tokens, _)| format!("{} {tokens}", cause.name()))
            .collect();
        let mark = if one.agrees == Some(false) { " *" } else { "" };
        let usage = &one.usage;
        table.add_row([
            one.start.to_string(),
            format!("{}{mark}", one.agent.escape_debug()),
            usage.uncached.to_string(),
            usage.cache_write_5m.to_string(),
            usage.cache_write_1h.to_string(),
            usage.cache_read.to_string(),
            usage.output.to_string(),
            one.cost.to_string(),
            causes.join(", "),
        ]);
    }
    for index in [0, 2, 3, 4, 5, 6, 7] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn right_align(table: &mut Table, from: usize) {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}
