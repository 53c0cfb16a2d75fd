//! Control variates: numbers of a replication whose means are known exactly.
//!
//! What the work of a replication amounts to follows from its draws, whatever happens in the run,
//! and what is expected of it follows from the compiled distributions. Where a sample drew more
//! work than expected, its mean cost is too high by what that work costs; regression on these
//! numbers takes that out (Law 2015, section 11.4; [`crate::stats::Regression`]).
//!
//! A control need not be what happens in a run, only be like it. The bill here knows no expiry, no
//! compaction, no limit and no turn of the parent, as the closed form that `compare` shows; it is
//! taken at the draws instead of at their means, and its mean is exact for that reason.

use crate::cache::Ttl;
use crate::orchestration::AgentKind;
use crate::orchestration::amount::{Amount, Layer, Means, has_own_context};
use crate::orchestration::draws::Draws;
use crate::orchestration::plan::{NestedPlan, Plan, Work};
use crate::orchestration::team::TaskId;
use crate::units::{PricePerToken, Tokens};
use crate::workload::Sampler;

/// A number of a replication with a known mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The closed-form bill of all tasks, in US dollars.
    Bill,
    /// Requests of all tasks, those to find something out again included.
    Requests,
    /// Output of all tasks, in tokens.
    Output,
    /// Tool results of all tasks, in tokens, what is found out again included.
    ToolResults,
}

/// How many controls there are.
const COUNT: usize = Control::ALL.len();

/// One number for each control, in the order of [`Control::ALL`].
pub type ControlValues = [f64; COUNT];

impl Control {
    /// All controls, the one that explains most first.
    pub const ALL: [Control; 4] =
        [Control::Bill, Control::Requests, Control::Output, Control::ToolResults];

    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Control::Bill => "closed-form bill",
            Control::Requests => "requests",
            Control::Output => "output",
            Control::ToolResults => "tool results",
        }
    }
}

/// The controls of a plan.
#[derive(Clone, Debug)]
pub struct Controls {
    work: Work,
    nested: NestedPlan,
    tasks: u32,
    /// The main session where it does the tasks itself, else the layers of children.
    layers: Vec<Layer>,
    prices: Prices,
    means: ControlValues,
    unknown: [Option<String>; COUNT],
}

/// US dollars per token.
#[derive(Clone, Copy, Debug)]
struct Prices {
    read: f64,
    write: f64,
    output: f64,
}

impl Controls {
    /// Returns the controls of a plan.
    pub fn new(plan: &Plan) -> Controls {
        let (work, nested) = (plan.work.clone(), plan.nested.clone());
        let layers: Vec<Layer> =
            (1..=plan.most_children().1.max(1)).map(|depth| Layer::new(plan, depth)).collect();
        let mut controls = Controls {
            unknown: Control::ALL.map(|control| unknown(control, (&work, &nested), &layers)),
            work,
            nested,
            tasks: plan.tasks,
            layers,
            prices: Prices::new(plan),
            means: ControlValues::default(),
        };
        controls.means = controls.expected();
        controls
    }

    /// Returns why a control is of no use; `None` where its mean is known.
    pub fn unknown(&self, control: Control) -> Option<&str> {
        self.unknown[control as usize].as_deref()
    }

    /// Returns the means of the controls; of one that is of no use, any number.
    pub fn means(&self) -> &ControlValues {
        &self.means
    }

    /// Returns the controls of a replication.
    pub fn values(&self, draws: &Draws) -> ControlValues {
        let (mut sum, mut later) = (Amount::default(), 0.0);
        for index in (0..self.tasks).rev() {
            let own = self.add_tree(&mut sum, draws, TaskId { family: 0, index }, (0, later));
            later += if self.is_inline() { f64::from(own) } else { 0.0 };
        }
        self.priced(&sum)
    }

    /// Adds a task and those that are delegated for it; returns its requests.
    fn add_tree(
        &self,
        sum: &mut Amount,
        draws: &Draws,
        task: TaskId,
        (layer, later): (usize, f64),
    ) -> u32 {
        let own = self.work.draw_iterations(draws, task);
        let layer_of = &self.layers[layer];
        sum.add(1.0, &layer_of.drawn(&self.work, draws, (task, own), later));
        if layer_of.nests {
            let family = task.children();
            for index in 0..self.nested.draw_children(draws, task) {
                self.add_tree(sum, draws, TaskId { family, index }, (layer + 1, 0.0));
            }
        }
        own
    }

    fn expected(&self) -> ControlValues {
        let means = Means::new(&self.work);
        let count = self.nested.count.whole_moments(0, Sampler::COUNT).mean;
        let children = self.nested.probability.clamp(0.0, 1.0) * count;
        let mut below = Amount::default();
        for layer in self.layers[1..].iter().rev() {
            let mut tree = layer.mean(&means, 0, 0.0);
            tree.add(if layer.nests { children } else { 0.0 }, &below);
            below = tree;
        }
        let first = &self.layers[0];
        let (mut sum, mut later) = (Amount::default(), 0.0);
        for task in (0..u64::from(self.tasks)).rev() {
            sum.add(1.0, &first.mean(&means, task, later));
            sum.add(if first.nests { children } else { 0.0 }, &below);
            let own = means.iterations.at(task).mean;
            later += if self.is_inline() { own } else { 0.0 };
        }
        self.priced(&sum)
    }

    fn is_inline(&self) -> bool {
        self.layers[0].kind == AgentKind::Inline
    }

    fn priced(&self, sum: &Amount) -> ControlValues {
        let Prices { read, write, output } = self.prices;
        let bill = read * sum.reread + write * sum.grown + output * sum.output;
        [bill, sum.requests, sum.output, sum.results]
    }
}

/// Returns why the mean or the variance of a control is not known.
///
/// The bill holds the square of the number of requests, so its variance needs four moments of that.
fn unknown(
    control: Control,
    (work, nested): (&Work, &NestedPlan),
    layers: &[Layer],
) -> Option<String> {
    const ONCE: bool = false;
    const PER_REQUEST: bool = true;
    let is_own = layers.iter().any(|layer| has_own_context(layer.kind));
    let nests = layers.iter().any(|layer| layer.nests);
    // Powers of which the mean must be finite, by control; how often it is drawn for a task.
    let all = [
        ("task.iterations", &work.iterations, [4.0, 2.0, 2.0, 2.0], ONCE),
        ("task.output", &work.output, [2.0, 0.0, 2.0, 0.0], PER_REQUEST),
        ("task.tool_result", &work.tool_result, [2.0, 0.0, 0.0, 2.0], PER_REQUEST),
        ("task.report", &work.report, [2.0, 0.0, 2.0, 0.0], ONCE),
    ];
    let again = &work.rediscovery_iterations;
    let own = [
        ("task.prompt", &work.prompt, [2.0, 0.0, 0.0, 0.0], ONCE),
        ("task.rediscovery.tokens", &work.rediscovery_tokens, [2.0, 0.0, 0.0, 2.0], ONCE),
        ("task.rediscovery.iterations", again, [4.0, 2.0, 2.0, 0.0], ONCE),
    ];
    let trees = [("nested.count", &nested.count, [2.0, 2.0, 2.0, 2.0], ONCE)];
    let own = if is_own { own.as_slice() } else { &[] };
    let trees = if nests { trees.as_slice() } else { &[] };
    all.iter().chain(own).chain(trees).find_map(|(key, sampler, powers, is_per_request)| {
        let power = powers[control as usize];
        if power > 0.0 && (*is_per_request || nests) && sampler.is_sequence() {
            return Some(format!("`{key}` is a sequence, so its total has no mean in closed form"));
        }
        let what = if power > 2.0 { "the square of " } else { "" };
        (sampler.tail_index() <= power)
            .then(|| format!("{what}`{key}` has no finite variance; bound it with `max`"))
    })
}

impl Prices {
    fn new(plan: &Plan) -> Prices {
        let model = &plan.models[usize::from(has_own_context(plan.kind))];
        let prices = model.rates.tier(Tokens::ZERO);
        let usd = |price: PricePerToken| price.as_usd_per_mtok() / 1e6;
        let output = usd(prices.output);
        if plan.breakpoints.is_empty() {
            return Prices { read: usd(prices.input), write: usd(prices.input), output };
        }
        let write = match plan.role_ttl(plan.kind == AgentKind::Inline).tail {
            Ttl::FiveMinutes => prices.cache_write_5m,
            Ttl::OneHour => prices.cache_write_1h,
        };
        Prices { read: usd(prices.cache_read), write: usd(write), output }
    }
}
