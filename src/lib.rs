//! forkcast forecasts what an agent orchestration will cost, fork or fresh, before it runs.

pub mod des;
pub mod units;
pub mod workload;
