//! Sums over replications, exact.

use crate::cache::Cause;
use crate::ledger::Bill;
use crate::orchestration::{AgentBill, ControlValues, Outcome, RunRecord, System};
use crate::pricing::Usage;
use crate::stats::{Moments, Quantiles, mean_usd};
use crate::units::{Money, SimDuration};

/// What is kept of one replication by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) cost: Money,
    pub(super) makespan: SimDuration,
    pub(super) wait: SimDuration,
    pub(super) hit_ratio: f64,
    pub(super) controls: ControlValues,
}

impl Row {
    pub(super) fn new(system: &System, controls: ControlValues) -> Row {
        let (bill, record) = (system.bill(), system.record());
        Row {
            cost: bill.total,
            makespan: record.makespan,
            wait: record.wait,
            hit_ratio: hit_ratio(&bill.tokens),
            controls,
        }
    }

    /// Mean cost of the replications of one observation in US dollars.
    pub(super) fn mean_cost(rows: &[Row]) -> f64 {
        mean_usd(rows.iter().map(|row| row.cost).sum(), rows.len() as u64)
    }

    /// Mean controls of the replications of one observation.
    pub(super) fn mean_controls(rows: &[Row]) -> ControlValues {
        std::array::from_fn(|at| {
            rows.iter().map(|row| row.controls[at]).sum::<f64>() / rows.len() as f64
        })
    }
}

/// Tokens read as a share of all prompts; 0 where nothing was asked.
fn hit_ratio(tokens: &Usage) -> f64 {
    tokens.cache_read.get() as f64 / tokens.prompt().get().max(1) as f64
}

/// One response over replications, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    /// Of independent observations: replications, or the means of antithetic pairs.
    pub(super) moments: Moments,
    /// Of replications, which in pairs are not independent.
    pub(super) each: Moments,
    pub(super) quantiles: Quantiles,
}

impl Series {
    /// Takes the replications of one observation.
    fn push(&mut self, rows: &[Row], value: fn(&Row) -> f64) {
        self.moments.push(rows.iter().map(value).sum::<f64>() / rows.len() as f64);
        for value in rows.iter().map(value) {
            self.each.push(value);
            self.quantiles.push(value);
        }
    }
}

/// What is taken in the order of replications, because floats depend on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordered {
    pub(super) cost: Series,
    pub(super) makespan: Series,
    pub(super) wait: Series,
    pub(super) hit_ratio: Moments,
}

impl Ordered {
    /// Takes the replications of one observation.
    pub(super) fn push(&mut self, rows: &[Row]) {
        self.cost.push(rows, |row| row.cost.as_usd());
        self.makespan.push(rows, |row| row.makespan.as_seconds());
        self.wait.push(rows, |row| row.wait.as_seconds());
        for row in rows {
            self.hit_ratio.push(row.hit_ratio);
        }
    }
}

/// What one agent came to, over replications.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AgentTotal {
    pub(super) cost: Money,
    pub(super) requests: u64,
}

/// Exact sums of integers: the same in any order, so each worker has its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) cost: Money,
    pub(super) items: [Money; 6],
    pub(super) roles: [Money; 6],
    pub(super) causes: [Money; Cause::COUNT],
    pub(super) no_cache: Money,
    pub(super) perfect_cache: Money,
    /// Uncached, written for 5 minutes, for 1 hour, read, output.
    pub(super) tokens: [u128; 5],
    pub(super) requests: u64,
    pub(super) misses: u64,
    pub(super) expected_rebuilds: u64,
    /// Attempted, started, refused, completed, failed.
    pub(super) launches: [u64; 7],
    /// Tasks called and not done.
    pub(super) dropped: u64,
    /// Attempts above a rate limit, attempts that found the provider overloaded.
    pub(super) failed_attempts: [u64; 2],
    pub(super) last_request: u128,
    /// In the order of [`Outcome::ALL`].
    pub(super) outcomes: [u64; Outcome::ALL.len()],
    pub(super) agents: Vec<AgentTotal>,
}

impl Totals {
    /// Adds what the last replication of a system came to.
    pub(super) fn add(&mut self, system: &System) {
        self.add_bill(system.bill());
        self.add_record(system.record());
        for (index, agent) in system.agent_bills().enumerate() {
            self.last_request += u128::from(agent.last_request.get());
            let AgentBill { cost, requests, .. } = *agent;
            self.add_agent(index, AgentTotal { cost, requests });
        }
    }

    /// Adds the sums of another worker.
    pub(super) fn merge(&mut self, other: &Totals) {
        self.cost += other.cost;
        add_each(&mut self.items, &other.items);
        add_each(&mut self.roles, &other.roles);
        add_each(&mut self.causes, &other.causes);
        self.no_cache += other.no_cache;
        self.perfect_cache += other.perfect_cache;
        add_each(&mut self.tokens, &other.tokens);
        self.requests += other.requests;
        self.misses += other.misses;
        self.expected_rebuilds += other.expected_rebuilds;
        add_each(&mut self.launches, &other.launches);
        self.dropped += other.dropped;
        add_each(&mut self.failed_attempts, &other.failed_attempts);
        self.last_request += other.last_request;
        add_each(&mut self.outcomes, &other.outcomes);
        for (index, agent) in other.agents.iter().enumerate() {
            self.add_agent(index, *agent);
        }
    }

    fn add_bill(&mut self, bill: &Bill) {
        self.cost += bill.total;
        add_each(&mut self.items, &bill.items);
        add_each(&mut self.roles, &bill.roles);
        add_each(&mut self.causes, &bill.causes);
        self.no_cache += bill.no_cache;
        self.perfect_cache += bill.perfect_cache;
        let Usage { uncached, cache_write_5m, cache_write_1h, cache_read, output } = bill.tokens;
        let tokens = [uncached, cache_write_5m, cache_write_1h, cache_read, output];
        add_each(&mut self.tokens, &tokens.map(|tokens| u128::from(tokens.get())));
        self.requests += bill.requests;
        self.misses += bill.misses;
        self.expected_rebuilds += bill.expected_rebuilds;
    }

    fn add_record(&mut self, record: &RunRecord) {
        let launches = &record.launches;
        let counts = [
            launches.attempted,
            launches.started,
            launches.refused_concurrency,
            launches.refused_depth,
            launches.refused_other,
            launches.completed,
            launches.failed,
        ];
        add_each(&mut self.launches, &counts.map(u64::from));
        self.dropped += u64::from(launches.dropped);
        add_each(&mut self.failed_attempts, &[record.rate_limited, record.overloaded]);
        self.outcomes[record.outcome as usize] += 1;
    }

    fn add_agent(&mut self, index: usize, agent: AgentTotal) {
        if index == self.agents.len() {
            self.agents.push(AgentTotal::default());
        }
        self.agents[index].cost += agent.cost;
        self.agents[index].requests += agent.requests;
    }
}

fn add_each<T: Copy + std::ops::AddAssign>(sums: &mut [T], values: &[T]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += *value;
    }
}
