//! What sessions cost, as recorded: every request priced by its day, explained by the cache rules.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::cache::{CachePolicy, Cause};
use crate::ledger::{Bill, Booking, Role};
use crate::pricing::{ModelRates, PriceBook, Usage, charge};
use crate::transcript::chain::Evidence;
use crate::transcript::compaction::{CompactionEstimate, summary_requests};
use crate::transcript::outputs::{UnknownOutput, unknown_outputs};
use crate::transcript::rates::{Rates, Unpriced};
use crate::transcript::walk::{Step, Taken, Walk};
use crate::transcript::{Origin, Request, Session};
use crate::units::{Date, Money, SimDuration, SimTime, Tokens};

/// How sessions are accounted.
#[derive(Clone, Debug, Default)]
pub struct BillOptions {
    /// Cache rules by which causes are found.
    pub policy: CachePolicy,
    /// First day (UTC) of what is billed.
    pub since: Option<Date>,
    /// Last day (UTC) of what is billed.
    pub until: Option<Date>,
}

impl BillOptions {
    fn covers(&self, instant: SimTime) -> bool {
        let day = Date::of(instant);
        self.since.is_none_or(|since| since <= day) && self.until.is_none_or(|until| day <= until)
    }
}

/// What sessions cost.
#[derive(Clone, Debug, Default)]
pub struct SessionsBill {
    /// The sum of all sessions.
    pub total: Bill,
    /// Each session with requests in the days that are billed, by its first request.
    pub sessions: Vec<SessionBill>,
    /// By UTC day of the request.
    pub days: BTreeMap<Date, Bill>,
    /// By project.
    pub projects: BTreeMap<String, Bill>,
    /// By model, as recorded; `(fast)` and other modifiers apart.
    pub models: BTreeMap<String, Bill>,
    /// Requests that could not be priced, and so are in no sum.
    pub unpriced: Vec<Unpriced>,
    /// Prices that no source confirms.
    pub assumed: BTreeSet<String>,
}

/// What one session cost.
#[derive(Clone, Debug)]
pub struct SessionBill {
    /// Folder of its project.
    pub project: String,
    /// Its id.
    pub id: String,
    /// Version of the client.
    pub version: Option<String>,
    /// Start of its first request that is billed.
    pub first: SimTime,
    /// End of its last response.
    pub last: SimTime,
    /// Sum of its agents.
    pub bill: Bill,
    /// Its agents, in the order of [`Session::agents`].
    pub agents: Vec<AgentBill>,
    /// Models as recorded.
    pub models: BTreeSet<String>,
    /// Outputs of which only the beginning is recorded.
    pub unknown_output: UnknownOutput,
    /// Summary requests of compactions, which the transcript does not hold.
    pub compaction: CompactionEstimate,
    /// What was read beyond all that the session's own requests had written.
    pub unseen: Unseen,
    /// Its misses, in the order of time.
    pub misses: Vec<Miss>,
}

/// What one agent cost.
#[derive(Clone, Debug)]
pub struct AgentBill {
    /// `main` or the id.
    pub name: String,
    /// Its kind, where it is told.
    pub kind: Option<String>,
    /// On whose behalf.
    pub role: Role,
    /// Where its requests were found.
    pub origin: Origin,
    /// Who launched it.
    pub parent: Option<String>,
    /// What it cost.
    pub bill: Bill,
    /// Prompt and output of its last request: what clients show for the whole (semantics A4).
    pub last_request: Tokens,
}

/// A request that processed again what had been cached: a miss in the client's sense (semantics
/// A5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The agent.
    pub agent: String,
    /// When the request was sent.
    pub at: SimTime,
    /// Time since the agent's last request was sent; `None` for its first.
    pub since_last: Option<SimDuration>,
    /// The cause of most of what was processed again.
    pub cause: Cause,
    /// Tokens that were processed again.
    pub tokens: Tokens,
    /// What they cost.
    pub cost: Money,
}

/// Requests that a transcript does not hold, known by what they left in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Requests that read more than the agent's earlier ones had written.
    pub requests: u64,
    /// Tokens that someone else must have written.
    pub tokens: Tokens,
}

/// Accounts sessions.
pub fn bill_sessions(
    sessions: &[Session],
    book: &PriceBook,
    options: &BillOptions,
) -> SessionsBill {
    let projects = by_project(sessions);
    let parts: Vec<SessionsBill> =
        projects.par_iter().map(|sessions| bill_project(sessions, book, options)).collect();
    parts.into_iter().fold(SessionsBill::default(), SessionsBill::joined)
}

/// Returns the sessions of each project, which share a cache.
pub(super) fn by_project(sessions: &[Session]) -> Vec<Vec<&Session>> {
    let mut projects: BTreeMap<&str, Vec<&Session>> = BTreeMap::new();
    for session in sessions {
        projects.entry(&session.project).or_default().push(session);
    }
    projects.into_values().collect()
}

fn bill_project(sessions: &[&Session], book: &PriceBook, options: &BillOptions) -> SessionsBill {
    let mut walk = Walk::new(sessions, book, &options.policy, Evidence::Reads);
    let mut account = Account::new(&walk, sessions.len(), options);
    for step in walk.steps() {
        walk.take(step, |taken, rates| account.see(taken, rates.fees(step.request)));
    }
    account.finish(sessions, &mut walk.rates)
}

impl SessionsBill {
    fn joined(mut self, other: SessionsBill) -> SessionsBill {
        fn join<K: Ord>(sums: &mut BTreeMap<K, Bill>, parts: BTreeMap<K, Bill>) {
            for (key, part) in parts {
                *sums.entry(key).or_default() += &part;
            }
        }
        self.total += &other.total;
        self.sessions.extend(other.sessions);
        self.sessions.sort_by(|a, b| (a.first, &a.id).cmp(&(b.first, &b.id)));
        join(&mut self.days, other.days);
        join(&mut self.projects, other.projects);
        join(&mut self.models, other.models);
        Unpriced::join(&mut self.unpriced, other.unpriced);
        self.assumed.extend(other.assumed);
        self
    }

    /// Returns what the transcripts do not hold of compactions, estimated.
    pub fn compaction(&self) -> CompactionEstimate {
        self.sessions
            .iter()
            .fold(CompactionEstimate::default(), |sum, session| sum.plus(&session.compaction))
    }

    /// Returns what is known of outputs of which only the beginning is recorded.
    pub fn unknown_output(&self) -> UnknownOutput {
        self.sessions
            .iter()
            .fold(UnknownOutput::default(), |sum, session| sum.plus(&session.unknown_output))
    }

    /// Returns what was read that no request of its agent had written.
    pub fn unseen(&self) -> Unseen {
        self.sessions.iter().fold(Unseen::default(), |sum, session| Unseen {
            requests: sum.requests + session.unseen.requests,
            tokens: sum.tokens + session.unseen.tokens,
        })
    }
}

struct Account<'a> {
    options: &'a BillOptions,
    result: SessionsBill,
    bills: Vec<AgentBill>,
    sessions: Vec<Found>,
    /// Session of each agent.
    session_of: Vec<usize>,
    /// When the last request of each agent was sent.
    sent: Vec<Option<SimTime>>,
}

/// What is found of a session request by request.
#[derive(Clone, Debug, Default)]
struct Found {
    span: Option<(SimTime, SimTime)>,
    models: BTreeSet<String>,
    unseen: Unseen,
    misses: Vec<Miss>,
}

impl<'a> Account<'a> {
    fn new(walk: &Walk<'a>, sessions: usize, options: &'a BillOptions) -> Account<'a> {
        let bills = walk.agents.iter().map(|(_, agent)| AgentBill {
            name: agent.name.clone(),
            kind: agent.kind.clone(),
            role: agent.role,
            origin: agent.origin,
            parent: agent.parent.clone(),
            bill: Bill::default(),
            last_request: Tokens::ZERO,
        });
        Account {
            options,
            result: SessionsBill::default(),
            bills: bills.collect(),
            sessions: vec![Found::default(); sessions],
            session_of: walk.agents.iter().map(|(session, _)| *session).collect(),
            sent: vec![None; walk.agents.len()],
        }
    }

    fn see(&mut self, taken: &Taken<'_, 'a>, fees: Money) {
        let Step { agent, request } = taken.step;
        let since_last = self.sent[agent].map(|sent| request.start.since(sent));
        self.sent[agent] = Some(request.start);
        if !self.options.covers(request.start) {
            return;
        }
        self.note_unseen(taken);
        match taken.rates {
            Ok(rates) => {
                let role = self.bills[agent].role;
                let mut one = Bill::default();
                one.book(&Booking {
                    role,
                    rates,
                    accounting: taken.accounting,
                    segments: taken.segments,
                    output: request.usage.output,
                });
                one.book_fees(role, fees);
                self.book(taken.step, &one, rates);
                self.note_miss(taken, since_last, &one);
            }
            Err(reason) => Unpriced::note(&mut self.result.unpriced, request, reason),
        }
    }

    fn note_miss(&mut self, taken: &Taken<'_, '_>, since_last: Option<SimDuration>, one: &Bill) {
        if !taken.accounting.is_miss {
            return;
        }
        let mut tokens = [0; Cause::COUNT];
        for segment in taken.segments {
            tokens[segment.cause as usize] += segment.tokens;
        }
        let missed = || Cause::ALL.into_iter().filter(|cause| cause.is_miss());
        let Some(cause) = missed().max_by_key(|cause| tokens[*cause as usize]) else { return };
        let Step { agent, request } = taken.step;
        self.sessions[self.session_of[agent]].misses.push(Miss {
            agent: self.bills[agent].name.clone(),
            at: request.start,
            since_last,
            cause,
            tokens: Tokens::new(missed().map(|cause| tokens[cause as usize]).sum()),
            cost: missed().map(|cause| one.causes[cause as usize]).sum(),
        });
    }

    /// Counts what was read beyond all that the agent had written itself.
    fn note_unseen(&mut self, taken: &Taken<'_, '_>) {
        if taken.prompt.unseen.is_zero() {
            return;
        }
        let unseen = &mut self.sessions[self.session_of[taken.step.agent]].unseen;
        unseen.requests += 1;
        unseen.tokens += taken.prompt.unseen;
    }

    fn book(&mut self, Step { agent, request }: Step<'_>, one: &Bill, rates: &ModelRates) {
        let session = &mut self.sessions[self.session_of[agent]];
        self.result.total += one;
        *self.result.days.entry(Date::of(request.start)).or_default() += one;
        let label = Rates::label(request);
        if !self.result.models.contains_key(&label) {
            self.result.assumed.extend(rates.assumed.iter().cloned());
        }
        if !session.models.contains(&label) {
            session.models.insert(label.clone());
        }
        *self.result.models.entry(label).or_default() += one;
        let span = session.span.get_or_insert((request.start, request.end));
        *span = (span.0.min(request.start), span.1.max(request.end));
        let bill = &mut self.bills[agent];
        bill.bill += one;
        bill.last_request = request.usage.prompt() + request.usage.output;
    }

    fn finish(mut self, sessions: &[&Session], rates: &mut Rates<'_>) -> SessionsBill {
        let mut agents: Vec<Vec<AgentBill>> = vec![Vec::new(); sessions.len()];
        for (session, bill) in self.session_of.iter().zip(self.bills) {
            if bill.bill.requests > 0 {
                agents[*session].push(bill);
            }
        }
        let covers = |instant| self.options.covers(instant);
        for ((session, agents), found) in sessions.iter().zip(agents).zip(self.sessions) {
            let Some((first, last)) = found.span else { continue };
            let mut bill = Bill::default();
            for agent in &agents {
                bill += &agent.bill;
            }
            *self.result.projects.entry(session.project.clone()).or_default() += &bill;
            self.result.sessions.push(SessionBill {
                project: session.project.clone(),
                id: session.id.clone(),
                version: session.version.clone(),
                first,
                last,
                bill,
                agents,
                models: found.models,
                unknown_output: unknown_outputs(session, rates, covers),
                compaction: summary_requests(session, rates, covers),
                unseen: found.unseen,
                misses: found.misses,
            });
        }
        self.result
    }
}

/// Returns what a usage costs, or nothing where it has no price.
pub(super) fn cost_of(rates: &mut Rates<'_>, request: &Request, usage: &Usage) -> Option<Money> {
    rates.of_request(request).ok().map(|rates| charge(&rates, usage).total())
}
