//! forkcast forecasts what an agent orchestration will cost, fork or fresh, before it runs.

pub mod cache;
pub mod des;
pub mod experiment;
pub mod ledger;
pub mod orchestration;
pub mod pricing;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod trace;
pub mod units;
pub mod workload;
