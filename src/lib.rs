//! forkcast forecasts what an agent orchestration will cost, fork or fresh, before it runs.

pub mod cache;
pub mod ledger;
pub mod pricing;
pub mod trace;
pub mod units;
