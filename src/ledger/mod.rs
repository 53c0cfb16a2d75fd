//! The ledger: what each request was and what it cost, simulated or real.
//!
//! A simulation and a replay write the same records and book into the same [`Bill`], so every
//! report works on both and a recorded run checks what the simulator charges.
//!
//! Reading order: [`Role`], [`Bill`], [`RequestRecord`].

mod bill;
mod request_record;

pub use bill::{Bill, Booking, ITEM_NAMES, Role};
pub use request_record::{AttemptRecord, RequestRecord, RunLog, agent_name};
