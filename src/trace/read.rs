//! Reads the lines of a request trace and finds all that is wrong with them.

use crate::cache::{Ttl, check_breakpoints};
use crate::pricing::Usage;
use crate::trace::object::{Line, Object, Value};
use crate::trace::{FailedAttempt, RequestLine, TraceBlock, TraceProblem, TraceProblems};
use crate::units::{SimTime, Tokens};

const REQUEST_KEYS: [&str; 9] = [
    "start_s",
    "first_token_s",
    "end_s",
    "agent",
    "model",
    "blocks",
    "usage",
    "output_tokens",
    "paid",
];
const ATTEMPT_KEYS: [&str; 4] = ["start_s", "attempt", "status", "agent"];
const BLOCK_KEYS: [&str; 4] = ["id", "tokens", "kind", "ttl"];
const USAGE_KEYS: [&str; 4] =
    ["input_tokens", "cache_creation", "cache_read_input_tokens", "output_tokens"];
const WRITE_KEYS: [&str; 2] = ["ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"];

/// The lines of a trace, in the order of the file, each with its line number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Requests that got a response.
    pub requests: Vec<(usize, RequestLine)>,
    /// Attempts that failed.
    pub failed: Vec<(usize, FailedAttempt)>,
}

/// Reads a trace from a text.
///
/// `needs_end` says that lifetimes count from the end of responses (semantics E5), so that every
/// request must state `end_s`.
///
/// # Errors
/// All problems of the text.
pub fn read_trace(text: &str, needs_end: bool) -> Result<Trace, TraceProblems> {
    let mut reader = TraceReader::new(needs_end);
    for line in text.lines() {
        reader.line(line);
    }
    reader.finish()
}

/// Reads a trace line by line, for texts that are not held in memory as a whole.
#[derive(Clone, Debug)]
pub struct TraceReader {
    needs_end: bool,
    number: usize,
    trace: Trace,
    problems: TraceProblems,
}

impl TraceReader {
    /// Returns a reader at the start of a file; `needs_end` as in [`read_trace`].
    pub fn new(needs_end: bool) -> TraceReader {
        let (trace, problems) = (Trace::default(), TraceProblems::default());
        TraceReader { needs_end, number: 0, trace, problems }
    }

    /// Reads the next line, without its line break. A blank line is skipped.
    pub fn line(&mut self, text: &str) {
        self.number += 1;
        let text = if self.number == 1 { text.trim_start_matches('\u{feff}') } else { text };
        if text.trim().is_empty() {
            return;
        }
        let mut line = Line::new(text, self.number, &mut self.problems);
        let Some(parsed) = line.parse() else { return };
        if parsed.has("status") {
            let object = line.known(parsed, "a failed attempt", ATTEMPT_KEYS);
            let attempt = read_attempt(&mut line, &object);
            self.trace.failed.extend(attempt.map(|attempt| (self.number, attempt)));
        } else {
            let object = line.known(parsed, "a request", REQUEST_KEYS);
            let request = read_request(&mut line, &object, self.needs_end);
            self.trace.requests.extend(request.map(|request| (self.number, request)));
        }
    }

    /// Notes a problem that only the caller sees, such as a line that is no UTF-8, in place of
    /// that line.
    pub fn unreadable_line(&mut self, message: &str) {
        self.number += 1;
        self.problems.push(TraceProblem::new(self.number, message));
    }

    /// Returns the trace.
    ///
    /// # Errors
    /// All problems of the lines that were read, or that there was no request among them.
    pub fn finish(mut self) -> Result<Trace, TraceProblems> {
        if self.problems.is_empty() && self.trace.requests.is_empty() {
            let problem = TraceProblem::new(0, "the trace holds no request");
            self.problems.push(problem.with_help("a trace has one JSON object a line"));
        }
        if self.problems.is_empty() { Ok(self.trace) } else { Err(self.problems) }
    }
}

fn read_attempt(line: &mut Line<'_, '_>, object: &Object<'_, 4>) -> Option<FailedAttempt> {
    let start = line.required(object, "start_s").and_then(|value| line.time(value));
    let agent = line.required(object, "agent").and_then(|value| line.text(value));
    let status = line.required(object, "status").and_then(|value| line.whole(value, 400, 599));
    let attempt = optional(object.get("attempt"), |value| line.whole(value, 1, 1_000_000));
    Some(FailedAttempt {
        start: start?,
        agent: agent?,
        status: status? as u16,
        attempt: attempt.ok()?.map(|attempt| attempt as u32),
    })
}

fn read_request(
    line: &mut Line<'_, '_>,
    object: &Object<'_, 9>,
    needs_end: bool,
) -> Option<RequestLine> {
    let times = read_times(line, object, needs_end);
    let agent = line.required(object, "agent").and_then(|value| line.text(value));
    let model = line.required(object, "model").and_then(|value| line.text(value));
    let blocks = line.required(object, "blocks").and_then(|value| read_blocks(line, value));
    let usage = optional(object.get("usage"), |value| read_usage(line, value));
    let output = optional(object.get("output_tokens"), |value| line.tokens(value));
    let is_paid = optional(object.get("paid"), |value| line.flag(value));
    let usage = usage.ok()?;
    let output = agreed_output(line, object, usage, output.ok()?);
    let (start, first_token, end) = times?;
    Some(RequestLine {
        start,
        first_token,
        end,
        agent: agent?,
        model: model?,
        blocks: blocks?,
        usage,
        output: output?,
        is_paid: is_paid.ok()?.unwrap_or(false),
    })
}

/// A problem was noted where a value was to be read.
struct Noted;

/// Reads a field that may be left out.
fn optional<'a, T>(
    value: Option<Value<'a>>,
    read: impl FnOnce(Value<'a>) -> Option<T>,
) -> Result<Option<T>, Noted> {
    match value {
        None => Ok(None),
        Some(value) => read(value).map(Some).ok_or(Noted),
    }
}

type Times = (SimTime, SimTime, Option<SimTime>);

fn read_times(line: &mut Line<'_, '_>, object: &Object<'_, 9>, needs_end: bool) -> Option<Times> {
    let start = line.required(object, "start_s").and_then(|value| line.time(value));
    let first_value = line.required(object, "first_token_s");
    let first = first_value.and_then(|value| line.time(value));
    let end_value = object.get("end_s");
    let end = optional(end_value, |value| line.time(value));
    if needs_end && end_value.is_none() {
        line.problem("a request without `end_s`; lifetimes count from the end of the response");
    }
    not_before(line, first_value.zip(first), ("start_s", start));
    not_before(line, end_value.zip(end.as_ref().ok().copied().flatten()), ("first_token_s", first));
    Some((start?, first?, end.ok()?))
}

fn not_before(
    line: &mut Line<'_, '_>,
    later: Option<(Value<'_>, SimTime)>,
    (name, earlier): (&str, Option<SimTime>),
) {
    let (Some((value, later)), Some(earlier)) = (later, earlier) else { return };
    if later < earlier {
        let message = format!("`{}` is {later}, before `{name}`, {earlier}", value.key);
        line.problem_at(value, message);
    }
}

fn read_blocks(line: &mut Line<'_, '_>, value: Value<'_>) -> Option<Vec<TraceBlock>> {
    let items = line.list(value)?;
    let blocks: Vec<_> = items.into_iter().map(|item| read_block(line, item)).collect();
    let blocks: Vec<TraceBlock> = blocks.into_iter().collect::<Option<_>>()?;
    let total = blocks.iter().map(|block| u128::from(block.tokens.get())).sum::<u128>();
    if total > u128::from(Tokens::MAX.get()) {
        let message = format!("the prompt has {total} tokens; at most {} can be", Tokens::MAX);
        line.problem_at(value, message);
    }
    let ttls: Vec<Ttl> = blocks.iter().filter_map(|block| block.ttl).collect();
    if let Err(error) = check_breakpoints(&ttls) {
        line.problem_at(value, error.to_string());
    }
    Some(blocks)
}

fn read_block(line: &mut Line<'_, '_>, value: Value<'_>) -> Option<TraceBlock> {
    let object = line.object(value, "a block", BLOCK_KEYS)?;
    let id = line.required(&object, "id").and_then(|value| line.text(value));
    let tokens = line.required(&object, "tokens").and_then(|value| line.tokens(value));
    let kind = line.required(&object, "kind").and_then(|value| read_kind(line, value));
    let ttl = optional(object.get("ttl"), |value| read_ttl(line, value));
    Some(TraceBlock { id: id?, tokens: tokens?, kind: kind?, ttl: ttl.ok()? })
}

fn read_kind(line: &mut Line<'_, '_>, value: Value<'_>) -> Option<String> {
    let kind = line.text(value)?;
    if kind
        .split_once(':')
        .is_some_and(|(role, block_type)| !role.is_empty() && !block_type.is_empty())
    {
        return Some(kind);
    }
    line.mistyped(value, "ROLE:BLOCK_TYPE such as `user:text` or `tool:tool`");
    None
}

fn read_ttl(line: &mut Line<'_, '_>, value: Value<'_>) -> Option<Ttl> {
    let text = line.text(value)?;
    let ttl = [Ttl::FiveMinutes, Ttl::OneHour].into_iter().find(|ttl| ttl.name() == text);
    if ttl.is_none() {
        line.mistyped(value, "`5m` or `1h`");
    }
    ttl
}

fn read_usage(line: &mut Line<'_, '_>, value: Value<'_>) -> Option<Usage> {
    let object = line.object(value, "a usage", USAGE_KEYS)?;
    let uncached = line.required(&object, "input_tokens").and_then(|value| line.tokens(value));
    let written = line.required(&object, "cache_creation");
    let written = written.and_then(|value| read_writes(line, value));
    let read = line.required(&object, "cache_read_input_tokens");
    let read = read.and_then(|value| line.tokens(value));
    let output = line.required(&object, "output_tokens").and_then(|value| line.tokens(value));
    let (cache_write_5m, cache_write_1h) = written?;
    let (uncached, cache_read, output) = (uncached?, read?, output?);
    let usage = Usage { uncached, cache_write_5m, cache_write_1h, cache_read, output };
    if usage.prompt() > Tokens::MAX {
        line.problem_at(value, format!("the parts of the prompt sum to more than {}", Tokens::MAX));
    }
    Some(usage)
}

fn read_writes(line: &mut Line<'_, '_>, value: Value<'_>) -> Option<(Tokens, Tokens)> {
    let object = line.object(value, "a cache_creation", WRITE_KEYS)?;
    let [short, long] =
        WRITE_KEYS.map(|key| line.required(&object, key).and_then(|value| line.tokens(value)));
    Some((short?, long?))
}

/// Returns the output, which stands in `usage` or, without one, at the top level.
fn agreed_output(
    line: &mut Line<'_, '_>,
    object: &Object<'_, 9>,
    usage: Option<Usage>,
    output: Option<Tokens>,
) -> Option<Tokens> {
    match (usage, output) {
        (None, None) => {
            line.problem("a request without `usage` and without `output_tokens`; state one");
            None
        }
        (Some(usage), Some(output)) if usage.output != output => {
            let message = format!(
                "`output_tokens` is {} at the top and {} in `usage`",
                output.get(),
                usage.output.get()
            );
            if let Some(value) = object.get("output_tokens") {
                line.problem_at(value, message);
            }
            None
        }
        (Some(usage), _) => Some(usage.output),
        (None, output) => output,
    }
}
