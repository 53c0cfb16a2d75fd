//! The discrete-event machinery: keyed random streams and quantile tables.
//!
//! Nothing here knows of agents, caches or money; the modules use [`crate::units`] alone.
//! One variate costs one `u64` of a stream that is addressed by a key and a counter, never by the
//! order of events (semantics X2), and every formula goes through `libm`, so a draw has the same
//! bits on every platform.
//!
//! Reading order: [`RandomStream`], [`Family`], [`QuantileTable`], [`WholeMoments`].

mod event_list;
mod family;
mod quantile_table;
mod random;
pub(crate) mod special;
mod token_bucket;
pub(crate) mod whole;
mod work_station;

pub use event_list::FutureEventList;
pub use family::Family;
pub use quantile_table::QuantileTable;
pub use random::{EntityStreams, RandomStream, StreamCursor, StreamKey};
pub use token_bucket::TokenBucket;
pub use whole::{WholeLimits, WholeMoments};
pub use work_station::{Discipline, WorkStation};
