//! Quantities: integer tokens, money and simulated time, with parsing and printing.
//!
//! Everything that is counted is an integer (semantics T1): tokens, picodollars, microseconds.
//! A sum of them does not depend on its order, so results are the same at any thread count.
//! Floats appear only where something is estimated or drawn, and never here.
//!
//! Reading order: `tokens`, `money`, `ratio`, `time`, `date`, `parse`.

mod date;
mod money;
mod parse;
mod ratio;
mod time;
mod tokens;

pub use date::Date;
pub use money::{Money, PricePerToken};
pub(crate) use parse::NumberOrText;
pub use parse::{
    UnitError, parse_date, parse_duration, parse_instant, parse_money, parse_price, parse_ratio,
    parse_speed, parse_tokens,
};
pub use ratio::Ratio;
pub use time::{SimDuration, SimTime};
pub use tokens::Tokens;
