//! Keys of scenarios as readers of a figure know them.

use crate::figure::{Axis, Unit};

/// How a key is spoken of.
struct Words {
    key: &'static str,
    label: &'static str,
    unit: Option<Unit>,
    /// A value in a sentence, and the same of one.
    phrase: [&'static str; 2],
    is_whole: bool,
}

const fn words(
    key: &'static str,
    label: &'static str,
    unit: Option<Unit>,
    phrase: &'static str,
) -> Words {
    Words { key, label, unit, phrase: [phrase; 2], is_whole: false }
}

const fn count(key: &'static str, label: &'static str, phrase: [&'static str; 2]) -> Words {
    Words { key, label, unit: Some(Unit::Number), phrase, is_whole: true }
}

const TOKENS: Option<Unit> = Some(Unit::Tokens);

/// Keys that are varied often. Any other is its own label.
const KEYS: [Words; 22] = [
    count("fanout.tasks", "Children of the fan-out", ["{} children", "{} child"]),
    count("fanout.max_parallel", "Children at once", ["{} at once"; 2]),
    words("session.context", "Context of the parent, tokens", TOKENS, "{} of context"),
    words("session.age", "Age of the parent's entries", None, "an age of {}"),
    words("task.iterations", "Requests per task", Some(Unit::Number), "{} requests per task"),
    words("task.output", "Output per request, tokens", TOKENS, "{} of output a request"),
    words("task.tool_result", "Tool result, tokens", TOKENS, "{} of tool result"),
    words("task.tool_time", "Time of a tool call", None, "a tool time of {}"),
    words("task.report", "Report of a task, tokens", TOKENS, "a report of {}"),
    words("task.prompt", "Prompt of a task, tokens", TOKENS, "a prompt of {}"),
    words("task.rediscovery.tokens", "To find out again, tokens", TOKENS, "{} to find out again"),
    words(
        "task.rediscovery.iterations",
        "Requests to find out again",
        Some(Unit::Number),
        "{} requests to find out again",
    ),
    words("cache.ttl", "Lifetime of entries", None, "{}"),
    words("cache.keep_alive", "Interval of keep-alive requests", None, "a keep-alive every {}"),
    words("compaction.window", "Context window, tokens", TOKENS, "a window of {}"),
    words("compaction.trigger", "Size that triggers compaction, tokens", TOKENS, "a trigger at {}"),
    words(
        "provider.input_tokens_per_minute",
        "Input limit, tokens a minute",
        TOKENS,
        "{} a minute",
    ),
    words("fork.tail_tokens", "Tail of a fork, tokens", TOKENS, "a tail of {}"),
    words("startup.fresh.tools", "Tools of a fresh child, tokens", TOKENS, "tools of {}"),
    words(
        "startup.fresh.system",
        "System prompt of a child, tokens",
        TOKENS,
        "a system prompt of {}",
    ),
    words(
        "startup.fresh.project",
        "Project text of a child, tokens",
        TOKENS,
        "a project text of {}",
    ),
    count("limits.concurrency", "Limit of children at once", ["a limit of {}"; 2]),
];

/// Returns the axis of a key whose values have a unit of their own, unless the key has one.
pub(super) fn axis(key: &str, own: Unit, label: &str) -> Axis {
    let known = KEYS.iter().find(|words| words.key == key);
    let phrase = |at: usize| match known {
        Some(words) => words.phrase[at].to_owned(),
        None => format!("{key} = {{}}"),
    };
    let unit = known.and_then(|words| words.unit).unwrap_or(own);
    let known_label = known.map_or(key, |words| words.label);
    Axis {
        label: if label.is_empty() { known_label.to_owned() } else { label.to_owned() },
        unit,
        phrase: phrase(0),
        phrase_of_one: phrase(1),
        is_whole: known.is_some_and(|words| words.is_whole),
        is_log: false,
    }
}

/// Returns what a level of a key is called where names are listed: `5m`, or `8 at once`.
pub(super) fn level(key: &str, label: &str) -> String {
    match KEYS.iter().find(|words| words.key == key) {
        Some(words) => words.phrase[usize::from(label == "1")].replacen("{}", label, 1),
        None if label.starts_with(|c: char| c.is_ascii_digit()) => format!("{key} = {label}"),
        None => label.to_owned(),
    }
}
