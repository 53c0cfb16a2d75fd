//! One replication explained: what happened, what each dollar was paid for, and what would have
//! avoided the most expensive moments.
//!
//! Nothing is guessed: a remedy is a change of settings, and what it saves comes from running the
//! same replication with it.
//!
//! Reading order: [`Explanation`] (the accounts of requests and agents), [`Moment`] (where much was
//! paid at once), [`Change`] (what might help), [`explain()`] (trying it).

mod account;
mod change;
mod moment;
mod remedy;

pub use account::{AgentAccount, CauseAccount, Explanation, Lapse, RequestAccount};
pub use change::Change;
pub use moment::{Moment, MomentKind};
pub use remedy::{LoadChanged, Remedy, Subject, explain};
