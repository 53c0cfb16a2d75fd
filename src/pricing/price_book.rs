//! What a price book states: the types of its file, each value with its source.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::pricing::Category;
use crate::units::{Date, Money, PricePerToken, Ratio, Tokens};

/// Dated prices of models, each with its source (semantics T5).
///
/// Reading a file checks only its form; [`PriceBook::problems`] checks what it says.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceBook {
    /// Version of this format: 1.
    pub format_version: u32,
    /// Name by which a scenario refers to the book.
    pub name: String,
    /// Day on which the prices were last compared with their sources.
    pub as_of: Date,
    /// Currency of every amount: `USD`.
    pub currency: String,
    /// Where the prices were found.
    pub source: String,
    /// Factors on token prices that a request can ask for.
    #[serde(default)]
    pub modifiers: Modifiers,
    /// Prices of what is not tokens.
    #[serde(default)]
    pub fees: Fees,
    /// Models by the id that requests and transcripts state.
    #[serde(default)]
    pub models: BTreeMap<String, Model>,
}

impl PriceBook {
    /// Returns a book of models that a scenario states itself, without modifiers and fees.
    ///
    /// Rows without a source get the scenario as theirs.
    pub fn inline(mut models: BTreeMap<String, Model>, as_of: Date) -> PriceBook {
        const SOURCE: &str = "the scenario";
        for row in models.values_mut().flat_map(|model| &mut model.rows) {
            if row.source.is_empty() {
                SOURCE.clone_into(&mut row.source);
            }
        }
        PriceBook {
            format_version: 1,
            name: "inline".to_owned(),
            as_of,
            currency: "USD".to_owned(),
            source: SOURCE.to_owned(),
            modifiers: Modifiers::default(),
            fees: Fees::default(),
            models,
        }
    }

    /// Returns the id and the prices of the model of that id or alias.
    pub fn model(&self, name: &str) -> Option<(&str, &Model)> {
        let by_id = self.models.get_key_value(name);
        let by_alias = || {
            self.models.iter().find(|(_, model)| model.aliases.iter().any(|alias| alias == name))
        };
        by_id.or_else(by_alias).map(|(id, model)| (id.as_str(), model))
    }
}

/// Factors on every token price of a request; those that apply are multiplied (semantics T4).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Modifiers {
    /// Requests of the batch interface.
    pub batch: Option<Modifier>,
    /// Requests that must be processed in one country.
    pub data_residency: Option<Modifier>,
}

/// One factor on token prices.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modifier {
    /// The factor, exact: 0.5 halves every price.
    pub factor: Ratio,
    /// Where it was found.
    pub source: String,
    /// Ids of models for which it is not offered.
    #[serde(default)]
    pub not_for: Vec<String>,
}

/// Prices of what is not tokens; an item of their own on the bill (semantics T4).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fees {
    /// One thousand web searches.
    pub web_search_per_1000: Option<Fee>,
    /// One hour of a managed session while it runs.
    pub session_hour: Option<Fee>,
    /// One hour of a code execution container, beyond any free hours.
    pub container_hour: Option<Fee>,
}

/// One fee.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fee {
    /// Amount in US dollars for one unit.
    pub usd: Money,
    /// Where it was found.
    pub source: String,
}

/// One model: its prices, and the limits that belong to it.
///
/// Prices stand in `rows`. A price stated directly in the model replaces that category in every
/// row, fast ones and length tiers included; without rows the direct prices are the only row.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// Name for people.
    pub name: Option<String>,
    /// Day of release.
    pub released: Option<Date>,
    /// Other ids of the same model, such as dated ones.
    pub aliases: Vec<String>,
    /// Shortest prefix that can be cached (semantics E2); none: 0.
    pub minimum_cacheable_tokens: Option<Tokens>,
    /// Where the minimum was found.
    pub minimum_source: Option<String>,
    /// Whether no source confirms the minimum.
    pub minimum_assumed: bool,
    /// Largest prompt and output together.
    pub context_window_tokens: Option<Tokens>,
    /// Largest output of one request.
    pub max_output_tokens: Option<Tokens>,
    /// Where window and largest output were found.
    pub limits_source: Option<String>,
    /// Whether no source confirms window or largest output.
    pub limits_assumed: bool,
    /// Base input price in every row.
    #[serde(alias = "input", alias = "uncached")]
    pub input_usd_per_mtok: Option<PricePerToken>,
    /// Price of a 5-minute cache write in every row.
    #[serde(alias = "cache_write_5m", alias = "write_5m")]
    pub cache_write_5m_usd_per_mtok: Option<PricePerToken>,
    /// Price of a 1-hour cache write in every row.
    #[serde(alias = "cache_write_1h", alias = "write_1h")]
    pub cache_write_1h_usd_per_mtok: Option<PricePerToken>,
    /// Price of a cache read in every row.
    #[serde(alias = "cache_read", alias = "read")]
    pub cache_read_usd_per_mtok: Option<PricePerToken>,
    /// Price of output in every row.
    #[serde(alias = "output")]
    pub output_usd_per_mtok: Option<PricePerToken>,
    /// Prices by period, length tier and speed.
    pub rows: Vec<PriceRow>,
}

impl Model {
    /// Returns the price that replaces this category in every row, if one is stated.
    pub const fn direct_price(&self, category: Category) -> Option<PricePerToken> {
        match category {
            Category::Input => self.input_usd_per_mtok,
            Category::CacheWrite5m => self.cache_write_5m_usd_per_mtok,
            Category::CacheWrite1h => self.cache_write_1h_usd_per_mtok,
            Category::CacheRead => self.cache_read_usd_per_mtok,
            Category::Output => self.output_usd_per_mtok,
        }
    }
}

/// Prices of one model in one period, for one length tier and speed.
///
/// A price that is not stated is an error where it is needed, never zero; an explicit 0 is a price.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PriceRow {
    /// First day of the period; none: since ever.
    pub from: Option<Date>,
    /// First day after the period; none: until further notice.
    pub until: Option<Date>,
    /// The row holds for requests whose prompt is longer than this (semantics T3).
    pub above_prompt_tokens: Tokens,
    /// Speed of the requests for which the row holds.
    pub speed: Speed,
    /// Base input price.
    pub input_usd_per_mtok: Option<PricePerToken>,
    /// Price of a 5-minute cache write.
    pub cache_write_5m_usd_per_mtok: Option<PricePerToken>,
    /// Price of a 1-hour cache write.
    pub cache_write_1h_usd_per_mtok: Option<PricePerToken>,
    /// Price of a cache read.
    pub cache_read_usd_per_mtok: Option<PricePerToken>,
    /// Price of output.
    pub output_usd_per_mtok: Option<PricePerToken>,
    /// Where the row was found.
    pub source: String,
    /// Whether no source confirms the row; its use is warned of (semantics T5).
    pub assumed: bool,
}

impl PriceRow {
    /// Returns the price of a category, if the row states one.
    pub const fn price(&self, category: Category) -> Option<PricePerToken> {
        match category {
            Category::Input => self.input_usd_per_mtok,
            Category::CacheWrite5m => self.cache_write_5m_usd_per_mtok,
            Category::CacheWrite1h => self.cache_write_1h_usd_per_mtok,
            Category::CacheRead => self.cache_read_usd_per_mtok,
            Category::Output => self.output_usd_per_mtok,
        }
    }

    /// Returns whether the row holds on a day: `from <= date < until`.
    pub fn in_force(&self, date: Date) -> bool {
        self.from.is_none_or(|from| from <= date) && self.until.is_none_or(|until| date < until)
    }
}

/// How fast a request is served; fast mode has base prices of its own (semantics T4).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Speed {
    /// The ordinary speed.
    #[default]
    Standard,
    /// Fast mode.
    Fast,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::units::parse_date;

    /// Returns the book that is shipped.
    pub(in crate::pricing) fn shipped() -> PriceBook {
        toml::from_str(include_str!("../../scenarios/prices/anthropic-2026-11.toml")).unwrap()
    }

    /// Returns a book with these models and nothing else.
    pub(in crate::pricing) fn book(models: &str) -> PriceBook {
        let head = "format_version = 1\nname = 'test'\nas_of = '2026-11-30'\ncurrency = 'USD'\n\
                    source = 'test'\n";
        toml::from_str(&format!("{head}{models}")).unwrap()
    }

    /// Returns a day from its text.
    pub(in crate::pricing) fn day(text: &str) -> Date {
        parse_date(text).unwrap()
    }

    #[test]
    fn a_model_is_found_by_id_and_by_alias() {
        let book = shipped();
        let (id, model) = book.model("claude-sonnet-4-5-20250929").unwrap();
        assert_eq!((id, model.name.as_deref()), ("claude-sonnet-4-5", Some("Sonnet 4.5")));
        assert_eq!(book.model("claude-opus-5").unwrap().0, "claude-opus-5");
        assert!(book.model("opus").is_none());
    }

    #[test]
    fn a_book_that_is_written_reads_back_the_same() {
        let book = shipped();
        let text = toml::to_string(&book).unwrap();
        assert_eq!(toml::from_str::<PriceBook>(&text).unwrap(), book);
    }

    #[test]
    fn an_unknown_key_is_an_error() {
        let result = toml::from_str::<Model>("inptu = 3");
        assert!(result.unwrap_err().to_string().contains("unknown field `inptu`"));
    }
}
