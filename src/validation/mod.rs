//! Published cases with known answers, worked out again by the parts of this program.
//!
//! A case states its source, its inputs and what must come out. Cases are data: files in
//! `scenarios/validation/`, embedded in the program. Each is answered by the same code that
//! answers users: prices by [`crate::pricing`], request lists by [`crate::trace`], scenarios by
//! [`crate::experiment`]. Nothing here knows how a number comes about.
//!
//! Read `case` first, then `answer`, `check` and `pack`.

mod answer;
mod case;
mod check;
mod pack;

pub use case::{
    Bill, BreakEvenCase, Case, CaseFile, CaseRequest, Expectation, ScenarioCase, TraceCase,
    UsageRow,
};
pub use check::{CheckedCase, Finding, check};
pub use pack::{PACK, pack};
