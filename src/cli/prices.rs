//! `forkcast prices`: the price books and where each price comes from.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table};
use forkcast::pricing::{Category, Model, PriceBook, PriceRow, Speed};
use forkcast::scenario::{PRICE_BOOKS, load_book};

use super::args::{PricesCommand, TableOptions};
use super::failure::Failure;
use super::layout::lay_out;
use super::{files, prices_import, terminal};

/// Runs one of the price commands.
pub(super) fn run(command: &PricesCommand) -> Result<(), Failure> {
    let text = match command {
        PricesCommand::List => list()?,
        PricesCommand::Import(options) => return prices_import::run(options),
        PricesCommand::Show { book, model: None, table } => show(&open(book)?, table),
        PricesCommand::Show { book, model: Some(model), table } => {
            show_model(&open(book)?, model, table)?
        }
    };
    files::write_out(None, &text)
}

/// Reads a price book, shipped or a file.
pub(super) fn open(name: &str) -> Result<PriceBook, Failure> {
    load_book(name, &mut files::reader_beside(std::path::Path::new("")))
        .map_err(|problems| Failure::problems(&problems))
}

fn list() -> Result<String, Failure> {
    let mut text = String::new();
    for (name, _) in PRICE_BOOKS {
        let book = open(name)?;
        let _ = writeln!(
            text,
            "{name}  as of {}, {} models, {}",
            book.as_of,
            book.models.len(),
            book.source
        );
    }
    Ok(text)
}

const HEADER: [&str; 9] =
    ["model", "input", "write 5m", "write 1h", "read", "output", "minimum", "window", "note"];

fn show(book: &PriceBook, options: &TableOptions) -> String {
    let mut table = Table::new();
    table.set_header(HEADER);
    for (name, model) in &book.models {
        for row in &model.rows {
            table.add_row(cells(name, model, row));
        }
    }
    for column in table.column_iter_mut().skip(1).take(7) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let table = lay_out(table, options);
    if options.csv {
        return table;
    }
    format!(
        "{}, as of {}: US dollars per million tokens; minimum cacheable prefix and window in \
         tokens\n\n{table}",
        terminal::printable(&book.name),
        book.as_of,
    )
}

fn cells(name: &str, model: &Model, row: &PriceRow) -> Vec<String> {
    let mut cells = vec![terminal::printable(name)];
    for category in Category::ALL {
        let price = model.direct_price(category).or(row.price(category));
        cells.push(price.map_or_else(|| "-".to_owned(), |price| price.to_string()));
    }
    let shown = |tokens: Option<forkcast::units::Tokens>| {
        tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string())
    };
    cells.push(shown(model.minimum_cacheable_tokens));
    cells.push(shown(model.context_window_tokens));
    cells.push(note(model, row));
    cells
}

fn note(model: &Model, row: &PriceRow) -> String {
    let mut notes = Vec::new();
    if row.speed == Speed::Fast {
        notes.push("fast".to_owned());
    }
    if !row.above_prompt_tokens.is_zero() {
        notes.push(format!("prompts above {}", row.above_prompt_tokens));
    }
    if let Some(from) = row.from {
        notes.push(format!("from {from}"));
    }
    if let Some(until) = row.until {
        notes.push(format!("until {until}"));
    }
    if row.assumed {
        notes.push("price assumed".to_owned());
    }
    if model.minimum_assumed {
        notes.push("minimum assumed".to_owned());
    }
    if model.limits_assumed {
        notes.push("window assumed".to_owned());
    }
    notes.join(", ")
}

fn show_model(book: &PriceBook, name: &str, options: &TableOptions) -> Result<String, Failure> {
    let Some((id, model)) = book.model(name) else {
        let known: Vec<&str> = book.models.keys().map(String::as_str).collect();
        return Err(Failure::Message {
            message: format!("the price book `{}` has no model `{name}`", book.name),
            hint: Some(format!("known models: {}", known.join(", "))),
        });
    };
    if options.csv || options.markdown {
        return Ok(lay_out(model_table(id, model), options));
    }
    let mut text = format!("{id}\n");
    for row in &model.rows {
        let note = note(model, row);
        let _ = writeln!(text, "\n  {}", if note.is_empty() { "standard" } else { &note });
        for category in Category::ALL {
            if let Some(price) = model.direct_price(category).or(row.price(category)) {
                let _ = writeln!(text, "    {:<16} ${price}/MTok", category.to_string());
            }
        }
        let _ = writeln!(text, "    source: {}", terminal::printable(&row.source));
    }
    if let Some(minimum) = model.minimum_cacheable_tokens {
        let source = model.minimum_source.as_deref().unwrap_or("not stated");
        let _ =
            writeln!(text, "\n  minimum cacheable prefix: {minimum} tokens\n    source: {source}");
    }
    Ok(text)
}

/// One row for each price of a model.
fn model_table(id: &str, model: &Model) -> Table {
    let mut table = Table::new();
    table.set_header(["model", "note", "part", "usd_per_mtok", "source"]);
    for row in &model.rows {
        for category in Category::ALL {
            if let Some(price) = model.direct_price(category).or(row.price(category)) {
                let (part, price) = (category.to_string(), price.to_string());
                let source = terminal::printable(&row.source);
                table.add_row([terminal::printable(id), note(model, row), part, price, source]);
            }
        }
    }
    table
}
