//! Settings files: layers of TOML merged into one tree and decoded, with every problem at once.
//!
//! A profile, a scenario, a variant and `--set` options are layers; the later wins. Each key and
//! value keeps its [`Origin`], so that a problem found after merging still points into the text it
//! came from. This loader knows no settings type: which tables are merged key by key is asked of
//! the caller ([`IsSettings`]), and what is accepted is told by serde. It reads no files either;
//! texts are handed in as [`Sources`].
//!
//! Reading order: [`Sources`], [`Problem`], [`Tree`], [`Layers`], [`decode()`].

mod decode;
mod deserializer;
mod key;
mod layers;
mod problem;
mod render;
mod source;
mod syntax;
mod tree;

pub use decode::decode;
pub use key::{join_key, split_key};
pub use layers::{IsSettings, Layers};
pub use problem::{Origin, Problem, Problems};
pub use source::Sources;
pub use tree::{Entry, Node, Tree, Value};
