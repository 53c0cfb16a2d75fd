//! The work itself: what is drawn for a task, whatever the variant that does it.
//!
//! Reading order: [`Quantity`], [`Distribution`], [`Sampler`].

mod distribution;
mod fit;
mod quantity;
mod read;
mod sampler;

pub use distribution::Distribution;
pub use quantity::{Count, Quantity};
pub use sampler::Sampler;
