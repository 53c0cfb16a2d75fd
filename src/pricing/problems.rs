//! What is wrong with a price book that could be read: every problem at once.

use std::collections::BTreeMap;

use crate::pricing::price_book::{Fee, Model, Modifier, PriceBook, PriceRow};
use crate::pricing::usage::Category;

/// Dotted path of a value and what is wrong with it.
type Problem = (String, String);

impl PriceBook {
    /// Returns everything that is wrong with the book: dotted path and message of each problem.
    ///
    /// A book without problems gives rates for every model on any day of its rows' periods, as far
    /// as it states the prices that are used.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.check_head(&mut problems);
        self.check_modifiers(&mut problems);
        self.check_names(&mut problems);
        for (id, model) in &self.models {
            check_model(&format!("models.{id}"), model, &mut problems);
        }
        problems
    }

    fn check_head(&self, problems: &mut Vec<Problem>) {
        let mut report = |path: &str, message: String| problems.push((path.to_owned(), message));
        if self.format_version != 1 {
            let found = self.format_version;
            report("format_version", format!("{found} is not a known version; expected 1"));
        }
        if self.currency != "USD" {
            report("currency", format!("`{}` is not known; expected `USD`", self.currency));
        }
        if self.source.trim().is_empty() {
            report("source", "is empty; state where the prices were found".to_owned());
        }
        if self.models.is_empty() {
            report("models", "there are none; state at least one model".to_owned());
        }
    }

    fn check_modifiers(&self, problems: &mut Vec<Problem>) {
        let modifiers =
            [("batch", &self.modifiers.batch), ("data_residency", &self.modifiers.data_residency)];
        for (key, modifier) in modifiers {
            let Some(Modifier { source, not_for, .. }) = modifier else { continue };
            check_source(&format!("modifiers.{key}"), source, problems);
            for id in not_for.iter().filter(|id| !self.models.contains_key(*id)) {
                let message = format!("`{id}` is not the id of a model of the book");
                problems.push((format!("modifiers.{key}.not_for"), message));
            }
        }
        let fees = [
            ("web_search_per_1000", &self.fees.web_search_per_1000),
            ("session_hour", &self.fees.session_hour),
            ("container_hour", &self.fees.container_hour),
        ];
        for (key, fee) in fees {
            let Some(Fee { source, .. }) = fee else { continue };
            check_source(&format!("fees.{key}"), source, problems);
        }
    }

    fn check_names(&self, problems: &mut Vec<Problem>) {
        let mut owners: BTreeMap<&str, &str> =
            self.models.keys().map(|id| (id.as_str(), id.as_str())).collect();
        for (id, model) in &self.models {
            for alias in &model.aliases {
                if let Some(owner) = owners.insert(alias, id) {
                    let message = format!("`{alias}` already names `{owner}`");
                    problems.push((format!("models.{id}.aliases"), message));
                }
            }
        }
    }
}

fn check_source(path: &str, source: &str, problems: &mut Vec<Problem>) {
    if source.trim().is_empty() {
        let message = "is empty; state where the value was found".to_owned();
        problems.push((format!("{path}.source"), message));
    }
}

fn check_model(path: &str, model: &Model, problems: &mut Vec<Problem>) {
    let direct = Category::ALL.into_iter().any(|part| model.direct_price(part).is_some());
    if model.rows.is_empty() && !direct {
        problems.push((path.to_owned(), "states no price; add rows or direct prices".to_owned()));
    }
    for (index, row) in model.rows.iter().enumerate() {
        let path = format!("{path}.rows[{index}]");
        check_source(&path, &row.source, problems);
        if let (Some(from), Some(until)) = (row.from, row.until)
            && until <= from
        {
            problems.push((format!("{path}.until"), format!("{until} is not after {from}")));
        }
        for (other, earlier) in model.rows[..index].iter().enumerate() {
            if same_tier(row, earlier) && overlap(row, earlier) {
                let message = format!("its period overlaps that of rows[{other}] of the same tier");
                problems.push((path.clone(), message));
            }
        }
        if !has_base(row, &model.rows) {
            let message = "no row with above_prompt_tokens = 0 holds in its period".to_owned();
            problems.push((format!("{path}.above_prompt_tokens"), message));
        }
    }
}

fn same_tier(a: &PriceRow, b: &PriceRow) -> bool {
    a.speed == b.speed && a.above_prompt_tokens == b.above_prompt_tokens
}

fn overlap(a: &PriceRow, b: &PriceRow) -> bool {
    let starts_in = |a: &PriceRow, b: &PriceRow| match (a.from, b.until) {
        (Some(from), Some(until)) => from < until,
        _ => true,
    };
    starts_in(a, b) && starts_in(b, a)
}

/// Returns whether a higher tier has a base row to be higher than.
fn has_base(row: &PriceRow, rows: &[PriceRow]) -> bool {
    let base = |other: &&PriceRow| other.above_prompt_tokens.is_zero() && other.speed == row.speed;
    row.above_prompt_tokens.is_zero() || rows.iter().filter(base).any(|other| overlap(row, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::RateOptions;
    use crate::pricing::price_book::tests::{book, day, shipped};

    fn paths(book: &PriceBook) -> Vec<String> {
        book.problems().into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn the_shipped_book_is_sound_and_complete() {
        let models = [
            "claude-3-5-haiku",
            "claude-fable-5",
            "claude-fable-5-1",
            "claude-fable-5-2",
            "claude-haiku-4-5",
            "claude-haiku-5-5",
            "claude-mythos-5",
            "claude-mythos-5-1",
            "claude-mythos-5-2",
            "claude-opus-4",
            "claude-opus-4-1",
            "claude-opus-4-5",
            "claude-opus-4-6",
            "claude-opus-4-7",
            "claude-opus-4-8",
            "claude-opus-5",
            "claude-opus-5-5",
            "claude-sonnet-4",
            "claude-sonnet-4-5",
            "claude-sonnet-4-6",
            "claude-sonnet-5",
            "claude-sonnet-5-5",
        ];
        let book = shipped();
        assert_eq!(book.problems(), []);
        assert_eq!(book.models.keys().collect::<Vec<_>>(), models);
        for (id, model) in &book.models {
            assert!(book.rates(id, book.as_of, RateOptions::default()).is_ok(), "{id}");
            assert!(model.minimum_source.is_some(), "{id}: minimum without a source");
            assert!(model.limits_source.is_some(), "{id}: limits without a source");
        }
    }

    #[test]
    fn writes_follow_the_multipliers_of_the_base_price() {
        // P 1.4, row 1: 1.25x for 5 minutes and 2x for 1 hour, every model; also in fast mode.
        let book = shipped();
        for (id, row) in
            book.models.iter().flat_map(|(id, model)| model.rows.iter().map(move |row| (id, row)))
        {
            let price = |category| row.price(category).unwrap().picodollars();
            assert_eq!(price(Category::CacheWrite5m) * 4, price(Category::Input) * 5, "{id}");
            assert_eq!(price(Category::CacheWrite1h), price(Category::Input) * 2, "{id}");
            assert_eq!(price(Category::Output), price(Category::Input) * 5, "{id}");
        }
    }

    #[test]
    fn every_problem_is_found_at_once() {
        let mut book = book(
            "modifiers.batch = { factor = 0.5, source = '', not_for = ['x'] }\n\
             fees.session_hour = { usd = 0.08, source = ' ' }\n\
             models.empty = {}\n\
             models.a = { aliases = ['b', 'c'], input = 1 }\n\
             models.b = { aliases = ['c'], input = 1 }\n\
             [[models.rows.rows]]\nsource = ''\nfrom = '2026-10-07'\nuntil = '2026-10-07'\n\
             [[models.rows.rows]]\nsource = 's'\nuntil = '2026-10-01'\n\
             [[models.rows.rows]]\nsource = 's'\nfrom = '2026-09-30'\nuntil = '2026-10-01'\n\
             [[models.rows.rows]]\nsource = 's'\nspeed = 'fast'\nabove_prompt_tokens = '100k'",
        );
        book.format_version = 2;
        book.currency = "EUR".to_owned();
        book.source = String::new();
        assert_eq!(
            paths(&book),
            [
                "format_version",
                "currency",
                "source",
                "modifiers.batch.source",
                "modifiers.batch.not_for",
                "fees.session_hour.source",
                "models.a.aliases",
                "models.b.aliases",
                "models.empty",
                "models.rows.rows[0].source",
                "models.rows.rows[0].until",
                "models.rows.rows[2]",
                "models.rows.rows[3].above_prompt_tokens",
            ]
        );
    }

    #[test]
    fn a_book_without_models_and_one_stated_in_a_scenario() {
        assert_eq!(paths(&book("")), ["models"]);
        let models = book("[[models.own.rows]]\ninput_usd_per_mtok = 1").models;
        assert_eq!(PriceBook::inline(models, day("2026-11-30")).problems(), []);
    }
}
