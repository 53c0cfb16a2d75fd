//! Prices and bills: what one request costs, exactly.
//!
//! A price is dated data with a source, stated for each category of a model (semantics T2, T5); the
//! rules of this module turn it and the token counts of one request into money: validity periods,
//! length tiers (T3), modifiers (T4). Which tokens fall into which category is not decided here but
//! by the cache; files are read by the command line; nothing here knows a price by heart.
//!
//! Reading order: [`Usage`] (what was used), [`PriceBook`] (what a file states), [`ModelRates`]
//! (what is in force for one model), [`charge()`] (the bill), [`PriceBook::problems`];
//! [`import_litellm`] and [`write_book`] make books.

mod charge;
mod litellm;
mod price_book;
mod problems;
mod rates;
mod usage;
mod write;

pub use charge::{Charge, charge};
pub use litellm::{ImportOptions, Imported, import_litellm};
pub use price_book::{Fee, Fees, Model, Modifier, Modifiers, PriceBook, PriceRow, Speed};
pub use rates::{CategoryPrices, ModelRates, PriceError, RateOptions, Tier};
pub use usage::{Category, Usage};
pub use write::write_book;
