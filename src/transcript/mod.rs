//! Transcripts of real sessions: what they cost and why, and what they would have cost otherwise.
//!
//! A client's transcript holds, for each request, the usage that the provider reported. From the
//! sizes the prompts are put together again as chains of blocks ([`bill_sessions`] says how well
//! that holds); the cache and price rules that simulate a scenario then say why each token was
//! processed. No text of a session is kept or written.
//!
//! Lines come in, values go out: files and folders belong to the command line.
//!
//! Reading order: [`FileRole`] (what a path says), [`FileReader`] (one file), [`put_together`]
//! (sessions, each request once), [`bill_sessions`] (what they cost), [`replay_sessions`] (what
//! they would have cost).

mod account;
mod agreement;
mod chain;
mod compaction;
mod file;
mod heads;
mod layout;
mod lenient;
mod outputs;
mod pending;
mod play;
mod policy;
mod rates;
mod record;
mod recorded;
mod replay;
mod request;
mod session;
mod standing;
mod walk;

pub use account::{AgentBill, BillOptions, Miss, SessionBill, SessionsBill, Unseen, bill_sessions};
pub use agreement::{Agreement, ClockFit, Difference};
pub use compaction::CompactionEstimate;
pub use file::{BrokenLine, FileReader};
pub use layout::FileRole;
pub use outputs::UnknownOutput;
pub use policy::{ReplayLaunch, ReplayPolicy};
pub use rates::Unpriced;
pub use replay::{
    PolicyResult, Replay, ReplayOptions, SessionReplay, TtlQuestion, replay_sessions,
};
pub use request::{ChildLink, CompactionMark, Request, Trigger};
pub use session::{Agent, Origin, Session, put_together};
pub use standing::Standing;
