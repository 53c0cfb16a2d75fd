//! A replication as lines of text: its requests in a table, and between them what happened.

use std::collections::BTreeMap;

use crate::cache::{Category, Cause};
use crate::explain::{Explanation, RequestAccount};
use crate::ledger::agent_name;
use crate::orchestration::{AgentKind, Happening, LogEntry, Outcome, RequestPurpose, WaitReason};
use crate::report::number::{count, duration, plain, tokens};
use crate::report::text::wrapped;
use crate::units::{Money, SimDuration, SimTime, Tokens};

/// Columns of a line.
const WIDTH: usize = 100;
/// Requests that are all shown.
const REQUESTS_SHOWN: usize = 40;
/// Requests that are shown of more.
const OF_MANY: usize = 20;
/// Most requests shown of one of the most expensive moments.
const OF_A_MOMENT: usize = 4;
/// Events that are told in a shortened timeline, besides what leads to a request that is shown.
const EVENTS_SHOWN: usize = 40;
/// Waits that are told in a shortened timeline.
const WAIT_MIN: SimDuration = SimDuration::from_seconds(10);

/// A timeline and how much it leaves out.
pub(super) struct Timeline {
    pub(super) lines: Vec<String>,
    /// Requests that are shown together with others.
    pub(super) folded: usize,
    /// Events that are not shown.
    pub(super) untold: usize,
}

/// A line before it is laid out.
enum Line {
    /// What happened, in words.
    Event { at: SimTime, agent: String, text: String },
    /// A request, or several folded into one line.
    Request(Row),
}

/// The cells of one request.
struct Row {
    at: SimTime,
    agent: String,
    what: String,
    read: u64,
    /// Tokens, lifetime and cause of what it processed.
    processed: Vec<(u64, &'static str, &'static str)>,
    output: u64,
    cost: Money,
    total: Money,
}

/// What an agent did since its last request.
#[derive(Default)]
struct Before {
    tools: SimDuration,
    waits: BTreeMap<WaitReason, SimDuration>,
    attempts: Vec<u16>,
    reports: Vec<u32>,
    /// The prompt that is too long.
    compacts: Option<Tokens>,
    started: BTreeMap<Option<WaitReason>, SimTime>,
}

/// Returns the timeline of a replication, shortened unless `all` of it is asked for.
pub(super) fn timeline(explanation: &Explanation, all: bool) -> Timeline {
    let mut teller = Teller {
        explanation,
        all,
        shown: shown(explanation, all),
        before: BTreeMap::new(),
        folded: Vec::new(),
        lines: Vec::new(),
        folded_count: 0,
        told: 0,
        untold: 0,
    };
    let happenings = &explanation.log.happenings;
    let mut at = 0;
    while at < happenings.len() {
        at += teller.tell(&happenings[at..]);
    }
    teller.fold();
    let lines = layout(&teller.lines, explanation.bill.total);
    Timeline { lines, folded: teller.folded_count, untold: teller.untold }
}

/// Chooses the requests that have a line of their own: those of the most expensive moments, then
/// the most expensive ones.
fn shown(explanation: &Explanation, all: bool) -> Vec<bool> {
    let records = &explanation.log.run.requests;
    let is_own = |request: usize| !records[request].is_paid;
    if all || records.len() <= REQUESTS_SHOWN {
        return (0..records.len()).map(is_own).collect();
    }
    let mut order: Vec<usize> = Vec::new();
    for moment in &explanation.moments {
        let mut requests = moment.requests.clone();
        requests.sort_by_key(|request| -records[*request].cost);
        order.extend(requests.into_iter().take(OF_A_MOMENT));
    }
    let mut rest: Vec<usize> = (0..records.len()).collect();
    rest.sort_by_key(|request| -records[*request].cost);
    order.extend(rest);
    let mut shown = vec![false; records.len()];
    let mut left = OF_MANY;
    for request in order.into_iter().filter(|request| is_own(*request)) {
        if left > 0 && !shown[request] {
            shown[request] = true;
            left -= 1;
        }
    }
    shown
}

struct Teller<'a> {
    explanation: &'a Explanation,
    all: bool,
    shown: Vec<bool>,
    before: BTreeMap<u32, Before>,
    /// Requests not shown since the last line.
    folded: Vec<usize>,
    lines: Vec<Line>,
    folded_count: usize,
    told: usize,
    untold: usize,
}

impl Teller<'_> {
    /// Tells what comes next; returns how many happenings that were.
    fn tell(&mut self, next: &[LogEntry]) -> usize {
        let LogEntry { at, agent, happening } = next[0];
        match happening {
            Happening::LaunchAttempted { .. } => return self.tell_calls(next),
            Happening::LaunchRefused { .. } => return self.tell_refusals(next),
            Happening::LaunchStarted { .. } => return self.tell_launches(next),
            Happening::RequestStarted { request, purpose } => self.tell_request(request, purpose),
            Happening::AttemptFailed { status, attempt, retry_at } => {
                self.before.entry(agent).or_default().attempts.push(status);
                let wait = retry_at.map(|until| duration(until.since(at).as_seconds()));
                let then = wait.map_or("gives up".to_owned(), |wait| format!("waits {wait}"));
                let text = format!("attempt {attempt} fails with {status}, {then}");
                if self.all || retry_at.is_none() {
                    self.event(at, agent, text);
                }
            }
            Happening::Resumed => self.event(at, agent, "is sent a message and goes on".to_owned()),
            Happening::AgentEnded { outcome } => self.tell_end(at, agent, outcome),
            Happening::CompactionStarted { tokens } => {
                self.before.entry(agent).or_default().compacts = Some(tokens);
            }
            Happening::Compacted { tokens: size } => {
                if self.all {
                    let size = tokens(size.get() as f64);
                    self.event(at, agent, format!("goes on with a prompt of {size} tokens"));
                }
            }
            Happening::ReportDelivered { child, .. } => {
                self.before.entry(agent).or_default().reports.push(child);
            }
            Happening::ToolsStarted { .. } => self.begin(at, agent, None),
            Happening::WaitStarted { reason } => self.begin(at, agent, Some(reason)),
            Happening::ToolsEnded { .. } => {
                let took = self.end(at, agent, None);
                self.before.entry(agent).or_default().tools += took;
            }
            Happening::WaitEnded { reason } => {
                let took = self.end(at, agent, Some(reason));
                *self.before.entry(agent).or_default().waits.entry(reason).or_default() += took;
            }
            Happening::ResponseBegun { .. }
            | Happening::RequestEnded { .. }
            | Happening::EntryWritten { .. }
            | Happening::EntryRefreshed { .. }
            | Happening::EntryExpired { .. } => {}
        }
        1
    }

    fn begin(&mut self, at: SimTime, agent: u32, what: Option<WaitReason>) {
        self.before.entry(agent).or_default().started.insert(what, at);
    }

    fn end(&mut self, at: SimTime, agent: u32, what: Option<WaitReason>) -> SimDuration {
        let started = self.before.entry(agent).or_default().started.remove(&what);
        started.map_or(SimDuration::ZERO, |started| at.since(started))
    }

    fn event(&mut self, at: SimTime, agent: u32, text: String) {
        if !self.all && self.told == EVENTS_SHOWN {
            self.untold += 1;
            return;
        }
        self.told += 1;
        self.line(at, agent, text);
    }

    fn line(&mut self, at: SimTime, agent: u32, text: String) {
        self.fold();
        self.lines.push(Line::Event { at, agent: agent_name(agent), text });
    }

    /// Calls of one message.
    fn tell_calls(&mut self, next: &[LogEntry]) -> usize {
        let is_same = |entry: &&LogEntry| {
            entry.at == next[0].at && matches!(entry.happening, Happening::LaunchAttempted { .. })
        };
        let calls = next.iter().take_while(is_same).count();
        let text = if calls == 1 { "a child".to_owned() } else { format!("{calls} children") };
        self.event(next[0].at, next[0].agent, format!("calls {text}"));
        calls
    }

    fn tell_refusals(&mut self, next: &[LogEntry]) -> usize {
        let Happening::LaunchRefused { reason, .. } = next[0].happening else {
            return 1;
        };
        let is_same = |entry: &&LogEntry| {
            entry.at == next[0].at
                && matches!(entry.happening, Happening::LaunchRefused { reason: other, .. }
                    if other == reason)
        };
        let refused = next.iter().take_while(is_same).count();
        let plural = if refused == 1 { "call is" } else { "calls are" };
        let words = match self.explanation.texts.refusal(reason) {
            Some(words) => format!(": \"{}\"", plain(words)),
            None => String::new(),
        };
        let text = format!("{refused} {plural} refused ({}){words}", reason.name());
        self.event(next[0].at, next[0].agent, text);
        refused
    }

    /// Children that start together after the same wait.
    fn tell_launches(&mut self, next: &[LogEntry]) -> usize {
        let start = |entry: &LogEntry| match entry.happening {
            Happening::LaunchStarted { parent, kind, called, earliest, .. } => {
                Some((entry.at, parent, kind, called, earliest))
            }
            _ => None,
        };
        let Some((at, parent, kind, called, earliest)) = start(&next[0]) else {
            return 1;
        };
        let same = next.iter().take_while(|entry| start(entry) == start(&next[0])).count();
        let agents: Vec<u32> = next[..same].iter().map(|entry| entry.agent).collect();
        let mut text = self.launch(&agents, kind, [called, earliest, at]);
        if parent > 0 {
            text = format!("{text}; called by {}", agent_name(parent));
        }
        self.event(at, agents[0], text);
        same
    }

    fn launch(
        &self,
        agents: &[u32],
        kind: AgentKind,
        [called, earliest, at]: [SimTime; 3],
    ) -> String {
        let model = &self.explanation.agents[agents[0] as usize].model;
        let mut text = match agents {
            [_] => "starts".to_owned(),
            many => format!("{} start", agent_list(many)),
        };
        text = format!("{text}: {}, {}", kind.name(), plain(model));
        for (from, to, why) in [(called, earliest, "held"), (earliest, at, "queued")] {
            if from < to {
                text = format!("{text}, {why} for {}", duration(to.since(from).as_seconds()));
            }
        }
        text
    }

    fn tell_end(&mut self, at: SimTime, agent: u32, outcome: Outcome) {
        if outcome == Outcome::Completed {
            if self.all && agent > 0 {
                self.event(at, agent, "ends".to_owned());
            }
            return;
        }
        let name = outcome.name().replace('_', " ");
        let words = match self.explanation.texts.outcome(outcome) {
            Some(words) => format!(": \"{}\"", plain(words)),
            None => String::new(),
        };
        self.event(at, agent, format!("stops, {name}{words}"));
    }

    fn tell_request(&mut self, request: usize, purpose: RequestPurpose) {
        let record = &self.explanation.log.run.requests[request];
        if purpose == RequestPurpose::Earlier {
            let size = tokens(record.usage().prompt().get() as f64);
            let text = format!("last request of the session so far: {size} tokens, paid before");
            self.event(record.start, record.agent, text);
            return;
        }
        let before = if purpose.is_minimal() {
            Before::default()
        } else {
            let started = |before: &Before| before.started.clone();
            let kept = self.before.get(&record.agent).map(started).unwrap_or_default();
            let fresh = Before { started: kept, ..Before::default() };
            self.before.insert(record.agent, fresh).unwrap_or_default()
        };
        if !self.shown[request] {
            self.folded.push(request);
            return;
        }
        let account = &self.explanation.requests[request];
        let (start, agent) = (record.start, record.agent);
        if let Some(text) = self.preface(&before, account, start) {
            self.line(start, agent, text);
        }
        self.fold();
        let row = self.row(request, what(purpose));
        self.lines.push(Line::Request(row));
    }

    /// What happened to an agent before it sent a request.
    fn preface(&self, before: &Before, account: &RequestAccount, start: SimTime) -> Option<String> {
        let mut parts = Vec::new();
        let is_long = |took: SimDuration| !took.is_zero() && (self.all || took >= WAIT_MIN);
        let mut long = |took: SimDuration, words: &str| {
            if is_long(took) {
                parts.push(format!("{words} {}", duration(took.as_seconds())));
            }
        };
        long(before.tools, "tools took");
        let wait = |reason| before.waits.get(&reason).copied().unwrap_or(SimDuration::ZERO);
        long(wait(WaitReason::Children), "waited for children");
        if !before.attempts.is_empty() && !self.all {
            let took = duration(wait(WaitReason::Retry).as_seconds());
            parts.push(format!("{}, waited {took}", failures(&before.attempts)));
        }
        if !before.reports.is_empty() {
            let plural = if before.reports.len() == 1 { "" } else { "s" };
            parts.push(format!("report{plural} of {}", agent_list(&before.reports)));
        }
        if let Some(size) = before.compacts {
            let size = tokens(size.get() as f64);
            parts.push(format!("the next prompt, {size} tokens, is too long"));
        }
        if let Some(lapse) = account.lapse {
            let since = duration(start.since(lapse.at).as_seconds());
            let size = tokens(lapse.tokens.get() as f64);
            parts.push(format!("the entry of {size} tokens expired {since} before"));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn row(&self, request: usize, what: String) -> Row {
        let record = &self.explanation.log.run.requests[request];
        let account = &self.explanation.requests[request];
        Row {
            at: record.start,
            agent: agent_name(record.agent),
            what,
            read: record.split.read.get(),
            processed: processed([account]),
            output: record.output.get(),
            cost: record.cost,
            total: account.running_total,
        }
    }

    /// Puts the requests that are not shown into one line.
    fn fold(&mut self) {
        let requests = std::mem::take(&mut self.folded);
        let Some(last) = requests.last() else {
            return;
        };
        if let [only] = requests.as_slice() {
            let row = self.row(*only, what(self.explanation.requests[*only].purpose));
            self.lines.push(Line::Request(row));
            return;
        }
        let records: Vec<_> =
            requests.iter().map(|request| &self.explanation.log.run.requests[*request]).collect();
        let accounts = requests.iter().map(|request| &self.explanation.requests[*request]);
        let mut agents: Vec<u32> = records.iter().map(|record| record.agent).collect();
        agents.sort_unstable();
        agents.dedup();
        let number = count(records.len() as f64);
        let (agent, what) = match agents.as_slice() {
            [one] => (agent_name(*one), format!("... {number} requests")),
            many => (String::new(), format!("... {number} by {} agents", many.len())),
        };
        self.folded_count += records.len();
        self.lines.push(Line::Request(Row {
            at: records[0].start,
            agent,
            what,
            read: records.iter().map(|record| record.split.read.get()).sum(),
            processed: processed(accounts),
            output: records.iter().map(|record| record.output.get()).sum(),
            cost: records.iter().map(|record| record.cost).sum(),
            total: self.explanation.requests[*last].running_total,
        }));
    }
}

/// Sums what requests processed by cause and lifetime, in the order of their prompts.
fn processed<'a>(
    accounts: impl IntoIterator<Item = &'a RequestAccount>,
) -> Vec<(u64, &'static str, &'static str)> {
    let mut sums: Vec<(u64, &'static str, Cause)> = Vec::new();
    for one in accounts.into_iter().flat_map(|account| &account.causes) {
        let lifetime = lifetime(one.category);
        let known =
            sums.iter_mut().find(|(_, other, cause)| (*other, *cause) == (lifetime, one.cause));
        match known {
            Some((sum, ..)) => *sum += one.tokens.get(),
            None => sums.push((one.tokens.get(), lifetime, one.cause)),
        }
    }
    sums.into_iter().map(|(sum, lifetime, cause)| (sum, lifetime, cause.name())).collect()
}

/// How long what is processed stays in the cache.
pub(super) const fn lifetime(category: Category) -> &'static str {
    match category {
        Category::Uncached => "-",
        Category::Write5m => "5m",
        Category::Write1h => "1h",
    }
}

/// What a request is for, in few words.
fn what(purpose: RequestPurpose) -> String {
    match purpose {
        RequestPurpose::Earlier => "earlier".to_owned(),
        RequestPurpose::Prompt => "first prompt".to_owned(),
        RequestPurpose::Receipts => "turn on receipts".to_owned(),
        RequestPurpose::Notices => "turn on notices".to_owned(),
        RequestPurpose::Results => "turn on results".to_owned(),
        RequestPurpose::Iteration { number, of } => format!("iteration {number} of {of}"),
        RequestPurpose::Rediscovery { number, of } => format!("rediscovery {number} of {of}"),
        RequestPurpose::Compaction => "summary".to_owned(),
        RequestPurpose::KeepAlive => "keep-alive".to_owned(),
        RequestPurpose::Prewarm => "pre-warm".to_owned(),
    }
}

/// Failed attempts in words: `3 x 429, 1 x 529`.
fn failures(attempts: &[u16]) -> String {
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    for status in attempts {
        *counts.entry(*status).or_default() += 1;
    }
    let parts = counts.iter().map(|(status, number)| format!("{number} x {status}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// Names of agents, runs of numbers together: `main, a1 to a5, a8`.
pub(super) fn agent_list(agents: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while at < agents.len() {
        let mut end = at + 1;
        while end < agents.len() && agents[at] > 0 && agents[end] == agents[end - 1] + 1 {
            end += 1;
        }
        let (first, last) = (agent_name(agents[at]), agent_name(agents[end - 1]));
        match end - at {
            1 => parts.push(first),
            2 => parts.extend([first, last]),
            _ => parts.push(format!("{first} to {last}")),
        }
        at = end;
    }
    parts.join(", ")
}

/// An instant as a clock shows it: `0:05.3`, `1:02:33.1`.
pub(super) fn clock(at: SimTime) -> String {
    let tenths = (at.as_micros().unsigned_abs() + 50_000) / 100_000;
    let sign = if at < SimTime::ZERO { "-" } else { "" };
    let (hours, minutes) = (tenths / 36_000, tenths / 600 % 60);
    let (seconds, tenth) = (tenths / 10 % 60, tenths % 10);
    if hours > 0 {
        return format!("{sign}{hours}:{minutes:02}:{seconds:02}.{tenth}");
    }
    format!("{sign}{minutes}:{seconds:02}.{tenth}")
}

/// Decimals with which all amounts of a bill are told apart.
fn decimals(total: Money) -> usize {
    let magnitude = libm::log10(total.as_usd().abs().max(1e-9)).floor();
    (4.0 - magnitude).clamp(4.0, 9.0) as usize
}

/// Widths of the columns that depend on what stands in them.
struct Widths {
    time: usize,
    agent: usize,
    what: usize,
    cause: usize,
    cost: usize,
}

impl Widths {
    fn new(lines: &[Line], cost: usize) -> Widths {
        let mut widths = Widths { time: 7, agent: 5, what: 4, cause: 11, cost };
        for line in lines {
            if let Line::Request(row) = line {
                let cause = row.processed.iter().map(|(.., cause)| cause.len()).max();
                widths.time = widths.time.max(clock(row.at).len());
                widths.agent = widths.agent.max(row.agent.len());
                widths.what = widths.what.max(row.what.len());
                widths.cause = widths.cause.max(cause.unwrap_or(0));
            }
        }
        widths
    }
}

fn layout(lines: &[Line], bill: Money) -> Vec<String> {
    let decimals = decimals(bill);
    let money = |money: Money| format!("${:.decimals$}", money.as_usd());
    let widths = Widths::new(lines, money(bill).len());
    let Widths { time, agent, what, cause, cost } = widths;
    let heading = format!(
        "{:>time$}  {:<agent$}  {:<what$} {:>6} {:>6}    {:<cause$} {:>6} {:>cost$} {:>cost$}",
        "time", "agent", "what", "read", "new", "why", "output", "cost", "total"
    );
    let rule = "-".repeat(heading.chars().count());
    let mut text = vec![heading, rule];
    for line in lines {
        match line {
            Line::Event { at, agent, text: event } => {
                text.extend(event_lines(&widths, &clock(*at), agent, event));
            }
            Line::Request(row) => text.extend(request_lines(&widths, row, &money)),
        }
    }
    text
}

/// What happened, over as many lines as it takes.
fn event_lines(widths: &Widths, at: &str, name: &str, event: &str) -> Vec<String> {
    let Widths { time, agent, .. } = *widths;
    let parts = wrapped(event, WIDTH - (time + agent + 4));
    let lines = parts.into_iter().enumerate().map(|(number, part)| {
        let (at, name) = if number == 0 { (at, name) } else { ("", "") };
        format!("{at:>time$}  {name:<agent$}  {part}")
    });
    lines.collect()
}

/// A request; each further cause has a line of its own.
fn request_lines(widths: &Widths, row: &Row, money: &dyn Fn(Money) -> String) -> Vec<String> {
    let Widths { time, agent, what, cause, cost } = *widths;
    let amount = |amount: u64| if amount == 0 { "-".to_owned() } else { tokens(amount as f64) };
    let mut parts = row.processed.iter().map(|(sum, lifetime, name)| {
        format!("{:>6} {lifetime:>2} {name:<cause$}", tokens(*sum as f64))
    });
    let first = parts.next().unwrap_or_else(|| format!("{:>6} {:>2} {:<cause$}", "-", "", ""));
    let mut lines = vec![format!(
        "{:>time$}  {:<agent$}  {:<what$} {:>6} {first} {:>6} {:>cost$} {:>cost$}",
        clock(row.at),
        row.agent,
        row.what,
        amount(row.read),
        amount(row.output),
        money(row.cost),
        money(row.total),
    )];
    let indent = time + agent + what + 12;
    lines.extend(parts.map(|part| format!("{:indent$}{}", "", part.trim_end())));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_in_runs() {
        let cases: [(&[u32], &str); 5] = [
            (&[0], "main"),
            (&[0, 1, 2], "main, a1, a2"),
            (&[1, 2, 3, 7], "a1 to a3, a7"),
            (&[9, 2, 3], "a9, a2, a3"),
            (&[], ""),
        ];
        for (agents, text) in cases {
            assert_eq!(agent_list(agents), text);
        }
    }

    #[test]
    fn instants_are_shown_as_by_a_clock() {
        let cases = [
            (0, "0:00.0"),
            (59_960_000, "1:00.0"),
            (398_123_456, "6:38.1"),
            (3_753_149_999, "1:02:33.1"),
            (-290_000_000, "-4:50.0"),
        ];
        for (micros, text) in cases {
            assert_eq!(clock(SimTime::from_micros(micros)), text);
        }
    }

    #[test]
    fn amounts_of_a_bill_have_the_same_decimals() {
        let cases = [(76_440_000_000_000, 4), (500_000_000_000, 5), (12_000_000, 9), (0, 9)];
        for (picodollars, decimals) in cases {
            assert_eq!(super::decimals(Money::from_picodollars(picodollars)), decimals);
        }
    }

    #[test]
    fn failed_attempts_are_counted_by_status() {
        assert_eq!(failures(&[429, 529, 429, 429]), "3 x 429, 1 x 529");
    }
}
