//! Estimators: what independent replications say about a mean, a quantile or a difference.
//!
//! Replications end by themselves (a terminating simulation), so each yields one independent
//! observation and there is no warm-up to cut off. Observations are taken in the order of
//! replications; results therefore do not depend on threads.
//!
//! Reading order: [`Moments`], [`Estimate`], [`Quantiles`], [`PairedDifference`], [`JointMoments`],
//! [`Regression`], [`Band`], [`Selection`].

mod estimate;
mod joint;
mod moments;
mod paired;
mod quantile;
mod regression;
mod root;
mod selection;

pub use estimate::{CONFIDENCE, Estimate, student_t};
pub use joint::JointMoments;
pub use moments::Moments;
pub(crate) use paired::mean_usd;
pub use paired::{PairedDifference, Verdict};
pub use quantile::{Ascending, EXACT_MAX, Quantiles};
pub use regression::{GroupedMoments, LeftOut, Regression};
pub use root::{Band, Root};
pub use selection::Selection;
