//! What sessions cost, as recorded: every request priced by its day, explained by the cache rules.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::cache::{Accounting, CachePolicy, CacheRequest, Cause, PromptCache, Split};
use crate::ledger::{Bill, Booking, Role};
use crate::pricing::{ModelRates, PriceBook, Usage, charge};
use crate::transcript::chain::{Chains, Prompt};
use crate::transcript::compaction::{CompactionEstimate, summary_requests};
use crate::transcript::outputs::{UnknownOutput, unknown_outputs};
use crate::transcript::rates::{Rates, Unpriced};
use crate::transcript::request::usual_first_token;
use crate::transcript::{Agent, Origin, Request, Session};
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
    let mut projects: BTreeMap<&str, Vec<&Session>> = BTreeMap::new();
    for session in sessions {
        projects.entry(&session.project).or_default().push(session);
    }
    let projects: Vec<Vec<&Session>> = projects.into_values().collect();
    let parts: Vec<SessionsBill> = projects
        .par_iter()
        .map(|sessions| Account::new(sessions, book, options).run(sessions))
        .collect();
    parts.into_iter().fold(SessionsBill::default(), SessionsBill::joined)
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

/// One request in the order of a project.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    /// Number of its agent.
    pub(super) agent: usize,
    pub(super) request: &'a Request,
}

/// The agents of a project, each with the number of its session.
pub(super) fn agents_of<'a>(sessions: &[&'a Session]) -> Vec<(usize, &'a Agent)> {
    let numbered = sessions.iter().enumerate();
    numbered.flat_map(|(of, session)| session.agents.iter().map(move |agent| (of, agent))).collect()
}

/// Returns all requests of a project by their starts.
pub(super) fn steps_of<'a>(agents: &[(usize, &'a Agent)]) -> Vec<Step<'a>> {
    let mut steps: Vec<Step<'a>> = Vec::new();
    for (agent, (_, of)) in agents.iter().enumerate() {
        // Within an agent the order of the file holds, whatever the clock says.
        let mut latest = SimTime::BEGINNING;
        for request in &of.requests {
            latest = latest.max(request.start);
            steps.push(Step { agent, request });
        }
    }
    steps.sort_by_key(|step| step.request.start);
    steps
}

/// Estimates when a response began: as usual for its size, at the latest with its first block.
pub(super) fn first_token(request: &Request) -> SimTime {
    (request.start + usual_first_token(&request.usage)).min(request.first_block)
}

/// Returns the parts of a prompt as recorded.
pub(super) fn split_of(usage: &Usage) -> Split {
    Split {
        read: usage.cache_read,
        write_1h: usage.cache_write_1h,
        write_5m: usage.cache_write_5m,
        uncached: usage.uncached,
    }
}

struct Account<'a> {
    agents: Vec<(usize, &'a Agent)>,
    chains: Chains,
    cache: PromptCache,
    rates: Rates<'a>,
    options: &'a BillOptions,
    result: SessionsBill,
    bills: Vec<AgentBill>,
    spans: Vec<Option<(SimTime, SimTime)>>,
    models: Vec<BTreeSet<String>>,
    unseen: Vec<Unseen>,
    misses: Vec<Vec<Miss>>,
    /// When the last request of each agent was sent.
    sent: Vec<Option<SimTime>>,
}

impl<'a> Account<'a> {
    fn new(sessions: &[&'a Session], book: &'a PriceBook, options: &'a BillOptions) -> Account<'a> {
        let agents = agents_of(sessions);
        let bills = agents.iter().map(|(_, agent)| AgentBill {
            name: agent.name.clone(),
            kind: agent.kind.clone(),
            role: agent.role,
            origin: agent.origin,
            parent: agent.parent.clone(),
            bill: Bill::default(),
            last_request: Tokens::ZERO,
        });
        Account {
            chains: Chains::new(&agents),
            cache: PromptCache::new(&options.policy),
            rates: Rates::of(book),
            options,
            result: SessionsBill::default(),
            bills: bills.collect(),
            spans: vec![None; sessions.len()],
            models: vec![BTreeSet::new(); sessions.len()],
            unseen: vec![Unseen::default(); sessions.len()],
            misses: vec![Vec::new(); sessions.len()],
            sent: vec![None; agents.len()],
            agents,
        }
    }

    fn run(mut self, sessions: &[&Session]) -> SessionsBill {
        for step in steps_of(&self.agents) {
            self.step(step);
        }
        self.finish(sessions)
    }

    fn step(&mut self, step: Step<'a>) {
        let Step { agent: number, request } = step;
        let agent = self.agents[number].1;
        let rates = self.rates.of_request(request);
        let minimum = rates.as_ref().map_or(Tokens::ZERO, |rates| rates.minimum_cacheable);
        let minimum = self.options.policy.minimum.unwrap_or(minimum);
        let prompt = self.chains.prompt(&mut self.cache, (number, agent), request, minimum);
        let is_billed = self.options.covers(request.start);
        self.note_unseen(number, request, &prompt, is_billed);
        if let Some((at, when)) = prompt.placed {
            self.cache.place(at, when);
        }
        let is_written = !(request.usage.cache_write_5m + request.usage.cache_write_1h).is_zero();
        let asked = CacheRequest {
            prompt: prompt.at,
            breakpoints: &prompt.marks,
            start: request.start,
            ready: request.ready,
            minimum: if is_written { Tokens::ZERO } else { minimum },
            early_miss: false,
            last: prompt.last,
            inherited: prompt.inherited,
            expected: request.expected,
        };
        let accounting = self.cache.explain(&asked, &split_of(&request.usage));
        if is_billed {
            match rates {
                Ok(rates) => {
                    let segments = self.cache.segments();
                    let output = request.usage.output;
                    let role = agent.role;
                    let accounting = &accounting;
                    let booking = Booking { role, rates: &rates, accounting, segments, output };
                    let mut one = Bill::default();
                    one.book(&booking);
                    one.book_fees(role, self.rates.fees(request));
                    self.book(step, &one, &rates);
                    self.note_miss(step, accounting, &one);
                }
                Err(reason) => Unpriced::note(&mut self.result.unpriced, request, &reason),
            }
        }
        self.cache.commit(&asked, &accounting, first_token(request), request.end);
        self.sent[number] = Some(request.start);
    }

    fn note_miss(&mut self, Step { agent, request }: Step<'_>, found: &Accounting, one: &Bill) {
        if !found.is_miss {
            return;
        }
        let mut tokens = [0; Cause::COUNT];
        for segment in self.cache.segments() {
            tokens[segment.cause as usize] += segment.tokens;
        }
        let missed = || Cause::ALL.into_iter().filter(|cause| cause.is_miss());
        let Some(cause) = missed().max_by_key(|cause| tokens[*cause as usize]) else { return };
        let (session, of) = self.agents[agent];
        self.misses[session].push(Miss {
            agent: of.name.clone(),
            at: request.start,
            since_last: self.sent[agent].map(|sent| request.start.since(sent)),
            cause,
            tokens: Tokens::new(missed().map(|cause| tokens[cause as usize]).sum()),
            cost: missed().map(|cause| one.causes[cause as usize]).sum(),
        });
    }

    /// Counts what was read beyond all that the agent had written itself.
    fn note_unseen(&mut self, number: usize, request: &Request, prompt: &Prompt, billed: bool) {
        let Some(last) = prompt.last.filter(|_| billed && prompt.placed.is_some()) else { return };
        let beyond = request.usage.cache_read.saturating_sub(last.cached);
        if beyond.is_zero() || !self.cache.tree().starts_with(prompt.at, last.prompt) {
            return;
        }
        let unseen = &mut self.unseen[self.agents[number].0];
        unseen.requests += 1;
        unseen.tokens += beyond;
    }

    fn book(&mut self, Step { agent, request }: Step<'_>, one: &Bill, rates: &ModelRates) {
        let session = self.agents[agent].0;
        self.result.total += one;
        *self.result.days.entry(Date::of(request.start)).or_default() += one;
        let label = Rates::label(request);
        if !self.result.models.contains_key(&label) {
            self.result.assumed.extend(rates.assumed.iter().cloned());
        }
        if !self.models[session].contains(&label) {
            self.models[session].insert(label.clone());
        }
        *self.result.models.entry(label).or_default() += one;
        let bill = &mut self.bills[agent];
        bill.bill += one;
        bill.last_request = request.usage.prompt() + request.usage.output;
        let span = self.spans[session].get_or_insert((request.start, request.end));
        *span = (span.0.min(request.start), span.1.max(request.end));
    }

    fn finish(mut self, sessions: &[&Session]) -> SessionsBill {
        let mut bills = self.bills.into_iter().peekable();
        let mut left = self.agents.iter().map(|(session, _)| *session).peekable();
        for (number, session) in sessions.iter().enumerate() {
            let mut agents = Vec::new();
            while left.next_if_eq(&number).is_some() {
                agents.extend(bills.next());
            }
            agents.retain(|agent| agent.bill.requests > 0);
            let Some((first, last)) = self.spans[number] else { continue };
            let mut bill = Bill::default();
            for agent in &agents {
                bill += &agent.bill;
            }
            *self.result.projects.entry(session.project.clone()).or_default() += &bill;
            let covers = |instant| self.options.covers(instant);
            self.result.sessions.push(SessionBill {
                project: session.project.clone(),
                id: session.id.clone(),
                version: session.version.clone(),
                first,
                last,
                bill,
                agents,
                models: std::mem::take(&mut self.models[number]),
                unknown_output: unknown_outputs(session, &mut self.rates, covers),
                compaction: summary_requests(session, &mut self.rates, covers),
                unseen: self.unseen[number],
                misses: std::mem::take(&mut self.misses[number]),
            });
        }
        self.result
    }
}

/// Returns what a usage costs, or nothing where it has no price.
pub(super) fn cost_of(rates: &mut Rates<'_>, request: &Request, usage: &Usage) -> Option<Money> {
    rates.of_request(request).ok().map(|rates| charge(&rates, usage).total())
}
