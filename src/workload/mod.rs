//! The work itself: what is drawn for a task, whatever the variant that does it.
//!
//! Reading order: [`Quantity`], [`Distribution`], [`Sampler`], then the settings: [`TaskSettings`],
//! [`Startups`], [`Compaction`], [`Latency`].

mod compaction;
mod distribution;
mod fit;
mod latency;
mod quantity;
mod read;
mod sampler;
mod startup;
mod task;

pub use compaction::{Compaction, Trigger};
pub use distribution::Distribution;
pub use latency::{FirstToken, Latency, Regression, Speed};
pub use quantity::{Count, Quantity};
pub use sampler::{Sampler, Tables};
pub use startup::{Notes, Startup, Startups};
pub use task::{PrefixChange, Rediscovery, TaskSettings};
