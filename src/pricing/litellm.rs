//! Price books made from LiteLLM's public map of models (semantics T5).
//!
//! The map states prices per token as decimal numbers, which are taken digit by digit. What it does
//! not state, such as a one-hour write above a length, stays without a price; nothing is inferred.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use crate::pricing::{Fee, Model, Modifier, Modifiers, PriceBook, PriceRow, Speed};
use crate::units::{Date, Money, PricePerToken, Ratio, Tokens};

/// What a book made of the map is called, and which models it has.
#[derive(Clone, Debug)]
pub struct ImportOptions<'a> {
    /// Name of the book.
    pub name: &'a str,
    /// Day on which the map was taken.
    pub as_of: Date,
    /// Where the map was found.
    pub source: &'a str,
    /// Providers as the map names them; none: all.
    pub providers: &'a [String],
}

/// A book made of the map.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The book.
    pub book: PriceBook,
    /// Models of the chosen providers that are left out, and why.
    pub left_out: Vec<(String, &'static str)>,
}

/// Modes of the map in which tokens are bought.
const MODES: [&str; 3] = ["chat", "completion", "responses"];
/// What the map says of the batch interface of a model: half of every price.
const BATCH: Ratio = Ratio::from_millionths(500_000);
/// What the map says of requests that stay in one country.
const RESIDENCY: Ratio = Ratio::from_millionths(1_100_000);

type Entry<'a> = BTreeMap<String, &'a RawValue>;

/// Makes a price book of the text of LiteLLM's `model_prices_and_context_window.json`.
///
/// # Errors
/// When the text is not such a map, or none of its models can be taken.
pub fn import_litellm(text: &str, options: &ImportOptions<'_>) -> Result<Imported, String> {
    let map: BTreeMap<String, Entry<'_>> = serde_json::from_str(text)
        .map_err(|error| format!("not LiteLLM's map of models: {error}"))?;
    let mut found = Imported { book: empty_book(options), left_out: Vec::new() };
    let (mut no_batch, mut no_residency) = (Vec::new(), Vec::new());
    let (mut searches, mut known) = (BTreeSet::new(), BTreeSet::new());
    for (id, entry) in &map {
        let provider = text_of(entry, "litellm_provider").unwrap_or_default();
        known.insert(provider.clone());
        let is_wanted = options.providers.is_empty() || options.providers.contains(&provider);
        if !is_wanted || id == "sample_spec" {
            continue;
        }
        match model(entry, options.source) {
            Err(reason) => found.left_out.push((id.clone(), reason)),
            Ok(model) => {
                if !has_batch(entry) {
                    no_batch.push(id.clone());
                }
                if specific(entry, "us") != Some(RESIDENCY) {
                    no_residency.push(id.clone());
                }
                searches.extend(search_fee(entry));
                found.book.models.insert(id.clone(), model);
            }
        }
    }
    if found.book.models.is_empty() {
        let known: Vec<String> = known.into_iter().filter(|name| !name.is_empty()).collect();
        return Err(format!("no model with prices; providers: {}", known.join(", ")));
    }
    let offered = |factor, not_for: Vec<String>| {
        let is_offered = not_for.len() < found.book.models.len();
        is_offered.then(|| Modifier { factor, source: options.source.to_owned(), not_for })
    };
    found.book.modifiers = Modifiers {
        batch: offered(BATCH, no_batch),
        data_residency: offered(RESIDENCY, no_residency),
    };
    if searches.len() == 1 {
        let usd = searches.into_iter().next().unwrap_or(Money::ZERO);
        found.book.fees.web_search_per_1000 = Some(Fee { usd, source: options.source.to_owned() });
    }
    Ok(found)
}

fn empty_book(options: &ImportOptions<'_>) -> PriceBook {
    let mut book = PriceBook::inline(BTreeMap::new(), options.as_of);
    options.name.clone_into(&mut book.name);
    options.source.clone_into(&mut book.source);
    book
}

fn text_of(entry: &Entry<'_>, key: &str) -> Option<String> {
    serde_json::from_str(entry.get(key)?.get()).ok()
}

fn tokens_of(entry: &Entry<'_>, key: &str) -> Option<Tokens> {
    let count: u64 = serde_json::from_str(entry.get(key)?.get()).ok()?;
    (0 < count && count <= Tokens::MAX.get()).then(|| Tokens::new(count))
}

/// Returns a model of the map, or why it cannot be one of a book.
fn model(entry: &Entry<'_>, source: &str) -> Result<Model, &'static str> {
    let mode = text_of(entry, "mode").unwrap_or_default();
    if !MODES.contains(&mode.as_str()) {
        return Err("not a model for text");
    }
    let source = match text_of(entry, "source") {
        Some(own) if !own.is_empty() => format!("{source}; {own}"),
        _ => source.to_owned(),
    };
    let mut rows = vec![row(entry, "", &source)?];
    let standard = &rows[0];
    if standard.input_usd_per_mtok.is_none() || standard.output_usd_per_mtok.is_none() {
        return Err("no price of input or output tokens");
    }
    for thousands in thresholds(entry) {
        let mut tier = row(entry, &format!("_above_{thousands}k_tokens"), &source)?;
        tier.above_prompt_tokens = Tokens::new(thousands * 1_000);
        rows.push(tier);
    }
    if let Some(factor) = specific(entry, "fast") {
        for standard in rows.clone() {
            rows.push(fast(&standard, factor).ok_or("a fast price finer than a picodollar")?);
        }
    }
    let minimum = tokens_of(entry, "prompt_cache_min_tokens");
    Ok(Model {
        minimum_cacheable_tokens: minimum,
        minimum_source: minimum.map(|_| source.clone()),
        context_window_tokens: tokens_of(entry, "max_input_tokens"),
        max_output_tokens: tokens_of(entry, "max_output_tokens"),
        limits_source: Some(source),
        rows,
        ..Model::default()
    })
}

/// Returns the prices whose keys end so.
fn row(entry: &Entry<'_>, ending: &str, source: &str) -> Result<PriceRow, &'static str> {
    let price = |key: &str| match entry.get(&format!("{key}{ending}")) {
        None => Ok(None),
        Some(value) if value.get() == "null" => Ok(None),
        Some(value) => picodollars(value.get())
            .map(|price| Some(PricePerToken::from_picodollars(price)))
            .ok_or("a price that is no whole number of picodollars"),
    };
    Ok(PriceRow {
        input_usd_per_mtok: price("input_cost_per_token")?,
        cache_write_5m_usd_per_mtok: price("cache_creation_input_token_cost")?,
        cache_write_1h_usd_per_mtok: price("cache_creation_input_token_cost_above_1hr")?,
        cache_read_usd_per_mtok: price("cache_read_input_token_cost")?,
        output_usd_per_mtok: price("output_cost_per_token")?,
        source: source.to_owned(),
        ..PriceRow::default()
    })
}

/// Returns the lengths above which other prices hold, in thousands of tokens.
fn thresholds(entry: &Entry<'_>) -> BTreeSet<u64> {
    let between = |key: &String| {
        let number = key.strip_prefix("input_cost_per_token_above_")?.strip_suffix("k_tokens")?;
        number.parse::<u64>().ok().filter(|thousands| (1..1_000_000).contains(thousands))
    };
    entry.keys().filter_map(between).collect()
}

/// Returns the row of fast mode: every price times the factor.
fn fast(standard: &PriceRow, factor: Ratio) -> Option<PriceRow> {
    let scaled = |price: Option<PricePerToken>| match price {
        None => Some(None),
        Some(price) => price.scaled([factor, Ratio::ONE]).map(Some),
    };
    Some(PriceRow {
        speed: Speed::Fast,
        input_usd_per_mtok: scaled(standard.input_usd_per_mtok)?,
        cache_write_5m_usd_per_mtok: scaled(standard.cache_write_5m_usd_per_mtok)?,
        cache_write_1h_usd_per_mtok: scaled(standard.cache_write_1h_usd_per_mtok)?,
        cache_read_usd_per_mtok: scaled(standard.cache_read_usd_per_mtok)?,
        output_usd_per_mtok: scaled(standard.output_usd_per_mtok)?,
        ..standard.clone()
    })
}

/// Returns a factor that stands under `provider_specific_entry`.
fn specific(entry: &Entry<'_>, key: &str) -> Option<Ratio> {
    let table: Entry<'_> =
        serde_json::from_str(entry.get("provider_specific_entry")?.get()).ok()?;
    let millionths = decimal(table.get(key)?.get(), 6)?;
    let millionths = u64::try_from(millionths).ok()?;
    (0 < millionths && millionths <= Ratio::MAX.millionths())
        .then(|| Ratio::from_millionths(millionths))
}

/// Whether batches cost half of input and output.
fn has_batch(entry: &Entry<'_>) -> bool {
    let price = |key: &str| entry.get(key).and_then(|value| picodollars(value.get()));
    let halves = |key: &str| {
        let batch = price(&format!("{key}_batches"));
        batch.is_some_and(|batch| price(key) == Some(2 * batch))
    };
    halves("input_cost_per_token") && halves("output_cost_per_token")
}

/// Returns the fee of a thousand web searches, where it does not depend on their size.
fn search_fee(entry: &Entry<'_>) -> Option<Money> {
    let sizes: Entry<'_> =
        serde_json::from_str(entry.get("search_context_cost_per_query")?.get()).ok()?;
    let fees: BTreeSet<u128> =
        sizes.values().map(|fee| decimal(fee.get(), 12)).collect::<Option<_>>()?;
    let fee = fees.first().filter(|_| fees.len() == 1)?;
    i128::try_from(fee * 1_000).ok().map(Money::from_picodollars)
}

fn picodollars(number: &str) -> Option<u64> {
    let price = u64::try_from(decimal(number, 12)?).ok()?;
    (price <= PricePerToken::MAX.picodollars()).then_some(price)
}

/// Returns a JSON number times a power of ten, if that is a whole number; exactly, without floats.
fn decimal(number: &str, power: i32) -> Option<u128> {
    let (digits, exponent) = match number.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let part = part.trim_end_matches('0');
    let mantissa: u128 = format!("{whole}{part}").parse().ok()?;
    let shift = power.checked_add(exponent)?.checked_sub(part.len() as i32)?;
    let scale = 10_u128.checked_pow(shift.unsigned_abs())?;
    if shift >= 0 {
        return mantissa.checked_mul(scale);
    }
    mantissa.is_multiple_of(scale).then(|| mantissa / scale)
}

/// Goal: every number comes over exactly, and what is not stated is not made up. Method: a map in
/// the form of LiteLLM's with two models by hand.
#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = r#"{
        "sample_spec": {"input_cost_per_token": 0.0, "mode": "one of: chat"},
        "tall": {"litellm_provider": "a", "mode": "chat", "input_cost_per_token": 5e-06,
            "output_cost_per_token": 2.5e-05, "cache_read_input_token_cost": 2e-07,
            "cache_creation_input_token_cost": 6.25e-06,
            "cache_creation_input_token_cost_above_1hr": 1e-05,
            "input_cost_per_token_above_200k_tokens": 1e-05,
            "output_cost_per_token_above_200k_tokens": 0.0000375,
            "input_cost_per_token_batches": 2.5e-06, "output_cost_per_token_batches": 1.25e-05,
            "provider_specific_entry": {"us": 1.1, "fast": 2}, "max_input_tokens": 1000000,
            "search_context_cost_per_query": {"low": 0.01, "high": 0.01}, "source": "here"},
        "plain": {"litellm_provider": "a", "mode": "chat", "input_cost_per_token": 0.0,
            "output_cost_per_token": 1e-06},
        "picture": {"litellm_provider": "a", "mode": "image_generation"},
        "other": {"litellm_provider": "b", "mode": "chat", "input_cost_per_token": 1e-06,
            "output_cost_per_token": 1e-06}
    }"#;

    fn imported() -> Imported {
        let options = ImportOptions {
            name: "own",
            as_of: Date::new(2026, 11, 30).unwrap(),
            source: "the map",
            providers: &["a".to_owned()],
        };
        import_litellm(MAP, &options).unwrap()
    }

    #[test]
    fn prices_tiers_and_modifiers_come_over() {
        let Imported { book, left_out } = imported();
        assert_eq!(book.models.keys().collect::<Vec<_>>(), ["plain", "tall"]);
        assert_eq!(left_out, [("picture".to_owned(), "not a model for text")]);
        assert!(book.problems().is_empty(), "{:?}", book.problems());
        let tall = &book.models["tall"];
        let rows = tall.rows.iter().map(|row| {
            let price = |price: Option<PricePerToken>| {
                price.map_or_else(|| "-".to_owned(), |price| price.to_string())
            };
            let fast = if row.speed == Speed::Fast { "fast" } else { "" };
            format!(
                "{fast}{} {} {} {}",
                row.above_prompt_tokens,
                price(row.input_usd_per_mtok),
                price(row.cache_write_1h_usd_per_mtok),
                price(row.output_usd_per_mtok)
            )
        });
        let expected = [
            "0 5.00 10.00 25.00",
            "200,000 10.00 - 37.50",
            "fast0 10.00 20.00 50.00",
            "fast200,000 20.00 - 75.00",
        ];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        assert_eq!(book.modifiers.batch.unwrap().not_for, ["plain"]);
        assert_eq!(book.modifiers.data_residency.unwrap().not_for, ["plain"]);
        assert_eq!(book.fees.web_search_per_1000.unwrap().usd.to_string(), "$10.00");
    }

    #[test]
    fn numbers_are_taken_digit_by_digit() {
        let cases = [
            ("5e-06", Some(5_000_000)),
            ("0.0000003", Some(300_000)),
            ("1.25E-07", Some(125_000)),
            ("0", Some(0)),
            ("1e-13", None),
            ("-1e-06", None),
            ("\"x\"", None),
        ];
        for (number, price) in cases {
            assert_eq!(picodollars(number), price, "{number}");
        }
    }
}
