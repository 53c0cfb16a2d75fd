//! forkcast forecasts what an agent orchestration will cost, fork or fresh, before it runs.
//!
//! A parent agent and its children send requests against prompt caches; this library simulates
//! that by discrete events and adds up the provider's bill. The program `forkcast` is a thin shell
//! around it; its manual is the `README.md` of the repository, its map the `ARCHITECTURE.md`.
//!
//! # A tour
//!
//! A scenario is text. [`scenario::load()`] merges it with its profile, prices and variants, checks
//! it, and makes a [`orchestration::Plan`] of each variant; nothing can fail after that.
//! [`experiment::run()`] simulates replications on common random numbers until the means are known
//! well enough, and [`report`] renders what came of it.
//!
//! ```
//! use forkcast::experiment::{self, StopRule};
//! use forkcast::scenario::{LoadInput, load};
//!
//! let text = r#"
//! [session]
//! model = "claude-opus-5"
//! context = "100k"
//! [fanout]
//! agent = "fork"
//! background = false
//! [task]
//! iterations = 10
//! output = 500
//! tool_result = 1500
//! report = 500
//! [fork]
//! tail_tokens = 500
//! "#;
//! let input = LoadInput { name: "fork.toml", text, sets: &[], levels: &[] };
//! let loaded = load(&input, &mut |name| Err(format!("there is no {name}")))?;
//! let variants = [("fork".to_owned(), loaded.base.plan)];
//! let results = experiment::run(&variants, 1, StopRule::default(), &|_| {}).results();
//! let fork = &results.variants[0];
//! // Nothing is random here, so one replication is enough; the child costs exactly $0.778875.
//! assert_eq!(results.replications, 1);
//! assert_eq!(fork.agents[1].cost_usd, 0.778875);
//! # Ok::<(), forkcast::scenario::Problems>(())
//! ```
//!
//! # Guarantees
//!
//! - Tokens, time and money are integers; a bill is an exact sum of picodollars.
//! - A replication is a function of the plan, the seed and its number: the same bits at any number
//!   of threads, on every platform.
//! - At one instant, responses end first, then start the requests that were held until an entry
//!   became readable, then all others in the order in which they were scheduled.
//! - Every dollar has one cause; causes, items, roles and agents each sum to the bill.
//! - The library touches no file, clock, environment or terminal, and has no `unsafe` code.
//!
//! # Modules, in reading order
//!
//! [`units`], then the four that know nothing of each other: [`des`], [`stats`], [`cache`],
//! [`pricing`]; [`ledger`] joins cache and prices; [`workload`] is what is to be done,
//! [`orchestration`] who does it; [`experiment`], [`scenario`], [`explain`], [`trace`] and
//! [`report`] are what a user meets; [`validation`] is published cases with known answers.

pub mod cache;
pub mod des;
pub mod experiment;
pub mod explain;
pub mod figure;
pub mod ledger;
pub mod orchestration;
pub mod plot;
pub mod pricing;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod trace;
pub mod transcript;
pub mod units;
pub mod validation;
pub mod workload;
