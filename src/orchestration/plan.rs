//! A scenario made ready to run.

use crate::cache::{BreakpointName, CachePolicy, KeepAlive, RoleTtl, Ttl, TtlPolicy};
pub(super) use crate::orchestration::setup::Setups;
use crate::orchestration::setup::main_startup;
use crate::orchestration::{
    AgentKind, Billing, Fanout, Fork, ForkTail, Launch, Limits, Machine, Nested, Notices, Provider,
    Queue, Refused, Resume, Session, Texts, Workflow, Wrapper, Wrappers,
};
use crate::pricing::ModelRates;
use crate::units::{SimDuration, Tokens};
use crate::workload::{
    Compaction, FirstToken, Latency, PrefixChange, Regression, Sampler, Speed, Startup, Startups,
    Tables, TaskSettings,
};

/// The settings of which a plan is made. All are valid: the scenario has been checked.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// The parent.
    pub session: &'a Session,
    /// How tasks are spread.
    pub fanout: &'a Fanout,
    /// What wraps calls and reports.
    pub wrappers: &'a Wrappers,
    /// What children delegate themselves.
    pub nested: &'a Nested,
    /// Workflow fan-outs.
    pub workflow: &'a Workflow,
    /// Messages to children that have reported.
    pub resume: &'a Resume,
    /// What a fork appends.
    pub fork: &'a Fork,
    /// The product's limits.
    pub limits: &'a Limits,
    /// The client's own words.
    pub texts: &'a Texts,
    /// The provider's limits.
    pub provider: &'a Provider,
    /// Where tools run.
    pub machine: &'a Machine,
    /// The work.
    pub task: &'a TaskSettings,
    /// Start-up contexts.
    pub startup: &'a Startups,
    /// The prompt cache.
    pub cache: &'a CachePolicy,
    /// Compaction.
    pub compaction: &'a Compaction,
    /// Response times.
    pub latency: &'a Latency,
    /// Name and prices of the main session's model.
    pub main_model: (&'a str, &'a ModelRates),
    /// Name and prices of the children's model.
    pub child_model: (&'a str, &'a ModelRates),
}

/// One model of a plan.
#[derive(Clone, Debug)]
pub struct ModelPlan {
    /// Its name.
    pub name: String,
    /// Its prices.
    pub rates: ModelRates,
    /// Shortest prefix that can be cached (semantics E2).
    pub minimum: Tokens,
    /// Prompt size at which a conversation is compacted (semantics K1).
    pub trigger: Option<Tokens>,
    /// Largest prompt.
    pub window: Option<Tokens>,
}

/// A scenario variant made ready to run: distributions compiled, prices resolved.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) kind: AgentKind,
    pub(super) tasks: u32,
    /// Children that the orchestrator lets run at once.
    pub(super) parallel: u32,
    /// Children that run at once: also limited by tool calls of a message in the foreground.
    pub(super) slots: u32,
    pub(super) concurrency: u32,
    /// Layers of children below the main session.
    pub(super) depth: Option<u32>,
    pub(super) queue: Queue,
    pub(super) background: bool,
    pub(super) launch: Launch,
    pub(super) notices: Notices,
    pub(super) refused: Refused,
    pub(super) workflow: Workflow,
    pub(super) resume: Resume,
    pub(super) resume_iterations: Sampler,
    pub(super) wrapper: Wrapper,
    pub(super) fork: Fork,
    pub(super) main: Startup,
    pub(super) setups: Setups,
    pub(super) nested: NestedPlan,
    pub(super) session: Session,
    texts: Texts,
    pub(super) provider: Provider,
    /// Whether the provider can refuse a request.
    pub(super) is_limited: bool,
    pub(super) machine: Machine,
    pub(super) work: Work,
    pub(super) cache: CachePolicy,
    pub(super) breakpoints: Vec<BreakpointName>,
    pub(super) ttl: TtlPolicy,
    pub(super) keep_alive: Option<SimDuration>,
    pub(super) compaction: Compaction,
    pub(super) first_token: FirstTokenPlan,
    pub(super) speed: Speed,
    /// The main session's model, then the children's.
    pub(super) models: [ModelPlan; 2],
    pub(super) same_model: bool,
}

/// What children delegate themselves.
#[derive(Clone, Debug)]
pub(super) struct NestedPlan {
    pub(super) count: Sampler,
    pub(super) probability: f64,
    pub(super) after: u32,
    pub(super) background: bool,
    pub(super) wrapper: Wrapper,
    /// Children of one message that run at once.
    pub(super) slots: u32,
    /// The most children of a run, and their layers.
    most: (u64, u32),
}

impl NestedPlan {
    fn new(input: &PlanInput<'_>, tables: &Tables) -> NestedPlan {
        let nested = input.nested;
        let background = nested.background.unwrap_or(input.fanout.background);
        NestedPlan {
            count: nested.count.compile_with(tables),
            probability: nested.probability,
            after: nested.after,
            background,
            wrapper: wrapper(input, nested.agent),
            most: nested
                .most(input.fanout.tasks, input.fanout.agent, input.limits.depth)
                .expect("a scenario whose tree of children has no end was refused"),
            slots: input.limits.tools.filter(|_| !background).unwrap_or(u32::MAX),
        }
    }

    /// Returns whether replications can differ by it.
    fn is_random(&self) -> bool {
        draws(&self.count) || (self.probability > 0.0 && self.probability < 1.0)
    }
}

/// The task's distributions, compiled.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) iterations: Sampler,
    pub(super) output: Sampler,
    pub(super) tool_result: Sampler,
    pub(super) tool_time: Sampler,
    pub(super) report: Sampler,
    pub(super) prompt: Sampler,
    pub(super) rediscovery_tokens: Sampler,
    pub(super) rediscovery_iterations: Sampler,
    pub(super) answer: Sampler,
    pub(super) prefix_change: PrefixChange,
}

#[derive(Clone, Debug)]
pub(super) enum FirstTokenPlan {
    Regression(Regression),
    Drawn(Sampler),
}

impl Plan {
    /// Makes a plan.
    pub fn new(input: &PlanInput<'_>) -> Plan {
        Plan::with_tables(input, &Tables::default())
    }

    /// Makes a plan that shares the tables of its distributions with other plans.
    pub fn with_tables(input: &PlanInput<'_>, tables: &Tables) -> Plan {
        let fanout = input.fanout;
        let ttl = input.cache.ttl.unwrap_or_else(|| default_ttl(input.session.billing));
        let parallel = fanout.max_parallel.unwrap_or(fanout.tasks).min(fanout.tasks);
        let mut slots = parallel;
        if fanout.agent == AgentKind::Workflow {
            slots = slots.min(input.workflow.concurrency);
        }
        if !fanout.background {
            slots = slots.min(input.limits.tools.unwrap_or(slots));
        }
        let mut breakpoints = input.cache.breakpoints.clone();
        breakpoints.sort_unstable();
        breakpoints.dedup();
        if !input.cache.enabled {
            breakpoints.clear();
        }
        let keep_alive = match input.cache.keep_alive {
            KeepAlive::Every(interval) if !breakpoints.is_empty() => Some(interval),
            KeepAlive::Every(_) | KeepAlive::Off => None,
        };
        Plan {
            kind: fanout.agent,
            tasks: fanout.tasks,
            parallel,
            slots,
            depth: input.limits.depth,
            concurrency: input.limits.concurrency.unwrap_or(u32::MAX),
            queue: fanout.queue,
            background: fanout.background,
            launch: launch(input),
            notices: fanout.notices,
            refused: fanout.refused,
            workflow: input.workflow.clone(),
            resume: input.resume.clone(),
            resume_iterations: input.resume.iterations.compile_with(tables),
            wrapper: wrapper(input, fanout.agent),
            fork: fork_tail(input.fork),
            main: main_startup(input, ttl.main),
            setups: Setups::new(input, ttl.subagent),
            nested: NestedPlan::new(input, tables),
            session: input.session.clone(),
            texts: input.texts.clone(),
            provider: input.provider.clone(),
            is_limited: can_refuse(input.provider),
            machine: input.machine.clone(),
            work: Work::new(input, tables),
            cache: input.cache.clone(),
            breakpoints,
            ttl,
            keep_alive,
            compaction: input.compaction.clone(),
            first_token: match &input.latency.first_token {
                FirstToken::Regression(regression) => {
                    FirstTokenPlan::Regression(regression.clone())
                }
                FirstToken::Drawn(distribution) => {
                    FirstTokenPlan::Drawn(distribution.compile_with(tables))
                }
            },
            speed: input.latency.speed,
            models: [model(input, input.main_model), model(input, input.child_model)],
            same_model: input.main_model.0 == input.child_model.0,
        }
    }

    /// Returns whether replications of this plan can differ.
    pub fn is_random(&self) -> bool {
        let work = &self.work;
        let samplers = [
            &work.iterations,
            &work.output,
            &work.tool_result,
            &work.tool_time,
            &work.report,
            &work.prompt,
            &work.rediscovery_tokens,
            &work.rediscovery_iterations,
            &work.answer,
        ];
        let latency = match &self.first_token {
            FirstTokenPlan::Regression(_) => false,
            FirstTokenPlan::Drawn(sampler) => draws(sampler),
        };
        latency
            || samplers.into_iter().any(draws)
            || self.cache.early_miss_probability > 0.0 && !self.breakpoints.is_empty()
            || self.provider.overload_probability > 0.0
            || self.backs_off_at_random()
            || self.nested.is_random()
            || self.resume.messages > 0 && draws(&self.resume_iterations)
    }

    /// Returns whether a scripted failure is followed by a wait that is drawn.
    fn backs_off_at_random(&self) -> bool {
        let provider = &self.provider;
        let mut failures = provider.failures.iter();
        provider.backoff_jitter > 0.0 && failures.any(|failure| failure.retry_after.is_none())
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> u32 {
        self.tasks
    }

    /// Returns the most children that a run can have, and the layers they stand in.
    pub fn most_children(&self) -> (u64, u32) {
        self.nested.most
    }

    /// Returns what the main session starts with, after what its settings withhold from it.
    pub fn main_startup(&self) -> &Startup {
        &self.main
    }

    /// Returns what its children start with, after what their settings withhold from them.
    pub fn child_startup(&self) -> &Startup {
        self.setups.startup(Setups::FIRST)
    }

    /// Returns who does the tasks.
    pub fn kind(&self) -> AgentKind {
        self.kind
    }

    /// Returns the main session's model, then the children's.
    pub fn models(&self) -> &[ModelPlan; 2] {
        &self.models
    }

    /// Returns the client's own words, for event logs.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Returns the lifetimes of entries by role.
    pub fn ttl(&self) -> TtlPolicy {
        self.ttl
    }
}

impl Work {
    fn new(input: &PlanInput<'_>, tables: &Tables) -> Work {
        let task = input.task;
        Work {
            iterations: task.iterations.compile_with(tables),
            output: task.output.compile_with(tables),
            tool_result: task.tool_result.compile_with(tables),
            tool_time: task.tool_time.compile_with(tables),
            report: task.report.compile_with(tables),
            prompt: task.prompt.compile_with(tables),
            rediscovery_tokens: task.rediscovery.tokens.compile_with(tables),
            rediscovery_iterations: task.rediscovery.iterations.compile_with(tables),
            answer: input.session.answer.compile_with(tables),
            prefix_change: task.prefix_change,
        }
    }
}

fn can_refuse(provider: &Provider) -> bool {
    provider.requests_per_minute.is_some()
        || provider.input_tokens_per_minute.is_some()
        || provider.output_tokens_per_minute.is_some()
        || provider.overload_probability > 0.0
        || !provider.failures.is_empty()
}

fn draws(sampler: &Sampler) -> bool {
    !matches!(sampler, Sampler::Constant(_) | Sampler::Sequence(_))
}

/// Lifetimes of entries where a scenario does not set them (P 4.1).
pub fn default_ttl(billing: Billing) -> TtlPolicy {
    let long = RoleTtl { head: Ttl::OneHour, tail: Ttl::OneHour };
    match billing {
        Billing::Plan => TtlPolicy { main: long, subagent: RoleTtl::default() },
        Billing::Credits | Billing::Api => TtlPolicy::default(),
    }
}

/// A workflow holds its agents for the first, where anything is cached (S6).
fn launch(input: &PlanInput<'_>) -> Launch {
    if input.fanout.agent != AgentKind::Workflow {
        return input.fanout.launch;
    }
    let hold = input.workflow.hold;
    if hold.is_zero() || !input.cache.enabled { Launch::Together } else { Launch::HoldFirst(hold) }
}

/// The profile's wrapper for the kind of child, where the fan-out does not say otherwise.
fn wrapper(input: &PlanInput<'_>, kind: AgentKind) -> Wrapper {
    let fanout = input.fanout;
    let profile = match kind {
        AgentKind::Fresh | AgentKind::Inline => &input.wrappers.fresh,
        AgentKind::Fork => &input.wrappers.fork,
        AgentKind::Explore => &input.wrappers.explore,
        AgentKind::Plan => &input.wrappers.plan,
        AgentKind::Workflow => &input.wrappers.workflow,
    };
    Wrapper {
        call: fanout.call.unwrap_or(profile.call),
        receipt: fanout.receipt.unwrap_or(profile.receipt),
        result: fanout.result.unwrap_or(profile.result),
        result_after_tools: match fanout.result {
            Some(_) => Tokens::ZERO,
            None => profile.result_after_tools,
        },
        notice: fanout.notice.unwrap_or(profile.notice),
        notices_lead: profile.notices_lead,
        refusal: fanout.refusal.unwrap_or(profile.refusal),
    }
}

fn fork_tail(fork: &Fork) -> Fork {
    match fork.tail_tokens {
        None => fork.clone(),
        Some(directive) => {
            Fork { directive, call: Tokens::ZERO, placeholder: Tokens::ZERO, ..fork.clone() }
        }
    }
}

fn model(input: &PlanInput<'_>, (name, rates): (&str, &ModelRates)) -> ModelPlan {
    ModelPlan {
        name: name.to_owned(),
        rates: rates.clone(),
        minimum: input.cache.minimum.unwrap_or(rates.minimum_cacheable),
        trigger: input.compaction.trigger_tokens(rates.window, rates.max_output),
        window: input.compaction.window.or(rates.window),
    }
}

impl Plan {
    /// Returns the setup of a child of a child.
    pub(super) fn nested_setup(&self, depth: u32) -> usize {
        if self.depth == Some(depth) { Setups::LEAF } else { Setups::NESTED }
    }

    pub(super) fn role_ttl(&self, is_main: bool) -> RoleTtl {
        if is_main { self.ttl.main } else { self.ttl.subagent }
    }

    pub(super) fn all_calls(&self) -> bool {
        self.fork.tail == ForkTail::AllCalls
    }
}
