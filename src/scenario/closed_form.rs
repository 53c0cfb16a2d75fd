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

use crate::cache::Ttl;
use crate::orchestration::{AgentKind, Launch};
use crate::pricing::CategoryPrices;
use crate::scenario::LoadedVariant;
use crate::units::Tokens;

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
    /// Share of children that write the prefix they share with siblings; the others read it.
    writers: f64,
    fork: Prices,
    fresh: Prices,
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
    /// Single inputs that would turn the verdict, the smallest relative change first.
    pub flips: Vec<Flip>,
}

/// Compares a variant that forks with one of fresh children; `None` for other pairs.
pub fn closed_form(fork: &LoadedVariant, fresh: &LoadedVariant) -> Option<ClosedForm> {
    let kinds = (fork.plan.kind(), fresh.plan.kind());
    let is_pair = matches!(kinds, (AgentKind::Fork, AgentKind::Fresh | AgentKind::Explore));
    if !is_pair || !fork.scenario.session.warm || !fork.scenario.cache.enabled {
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

impl Inputs {
    fn new(fork: &LoadedVariant, fresh: &LoadedVariant) -> Option<Inputs> {
        let (left, right) = (&fork.scenario, &fresh.scenario);
        let explore = fresh.plan.kind() == AgentKind::Explore;
        let startup = if explore { &right.startup.explore } else { &right.startup.fresh };
        let main = &left.startup.main;
        let cold = main.tools + main.identity + main.system + main.project + main.listing;
        let context = left.session.context.unwrap_or(cold + left.session.prompt);
        let withheld =
            if right.fanout.background { startup.background_withholds } else { Tokens::ZERO };
        let shared = startup.tools.saturating_sub(withheld) + startup.identity + startup.system;
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
            result: task.tool_result.mean() + float(startup.notes.each),
            report: task.report.mean(),
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

    fn growth(&self) -> f64 {
        self.output + self.result
    }

    fn fork_usd(&self) -> f64 {
        let (k, g) = (self.iterations, self.growth());
        let reads = k * self.context + (k - 1.0) * self.tail + g * (k - 1.0) * (k - 2.0) / 2.0;
        let writes = self.tail + (k - 1.0) * g;
        let output = (k - 1.0) * self.output + self.report;
        (self.fork.read * reads + self.fork.write * writes + self.fork.output * output) / MILLION
    }

    fn fresh_usd(&self) -> f64 {
        let (k, g, m) = (self.iterations, self.growth(), self.rediscovery_iterations);
        let start = self.shared + self.own;
        let each = if m > 0.0 { self.rediscovery / m + self.output } else { 0.0 };
        let reads = m * start
            + each * m * (m - 1.0) / 2.0
            + (k - 1.0) * (start + m * each)
            + g * (k - 1.0) * (k - 2.0) / 2.0;
        let writes = self.own + m * each + (k - 1.0) * g;
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
    ("requests per child", |inputs| &mut inputs.iterations),
    ("tokens of parent context", |inputs| &mut inputs.context),
    ("tokens a fresh child must find out again", |inputs| &mut inputs.rediscovery),
    ("tokens of a fresh child's tools and system prompt", |inputs| &mut inputs.shared),
    ("tokens of output per request", |inputs| &mut inputs.output),
    ("tokens of tool results per request", |inputs| &mut inputs.result),
    ("dollars per million tokens that a fork reads", |inputs| &mut inputs.fork.read),
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
    flips.sort_by(|a, b| change(a).total_cmp(&change(b)));
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
