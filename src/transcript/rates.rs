//! Prices of the requests of real sessions: those of their day, their model and how they were made.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::pricing::{Category, ModelRates, PriceBook, PriceError, RateOptions, Usage};
use crate::transcript::Request;
use crate::units::{Date, Money, SimTime, Tokens};

/// Requests of a model that could not be priced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpriced {
    /// The model as recorded, with its modifiers.
    pub model: String,
    /// Why there is no price.
    pub reason: String,
    /// Number of requests.
    pub requests: u64,
    /// All their tokens.
    pub tokens: Tokens,
}

impl Unpriced {
    /// Adds a request.
    pub(super) fn note(list: &mut Vec<Unpriced>, request: &Request, reason: &str) {
        let tokens = request.usage.prompt() + request.usage.output;
        let one = Unpriced {
            model: Rates::label(request),
            reason: reason.to_owned(),
            requests: 1,
            tokens,
        };
        Unpriced::join(list, vec![one]);
    }

    /// Adds the requests of another list.
    pub(super) fn join(list: &mut Vec<Unpriced>, others: Vec<Unpriced>) {
        for other in others {
            let known =
                list.iter_mut().find(|one| one.model == other.model && one.reason == other.reason);
            match known {
                Some(one) => {
                    one.requests += other.requests;
                    one.tokens += other.tokens;
                }
                None => list.push(other),
            }
        }
    }
}

/// Model, modifiers, day, and which categories are used.
type Key = (String, [bool; 3], Date, [bool; 5]);
pub(super) type Found = Result<Rc<ModelRates>, Rc<str>>;

/// Rates that have been looked up.
#[derive(Debug)]
pub(super) struct Rates<'a> {
    book: &'a PriceBook,
    known: BTreeMap<Key, Found>,
    last: Option<(Key, Found)>,
}

impl<'a> Rates<'a> {
    pub(super) fn new(book: &'a PriceBook) -> Rates<'a> {
        Rates { book, known: BTreeMap::new(), last: None }
    }

    /// Returns the rates of a request, or why it has none.
    pub(super) fn of_request(&mut self, request: &Request) -> Found {
        self.of(&request.model, request.options, request.start, &request.usage)
    }

    /// Returns the rates of a model on the day of an instant; only what is used needs a price.
    pub(super) fn of(
        &mut self,
        model: &str,
        options: RateOptions,
        at: SimTime,
        usage: &Usage,
    ) -> Found {
        let used = Category::ALL.map(|category| !usage.tokens(category).is_zero());
        let (flags, day) = (flags(options), Date::of(at));
        if let Some(((known, of, on, with), found)) = &self.last
            && known == model
            && (*of, *on, *with) == (flags, day, used)
        {
            return found.clone();
        }
        let key = (model.to_owned(), flags, day, used);
        let found = match self.known.get(&key) {
            Some(found) => found.clone(),
            None => self.find(model, options, day, used),
        };
        self.known.insert(key.clone(), found.clone());
        self.last = Some((key, found.clone()));
        found
    }

    fn find(&self, model: &str, options: RateOptions, day: Date, used: [bool; 5]) -> Found {
        let used = Category::ALL.into_iter().zip(used).filter(|(_, is_used)| *is_used);
        let used: Vec<Category> = used.map(|(category, _)| category).collect();
        let rates = |name: &str| self.book.rates_for(name, day, options, &used);
        let found = match rates(model) {
            Err(PriceError::UnknownModel { .. }) => rates(stem(model)),
            found => found,
        };
        found.map(Rc::new).map_err(|error| short(&error.to_string()).into())
    }

    /// Returns the fees of a request (semantics T4).
    pub(super) fn fees(&self, request: &Request) -> Money {
        let fee = self.book.fees.web_search_per_1000.as_ref();
        let each = fee.map_or(0, |fee| fee.usd.picodollars() / 1_000);
        Money::from_picodollars(each * i128::from(request.web_searches))
    }

    /// Returns the name of a model with how its requests were made.
    pub(super) fn label(request: &Request) -> String {
        let RateOptions { batch, data_residency, fast } = request.options;
        let modifiers = [(fast, "fast"), (batch, "batch"), (data_residency, "data residency")];
        let said: Vec<&str> =
            modifiers.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name).collect();
        if said.is_empty() {
            return request.model.to_string();
        }
        format!("{} ({})", request.model, said.join(", "))
    }
}

fn flags(options: RateOptions) -> [bool; 3] {
    [options.fast, options.batch, options.data_residency]
}

/// Returns a model's name without a window such as `[1m]` and without the date of its snapshot:
/// both are priced like the model.
fn stem(name: &str) -> &str {
    let name = name.split_once('[').map_or(name, |(stem, _)| stem);
    match name.rsplit_once('-') {
        Some((stem, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    }
}

/// Leaves out the list of all known models, which belongs into a hint and not into a table.
fn short(message: &str) -> String {
    message.split("; known models: ").next().unwrap_or(message).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_and_a_snapshot_date_are_no_part_of_the_name() {
        let cases = [
            ("claude-opus-5[1m]", "claude-opus-5"),
            ("claude-opus-5-20260724", "claude-opus-5"),
            ("claude-sonnet-4-5-20250929[1m]", "claude-sonnet-4-5"),
            ("claude-opus-4-8", "claude-opus-4-8"),
            ("glm-5", "glm-5"),
        ];
        for (name, model) in cases {
            assert_eq!(stem(name), model);
        }
    }
}
