//! Fork against fresh child as a closed form: a check beside the simulation, and what would have to
//! be different for the other one to win.
//!
//! A child of `K` requests grows by `g = output + tool result` each time. A fork reads the parent's
//! context `P` on every request and writes its tail `a` once; a fresh child writes its start-up
//! context and prompt once, finds out again what the parent knew in `m` leading requests, and reads
//! only what is its own. The difference of the two bills is linear in `K` at equal prices, so it
//! crosses zero at most once, at `K*` (validation case 3.3; checked by `tests/it/oracles.rs`).
//!
//! Assumptions: means in place of distributions; a warm parent; no pause beyond a lifetime, no
//! compaction and no limit. The simulation makes none of them.

use crate::cache::{BreakpointName, Ttl};
use crate::orchestration::{AgentKind, Launch, ModelPlan};
use crate::pricing::CategoryPrices;
use crate::scenario::LoadedVariant;
use crate::units::Tokens;
use crate::workload::{Notes, PrefixChange};

/// Prices are stated per million tokens.
const MILLION: f64 = 1e6;

/// What the closed form needs to know, as means.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Inputs {
    iterations: f64,
    context: f64,
    tail: f64,
    shared: f64,
    own: f64,
    rediscovery: f64,
    rediscovery_iterations: f64,
    output: f64,
    result: f64,
    report: f64,
    fork_notes: NoteSizes,
    fresh_notes: NoteSizes,
    /// Share of children that write the prefix they share with siblings; the others read it.
    writers: f64,
    fork: Prices,
    fresh: Prices,
}

/// Notes after the first and each later result.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NoteSizes {
    first: f64,
    each: f64,
}

impl NoteSizes {
    fn new(notes: &Notes) -> NoteSizes {
        let first = notes.first + notes.agents;
        NoteSizes { first: first.get() as f64, each: notes.each.get() as f64 }
    }

    /// Returns what the first note has more than a later one, as tokens written once, and as
    /// tokens read by all requests after the one that writes it.
    fn extra(&self, requests: f64) -> (f64, f64) {
        let extra = if requests > 1.0 { self.first - self.each } else { 0.0 };
        (extra, extra * (requests - 2.0).max(0.0))
    }
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Prices {
    write: f64,
    read: f64,
    output: f64,
}

/// One input and the value at which the other variant would win, all else equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Flip {
    /// Name of the input, with its unit.
    pub input: &'static str,
    /// Its value now.
    pub now: f64,
    /// The value at which both cost the same.
    pub then: f64,
}

/// What the closed form says of a pair of variants.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedForm {
    /// Name of the variant that forks.
    pub fork: String,
    /// Name of the variant with fresh children.
    pub fresh: String,
    /// Cost of one fork, in US dollars.
    pub fork_usd: f64,
    /// Cost of one fresh child, in US dollars.
    pub fresh_usd: f64,
    /// Requests per child at which both cost the same; `None`: they never do.
    pub break_even: Option<f64>,
    /// Requests per child, on average.
    pub iterations: f64,
    /// Single inputs that would turn the verdict, the smallest relative change first, prices last.
    pub flips: Vec<Flip>,
}

/// Compares a variant that forks with one of fresh children; `None` for other pairs.
pub fn closed_form(fork: &LoadedVariant, fresh: &LoadedVariant) -> Option<ClosedForm> {
    let kinds = (fork.plan.kind(), fresh.plan.kind());
    let is_pair = matches!(kinds, (AgentKind::Fork, AgentKind::Fresh | AgentKind::Explore));
    if !is_pair || !holds(fork) || !holds(fresh) {
        return None;
    }
    let inputs = Inputs::new(fork, fresh)?;
    Some(ClosedForm {
        fork: fork.name.clone(),
        fresh: fresh.name.clone(),
        fork_usd: inputs.fork_usd(),
        fresh_usd: inputs.fresh_usd(),
        break_even: turn(&inputs, |inputs| &mut inputs.iterations),
        iterations: inputs.iterations,
        flips: flips(&inputs),
    })
}

/// Returns whether the assumptions of the closed form hold for a variant.
fn holds(variant: &LoadedVariant) -> bool {
    let scenario = &variant.scenario;
    let lifetime = variant.plan.ttl().main.tail.duration();
    let context = scenario.session.context.unwrap_or_default();
    let has_one_tier = |model: &ModelPlan| model.rates.tiers.len() == 1;
    scenario.session.warm
        && scenario.session.age < lifetime
        && scenario.cache.enabled
        && scenario.cache.breakpoints.contains(&BreakpointName::End)
        && scenario.cache.minimum.is_none()
        && scenario.task.prefix_change == PrefixChange::None
        && variant.plan.most_children().1 <= 1
        && scenario.resume.messages == 0
        && variant.plan.models().iter().all(has_one_tier)
        && variant.plan.models()[0].trigger.is_none_or(|trigger| context < trigger)
}

impl Inputs {
    fn new(fork: &LoadedVariant, fresh: &LoadedVariant) -> Option<Inputs> {
        let (left, right) = (&fork.scenario, &fresh.scenario);
        let (startup, main) = (fresh.plan.child_startup(), fork.plan.main_startup());
        let cold = main.tools + main.identity + main.system + main.project + main.listing;
        let context = left.session.context.unwrap_or(cold + left.session.prompt);
        let shared = startup.tools + startup.identity + startup.system;
        let tail = left
            .fork
            .tail_tokens
            .unwrap_or(left.fork.directive + left.fork.call + left.fork.placeholder);
        let task = &right.task;
        let children = f64::from(right.fanout.tasks);
        let float = |tokens: Tokens| tokens.get() as f64;
        Some(Inputs {
            iterations: task.iterations.mean(),
            context: float(context),
            tail: float(tail),
            shared: float(shared),
            own: float(startup.project + startup.listing) + task.prompt.mean(),
            rediscovery: task.rediscovery.tokens.mean(),
            rediscovery_iterations: task.rediscovery.iterations.mean(),
            output: task.output.mean(),
            result: task.tool_result.mean(),
            report: task.report.mean(),
            fork_notes: NoteSizes::new(&main.notes),
            fresh_notes: NoteSizes::new(&startup.notes),
            writers: match right.fanout.launch {
                Launch::Together => 1.0,
                Launch::Staggered(_) | Launch::HoldFirst(_) => 1.0 / children,
                Launch::Prewarm(_) => 0.0,
            },
            fork: prices(fork, 0),
            fresh: prices(fresh, 1),
        })
        .filter(|inputs| inputs.context > 0.0)
    }

    fn fork_usd(&self) -> f64 {
        let k = self.iterations;
        let g = self.output + self.result + self.fork_notes.each;
        let (written, read) = self.fork_notes.extra(k);
        let reads =
            read + k * self.context + (k - 1.0) * self.tail + g * (k - 1.0) * (k - 2.0) / 2.0;
        let writes = written + self.tail + (k - 1.0) * g;
        let output = (k - 1.0) * self.output + self.report;
        (self.fork.read * reads + self.fork.write * writes + self.fork.output * output) / MILLION
    }

    fn fresh_usd(&self) -> f64 {
        let (k, m) = (self.iterations, self.rediscovery_iterations);
        let g = self.output + self.result + self.fresh_notes.each;
        let start = self.shared + self.own;
        let each =
            if m > 0.0 { self.rediscovery / m + self.output + self.fresh_notes.each } else { 0.0 };
        let (written, read) = self.fresh_notes.extra(m + k);
        let reads = read
            + m * start
            + each * m * (m - 1.0) / 2.0
            + (k - 1.0) * (start + m * each)
            + g * (k - 1.0) * (k - 2.0) / 2.0;
        let writes = written + self.own + m * each + (k - 1.0) * g;
        let output = (m + k - 1.0) * self.output + self.report;
        let prices = &self.fresh;
        let shared = prices.write * self.writers + prices.read * (1.0 - self.writers);
        let own = prices.read * reads + prices.write * writes + prices.output * output;
        (own + shared * self.shared) / MILLION
    }

    fn difference(&self) -> f64 {
        self.fork_usd() - self.fresh_usd()
    }
}

fn prices(variant: &LoadedVariant, model: usize) -> Prices {
    let rates = &variant.plan.models()[model].rates;
    let tier: &CategoryPrices = rates.tier(Tokens::ZERO);
    let write = match variant.plan.ttl().subagent.tail {
        Ttl::FiveMinutes => tier.cache_write_5m,
        Ttl::OneHour => tier.cache_write_1h,
    };
    let usd = crate::units::PricePerToken::as_usd_per_mtok;
    Prices { write: usd(write), read: usd(tier.cache_read), output: usd(tier.output) }
}

type Input = fn(&mut Inputs) -> &mut f64;

const INPUTS: [(&str, Input); 7] = [
    ("requests per task (task.iterations)", |inputs| &mut inputs.iterations),
    ("parent context (session.context)", |inputs| &mut inputs.context),
    ("found out again (task.rediscovery.tokens)", |inputs| &mut inputs.rediscovery),
    ("tools and system of a fresh child (startup.fresh)", |inputs| &mut inputs.shared),
    ("output per request (task.output)", |inputs| &mut inputs.output),
    ("tool results per request (task.tool_result)", |inputs| &mut inputs.result),
    ("read price in $/MTok", |inputs| &mut inputs.fork.read),
];

fn flips(inputs: &Inputs) -> Vec<Flip> {
    let mut flips: Vec<Flip> = INPUTS
        .iter()
        .filter_map(|(input, place)| {
            let mut copy = *inputs;
            let now = *place(&mut copy);
            turn(inputs, *place).map(|then| Flip { input, now, then })
        })
        .collect();
    let change = |flip: &Flip| {
        let ratio = flip.then / flip.now;
        if ratio < 1.0 { 1.0 / ratio } else { ratio }
    };
    // What a user can change comes first, the nearest of it first; a price comes last.
    let is_price = |flip: &Flip| flip.input.contains('$');
    flips.sort_by(|a, b| is_price(a).cmp(&is_price(b)).then(change(a).total_cmp(&change(b))));
    flips
}

/// Finds the nearest value of one input, within a hundredth and a hundredfold of what it is, at
/// which both variants cost the same.
fn turn(inputs: &Inputs, place: Input) -> Option<f64> {
    const STEP: f64 = 1.05;
    const STEPS: usize = 95;
    let mut copy = *inputs;
    let now = *place(&mut copy);
    if now <= 0.0 {
        return None;
    }
    let mut at = |value: f64| {
        *place(&mut copy) = value;
        copy.difference()
    };
    let sign = at(now) > 0.0;
    let (mut up, mut down) = (now, now);
    for _ in 0..STEPS {
        let (higher, lower) = (up * STEP, down / STEP);
        if (at(higher) > 0.0) != sign {
            return Some(bisect(&mut at, up, higher, sign));
        }
        if (at(lower) > 0.0) != sign {
            return Some(bisect(&mut at, down, lower, sign));
        }
        (up, down) = (higher, lower);
    }
    None
}

/// Narrows a change of sign down; `same` is the side on which the sign is `sign`.
fn bisect(at: &mut impl FnMut(f64) -> f64, same: f64, other: f64, sign: bool) -> f64 {
    let (mut same, mut other) = (same, other);
    for _ in 0..60 {
        let middle = f64::midpoint(same, other);
        if (at(middle) > 0.0) == sign {
            same = middle;
        } else {
            other = middle;
        }
    }
    f64::midpoint(same, other)
}
