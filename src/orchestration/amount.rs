//! What the work of a task amounts to, as it is drawn and on average.
//!
//! Tokens that enter a context are read by each later request with that context, so what counts is
//! in which order blocks come: `n` blocks are read `n (n - 1) / 2` times among themselves. All that
//! is drawn for a task is independent of each other, so means of products are products of means.

use crate::des::{WholeLimits, WholeMoments};
use crate::orchestration::draws::Draws;
use crate::orchestration::plan::{Plan, Setups, Work};
use crate::orchestration::team::TaskId;
use crate::orchestration::{AgentKind, Fork};
use crate::units::Tokens;
use crate::workload::{Sampler, Startup};

/// What work amounts to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amount {
    pub(super) requests: f64,
    /// Tokens that enter a context.
    pub(super) grown: f64,
    /// Tokens of a context times the requests that read them again.
    pub(super) reread: f64,
    pub(super) output: f64,
    pub(super) results: f64,
}

impl Amount {
    /// Lets tokens enter a context and be read by so many requests.
    fn grow(&mut self, tokens: f64, readers: f64) {
        self.grown += tokens;
        self.reread += tokens * readers;
    }

    /// Adds another amount so many times.
    pub(super) fn add(&mut self, times: f64, other: &Amount) {
        self.requests += times * other.requests;
        self.grown += times * other.grown;
        self.reread += times * other.reread;
        self.output += times * other.output;
        self.results += times * other.results;
    }
}

/// The agents of one layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    pub(super) kind: AgentKind,
    /// Tokens of an agent's first request besides its prompt.
    start: f64,
    /// Tokens of a note after tool results.
    note: f64,
    /// Whether it finds out again what the parent knew.
    finds_again: bool,
    /// Whether it delegates to the next layer.
    pub(super) nests: bool,
}

impl Layer {
    /// Returns the layer of agents at a depth, from 1.
    pub(super) fn new(plan: &Plan, depth: u32) -> Layer {
        let first = depth == 1;
        let setup = if first { Setups::FIRST } else { plan.nested_setup(depth) };
        let startup = plan.setups.startup(setup);
        let kind = if first { plan.kind } else { plan.setups.kind(setup) };
        let is_inline = kind == AgentKind::Inline;
        let notes = if is_inline { &plan.main.notes } else { &startup.notes };
        let again = plan.work.rediscovery_iterations.whole_moments(0, Sampler::COUNT);
        let is_last = depth >= plan.most_children().1;
        Layer {
            kind,
            start: if has_own_context(kind) { sum(startup) } else { inherited(plan) },
            note: float(notes.each),
            finds_again: has_own_context(kind) && again.mean > 0.0,
            nests: kind == AgentKind::Fresh && !is_last,
        }
    }

    /// A task of `own` requests as it is drawn; `later` more go on with its context.
    pub(super) fn drawn(
        &self,
        work: &Work,
        draws: &Draws,
        (task, own): (TaskId, u32),
        later: f64,
    ) -> Amount {
        let streams = draws.task(task);
        let mut sum = Amount::default();
        let (mut again, mut prompt) = (0, 0.0);
        if self.finds_again {
            let (requests, found) = work.draw_rediscovery(draws, task);
            again = requests;
            sum.results = float(found);
            sum.grow(float(found), readers_of_found(again.into(), own.into(), later));
        }
        if has_own_context(self.kind) {
            prompt = float(work.draw_prompt(draws, task));
        }
        for counter in 0..again {
            let output = float(work.draw_output(streams, true, counter.into()));
            let readers = f64::from(again - 1 - counter) + f64::from(own - 1) + later;
            sum.output += output;
            sum.grow(output + self.note, readers);
        }
        for counter in 0..own - 1 {
            let output = float(work.draw_output(streams, false, counter.into()));
            let result = float(work.draw_tool_result(streams, counter.into()));
            sum.output += output;
            sum.results += result;
            sum.grow(output + result + self.note, f64::from(own - 2 - counter) + later);
        }
        let requests = f64::from(own) + f64::from(again);
        self.begin_and_end(
            &mut sum,
            requests,
            prompt,
            (float(work.draw_report(draws, task)), later),
        );
        sum
    }

    /// The mean of [`Layer::drawn`]: all that is drawn for a task is independent of each other.
    pub(super) fn mean(&self, means: &Means<'_>, task: u64, later: f64) -> Amount {
        let tokens = |of: &MeansOf<'_>| of.at(task).mean;
        let (output, result) = (tokens(&means.output), tokens(&means.tool_result));
        let own = means.iterations.at(task);
        let mut sum = Amount::default();
        let (mut again, mut prompt) = (WholeMoments::default(), 0.0);
        if self.finds_again {
            again = means.rediscovery_iterations.at(task);
            let found = tokens(&means.rediscovery_tokens);
            sum.results = found;
            sum.grow(found, readers_of_found(again.mean, own.mean, later));
        }
        if has_own_context(self.kind) {
            prompt = tokens(&means.prompt);
        }
        // Of n blocks, each read by those that come after the request that wrote it, n (n - 1) / 2
        // reads are among themselves.
        let among = 0.5 * (again.square - again.mean);
        sum.output += again.mean * output;
        sum.grown += again.mean * (output + self.note);
        sum.reread += (among + again.mean * (own.mean - 1.0 + later)) * (output + self.note);
        let (blocks, block) = (own.mean - 1.0, output + result + self.note);
        let among = 0.5 * (own.square - 3.0 * own.mean + 2.0);
        sum.output += blocks * output;
        sum.results += blocks * result;
        sum.grown += blocks * block;
        sum.reread += (among + blocks * later) * block;
        let requests = own.mean + again.mean;
        self.begin_and_end(&mut sum, requests, prompt, (tokens(&means.report), later));
        sum
    }

    /// Adds the start-up context, the prompt and the report.
    fn begin_and_end(
        &self,
        sum: &mut Amount,
        requests: f64,
        prompt: f64,
        (report, later): (f64, f64),
    ) {
        sum.requests += requests;
        sum.grown += prompt;
        sum.reread += (self.start + prompt) * (requests - 1.0);
        sum.output += report;
        if later > 0.0 {
            sum.grow(report, later - 1.0);
        }
    }
}

/// Moments of what is drawn for a task; of all but sequences the same for each task.
pub(super) struct MeansOf<'a> {
    sampler: &'a Sampler,
    limits: WholeLimits,
    of_first: WholeMoments,
}

impl<'a> MeansOf<'a> {
    fn new(sampler: &'a Sampler, limits: WholeLimits) -> MeansOf<'a> {
        MeansOf { sampler, limits, of_first: sampler.whole_moments(0, limits) }
    }

    pub(super) fn at(&self, task: u64) -> WholeMoments {
        if self.sampler.is_sequence() {
            self.sampler.whole_moments(task, self.limits)
        } else {
            self.of_first
        }
    }
}

/// Moments of all that is drawn for a task.
pub(super) struct Means<'a> {
    pub(super) iterations: MeansOf<'a>,
    output: MeansOf<'a>,
    tool_result: MeansOf<'a>,
    report: MeansOf<'a>,
    prompt: MeansOf<'a>,
    rediscovery_tokens: MeansOf<'a>,
    rediscovery_iterations: MeansOf<'a>,
}

impl<'a> Means<'a> {
    pub(super) fn new(work: &'a Work) -> Means<'a> {
        let tokens = |sampler: &'a Sampler| MeansOf::new(sampler, Sampler::TOKENS);
        let again = &work.rediscovery_iterations;
        Means {
            iterations: MeansOf::new(&work.iterations, Sampler::COUNT_AT_LEAST_ONE),
            output: tokens(&work.output),
            tool_result: tokens(&work.tool_result),
            report: tokens(&work.report),
            prompt: tokens(&work.prompt),
            rediscovery_tokens: tokens(&work.rediscovery_tokens),
            rediscovery_iterations: MeansOf::new(again, Sampler::COUNT),
        }
    }
}

/// What is found out again comes in equal parts with the `again` leading requests.
fn readers_of_found(again: f64, own: f64, later: f64) -> f64 {
    0.5 * (again - 1.0) + own - 1.0 + later
}

/// Returns whether an agent starts with a context of its own.
pub(super) fn has_own_context(kind: AgentKind) -> bool {
    match kind {
        AgentKind::Fresh | AgentKind::Explore | AgentKind::Plan | AgentKind::Workflow => true,
        AgentKind::Fork | AgentKind::Inline => false,
    }
}

fn float(tokens: Tokens) -> f64 {
    tokens.get() as f64
}

fn sum(startup: &Startup) -> f64 {
    let Startup { tools, identity, system, project, preamble, listing, .. } = startup;
    float(*tools + *identity + *system + *project + *preamble + *listing)
}

/// What the main session or a fork begins with.
fn inherited(plan: &Plan) -> f64 {
    let cold = sum(&plan.main) + float(plan.session.prompt);
    let context = plan.session.context.map_or(cold, float);
    let Fork { call, placeholder, directive, .. } = &plan.fork;
    let calls = if plan.all_calls() { plan.tasks } else { 1 };
    let tail = f64::from(calls) * float(*call + *placeholder) + float(*directive);
    if plan.kind == AgentKind::Fork { context + tail } else { context }
}
