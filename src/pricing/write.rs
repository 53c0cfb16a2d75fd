//! A price book as the text of its file.

use std::fmt::Write;

use crate::pricing::{Category, Model, PriceBook, PriceRow, Speed};

/// Returns the text of a price book, which reads back as the same book.
///
/// Prices of models are written in rows; prices that a model states directly are not.
pub fn write_book(book: &PriceBook) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "format_version = {}\nname = {}\nas_of = \"{}\"\ncurrency = {}\nsource = {}",
        book.format_version,
        quoted(&book.name),
        book.as_of,
        quoted(&book.currency),
        quoted(&book.source)
    );
    let modifiers = [
        ("batch", book.modifiers.batch.as_ref()),
        ("data_residency", book.modifiers.data_residency.as_ref()),
    ];
    for (name, modifier) in modifiers {
        let Some(modifier) = modifier else { continue };
        let _ = writeln!(
            text,
            "\n[modifiers.{name}]\nfactor = {}\nsource = {}",
            modifier.factor,
            quoted(&modifier.source)
        );
        if !modifier.not_for.is_empty() {
            let _ = writeln!(text, "not_for = [");
            for model in &modifier.not_for {
                let _ = writeln!(text, "  {},", quoted(model));
            }
            let _ = writeln!(text, "]");
        }
    }
    let fees = [
        ("web_search_per_1000", book.fees.web_search_per_1000.as_ref()),
        ("session_hour", book.fees.session_hour.as_ref()),
        ("container_hour", book.fees.container_hour.as_ref()),
    ];
    for (name, fee) in fees {
        let Some(fee) = fee else { continue };
        let _ = writeln!(
            text,
            "\n[fees.{name}]\nusd = {}\nsource = {}",
            fee.usd.to_string().trim_start_matches('$'),
            quoted(&fee.source)
        );
    }
    for (id, model) in &book.models {
        write_model(&mut text, &key(id), model);
    }
    text
}

fn write_model(text: &mut String, id: &str, model: &Model) {
    let _ = writeln!(text, "\n[models.{id}]");
    if let Some(name) = &model.name {
        let _ = writeln!(text, "name = {}", quoted(name));
    }
    if let Some(day) = model.released {
        let _ = writeln!(text, "released = \"{day}\"");
    }
    if !model.aliases.is_empty() {
        let aliases: Vec<String> = model.aliases.iter().map(|alias| quoted(alias)).collect();
        let _ = writeln!(text, "aliases = [{}]", aliases.join(", "));
    }
    let counts = [
        ("minimum_cacheable_tokens", model.minimum_cacheable_tokens),
        ("context_window_tokens", model.context_window_tokens),
        ("max_output_tokens", model.max_output_tokens),
    ];
    for (name, tokens) in counts {
        if let Some(tokens) = tokens {
            let _ = writeln!(text, "{name} = {}", tokens.get());
        }
    }
    let sources =
        [("minimum_source", &model.minimum_source), ("limits_source", &model.limits_source)];
    for (name, source) in sources {
        if let Some(source) = source {
            let _ = writeln!(text, "{name} = {}", quoted(source));
        }
    }
    let assumed =
        [("minimum_assumed", model.minimum_assumed), ("limits_assumed", model.limits_assumed)];
    for (name, _) in assumed.into_iter().filter(|(_, is_assumed)| *is_assumed) {
        let _ = writeln!(text, "{name} = true");
    }
    for row in &model.rows {
        write_row(text, id, row);
    }
}

fn write_row(text: &mut String, id: &str, row: &PriceRow) {
    let _ = writeln!(text, "\n[[models.{id}.rows]]");
    if row.speed == Speed::Fast {
        let _ = writeln!(text, "speed = \"fast\"");
    }
    if !row.above_prompt_tokens.is_zero() {
        let _ = writeln!(text, "above_prompt_tokens = {}", row.above_prompt_tokens.get());
    }
    for (name, day) in [("from", row.from), ("until", row.until)] {
        if let Some(day) = day {
            let _ = writeln!(text, "{name} = \"{day}\"");
        }
    }
    for category in Category::ALL {
        if let Some(price) = row.price(category) {
            // As text, since a price may have more decimals than a float shows.
            let _ = writeln!(text, "{} = \"{price}\"", category.price_key());
        }
    }
    let _ = writeln!(text, "source = {}", quoted(&row.source));
    if row.assumed {
        let _ = writeln!(text, "assumed = true");
    }
}

/// Returns a key as TOML writes it: bare where that is allowed.
fn key(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !text.is_empty() && text.chars().all(is_plain) { text.to_owned() } else { quoted(text) }
}

/// Returns a text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::price_book::tests::shipped;

    #[test]
    fn a_written_book_reads_back_as_it_was() {
        let book = shipped();
        let text = write_book(&book);
        let read: PriceBook = toml::from_str(&text).unwrap();
        assert_eq!(read, book);
    }
}
