//! The simulated system: a main session that delegates, its children, and the provider they ask.
//!
//! A [`Plan`] is a scenario made ready to run: distributions compiled, prices resolved, sizes
//! added up. A [`System`] runs replications of it, one after another, in memory that it keeps.
//! Nothing here can fail: what could be wrong was refused when the plan was made, and limits that
//! a run reaches are recorded outcomes.
//!
//! Reading order: [`settings`](Session), [`Plan`], `event` (what happens, and in which order at
//! one instant), `agent` (the state of one agent), `system` (the loop and the one match), then its
//! parts: `request`, `provider`, `team`, `parent`, `delegation`, `launch`, `children`, `iteration`,
//! `refused`, `resume`, `notes`, `compaction`; last [`EventLog`] (what is told of a replication)
//! and `recorder` (how it is kept). What is drawn, and how much work that is, can be told without a
//! run: [`Draws`], [`Controls`].

mod agent;
mod amount;
mod children;
mod compaction;
mod control;
mod delegation;
mod draws;
mod event;
mod iteration;
mod launch;
mod log;
mod nested;
mod notes;
mod outcome;
mod parent;
mod plan;
mod provider;
mod recorder;
mod refused;
mod request;
mod resume;
mod settings;
mod setup;
mod system;
mod team;
mod texts;
mod workflow;

pub use control::{Control, ControlValues, Controls};
pub use draws::Draws;
pub use log::{
    Delivery, EventLog, Happening, LogEntry, RequestPurpose, Span, SpanActivity, WaitReason,
};
pub use nested::Nested;
pub use outcome::{AgentBill, Launches, Outcome, RunRecord};
pub use plan::{ModelPlan, Plan, PlanInput, default_ttl};
pub use refused::Refused;
pub use resume::{Resume, ResumedTools};
pub use settings::{
    AgentKind, Billing, Contention, Fanout, Fork, ForkTail, Launch, Limits, Machine, Notices,
    Prewarm, Provider, Queue, ScriptedFailure, Session, Wrapper, Wrappers,
};
pub use system::System;
pub use texts::{RefusalReason, Texts};
pub use workflow::Workflow;
