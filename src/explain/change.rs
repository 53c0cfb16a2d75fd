//! Changes of settings that might have avoided a moment.

use crate::cache::{Category, Cause, KeepAlive, RoleTtl, Ttl, TtlPolicy};
use crate::explain::{Explanation, Moment, MomentKind};
use crate::ledger::Role;
use crate::orchestration::{AgentKind, Launch, Notices, Plan};
use crate::scenario::Scenario;
use crate::units::{SimDuration, Tokens};
use crate::workload::PrefixChange;

/// Numbers of agents at once that are tried.
const AT_ONCE: [u32; 9] = [1, 2, 3, 4, 5, 8, 10, 15, 30];

/// A change of settings, as `--set` makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Keys and their values.
    pub set: Vec<(String, String)>,
    /// What it comes to, in words.
    pub meaning: String,
}

impl Change {
    fn one(key: &str, value: impl Into<String>, meaning: impl Into<String>) -> Change {
        Change { set: vec![(key.to_owned(), value.into())], meaning: meaning.into() }
    }

    /// Returns what it turns, so that of several settings of one kind only the best need be shown:
    /// its key, and of a table the first key in it.
    pub fn knob(&self) -> String {
        let knob = |(key, value): &(String, String)| match value.strip_prefix("{ ") {
            Some(table) => format!("{key}.{}", table.split(' ').next().unwrap_or_default()),
            None => key.clone(),
        };
        self.set.iter().map(knob).collect::<Vec<_>>().join(", ")
    }

    /// Returns the change as it is written on a command line or in a file: `cache.ttl = "1h"`.
    pub fn text(&self) -> String {
        let one = |(key, value): &(String, String)| format!("{key} = {value}");
        self.set.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Where a moment stands.
struct Place<'a> {
    moment: &'a Moment,
    explanation: &'a Explanation,
    scenario: &'a Scenario,
    plan: &'a Plan,
}

/// Returns what might have avoided a moment; whether it does is for a simulation to say.
pub(super) fn changes(
    moment: &Moment,
    explanation: &Explanation,
    scenario: &Scenario,
    plan: &Plan,
) -> Vec<Change> {
    let place = Place { moment, explanation, scenario, plan };
    let MomentKind::Cause(cause) = moment.kind else {
        return place.fewer_notices();
    };
    match cause {
        Cause::Expired | Cause::ExpiredWhileLimited => {
            let kept = [place.longer_lifetimes(), place.keep_alive(), place.younger_session()];
            [kept.concat(), place.fewer_at_once()].concat()
        }
        Cause::SiblingNotReady => [place.launches(), place.fewer_at_once()].concat(),
        Cause::ColdStart => {
            let warm = [place.warm_session(), place.launches(), place.forks()].concat();
            [warm, place.cheaper_writes()].concat()
        }
        Cause::NewContent => place.cheaper_writes(),
        Cause::LookbackExceeded => [place.single_notices(), place.fewer_at_once()].concat(),
        Cause::Compaction => place.later_compactions(),
        Cause::CachingDisabled => vec![Change::one("cache.enabled", "true", "caching")],
        Cause::PrefixChangedTools
        | Cause::PrefixChangedSystem
        | Cause::PrefixChangedModel
        | Cause::PrefixChangedEffort
        | Cause::PrefixChangedMessages => place.stable_prefix(),
        Cause::BelowMinimum
        | Cause::EarlyMiss
        | Cause::ClearedToolResults
        | Cause::Output
        | Cause::Read
        | Cause::Fees => Vec::new(),
    }
}

impl Place<'_> {
    fn has_main(&self) -> bool {
        self.moment.agents.contains(&0)
    }

    fn has_children(&self) -> bool {
        self.moment.agents.iter().any(|agent| *agent > 0)
    }

    /// An hour's lifetime for those who paid, and for all. Forks also pay for what lapsed of the
    /// parent's.
    fn longer_lifetimes(&self) -> Vec<Change> {
        let now = self.plan.ttl();
        let long = RoleTtl { head: Ttl::OneHour, tail: Ttl::OneHour };
        let head = RoleTtl { head: Ttl::OneHour, tail: Ttl::FiveMinutes };
        let forks = self.plan.kind() == AgentKind::Fork;
        let main = TtlPolicy { main: long, ..now };
        let children = TtlPolicy { subagent: long, ..now };
        let both = TtlPolicy { main: long, subagent: long };
        let mut changes = Vec::new();
        if self.has_main() || forks {
            changes.push((main, "entries of the main session live an hour"));
        }
        if self.has_children() || self.is_summary() {
            changes.push((children, "entries of children live an hour"));
        }
        changes.push((both, "all entries live an hour"));
        let heads = TtlPolicy { main: head, subagent: head };
        changes.push((heads, "tools and system live an hour, messages five minutes"));
        changes.retain(|(ttl, _)| *ttl != now);
        changes.dedup_by_key(|(ttl, _)| *ttl);
        changes.into_iter().map(|(ttl, meaning)| lifetimes(ttl, meaning)).collect()
    }

    /// Whether a summary request paid, whose entries are of the children's class.
    fn is_summary(&self) -> bool {
        let records = &self.explanation.log.run.requests;
        self.moment.requests.iter().any(|request| records[*request].role == Role::Compaction)
    }

    fn keep_alive(&self) -> Vec<Change> {
        if self.scenario.cache.keep_alive != KeepAlive::Off {
            return Vec::new();
        }
        let change = |every: &str, words: &str| {
            let meaning = format!("waiting agents refresh their entries every {words}");
            Change::one("cache.keep_alive", format!("\"{every}\""), meaning)
        };
        vec![change("4m", "four minutes"), change("50m", "50 minutes")]
    }

    /// Delegating while the session's entries live.
    fn younger_session(&self) -> Vec<Change> {
        let session = &self.scenario.session;
        if session.context.is_none() || !session.warm || session.age.is_zero() {
            return Vec::new();
        }
        let meaning = "delegate right after the session's last request";
        vec![Change::one("session.age", "\"0s\"", meaning)]
    }

    fn warm_session(&self) -> Vec<Change> {
        let session = &self.scenario.session;
        if session.context.is_none() || session.warm {
            return Vec::new();
        }
        vec![Change::one("session.warm", "true", "delegate while the session's entries live")]
    }

    /// Fewer agents at once, where they stand in each other's way.
    fn fewer_at_once(&self) -> Vec<Change> {
        let fanout = &self.scenario.fanout;
        let mut now = fanout.max_parallel.unwrap_or(fanout.tasks).min(fanout.tasks);
        match fanout.agent {
            AgentKind::Inline => return Vec::new(),
            AgentKind::Workflow => now = now.min(self.scenario.workflow.concurrency),
            AgentKind::Fresh | AgentKind::Fork | AgentKind::Explore | AgentKind::Plan => {}
        }
        let fewer = AT_ONCE.into_iter().filter(|count| *count < now);
        let change = |count: u32| {
            let children = if count == 1 { "child" } else { "children" };
            let meaning = format!("at most {count} {children} at once");
            Change::one("fanout.max_parallel", count.to_string(), meaning)
        };
        fewer.map(change).collect()
    }

    /// Ways to launch siblings so that one can read what another has written.
    fn launches(&self) -> Vec<Change> {
        let fanout = &self.scenario.fanout;
        if !self.has_children() || fanout.tasks < 2 {
            return Vec::new();
        }
        let wait = self.longest_first_token();
        if fanout.agent == AgentKind::Workflow {
            let hold = SimDuration::from_seconds(wait as i64);
            let change = || {
                let meaning = "agents wait longer for the first to be answered";
                Change::one("workflow.hold", format!("\"{wait}s\""), meaning)
            };
            return (hold > self.scenario.workflow.hold).then(change).into_iter().collect();
        }
        let ways = [
            (
                format!("{{ hold_first = \"{wait}s\" }}"),
                "the first child alone until it is answered",
            ),
            (format!("{{ staggered = \"{wait}s\" }}"), "one child after the other"),
            ("{ prewarm = \"system\" }".to_owned(), "tools and system are warmed before"),
            ("{ prewarm = \"project\" }".to_owned(), "tools, system and project are warmed before"),
            ("{ prewarm = \"shared\" }".to_owned(), "all that children share is warmed before"),
        ];
        let is_new = |way: &(String, &str)| match fanout.launch {
            Launch::Together => true,
            Launch::HoldFirst(_) => !way.0.contains("hold_first"),
            Launch::Staggered(_) => !way.0.contains("staggered"),
            Launch::Prewarm(_) => !way.0.contains("prewarm"),
        };
        let change = |(way, meaning)| Change::one("fanout.launch", way, meaning);
        ways.into_iter().filter(is_new).map(change).collect()
    }

    /// Whole seconds in which each response of the moment had begun, at least 1.
    fn longest_first_token(&self) -> u64 {
        let records = &self.explanation.log.run.requests;
        let micros = self.moment.requests.iter().map(|request| {
            let record = &records[*request];
            record.first_token.since(record.start).as_micros()
        });
        (micros.max().unwrap_or(0) as u64).div_ceil(1_000_000).max(1)
    }

    fn forks(&self) -> Vec<Change> {
        let could_be = match self.plan.kind() {
            AgentKind::Fresh | AgentKind::Explore | AgentKind::Plan => true,
            AgentKind::Fork | AgentKind::Inline | AgentKind::Workflow => false,
        };
        if !self.has_children() || !could_be {
            return Vec::new();
        }
        vec![Change::one("fanout.agent", "\"fork\"", "children that keep the parent's prompt")]
    }

    /// Writes at a lower price, where the longer lifetime or caching itself does not pay.
    fn cheaper_writes(&self) -> Vec<Change> {
        let accounts = &self.explanation.requests;
        let causes = self.moment.requests.iter().flat_map(|request| &accounts[*request].causes);
        let for_an_hour = causes.into_iter().any(|one| one.category == Category::Write1h);
        let mut changes = Vec::new();
        if for_an_hour {
            let short = TtlPolicy::default();
            changes.push(lifetimes(short, "all entries live five minutes"));
        }
        // Where agents send a request or two, writes are hardly ever read.
        let bill = &self.explanation.bill;
        if self.scenario.cache.enabled && bill.requests <= 2 * self.explanation.agents.len() as u64
        {
            changes.push(Change::one("cache.enabled", "false", "no caching: writes cost more"));
        }
        changes
    }

    fn fewer_notices(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.scenario.fanout.notices == Notices::OneByOne {
            let meaning = "notices that wait share one turn of the parent";
            changes.push(Change::one("fanout.notices", "\"batched\"", meaning));
        }
        if self.plan.kind() == AgentKind::Workflow {
            return changes;
        }
        let meaning = "children in the foreground: their results enter together";
        changes.push(Change::one("fanout.background", "false", meaning));
        changes
    }

    fn single_notices(&self) -> Vec<Change> {
        if self.scenario.fanout.notices == Notices::OneByOne {
            return Vec::new();
        }
        let meaning = "each notice in a turn of its own";
        vec![Change::one("fanout.notices", "\"one_by_one\"", meaning)]
    }

    fn later_compactions(&self) -> Vec<Change> {
        let compaction = &self.scenario.compaction;
        let mut changes = Vec::new();
        if compaction.trigger.is_some() {
            let meaning = "compact only where the window ends";
            changes.push(Change::one("compaction.trigger", "\"100%\"", meaning));
        }
        let windows = self.plan.models().iter().filter_map(|model| model.rates.window);
        let is_larger = |window: &Tokens| compaction.window.is_some_and(|now| now < *window);
        if let Some(window) = windows.filter(is_larger).max() {
            let meaning = "the whole window of the model";
            changes.push(Change::one("compaction.window", window.get().to_string(), meaning));
        }
        let meaning = "no compaction: conversations end where the window does";
        changes.push(Change::one("compaction.enabled", "false", meaning));
        let half = self.plan.models()[0].trigger.map(|trigger| trigger.get() / 2);
        if let Some(half) = half {
            let meaning = "compact at half the size";
            changes.push(Change::one("compaction.trigger", half.to_string(), meaning));
        }
        changes
    }

    fn stable_prefix(&self) -> Vec<Change> {
        if self.scenario.task.prefix_change == PrefixChange::None {
            return Vec::new();
        }
        vec![Change::one("task.prefix_change", "\"none\"", "a prefix that does not change")]
    }
}

/// Lifetimes in the shortest notation.
fn lifetimes(ttl: TtlPolicy, meaning: &str) -> Change {
    let role = |role: RoleTtl| {
        if role.head == role.tail {
            return format!("\"{}\"", role.head.name());
        }
        format!("{{ head = \"{}\", tail = \"{}\" }}", role.head.name(), role.tail.name())
    };
    let value = if ttl.main == ttl.subagent {
        role(ttl.main)
    } else {
        format!("{{ main = {}, subagent = {} }}", role(ttl.main), role(ttl.subagent))
    };
    Change::one("cache.ttl", value, meaning)
}
