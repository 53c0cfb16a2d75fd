//! Replications of variants on common random numbers, and what they came to.
//!
//! An [`Experiment`] runs each variant for replications 1 to n; in a replication all variants draw
//! the same work, so they are compared pair by pair. How many replications, a [`StopRule`] says at
//! fixed counts. Nothing here depends on the number of threads: sums are exact integers, and
//! whatever is a float is taken in the order of replications.
//!
//! Replications end by themselves: a terminating simulation, without warm-up.
//!
//! Reading order: [`StopRule`], [`VarianceReduction`], [`Experiment`], [`Results`], [`Warning`],
//! [`Points`]; then what is decided with it: [`breakeven()`], [`size()`], [`sensitivity()`].

mod breakeven;
mod design;
mod reduction;
mod results;
mod runner;
#[cfg(test)]
pub(crate) mod sample;
mod sensitivity;
mod size;
mod sweep;
mod tally;
#[cfg(test)]
mod tests;
mod warning;

pub use breakeven::{BreakEven, Crossing, PlansAt, RootSearch, breakeven};
pub use design::StopRule;
pub use reduction::{Reduced, UnusedControl, VarianceReduction};
pub use results::{
    AgentMean, Breakdown, Difference, LaunchMeans, OutcomeShares, Results, Summary, VariantResults,
};
pub use runner::{Experiment, Progress, run};
pub use sensitivity::{Change, Effect, Sensitivity, sensitivity};
pub use size::{Indifference, LevelResult, LevelState, Objective, SizeDesign, SizeResults, size};
pub use sweep::{Points, in_order};
pub use warning::Warning;
