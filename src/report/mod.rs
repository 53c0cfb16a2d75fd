//! Renderers: [`Results`] to text, pure functions without files or terminal.
//!
//! JSON is the contract for programs; CSV is the same in one row per variant; text and Markdown
//! show the same tables to people. Meaning is never carried by color.
//!
//! Reading order: [`Header`], [`json`], [`csv`], [`number`], `document` (what people are shown),
//! [`text`], [`markdown`]; then one file for each command that decides: [`breakeven`],
//! [`size`], [`sensitivity`]; last what tells of one replication: [`explain`], `timeline`,
//! [`events`], [`perfetto`].

pub mod breakeven;
pub mod closed_form;
pub mod csv;
mod document;
pub mod events;
pub mod explain;
mod explain_data;
pub mod json;
pub mod markdown;
pub mod number;
pub mod perfetto;
mod reduction;
pub mod replay;
pub mod sensitivity;
mod session_values;
pub mod sessions;
pub mod size;
#[cfg(test)]
mod tests;
pub mod text;
mod timeline;

#[cfg(doc)]
use crate::experiment::Results;
use crate::units::Date;

/// What a report says besides results: where they come from and how to make them again.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Name and version of the program: `forkcast 0.1.0`.
    pub program: String,
    /// Title of the scenario.
    pub title: Option<String>,
    /// Path or name of the scenario.
    pub scenario: String,
    /// Hash of the scenario, in hexadecimal digits.
    pub scenario_sha256: String,
    /// The command that makes the same results; names no thread count.
    pub reproduce: String,
    /// The price book.
    pub prices: PriceHeader,
    /// Name of the client profile.
    pub profile: Option<String>,
}

/// The price book of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceHeader {
    /// Its name.
    pub book: String,
    /// Day on which it was last compared with its sources.
    pub as_of: Date,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text of at most 100 columns.
    Text,
    /// One JSON object.
    Json,
    /// CSV with a heading.
    Csv,
    /// Markdown tables.
    Markdown,
}

/// Which question a report for people answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// What does it cost? Each variant by itself.
    Run,
    /// Which is cheaper? Variants side by side.
    Compare,
}
