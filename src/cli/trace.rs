//! `forkcast trace`: what a recorded request trace costs, and whether its usage agrees.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

use forkcast::cache::TtlClock;
use forkcast::report::csv;
use forkcast::scenario::{DEFAULT_PRICES, trace_policy};
use forkcast::trace::{
    AccountOptions, MooncakeOptions, MooncakeReader, TraceProblems, TraceReader, TtlBound, account,
    mooncake_to_json, price_mooncake, replay_mooncake, to_json, to_markdown, to_text,
};
use serde_json::Value;

use super::args::{Bound, TraceFormat, TraceOptions};
use super::failure::Failure;
use super::{files, prices, terminal};

/// The longest line of a trace that is read.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Accounts a trace.
pub(super) fn run(options: &TraceOptions) -> Result<(), Failure> {
    match options.format {
        TraceFormat::Forkcast => requests(options),
        TraceFormat::Mooncake => mooncake(options),
    }
}

fn requests(options: &TraceOptions) -> Result<(), Failure> {
    let others = [
        ("--ttl", options.ttl.is_some()),
        ("--ttl-bound", options.ttl_bound.is_some()),
        ("--capacity", options.capacity.is_some()),
        ("--model", options.model.is_some()),
    ];
    if let Some((name, _)) = others.iter().find(|(_, given)| *given) {
        let hint = "with a request trace, change the policy with --set, such as --set cache.ttl=1h";
        return Err(Failure::usage(format!("{name} applies to --format mooncake only"), hint));
    }
    let policy =
        trace_policy(&options.set.sets).map_err(|problems| Failure::problems(&problems))?;
    let book = prices::open(options.prices.as_deref().unwrap_or(DEFAULT_PRICES))?;
    let mut reader = TraceReader::new(policy.cache.ttl_clock == TtlClock::ResponseEnd);
    each_line(&options.trace, |line| match line {
        Ok(text) => reader.line(&text),
        Err(reason) => reader.unreadable_line(&reason),
    })?;
    let name = options.trace.display().to_string();
    let wrong = |problems: TraceProblems| Failure::Input(render(&name, &problems));
    let trace = reader.finish().map_err(wrong)?;
    let how = AccountOptions {
        main_ttl: policy.main_ttl,
        subagent_ttl: policy.subagent_ttl,
        seed: options.seed,
        ..AccountOptions::default()
    };
    let found = account(&trace, &book, &policy.cache, &how).map_err(wrong)?;
    let text = if options.json {
        format!("{:#}\n", to_json(&found, &book))
    } else if options.table.csv {
        requests_as_csv(to_json(&found, &book))
    } else if options.table.markdown {
        to_markdown(&found, &book)
    } else {
        to_text(&found, &book)
    };
    files::write_out(options.out.as_deref(), &text)
}

/// Returns one row for each request, with what the JSON object says of it.
fn requests_as_csv(mut bill: Value) -> String {
    let mut requests = match bill["requests"].take() {
        Value::Array(requests) => requests,
        _ => Vec::new(),
    };
    for request in requests.iter_mut().filter_map(Value::as_object_mut) {
        request.retain(|_, value| !value.is_null());
    }
    csv::objects(&requests)
}

fn mooncake(options: &TraceOptions) -> Result<(), Failure> {
    if !options.set.sets.is_empty() {
        let hint = "a Mooncake trace has --ttl, --ttl-bound, --capacity and --model";
        return Err(Failure::usage("--set does not apply to --format mooncake".to_owned(), hint));
    }
    let mut reader = MooncakeReader::new();
    each_line(&options.trace, |line| match line {
        Ok(text) => reader.line(&text),
        Err(reason) => reader.unreadable_line(&reason),
    })?;
    let name = options.trace.display().to_string();
    let trace = reader.finish().map_err(|problems| Failure::Input(render(&name, &problems)))?;
    let how = MooncakeOptions {
        ttl: options.ttl,
        bound: match options.ttl_bound {
            Some(Bound::Inclusive) | None => TtlBound::Inclusive,
            Some(Bound::Strict) => TtlBound::Strict,
        },
        capacity: options.capacity,
    };
    let book = prices::open(options.prices.as_deref().unwrap_or(DEFAULT_PRICES))?;
    let (found, cost) = match &options.model {
        None => (replay_mooncake(&trace, &how, |_, _| {}), None),
        Some(model) => {
            let priced = price_mooncake(&trace, &how, (&book, model), &AccountOptions::default());
            let (found, cost) = priced.map_err(|error| Failure::message(error.to_string()))?;
            (found, Some((cost, &book, model.as_str())))
        }
    };
    let text = if options.json {
        format!("{:#}\n", mooncake_to_json(&found, cost))
    } else if options.table.csv {
        csv::objects(&[mooncake_to_json(&found, cost)])
    } else {
        let ratio = found.token_hit_ratio().unwrap_or(0.0);
        let bill = cost.map_or_else(String::new, |(cost, ..)| format!(", {cost}"));
        format!(
            "{} requests: {} of {} blocks read, {} of {} tokens (hit ratio {ratio:.6}){bill}\n",
            found.requests, found.hit_blocks, found.blocks, found.hit_tokens, found.input
        )
    };
    files::write_out(options.out.as_deref(), &text)
}

/// Hands each line of a file to `take`; a line that is no text or too long is said to be so.
fn each_line(path: &Path, mut take: impl FnMut(Result<String, String>)) -> Result<(), Failure> {
    let file = fs::File::open(path).map_err(|error| Failure::file("read", path, &error))?;
    let mut reader = BufReader::new(file);
    loop {
        let mut line = Vec::new();
        let mut limited = std::io::Read::take(&mut reader, LINE_BYTES_MAX);
        let count = limited
            .read_until(b'\n', &mut line)
            .map_err(|error| Failure::file("read", path, &error))?;
        if count == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && count as u64 == LINE_BYTES_MAX {
            let reason = format!("the line has more than {} MiB", LINE_BYTES_MAX >> 20);
            take(Err(reason));
            return Ok(());
        }
        while matches!(line.last(), Some(b'\n' | b'\r')) {
            line.pop();
        }
        take(String::from_utf8(line).map_err(|_| "the line is not UTF-8 text".to_owned()));
    }
}

fn render(name: &str, problems: &TraceProblems) -> String {
    let name = terminal::printable(name);
    let mut text = String::new();
    for problem in &problems.shown {
        let _ = writeln!(text, "error: {name}:{}", terminal::printable(&problem.to_string()));
        if let Some(help) = &problem.help {
            let _ = writeln!(text, "  help: {}", terminal::printable(help));
        }
    }
    if problems.unshown > 0 {
        let _ = writeln!(text, "and {} more problems", problems.unshown);
    }
    text
}
