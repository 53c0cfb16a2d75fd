//! Settings of the simulated system: the `[session]`, `[fanout]`, `[wrappers]`, `[fork]` and
//! `[limits]` tables of a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::orchestration::Refused;
use crate::units::{SimDuration, Tokens};
use crate::workload::Distribution;

/// The parent, as it stands when it delegates (semantics D7).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// Model of the main session, a name of the price book.
    pub model: String,
    /// Prompt of the parent's last request, in tokens; left out: a cold session, whose first
    /// request is simulated and billed.
    pub context: Option<Tokens>,
    /// Whether entries live at all breakpoints of that prompt, their clock started `age` ago;
    /// `false`: none, tools and system included.
    pub warm: bool,
    /// Time since that request started.
    pub age: SimDuration,
    /// Prompt of a cold session, in tokens.
    pub prompt: Tokens,
    /// Output of the parent after receipts, notices and results, in tokens.
    pub answer: Distribution<Tokens>,
    /// Who pays: decides the lifetime of entries where `cache.ttl` is left out. Plan: main 1h,
    /// children 5m; credits and api: 5m for all (P 4.1).
    pub billing: Billing,
}

impl Default for Session {
    fn default() -> Session {
        Session {
            model: "claude-opus-5".to_owned(),
            context: None,
            warm: true,
            age: SimDuration::ZERO,
            prompt: Tokens::ZERO,
            answer: Distribution::constant(0.0),
            billing: Billing::Api,
        }
    }
}

/// Who pays for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Billing {
    /// Inside a subscription's usage: entries of the main session live one hour.
    Plan,
    /// Usage credits: five minutes everywhere.
    Credits,
    /// An API key: five minutes everywhere.
    Api,
}

/// How the parent spreads its tasks.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fanout {
    /// Number of tasks, 1 to 100,000.
    pub tasks: u32,
    /// Who does a task.
    pub agent: AgentKind,
    /// Model of the children: `inherit` or a name of the price book. A fork always runs on the
    /// parent's.
    pub model: String,
    /// Most children at once, at least 1; left out: all. The rest queue (semantics D6).
    pub max_parallel: Option<u32>,
    /// Where tasks above `max_parallel` wait.
    pub queue: Queue,
    /// Whether the parent goes on while children run; else it waits for their results.
    pub background: bool,
    /// When the children of one message start.
    pub launch: Launch,
    /// What becomes of tasks whose launch was refused.
    pub refused: Refused,
    /// Whether completion notices that are pending together share one request (semantics D8).
    pub notices: Notices,
    /// Tool call in the parent, in tokens; left out: that of `wrappers` for the kind.
    pub call: Option<Tokens>,
    /// Launch receipt of a background child, in tokens; left out: that of `wrappers`.
    pub receipt: Option<Tokens>,
    /// What wraps a foreground child's report, in tokens; left out: that of `wrappers`.
    pub result: Option<Tokens>,
    /// What wraps a background child's report, in tokens; left out: that of `wrappers`.
    pub notice: Option<Tokens>,
    /// Text of a refused launch, in tokens; left out: that of `wrappers`.
    pub refusal: Option<Tokens>,
}

impl Default for Fanout {
    fn default() -> Fanout {
        Fanout {
            tasks: 1,
            agent: AgentKind::Fresh,
            model: "inherit".to_owned(),
            max_parallel: None,
            queue: Queue::Harness,
            background: true,
            launch: Launch::Together,
            refused: Refused::Dropped,
            notices: Notices::OneByOne,
            call: None,
            receipt: None,
            result: None,
            notice: None,
            refusal: None,
        }
    }
}

/// Who does a task (semantics 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// A child with its own tools, system prompt and context.
    Fresh,
    /// A child that keeps the parent's whole prompt.
    Fork,
    /// A read-only child with a smaller start-up context.
    Explore,
    /// A planning child.
    Plan,
    /// An agent of a workflow: the fan-out is one call, which launches all.
    Workflow,
    /// The parent itself, task after task.
    Inline,
}

impl AgentKind {
    /// Returns the name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            AgentKind::Fresh => "fresh",
            AgentKind::Fork => "fork",
            AgentKind::Explore => "explore",
            AgentKind::Plan => "plan",
            AgentKind::Workflow => "workflow",
            AgentKind::Inline => "inline",
        }
    }
}

/// Where tasks above `max_parallel` wait (semantics D6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// All calls stand in one message; the next child starts when a slot is free.
    Harness,
    /// The parent makes the next call in its turn after a completion.
    Parent,
}

/// When the children of one message start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    /// All at once.
    Together,
    /// One after another, at this interval.
    Staggered(SimDuration),
    /// The first alone; the others when its response begins, or after this time at most.
    HoldFirst(SimDuration),
    /// After a minimal request, billed to main, has made this part of their prompt readable.
    Prewarm(Prewarm),
}

/// Which part of the children's prompt is warmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Prewarm {
    /// Tools and system prompt.
    System,
    /// The project context too.
    Project,
    /// All that the children share: in forks the parent's whole prompt.
    Shared,
}

/// How completion notices enter the parent (semantics D8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Notices {
    /// One request each.
    OneByOne,
    /// All that are pending when the parent's next request starts go in together.
    Batched,
}

/// What wraps calls and reports in the parent, by kind of child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wrappers {
    /// Fresh children.
    pub fresh: Wrapper,
    /// Forks.
    pub fork: Wrapper,
    /// Explore children.
    pub explore: Wrapper,
    /// Plan children.
    pub plan: Wrapper,
    /// A workflow: its one call, receipt and notice.
    pub workflow: Wrapper,
}

/// Sizes of what wraps one call and its report (C23).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wrapper {
    /// Tool call, in tokens.
    pub call: Tokens,
    /// Launch receipt of a background child, in tokens.
    pub receipt: Tokens,
    /// Around a foreground child's report, in tokens.
    pub result: Tokens,
    /// Besides, around the report of a child that has called tools, in tokens.
    pub result_after_tools: Tokens,
    /// Around a background child's report, in tokens.
    pub notice: Tokens,
    /// Once before the notices of one request, in tokens.
    pub notices_lead: Tokens,
    /// Text of a refused launch, in tokens.
    pub refusal: Tokens,
}

/// What a fork appends to the parent's prompt (semantics D3).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fork {
    /// Which calls of the parent's message a fork carries.
    pub tail: ForkTail,
    /// A call in the tail, in tokens.
    pub call: Tokens,
    /// The placeholder result of a call, in tokens.
    pub placeholder: Tokens,
    /// The directive of one fork, in tokens.
    pub directive: Tokens,
    /// Sets `directive` alone and the other two to 0.
    pub tail_tokens: Option<Tokens>,
}

impl Default for Fork {
    fn default() -> Fork {
        Fork {
            tail: ForkTail::OwnCall,
            call: Tokens::ZERO,
            placeholder: Tokens::ZERO,
            directive: Tokens::ZERO,
            tail_tokens: None,
        }
    }
}

/// Which calls a fork carries (semantics D3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForkTail {
    /// Its own only (2.1.260 and 2.1.332; C9).
    OwnCall,
    /// All calls of the message with identical placeholders (the 2.1.117 guide).
    AllCalls,
}

/// Limits of the product: they refuse or make wait (semantics D5, L4).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Layers of children below the main session; 0: every call is refused. Left out: no limit.
    pub depth: Option<u32>,
    /// Children running at once, those of children included, at least 1; a call above it is refused
    /// when it is made, and `fanout.refused` says what becomes of its task. A workflow has its own
    /// limit. Left out: no limit.
    pub concurrency: Option<u32>,
    /// Tool calls of one message that run at once, at least 1, foreground children included; the
    /// rest wait.
    /// Left out: no limit.
    pub tools: Option<u32>,
}

/// What the provider allows, for each model class of the organization (semantics R1).
///
/// Buckets refill continuously. Reads from the cache do not count as input.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Provider {
    /// Requests a minute; left out: no limit.
    pub requests_per_minute: Option<u64>,
    /// Requests that the bucket holds; left out: those of a minute.
    pub requests_burst: Option<u64>,
    /// Tokens of uncached input and cache writes a minute; left out: no limit.
    pub input_tokens_per_minute: Option<Tokens>,
    /// Input tokens that the bucket holds; left out: those of a minute.
    pub input_tokens_burst: Option<Tokens>,
    /// Tokens of output a minute; left out: no limit.
    pub output_tokens_per_minute: Option<Tokens>,
    /// Output tokens that the bucket holds; left out: those of a minute.
    pub output_tokens_burst: Option<Tokens>,
    /// Whether the models of parent and children share their limits.
    pub shared: bool,
    /// Probability from 0 to 1 that an attempt fails because the provider is overloaded (529).
    pub overload_probability: f64,
    /// Attempts after which an agent gives a request up and fails; left out: never.
    pub tries: Option<u32>,
    /// Wait after a first failed attempt that states none; doubles with each further one (C18).
    pub backoff: SimDuration,
    /// Greatest share from 0 to 1 by which that wait is lengthened at random (C18).
    pub backoff_jitter: f64,
    /// Attempts that fail by a script, in order: several for one request fail one after another.
    pub failures: Vec<ScriptedFailure>,
}

/// An attempt that fails whatever the limits and probabilities say (semantics R1).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedFailure {
    /// Whose request: `main`, `a1`, `a2`, ... in order of launch.
    pub agent: String,
    /// Which of its requests, counted from 1.
    pub request: u64,
    /// Status of the attempt: 429 or 529.
    pub status: u16,
    /// Wait that the answer states; left out: the client backs off (C18).
    pub retry_after: Option<SimDuration>,
}

impl Default for ScriptedFailure {
    fn default() -> ScriptedFailure {
        ScriptedFailure { agent: "main".to_owned(), request: 1, status: 529, retry_after: None }
    }
}

impl ScriptedFailure {
    /// Returns the number of its agent, 0 for main; `None` where it names none.
    pub fn agent_number(&self) -> Option<usize> {
        match self.agent.as_str() {
            "main" => Some(0),
            name => name.strip_prefix('a')?.parse().ok().filter(|number| *number > 0),
        }
    }
}

impl Default for Provider {
    fn default() -> Provider {
        Provider {
            requests_per_minute: None,
            requests_burst: None,
            input_tokens_per_minute: None,
            input_tokens_burst: None,
            output_tokens_per_minute: None,
            output_tokens_burst: None,
            shared: false,
            overload_probability: 0.0,
            tries: None,
            backoff: SimDuration::from_micros(500_000),
            backoff_jitter: 0.25,
            failures: Vec::new(),
        }
    }
}

/// The machine on which tools run (semantics L4).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Machine {
    /// Cores for which the tool work of all agents contends; left out: as many as it takes.
    pub cores: Option<u32>,
    /// What happens to tool work above the number of cores.
    pub contention: Contention,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine { cores: None, contention: Contention::Sharing }
    }
}

/// What happens to tool work above the number of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Contention {
    /// All goes on, each with an equal share of the cores.
    Sharing,
    /// It waits, first come, first served.
    Queue,
}
