//! Tests of forkcast from outside: against independent models, documented cases and closed forms.
//!
//! Method: every module states its goal and its source. What is compared exactly is compared as
//! integers; what is estimated is compared at a fixed seed within four standard errors.

mod allocations;
mod cli;
mod coverage;
mod decisions;
mod engine;
mod event_log;
mod explain;
mod import;
mod loading;
mod nested;
mod oracles;
mod orchestration;
mod plots;
mod provider;
mod provider_rules;
mod recorded;
mod scenarios;
mod small_world;
mod support;
mod sweep;
mod theory;
mod tidy;
mod traces;
mod transcripts;
mod validation;
mod workflow;
