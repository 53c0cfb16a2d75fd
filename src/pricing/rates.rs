//! The prices in force for one model on one day, ready to multiply.

use thiserror::Error;

use crate::pricing::price_book::{Model, Modifier, PriceBook, PriceRow, Speed};
use crate::pricing::usage::Category;
use crate::units::{Date, PricePerToken, Ratio, Tokens};

/// How requests are made, as far as it changes prices (semantics T4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateOptions {
    /// Whether they go through the batch interface.
    pub batch: bool,
    /// Whether they must be processed in one country.
    pub data_residency: bool,
    /// Whether they use fast mode, which is not offered in batches.
    pub fast: bool,
}

/// Why there is no price. Never is a missing price taken for zero (semantics T5).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PriceError {
    /// The book has no such model.
    #[error(
        "unknown model `{model}`{}; known models: {}",
        did_you_mean(nearest.as_deref()),
        list(known)
    )]
    UnknownModel {
        /// The name asked for.
        model: String,
        /// The known name most like it.
        nearest: Option<String>,
        /// Ids of all models of the book.
        known: Vec<String>,
    },
    /// The model has prices, but none on that day.
    #[error("model `{model}` has no price in force on {date}; its prices hold {}", list(periods))]
    NotInForce {
        /// Id of the model.
        model: String,
        /// The day asked for.
        date: Date,
        /// The periods for which there are prices.
        periods: Vec<String>,
    },
    /// The price of one category is not stated.
    #[error(
        "model `{model}` has no {category} price; state `{}`, 0 where it is free",
        category.price_key()
    )]
    MissingPrice {
        /// Id of the model.
        model: String,
        /// The category without a price.
        category: Category,
    },
    /// The model has no fast mode.
    #[error("model `{model}` has no fast mode prices")]
    NoFastMode {
        /// Id of the model.
        model: String,
    },
    /// Fast mode was asked for in a batch.
    #[error("model `{model}`: fast mode is not offered in batches")]
    FastBatch {
        /// Id of the model.
        model: String,
    },
    /// The book has no such modifier, or not for this model.
    #[error("model `{model}` has no price with `{modifier}`")]
    NoModifier {
        /// Id of the model.
        model: String,
        /// Key of the modifier in the book.
        modifier: &'static str,
    },
    /// A price times its modifiers is not a whole number of picodollars per token.
    #[error("model `{model}`: the {category} price times its modifiers is not a whole picodollar")]
    Inexact {
        /// Id of the model.
        model: String,
        /// The category concerned.
        category: Category,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// One price per token for each category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CategoryPrices {
    /// Base input price.
    pub input: PricePerToken,
    /// Price of a 5-minute cache write.
    pub cache_write_5m: PricePerToken,
    /// Price of a 1-hour cache write.
    pub cache_write_1h: PricePerToken,
    /// Price of a cache read.
    pub cache_read: PricePerToken,
    /// Price of output.
    pub output: PricePerToken,
}

/// The prices of requests whose prompt is longer than a threshold (semantics T3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The tier holds for prompts longer than this; 0 for the first.
    pub above_prompt: Tokens,
    /// Its prices, modifiers included.
    pub prices: CategoryPrices,
}

/// What one model costs, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRates {
    /// Shortest prefix that can be cached (semantics E2).
    pub minimum_cacheable: Tokens,
    /// Largest prompt and output together, where known.
    pub window: Option<Tokens>,
    /// Largest output of one request, where known.
    pub max_output: Option<Tokens>,
    /// Length tiers by threshold, ascending; never empty, the first holds for every prompt.
    pub tiers: Vec<Tier>,
    /// Categories without a price, which must not be charged; see [`PriceBook::rates_for`].
    pub unpriced: Vec<Category>,
    /// What no source confirms, for a warning (semantics T5).
    pub assumed: Vec<String>,
}

impl ModelRates {
    /// Returns the prices of a request by the size of its prompt (semantics T3).
    #[inline]
    pub fn tier(&self, prompt: Tokens) -> &CategoryPrices {
        match self.tiers.as_slice() {
            [only] => &only.prices,
            tiers => {
                let higher = tiers[1..].iter().take_while(|tier| prompt > tier.above_prompt);
                &higher.last().unwrap_or(&tiers[0]).prices
            }
        }
    }
}

impl PriceBook {
    /// Returns what a model costs on a day, in every category.
    ///
    /// `model` is an id or an alias. Modifiers are multiplied in, exactly (semantics T4).
    ///
    /// # Errors
    /// When the model is unknown, has no row on that day or at that speed, lacks the price of any
    /// category, or a modifier is not offered or leaves no whole picodollar.
    pub fn rates(
        &self,
        model: &str,
        date: Date,
        options: RateOptions,
    ) -> Result<ModelRates, PriceError> {
        self.rates_for(model, date, options, &Category::ALL)
    }

    /// Returns what a model costs on a day, where only the categories `used` need a price.
    ///
    /// A category without a price is listed in [`ModelRates::unpriced`], and to charge it is an
    /// error of the program.
    ///
    /// # Errors
    /// As [`PriceBook::rates`], but for a missing price only where its category is used.
    pub fn rates_for(
        &self,
        model: &str,
        date: Date,
        options: RateOptions,
        used: &[Category],
    ) -> Result<ModelRates, PriceError> {
        let (id, model) = self.model(model).ok_or_else(|| self.unknown_model(model))?;
        if options.batch && options.fast {
            return Err(PriceError::FastBatch { model: id.to_owned() });
        }
        let quote = Quote { id, model, factors: self.factors(id, options)?, used };
        let direct = [PriceRow::default()];
        let rows = quote.rows_in_force(date, options, &direct)?;
        let tiers = rows.iter().map(|row| quote.tier(row)).collect::<Result<_, _>>()?;
        Ok(ModelRates {
            minimum_cacheable: model.minimum_cacheable_tokens.unwrap_or_default(),
            window: model.context_window_tokens,
            max_output: model.max_output_tokens,
            tiers,
            unpriced: quote.unpriced(&rows),
            assumed: quote.assumed(&rows),
        })
    }

    fn factors(&self, id: &str, options: RateOptions) -> Result<[Ratio; 2], PriceError> {
        let factor = |wanted: bool, modifier: Option<&Modifier>, key: &'static str| {
            if !wanted {
                return Ok(Ratio::ONE);
            }
            let offered = modifier.filter(|modifier| modifier.not_for.iter().all(|no| no != id));
            let error = || PriceError::NoModifier { model: id.to_owned(), modifier: key };
            offered.map(|modifier| modifier.factor).ok_or_else(error)
        };
        let modifiers = &self.modifiers;
        Ok([
            factor(options.batch, modifiers.batch.as_ref(), "batch")?,
            factor(options.data_residency, modifiers.data_residency.as_ref(), "data_residency")?,
        ])
    }

    fn unknown_model(&self, model: &str) -> PriceError {
        let names = self.models.iter().flat_map(|(id, model)| {
            std::iter::once(id.as_str()).chain(model.aliases.iter().map(String::as_str))
        });
        PriceError::UnknownModel {
            model: model.to_owned(),
            nearest: nearest(model, names.collect()).map(str::to_owned),
            known: self.models.keys().cloned().collect(),
        }
    }
}

/// Returns the known name that is at most two edits away, else the longest one that the given name
/// extends (a dated id), else the one most like it, if it is like it at all.
fn nearest<'a>(name: &str, known: Vec<&'a str>) -> Option<&'a str> {
    const LEAST_LIKENESS: f64 = 0.4;
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let stem = known.iter().copied().filter(|known| name.starts_with(known));
    let stem = stem.max_by_key(|known| known.len());
    let best = known.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    if strsim::damerau_levenshtein(name, best) <= 2 {
        return Some(best);
    }
    stem.or((likeness(best) >= LEAST_LIKENESS).then_some(best))
}

/// One model while its rates are put together.
struct Quote<'a> {
    id: &'a str,
    model: &'a Model,
    factors: [Ratio; 2],
    used: &'a [Category],
}

impl Quote<'_> {
    /// Returns the rows of a day and speed by threshold; `direct` is the row of a model without.
    fn rows_in_force<'r>(
        &'r self,
        date: Date,
        options: RateOptions,
        direct: &'r [PriceRow],
    ) -> Result<Vec<&'r PriceRow>, PriceError> {
        let model = || self.id.to_owned();
        let all = if self.model.rows.is_empty() { direct } else { &self.model.rows };
        let speed = if options.fast { Speed::Fast } else { Speed::Standard };
        let of_speed: Vec<_> = all.iter().filter(|row| row.speed == speed).collect();
        if options.fast && of_speed.is_empty() {
            return Err(PriceError::NoFastMode { model: model() });
        }
        let mut rows = of_speed.clone();
        rows.retain(|row| row.in_force(date));
        rows.sort_by_key(|row| row.above_prompt_tokens);
        rows.dedup_by_key(|row| row.above_prompt_tokens);
        if rows.first().is_none_or(|row| !row.above_prompt_tokens.is_zero()) {
            let periods = of_speed.into_iter().map(period).collect();
            return Err(PriceError::NotInForce { model: model(), date, periods });
        }
        Ok(rows)
    }

    fn tier(&self, row: &PriceRow) -> Result<Tier, PriceError> {
        let prices = CategoryPrices {
            input: self.price(row, Category::Input)?,
            cache_write_5m: self.price(row, Category::CacheWrite5m)?,
            cache_write_1h: self.price(row, Category::CacheWrite1h)?,
            cache_read: self.price(row, Category::CacheRead)?,
            output: self.price(row, Category::Output)?,
        };
        Ok(Tier { above_prompt: row.above_prompt_tokens, prices })
    }

    /// Returns the price with its modifiers. What is not priced and not used gets the highest
    /// price there is, so that a mistake could not look like a bargain.
    fn price(&self, row: &PriceRow, category: Category) -> Result<PricePerToken, PriceError> {
        let model = || self.id.to_owned();
        match self.stated(row, category) {
            Some(price) => price
                .scaled(self.factors)
                .ok_or_else(|| PriceError::Inexact { model: model(), category }),
            None if self.used.contains(&category) => {
                Err(PriceError::MissingPrice { model: model(), category })
            }
            None => Ok(PricePerToken::MAX),
        }
    }

    fn stated(&self, row: &PriceRow, category: Category) -> Option<PricePerToken> {
        self.model.direct_price(category).or(row.price(category))
    }

    fn unpriced(&self, rows: &[&PriceRow]) -> Vec<Category> {
        let stated = |category| rows.iter().all(|row| self.stated(row, category).is_some());
        Category::ALL.into_iter().filter(|category| !stated(*category)).collect()
    }

    fn assumed(&self, rows: &[&PriceRow]) -> Vec<String> {
        let prices = rows.iter().any(|row| row.assumed);
        [
            (prices, "prices"),
            (self.model.minimum_assumed, "smallest cacheable prefix"),
            (self.model.limits_assumed, "context window or largest output"),
        ]
        .into_iter()
        .filter(|(assumed, _)| *assumed)
        .map(|(_, what)| format!("the {what} of `{}`: no source confirms it", self.id))
        .collect()
    }
}

/// Writes the period of a row: `from 2026-10-07`.
fn period(row: &PriceRow) -> String {
    match (row.from, row.until) {
        (None, None) => "always".to_owned(),
        (Some(from), None) => format!("from {from}"),
        (None, Some(until)) => format!("before {until}"),
        (Some(from), Some(until)) => format!("from {from} and before {until}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::price_book::tests::{book, day, shipped};

    const STANDARD: RateOptions = RateOptions { batch: false, data_residency: false, fast: false };

    fn read_price(model: &str, date: &str, options: RateOptions) -> String {
        let rates = shipped().rates(model, day(date), options).unwrap();
        rates.tier(Tokens::ZERO).cache_read.to_string()
    }

    #[test]
    fn a_row_holds_from_its_first_day_to_the_day_before_its_end() {
        assert_eq!(read_price("claude-sonnet-5-5", "2026-10-06", STANDARD), "0.20");
        assert_eq!(read_price("claude-sonnet-5-5", "2026-10-07", STANDARD), "0.10");
    }

    #[test]
    fn modifiers_stack_and_fast_mode_has_its_own_base() {
        let both = RateOptions { batch: true, data_residency: true, fast: false };
        let fast = RateOptions { fast: true, ..STANDARD };
        // 0.50 x 0.5 x 1.1 and 0.01 x 0.5 x 1.1.
        assert_eq!(read_price("claude-opus-5", "2026-11-30", both), "0.275");
        assert_eq!(read_price("claude-haiku-5-5", "2026-11-30", both), "0.0055");
        assert_eq!(read_price("claude-opus-5-5", "2026-11-30", fast), "0.40");
    }

    #[test]
    fn what_is_not_offered_is_an_error() {
        let cases = [
            ("claude-opus-5", true, true, false, "fast mode is not offered in batches"),
            ("claude-haiku-4-5", false, true, false, "has no fast mode prices"),
            ("claude-haiku-4-5", false, false, true, "has no price with `data_residency`"),
        ];
        for (model, batch, fast, data_residency, message) in cases {
            let options = RateOptions { batch, data_residency, fast };
            let error = shipped().rates(model, day("2026-11-30"), options).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }

    #[test]
    fn an_unknown_model_is_an_error_that_helps() {
        let cases = [
            ("claude-opus-5.5", "; did you mean `claude-opus-5-5`?"),
            ("opus-5", "; did you mean `claude-opus-5`?"),
            ("claude-opus-5-20260724", "; did you mean `claude-opus-5`?"),
            ("gpt-6", ""),
        ];
        for (name, hint) in cases {
            let error = shipped().rates(name, day("2026-11-30"), STANDARD).unwrap_err().to_string();
            let start = format!("unknown model `{name}`{hint}; known models: claude-3-5-haiku, ");
            assert!(error.starts_with(&start), "{error}");
        }
    }

    #[test]
    fn a_missing_price_is_an_error_only_when_used_and_zero_is_a_price() {
        let book = book("[models.own]\ninput = 1\nwrite_5m = 0\nread = '0.1'\noutput = 5");
        let error = book.rates("own", day("2026-11-30"), STANDARD).unwrap_err();
        assert_eq!(
            error.to_string(),
            "model `own` has no 1-hour cache write price; state `cache_write_1h_usd_per_mtok`, \
             0 where it is free"
        );
        let used = [Category::Input, Category::CacheWrite5m];
        let rates = book.rates_for("own", day("2026-11-30"), STANDARD, &used).unwrap();
        assert_eq!(rates.unpriced, [Category::CacheWrite1h]);
        assert_eq!(rates.tier(Tokens::ZERO).cache_write_5m, PricePerToken::default());
        assert_eq!(rates.minimum_cacheable, Tokens::ZERO);
    }

    #[test]
    fn a_day_without_prices_is_an_error_with_the_periods() {
        let row = "[[models.own.rows]]\nsource = 's'\nfrom = '2026-09-28'\nuntil = '2026-10-07'";
        let error = book(row).rates("own", day("2026-10-07"), STANDARD).unwrap_err();
        assert_eq!(
            error.to_string(),
            "model `own` has no price in force on 2026-10-07; its prices hold from 2026-09-28 and \
             before 2026-10-07"
        );
    }

    #[test]
    fn a_direct_price_replaces_its_category_in_every_row() {
        let mut book = shipped();
        let haiku = book.models.get_mut("claude-haiku-5-5").unwrap();
        haiku.cache_read_usd_per_mtok = Some(PricePerToken::from_picodollars(7));
        let rates = book.rates("claude-haiku-5-5", day("2026-11-30"), STANDARD).unwrap();
        let reads = rates.tiers.iter().map(|tier| tier.prices.cache_read.picodollars());
        assert_eq!(reads.collect::<Vec<_>>(), [7, 7]);
    }

    #[test]
    fn a_price_finer_than_a_picodollar_is_an_error() {
        let mut book = shipped();
        let opus = book.models.get_mut("claude-opus-5").unwrap();
        opus.output_usd_per_mtok = Some(PricePerToken::from_picodollars(1));
        let batch = RateOptions { batch: true, ..STANDARD };
        let error = book.rates("claude-opus-5", day("2026-11-30"), batch).unwrap_err();
        assert!(matches!(error, PriceError::Inexact { category: Category::Output, .. }));
    }

    #[test]
    fn what_no_source_confirms_is_named() {
        let rates = |model| shipped().rates(model, day("2026-11-30"), STANDARD).unwrap();
        assert_eq!(rates("claude-mythos-5-2").assumed.len(), 3);
        assert_eq!(
            rates("claude-fable-5-2").assumed,
            ["the smallest cacheable prefix of `claude-fable-5-2`: no source confirms it"]
        );
        assert!(rates("claude-opus-5").assumed.is_empty());
    }
}
