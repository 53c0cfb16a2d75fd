//! What a replication came to, request by request and agent by agent.

use std::collections::BTreeMap;

use crate::cache::{Category, Cause, PrefixId, PromptTree};
use crate::explain::Moment;
use crate::ledger::{Bill, RequestRecord, agent_name};
use crate::orchestration::{
    AgentBill, AgentKind, EventLog, Happening, ModelPlan, Plan, RequestPurpose, RunRecord, System,
    Texts,
};
use crate::pricing::charge;
use crate::units::{Money, SimTime, Tokens};

/// One replication, explained.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Name of the variant.
    pub variant: String,
    /// Seed of the random streams.
    pub seed: u64,
    /// Number of the replication, from 1.
    pub replication: u64,
    /// What it cost.
    pub bill: Bill,
    /// How it went.
    pub record: RunRecord,
    /// Names of the models that records number.
    pub models: Vec<String>,
    /// `main` and its children in order of launch.
    pub agents: Vec<AgentAccount>,
    /// Requests, in the order and by the numbers of the log.
    pub requests: Vec<RequestAccount>,
    /// All that happened.
    pub log: EventLog,
    /// The client's own words.
    pub texts: Texts,
    /// The most expensive moments, the most expensive first.
    pub moments: Vec<Moment>,
}

/// What one agent was and cost.
#[derive(Clone, Debug)]
pub struct AgentAccount {
    /// Its name in results.
    pub name: String,
    /// What it is; `None` is the main session.
    pub kind: Option<AgentKind>,
    /// Name of its model.
    pub model: String,
    /// What it cost.
    pub bill: AgentBill,
}

/// What one request was paid for.
#[derive(Clone, Debug)]
pub struct RequestAccount {
    /// What it was for.
    pub purpose: RequestPurpose,
    /// Causes of its processed tokens, in prompt order.
    pub causes: Vec<CauseAccount>,
    /// Cost of what it read.
    pub read_cost: Money,
    /// Cost of its output.
    pub output_cost: Money,
    /// The bill up to and including it, in the order of starts.
    pub running_total: Money,
    /// The longest entry of its prompt that had expired, if that made it pay.
    pub lapse: Option<Lapse>,
}

/// A run of tokens paid for one reason at one price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseAccount {
    /// Why they were processed.
    pub cause: Cause,
    /// What they were charged as.
    pub category: Category,
    /// How many.
    pub tokens: Tokens,
    /// What they cost.
    pub cost: Money,
}

/// The end of an entry that was needed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lapse {
    /// When it expired.
    pub at: SimTime,
    /// How long it was.
    pub tokens: Tokens,
}

impl Explanation {
    /// Runs a replication of a plan and accounts for it; moments are still to be found.
    pub(super) fn new(variant: &str, plan: &Plan, seed: u64, replication: u64) -> Explanation {
        let mut system = System::new(plan.clone(), seed);
        let log = system.run_told(replication);
        Explanation {
            variant: variant.to_owned(),
            seed,
            replication,
            bill: system.bill().clone(),
            record: *system.record(),
            models: plan.models().iter().map(|model| model.name.clone()).collect(),
            agents: agents(&system, &log),
            requests: requests(&log, plan.models(), system.cache().tree()),
            log,
            texts: plan.texts().clone(),
            moments: Vec::new(),
        }
    }
}

fn agents(system: &System, log: &EventLog) -> Vec<AgentAccount> {
    let plan = system.plan();
    let kinds: BTreeMap<u32, AgentKind> = log
        .happenings
        .iter()
        .filter_map(|entry| match entry.happening {
            Happening::LaunchStarted { kind, .. } => Some((entry.agent, kind)),
            _ => None,
        })
        .collect();
    let model = |agent: u32| {
        let is_own = |record: &&RequestRecord| record.agent == agent && !record.is_paid;
        log.run.requests.iter().find(is_own).map_or(usize::from(agent > 0), |record| record.model)
    };
    let account = |(agent, bill): (u32, &AgentBill)| AgentAccount {
        name: agent_name(agent),
        kind: kinds.get(&agent).copied(),
        model: plan.models()[model(agent)].name.clone(),
        bill: *bill,
    };
    (0..).zip(system.agent_bills()).map(account).collect()
}

fn requests(log: &EventLog, models: &[ModelPlan; 2], tree: &PromptTree) -> Vec<RequestAccount> {
    let mut accounts = Vec::new();
    let mut running_total = Money::ZERO;
    let mut lapsed: BTreeMap<PrefixId, SimTime> = BTreeMap::new();
    for entry in &log.happenings {
        match entry.happening {
            Happening::EntryExpired { entry: prefix, .. } => {
                lapsed.insert(prefix, entry.at);
            }
            Happening::EntryWritten { entry: prefix, .. } => {
                lapsed.remove(&prefix);
            }
            Happening::RequestStarted { request, purpose } => {
                let record = &log.run.requests[request];
                running_total += record.cost;
                let rates = &models[record.model].rates;
                let causes = record.segment_costs(rates).map(|(segment, cost)| CauseAccount {
                    cause: segment.cause,
                    category: segment.category,
                    tokens: Tokens::new(segment.tokens),
                    cost,
                });
                let causes: Vec<CauseAccount> = causes.collect();
                let is_lapse = |one: &CauseAccount| {
                    matches!(one.cause, Cause::Expired | Cause::ExpiredWhileLimited)
                };
                let lapse = causes
                    .iter()
                    .any(is_lapse)
                    .then(|| find_lapse(record, tree, &lapsed))
                    .flatten();
                let charge = charge(rates, &record.usage());
                let (read_cost, output_cost) = (charge.cache_read, charge.output);
                accounts.push((
                    request,
                    RequestAccount {
                        purpose,
                        causes,
                        read_cost,
                        output_cost,
                        running_total,
                        lapse,
                    },
                ));
            }
            _ => {}
        }
    }
    accounts.sort_by_key(|(request, _)| *request);
    accounts.into_iter().map(|(_, account)| account).collect()
}

/// Finds the longest prefix of a prompt whose entry has expired and not been written again.
fn find_lapse(
    record: &RequestRecord,
    tree: &PromptTree,
    lapsed: &BTreeMap<PrefixId, SimTime>,
) -> Option<Lapse> {
    std::iter::successors(Some(record.prompt), |at| tree.parent(*at))
        .find_map(|at| lapsed.get(&at).map(|when| Lapse { at: *when, tokens: tree.tokens(at) }))
}
