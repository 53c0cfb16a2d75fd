//! Scenario files: what they may say, and how texts become plans.
//!
//! A profile, a scenario, a variant and `--set` options are layers; the later wins. Each key and
//! value keeps its [`Origin`], so that a problem found after merging still points into the text it
//! came from, and all problems are told at once. No files are read here; texts are handed in.
//!
//! Reading order: [`Scenario`] (what a file says), [`load()`] (from texts to plans), [`Study`]
//! (many times with other settings), [`Factor`] (which ones), then the loader that knows no
//! settings type: [`Sources`], [`Problem`], [`Tree`], [`Layers`], [`decode()`].

mod closed_form;
mod decode;
mod deserializer;
mod key;
mod layers;
mod load;
mod prices;
mod problem;
mod range;
mod recorded;
mod reference;
mod render;
mod settings;
mod settle;
mod shipped;
mod source;
mod stated;
mod study;
mod syntax;
mod tree;
mod validate;
mod vary;

pub use closed_form::{ClosedForm, Flip, closed_form};
pub use decode::decode;
pub use key::{join_key, split_key};
pub use layers::{IsSettings, Layers};
pub use load::{LoadInput, Loaded, LoadedVariant, ReadFile, load};
pub use prices::load_book;
pub use problem::{Origin, Problem, Problems};
pub use range::{KeyRange, Range, Unit, quantity};
pub use recorded::{ReplaySettings, TracePolicy, replay_settings, trace_policy};
pub use reference::{json_schema, keys_markdown, markdown as reference_markdown};
pub use settings::{Scenario, Variant, is_settings};
pub use shipped::{DEFAULT_PRICES, PRICE_BOOKS, PROFILES, ProfileChoice, find_profile};
pub use source::Sources;
pub use stated::{UNCONFIRMED_RULES, stated_numbers};
pub use study::{Point, Study};
pub use tree::{Entry, Node, Tree, Value};
pub use vary::{Factor, Level, POINTS_MAX, VARIANT_KEY, parse_factor, parse_factors, too_many};
