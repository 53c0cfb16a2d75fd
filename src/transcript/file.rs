//! One file of a transcript: lines in, requests by agent out.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cache::Expected;
use crate::pricing::{RateOptions, Usage};
use crate::transcript::layout::FileRole;
use crate::transcript::pending::Pending;
use crate::transcript::record::{Message, Record, UsageRecord};
use crate::transcript::request::usual_first_token;
use crate::transcript::{ChildLink, CompactionMark, Request, Trigger};
use crate::units::{SimDuration, SimTime, Tokens, parse_instant};

/// Model of records that the client itself wrote in the place of an answer.
const SYNTHETIC: &str = "<synthetic>";

/// Types of records that say nothing of requests; any other is counted as unknown.
const KNOWN_TYPES: [&str; 27] = [
    "agent-name",
    "ai-title",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "attachment",
    "bridge-session",
    "cost-state",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "fork-context-ref",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "started",
    "result",
    "summary",
    "system",
    "tag",
    "tools-used",
    "user",
    "worktree-state",
    "assistant",
];

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenLine {
    /// Its number, from 1.
    pub line: usize,
    /// Why.
    pub reason: String,
}

/// Whose requests a thread of a file holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ThreadKey {
    /// The session's own.
    Main,
    /// Those of a subagent.
    Agent(String),
    /// Those of a subagent of which only `agent_progress` records tell.
    Progress(String),
    /// Those of a sidechain in the main file that begins with this record.
    Sidechain(String),
}

/// What a file says of one agent.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) key: ThreadKey,
    pub(super) requests: Vec<Request>,
    pub(super) compactions: Vec<CompactionMark>,
    pub(super) children: Vec<ChildLink>,
    /// Kind of the agent, where the file tells it.
    pub(super) kind: Option<String>,
    pending: Pending,
}

/// Reads the lines of one file. Memory grows with the requests, not with the texts.
#[derive(Debug)]
pub struct FileReader {
    role: FileRole,
    /// Session that the records name.
    session: Option<String>,
    pub(super) threads: Vec<Thread>,
    /// Where the records of each request stand: thread and number.
    requests: BTreeMap<String, (usize, usize)>,
    /// Threads of the records of inline sidechains.
    sidechains: BTreeMap<String, usize>,
    /// Kinds of subagents by the call that launched them.
    launched: BTreeMap<String, String>,
    names: Vec<Arc<str>>,
    last_time: Option<SimTime>,
    line: usize,
    /// Client version of the last record that states one.
    pub(super) version: Option<String>,
    /// Lines that could not be read.
    pub broken: Vec<BrokenLine>,
    /// Further ones, which are only counted.
    pub broken_unlisted: usize,
    /// Types of records that no version is known to write, and how many there were.
    pub unknown: BTreeMap<String, u64>,
}

/// The most broken lines of a file that are listed.
const BROKEN_LISTED_MAX: usize = 20;

impl FileReader {
    /// Returns a reader of a file that stands where `role` says.
    pub fn new(role: FileRole) -> FileReader {
        FileReader {
            role,
            session: None,
            threads: Vec::new(),
            requests: BTreeMap::new(),
            sidechains: BTreeMap::new(),
            launched: BTreeMap::new(),
            names: Vec::new(),
            last_time: None,
            line: 0,
            version: None,
            broken: Vec::new(),
            broken_unlisted: 0,
            unknown: BTreeMap::new(),
        }
    }

    /// Returns where the file stands.
    pub fn role(&self) -> &FileRole {
        &self.role
    }

    /// Returns the session that the records name.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Reads one line, without its end. What cannot be read is noted and passed over.
    pub fn line(&mut self, line: &[u8]) {
        self.line += 1;
        if is_passed_over(line) {
            return;
        }
        match serde_json::from_slice::<Record<'_>>(line) {
            Ok(record) => self.record(&record),
            Err(error) => self.note(reason(&error)),
        }
    }

    /// Notes a line that only the caller sees, such as one that is too long.
    pub fn unreadable_line(&mut self, reason: &str) {
        self.line += 1;
        self.note(reason.to_owned());
    }

    fn note(&mut self, reason: String) {
        if self.broken.len() < BROKEN_LISTED_MAX {
            self.broken.push(BrokenLine { line: self.line, reason });
        } else {
            self.broken_unlisted += 1;
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let kind = record.kind.as_str().unwrap_or_default();
        if self.session.is_none() {
            self.session = record.session_id.as_str().map(str::to_owned);
        }
        if record.version.as_str().is_some_and(|v| self.version.as_deref() != Some(v)) {
            self.version = record.version.as_str().map(str::to_owned);
        }
        let time = record.timestamp.as_str().and_then(|text| parse_instant(text).ok());
        self.last_time = time.or(self.last_time);
        match kind {
            "assistant" => self.assistant(record, time),
            "user" => self.user(record, time),
            "progress" => self.progress(record),
            "system" => self.system(record, time),
            "api-request" => {
                let thread = self.thread_of(record);
                self.threads[thread].pending.sent = time;
            }
            known if KNOWN_TYPES.contains(&known) => {}
            unknown => self.count_unknown(unknown),
        }
    }

    fn count_unknown(&mut self, kind: &str) {
        const NAME_MAX: usize = 40;
        const NAMES_MAX: usize = 100;
        let name: String = kind.chars().take(NAME_MAX).collect();
        if self.unknown.len() < NAMES_MAX || self.unknown.contains_key(&name) {
            *self.unknown.entry(name).or_default() += 1;
        }
    }

    fn assistant(&mut self, record: &Record<'_>, time: Option<SimTime>) {
        let Some(message) = &record.message.0 else { return };
        let is_own = message.model.as_str() == Some(SYNTHETIC) || record.is_api_error_message.0;
        if is_own {
            return;
        }
        let thread = self.thread_of(record);
        self.calls(message);
        let Some(usage) = &message.usage.0 else { return };
        let ids = [&message.id, &record.request_id, &record.uuid];
        let answer = Answer { message, usage, time, effort: record.effort.as_str() };
        self.answer(thread, ids.into_iter().find_map(|id| id.as_str()), &answer);
    }

    /// Notes which kinds of subagents the calls of a message launch.
    fn calls(&mut self, message: &Message<'_>) {
        for block in &message.content.blocks {
            if let (Some(id), Some(kind)) = (block.id.as_str(), block.subagent_type()) {
                self.launched.insert(id.to_owned(), kind);
            }
        }
    }

    /// Puts a record to its request, or begins one.
    fn answer(&mut self, thread: usize, id: Option<&str>, answer: &Answer<'_, '_>) {
        let (Some(id), Some(model)) = (id, answer.message.model.as_str()) else {
            self.note("a usage without the id or the model of its request".to_owned());
            return;
        };
        let Some(time) = answer.time.or(self.last_time) else {
            self.note("a usage without a time before or at it".to_owned());
            return;
        };
        let usage = match usage_of(answer.usage) {
            Ok(usage) => usage,
            Err(reason) => return self.note(reason),
        };
        let is_final = answer.message.stop_reason.as_str().is_some();
        if let Some((thread, number)) = self.requests.get(id).copied() {
            let request = &mut self.threads[thread].requests[number];
            request.end = request.end.max(time);
            request.output_bytes += answer.message.content.bytes;
            request.is_output_final |= is_final;
            request.web_searches = request.web_searches.max(answer.web_searches());
            if usage.output > request.usage.output {
                request.usage = usage;
            }
            self.threads[thread].pending.append(&answer.message.content);
            return;
        }
        let model = self.name(model);
        let effort = answer.effort.map(|effort| self.name(effort));
        let rows = self.threads[thread].requests.len();
        self.requests.insert(id.to_owned(), (thread, rows));
        let thread = &mut self.threads[thread];
        let before = thread.requests.last().map(|request| request.end);
        let pending = std::mem::take(&mut thread.pending);
        let usual = usual_first_token(&usage);
        let (ready, start) = pending.times(before, time, usual);
        thread.requests.push(Request {
            id: id.to_owned(),
            model,
            effort,
            ready,
            start,
            first_block: time,
            end: time,
            usage,
            options: answer.rate_options(),
            web_searches: answer.web_searches(),
            is_output_final: is_final,
            output_bytes: answer.message.content.bytes,
            trigger: pending.trigger.unwrap_or_default(),
            expected: pending.expected,
            appended_blocks: pending.blocks,
            prompt_bytes: pending.prompt_bytes,
        });
        thread.pending.append(&answer.message.content);
    }

    fn user(&mut self, record: &Record<'_>, time: Option<SimTime>) {
        let thread = self.thread_of(record);
        let default = Message::default();
        let message = record.message.0.as_ref().unwrap_or(&default);
        let is_result = |kind: Option<&str>| kind == Some("tool_result");
        let mut blocks = message.content.blocks.iter();
        let result = blocks.find(|block| is_result(block.kind.as_str()));
        self.child(record, thread, result.and_then(|block| block.tool_use_id.as_str()));
        let thread = &mut self.threads[thread];
        if record.is_compact_summary.0 {
            if let Some(mark) = thread.compactions.last_mut() {
                mark.summary_bytes += message.content.bytes;
            }
            return;
        }
        let pending = &mut thread.pending;
        pending.input = pending.input.max(time);
        pending.append(&message.content);
        if result.is_some() {
            pending.trigger = Some(Trigger::Tool);
        } else if !record.is_meta.0 {
            pending.trigger = Some(Trigger::Prompt);
            pending.prompt_bytes += message.content.bytes;
        }
    }

    /// Notes the child that the result of a call names.
    fn child(&mut self, record: &Record<'_>, thread: usize, call: Option<&str>) {
        let Some(result) = &record.tool_use_result.0 else { return };
        let Some(agent) = result.agent_id.as_str() else { return };
        let told = result.agent_type.as_str().map(str::to_owned);
        let kind = told.or_else(|| self.launched.get(call?).cloned());
        self.threads[thread].children.push(ChildLink { agent: agent.to_owned(), kind });
    }

    fn progress(&mut self, record: &Record<'_>) {
        let Some(data) = &record.data.0 else { return };
        let (Some("agent_progress"), Some(agent)) = (data.kind.as_str(), data.agent_id.as_str())
        else {
            return;
        };
        let Some(inner) = &data.message.0 else { return };
        let Some(message) = &inner.message.0 else { return };
        let time = inner.timestamp.as_str().and_then(|text| parse_instant(text).ok());
        let thread = self.thread(ThreadKey::Progress(agent.to_owned()));
        if self.threads[thread].kind.is_none() {
            let call = record.parent_tool_use_id.as_str();
            self.threads[thread].kind = call.and_then(|call| self.launched.get(call).cloned());
        }
        if inner.kind.as_str() != Some("assistant") {
            let pending = &mut self.threads[thread].pending;
            pending.input = pending.input.max(time);
            pending.append(&message.content);
            let is_prompt = self.threads[thread].requests.is_empty();
            let trigger = if is_prompt { Trigger::Prompt } else { Trigger::Tool };
            self.threads[thread].pending.trigger = Some(trigger);
            return;
        }
        if message.model.as_str() == Some(SYNTHETIC) {
            return;
        }
        let Some(usage) = &message.usage.0 else { return };
        let ids = [&message.id, &inner.request_id, &inner.uuid];
        let answer = Answer { message, usage, time, effort: None };
        self.answer(thread, ids.into_iter().find_map(|id| id.as_str()), &answer);
    }

    fn system(&mut self, record: &Record<'_>, time: Option<SimTime>) {
        let Some(subtype) = record.subtype.as_str() else { return };
        if !["compact_boundary", "microcompact_boundary", "api_error"].contains(&subtype) {
            return;
        }
        let thread = self.thread_of(record);
        let thread = &mut self.threads[thread];
        match subtype {
            "api_error" => {
                let wait = SimDuration::from_micros(record.retry_in_ms.get() as i64 * 1_000);
                thread.pending.retry = time.map(|time| time + wait);
            }
            "compact_boundary" => {
                thread.pending.expected = Expected::Compaction;
                let at = time.or(self.last_time).unwrap_or(SimTime::ZERO);
                let requests_before = thread.requests.len();
                thread.compactions.push(CompactionMark { at, requests_before, summary_bytes: 0 });
            }
            _ => thread.pending.expected = Expected::ClearedToolResults,
        }
    }

    /// Returns the thread of a record.
    fn thread_of(&mut self, record: &Record<'_>) -> usize {
        if let FileRole::Agent { agent, .. } = &self.role {
            let key = ThreadKey::Agent(agent.clone());
            return self.thread(key);
        }
        if let Some(agent) = record.agent_id.as_str() {
            return self.thread(ThreadKey::Agent(agent.to_owned()));
        }
        if !record.is_sidechain.0 {
            return self.thread(ThreadKey::Main);
        }
        let uuid = record.uuid.as_str().unwrap_or_default();
        let known = record.parent_uuid.as_str().and_then(|parent| self.sidechains.get(parent));
        let thread = match known {
            Some(thread) => *thread,
            None => self.thread(ThreadKey::Sidechain(uuid.to_owned())),
        };
        self.sidechains.insert(uuid.to_owned(), thread);
        thread
    }

    fn thread(&mut self, key: ThreadKey) -> usize {
        if let Some(known) = self.threads.iter().rposition(|thread| thread.key == key) {
            return known;
        }
        self.threads.push(Thread {
            key,
            requests: Vec::new(),
            compactions: Vec::new(),
            children: Vec::new(),
            kind: None,
            pending: Pending::default(),
        });
        self.threads.len() - 1
    }

    /// Returns a name that is held once.
    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.iter().find(|known| ***known == *name) {
            return Arc::clone(known);
        }
        self.names.push(Arc::from(name));
        Arc::clone(&self.names[self.names.len() - 1])
    }
}

/// Types of records, also inside of others, that say something of requests.
const TELLING_TYPES: [&[u8]; 5] =
    [b"assistant\"", b"user\"", b"system\"", b"api-request\"", b"agent_progress\""];

/// Tells by its bytes that a line need not be parsed: it is empty, or it states known types and
/// none that says anything of requests. In a text, quotes stand behind backslashes, so what looks
/// like a type is one. A line that states its type in another form is parsed.
fn is_passed_over(line: &[u8]) -> bool {
    const TYPE: &[u8] = b"\"type\":\"";
    let mut is_known = line.iter().all(u8::is_ascii_whitespace);
    for at in memchr::memmem::find_iter(line, TYPE) {
        let value = &line[at + TYPE.len()..];
        if TELLING_TYPES.iter().any(|telling| value.starts_with(telling)) {
            return false;
        }
        is_known = is_known
            || KNOWN_TYPES.iter().any(|known| {
                value.starts_with(known.as_bytes()) && value.get(known.len()) == Some(&b'"')
            });
    }
    is_known
}

/// A record that carries a usage.
struct Answer<'a, 'r> {
    message: &'a Message<'r>,
    usage: &'a UsageRecord<'r>,
    time: Option<SimTime>,
    effort: Option<&'a str>,
}

impl Answer<'_, '_> {
    fn rate_options(&self) -> RateOptions {
        RateOptions {
            batch: self.usage.service_tier.as_str() == Some("batch"),
            data_residency: self.usage.inference_geo.as_str() == Some("us"),
            fast: self.usage.speed.as_str() == Some("fast"),
        }
    }

    fn web_searches(&self) -> u64 {
        self.usage.server_tool_use.0.as_ref().map_or(0, |used| used.web_search_requests.get())
    }
}

/// Returns the disjoint parts of a usage.
fn usage_of(record: &UsageRecord<'_>) -> Result<Usage, String> {
    let written = record.cache_creation_input_tokens.get();
    let (short, long) = match &record.cache_creation.0 {
        None => (written, 0),
        Some(split) => {
            let short = split.ephemeral_5m_input_tokens.get();
            let long = split.ephemeral_1h_input_tokens.get();
            // A split that does not add up is not trusted beyond the sum, which is what is billed.
            let long = long.min(written.max(short));
            if written == 0 { (short, long) } else { (written - long, long) }
        }
    };
    let counts = [
        record.input_tokens.get(),
        short,
        long,
        record.cache_read_input_tokens.get(),
        record.output_tokens.get(),
    ];
    if let Some(count) = counts.into_iter().find(|count| *count > Tokens::MAX.get() / 4) {
        return Err(format!("a usage of {count} tokens, more than any request can have"));
    }
    let [uncached, cache_write_5m, cache_write_1h, cache_read, output] = counts.map(Tokens::new);
    Ok(Usage { uncached, cache_write_5m, cache_write_1h, cache_read, output })
}

/// Says why a line is no record, without quoting it.
fn reason(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "the line ends within a record".to_owned();
    }
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    // What serde says of a value quotes it, and texts of a session are never shown.
    let said = if text.contains('"') || text.contains('`') {
        "a value of another type than expected"
    } else {
        text
    };
    format!("not a JSON record: {said} (column {})", error.column())
}
