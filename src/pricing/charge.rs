//! The bill of one request.

use std::ops::{Add, AddAssign};

use crate::pricing::{ModelRates, Usage};
use crate::units::Money;

/// Money by category; an exact sum of integers (semantics T1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Prompt tokens at the base price.
    pub uncached: Money,
    /// 5-minute cache writes.
    pub cache_write_5m: Money,
    /// 1-hour cache writes.
    pub cache_write_1h: Money,
    /// Cache reads.
    pub cache_read: Money,
    /// Output.
    pub output: Money,
    /// What is not tokens (semantics T4).
    pub fees: Money,
}

impl Charge {
    /// Returns the sum of all parts.
    pub fn total(&self) -> Money {
        let writes = self.cache_write_5m + self.cache_write_1h;
        self.uncached + writes + self.cache_read + self.output + self.fees
    }

    /// Returns the parts in the order of the fields, as bills list them.
    pub const fn parts(&self) -> [Money; 6] {
        [
            self.uncached,
            self.cache_write_5m,
            self.cache_write_1h,
            self.cache_read,
            self.output,
            self.fees,
        ]
    }
}

impl Add for Charge {
    type Output = Charge;
    fn add(self, other: Charge) -> Charge {
        Charge {
            uncached: self.uncached + other.uncached,
            cache_write_5m: self.cache_write_5m + other.cache_write_5m,
            cache_write_1h: self.cache_write_1h + other.cache_write_1h,
            cache_read: self.cache_read + other.cache_read,
            output: self.output + other.output,
            fees: self.fees + other.fees,
        }
    }
}

impl AddAssign for Charge {
    fn add_assign(&mut self, other: Charge) {
        *self = *self + other;
    }
}

/// Returns the bill of **one** request; fees are added by the caller.
///
/// The size of this request's prompt decides the tier, and the whole request, output included, is
/// charged at it (semantics T3); so the usage of several requests must not be summed first.
///
/// # Panics
/// When a category is used that has no price; see [`crate::pricing::PriceBook::rates_for`].
pub fn charge(rates: &ModelRates, usage: &Usage) -> Charge {
    for category in &rates.unpriced {
        assert!(usage.tokens(*category).is_zero(), "a category without a price must not be used");
    }
    let prices = rates.tier(usage.prompt());
    Charge {
        uncached: prices.input * usage.uncached,
        cache_write_5m: prices.cache_write_5m * usage.cache_write_5m,
        cache_write_1h: prices.cache_write_1h * usage.cache_write_1h,
        cache_read: prices.cache_read * usage.cache_read,
        output: prices.output * usage.output,
        fees: Money::ZERO,
    }
}

/// Goal: bills equal what providers and clients published. Method: token counts and totals as
/// printed by the source; where it prints rounded dollars, the exact sum is worked out by hand.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::price_book::tests::{book, day, shipped};
    use crate::pricing::{Category, RateOptions};
    use crate::units::Tokens;

    const BATCH: RateOptions = RateOptions { batch: true, data_residency: false, fast: false };

    /// Tokens as published: uncached, 5-minute write, read, output.
    type Row = (u64, u64, u64, u64);

    fn usage((uncached, write, read, output): Row) -> Usage {
        Usage {
            uncached: Tokens::new(uncached),
            cache_write_5m: Tokens::new(write),
            cache_read: Tokens::new(read),
            output: Tokens::new(output),
            ..Usage::default()
        }
    }

    fn rates(model: &str, options: RateOptions) -> ModelRates {
        shipped().rates(model, day("2026-11-30"), options).unwrap()
    }

    fn bill(model: &str, options: RateOptions, requests: &[Row]) -> String {
        let rates = rates(model, options);
        let bills = requests.iter().map(|request| charge(&rates, &usage(*request)).total());
        bills.sum::<Money>().to_string()
    }

    #[test]
    fn published_examples_come_out_exactly() {
        let sonnet = "claude-sonnet-4-6";
        let (opus, fable) = ("claude-opus-5", "claude-fable-5-1");
        let cases: [(&str, &str, &[Row], &str); 9] = [
            ("E1", sonnet, &[(1_200, 50_000, 940_000, 5_300)], "$0.5526"),
            ("E4", opus, &[(13_099, 0, 0, 17), (13_129, 0, 0, 126)], "$0.134715"),
            ("E5", opus, &[(2, 13_097, 0, 13), (2, 26, 13_097, 82)], "$0.09096225"),
            (
                "E9",
                opus,
                &[(1_181, 12_965, 0, 101), (1_155, 0, 12_965, 247), (1_044, 0, 12_965, 310)],
                "$0.12734625",
            ),
            ("E15 keep-alive", fable, &[(0, 0, 200_000, 0)], "$0.05"),
            ("E15 15 keep-alives", fable, &[(0, 0, 200_000, 0); 15], "$0.75"),
            ("C first request", opus, &[(0, 16_184, 0, 34)], "$0.102"),
            (
                "C loop, as the client printed it",
                opus,
                &[
                    (0, 16_184, 0, 34),
                    (0, 81, 16_184, 34),
                    (0, 81, 16_265, 34),
                    (0, 81, 16_346, 34),
                    (0, 81, 16_427, 34),
                    (0, 81, 16_508, 11),
                ],
                "$0.14907125",
            ),
            ("nothing", opus, &[(0, 0, 0, 0)], "$0.00"),
        ];
        for (source, model, requests, total) in cases {
            assert_eq!(bill(model, RateOptions::default(), requests), total, "{source}");
        }
    }

    #[test]
    fn published_batch_example_is_half_price() {
        let synchronous = [
            (11_452, 603),
            (11_437, 762),
            (11_439, 715),
            (11_438, 465),
            (11_443, 526),
            (11_439, 754),
            (11_437, 619),
            (11_453, 675),
            (11_456, 643),
            (11_451, 866),
        ];
        let batch = [
            (11_443, 428),
            (11_456, 631),
            (11_452, 657),
            (11_453, 698),
            (11_437, 589),
            (11_438, 701),
            (11_437, 724),
            (11_451, 673),
            (11_439, 611),
            (11_439, 622),
        ];
        let rows = |calls: [(u64, u64); 10]| calls.map(|(input, output)| (input, 0, 0, output));
        let model = "claude-opus-5";
        // P 6.1, E10: 114,445 x 5 + 6,628 x 25; E11: (114,445 x 5 + 6,334 x 25) / 2.
        assert_eq!(bill(model, RateOptions::default(), &rows(synchronous)), "$0.737925");
        assert_eq!(bill(model, BATCH, &rows(batch)), "$0.3652875");
    }

    #[test]
    fn the_premium_of_an_hour_is_the_published_one() {
        // P 6.1, E15: 200,000 tokens at 20 instead of 12.50.
        let prices = *rates("claude-fable-5-1", RateOptions::default()).tier(Tokens::ZERO);
        let tokens = Tokens::new(200_000);
        let premium = prices.cache_write_1h * tokens - prices.cache_write_5m * tokens;
        assert_eq!(premium.to_string(), "$1.50");
    }

    #[test]
    fn a_prompt_above_the_threshold_moves_the_whole_request_to_the_higher_row() {
        // 40,000 read, 10,000 written and the rest uncached make the prompt; output does not count.
        let cases = [
            // 50,000 x 0.10 + 10,000 x 0.125 + 40,000 x 0.01 + 90,000 x 0.50
            (50_000, "$0.05165"),
            // 50,001 x 0.50 + 10,000 x 0.625 + 40,000 x 0.05 + 90,000 x 2.50
            (50_001, "$0.2582505"),
        ];
        for (uncached, total) in cases {
            let request = (uncached, 10_000, 40_000, 90_000);
            let found = bill("claude-haiku-5-5", RateOptions::default(), &[request]);
            assert_eq!(found, total, "{uncached}");
        }
    }

    #[test]
    fn parts_sum_to_the_total() {
        let mut sum = charge(
            &rates("claude-opus-5", RateOptions::default()),
            &Usage { cache_write_1h: Tokens::new(1_000), ..usage((1_000, 1_000, 1_000, 1_000)) },
        );
        sum += Charge { fees: Money::from_picodollars(80_000_000_000), ..Charge::default() };
        // 0.005 + 0.00625 + 0.01 + 0.0005 + 0.025 + 0.08
        assert_eq!(sum.total().to_string(), "$0.12675");
    }

    #[test]
    #[should_panic(expected = "a category without a price must not be used")]
    fn a_category_without_a_price_is_never_free() {
        let book = book("[models.own]\ninput = 1");
        let used = [Category::Input];
        let rates =
            book.rates_for("own", day("2026-11-30"), RateOptions::default(), &used).unwrap();
        charge(&rates, &usage((1, 0, 0, 1)));
    }
}
