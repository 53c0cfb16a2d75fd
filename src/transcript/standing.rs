//! A session as it stands: what a scenario has to know of it to go on from there.

use crate::cache::{RoleTtl, Ttl};
use crate::ledger::Role;
use crate::transcript::{Agent, Request, Session};
use crate::units::{SimTime, Tokens};

/// What the last request of a main session left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Id of the session.
    pub session: String,
    /// Version of the client.
    pub version: Option<String>,
    /// Model of the last request.
    pub model: String,
    /// Its prompt, in tokens.
    pub context: Tokens,
    /// Its output, in tokens.
    pub output: Tokens,
    /// When it was sent: the clock of its entries starts here (semantics E5).
    pub sent: SimTime,
    /// When its response ended.
    pub ended: SimTime,
    /// Lifetimes of the main session's entries, by its last writes; `None` where it wrote nothing.
    pub main_ttl: Option<RoleTtl>,
    /// The same of its subagents.
    pub subagent_ttl: Option<RoleTtl>,
    /// Whether the client has compacted the conversation since.
    pub is_compacted: bool,
}

impl Standing {
    /// Returns how a session stands; `None` where it has no request of its own.
    pub fn of(session: &Session) -> Option<Standing> {
        let main = session.agents.iter().find(|agent| agent.role == Role::Main)?;
        let last = main.requests.iter().max_by_key(|request| request.end)?;
        let children = session.agents.iter().filter(|agent| agent.role == Role::Subagent);
        let written = children.flat_map(|agent: &Agent| &agent.requests);
        Some(Standing {
            session: session.id.clone(),
            version: session.version.clone(),
            model: last.model.to_string(),
            context: last.usage.prompt(),
            output: last.usage.output,
            sent: last.start,
            ended: last.end,
            main_ttl: lifetimes(main.requests.iter()),
            subagent_ttl: lifetimes(written),
            is_compacted: main
                .compactions
                .last()
                .is_some_and(|mark| mark.requests_before == main.requests.len()),
        })
    }
}

/// Returns the lifetimes of the last request that wrote.
fn lifetimes<'a>(requests: impl Iterator<Item = &'a Request>) -> Option<RoleTtl> {
    let written = |request: &&Request| {
        !(request.usage.cache_write_5m + request.usage.cache_write_1h).is_zero()
    };
    let last = requests.filter(written).max_by_key(|request| request.end)?;
    let ttl = |is_long: bool| if is_long { Ttl::OneHour } else { Ttl::FiveMinutes };
    Some(RoleTtl {
        head: ttl(!last.usage.cache_write_1h.is_zero()),
        tail: ttl(last.usage.cache_write_5m.is_zero()),
    })
}
