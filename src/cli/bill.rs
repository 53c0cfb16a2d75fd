//! `forkcast bill`: what real sessions cost, and why.

use forkcast::report::Format;
use forkcast::report::sessions::{SessionsReport, render};
use forkcast::scenario::{DEFAULT_PRICES, trace_policy};
use forkcast::transcript::{BillOptions as Accounting, Unpriced, bill_sessions};

use super::args::OutputOptions;
use super::failure::Failure;
use super::session_args::{BillOptions, add_prices};
use super::{files, prices, terminal, transcripts};

/// Bills sessions.
pub(super) fn run(options: &BillOptions) -> Result<(), Failure> {
    let sessions = &options.sessions;
    let policy =
        trace_policy(&options.set.sets).map_err(|problems| Failure::problems(&problems))?;
    if policy.main_ttl.is_some() || policy.subagent_ttl.is_some() || !policy.cache.enabled {
        let message = "a bill keeps the recorded lifetimes; --set changes rules of causes here";
        let hint = "rules are such as cache.ttl_clock=response_end, cache.lookback=20";
        return Err(Failure::usage(message.to_owned(), hint));
    }
    transcripts::refuse_output(&sessions.paths, options.output.out.as_deref())?;
    let mut book = prices::open(sessions.prices.as_deref().unwrap_or(DEFAULT_PRICES))?;
    add_prices(&mut book, &sessions.price)?;
    let reading = transcripts::read(&sessions.paths, options.quiet)?;
    let how = Accounting { policy: policy.cache, since: sessions.since, until: sessions.until };
    let bill = bill_sessions(&reading.sessions, &book, &how);
    let report = SessionsReport {
        bill: &bill,
        book: &book,
        since: sessions.since,
        until: sessions.until,
        files: reading.files,
        broken_lines: reading.broken_lines,
        unknown_records: reading.unknown_records,
    };
    let by: Vec<_> = options.by.iter().map(|by| by.breakdown()).collect();
    files::write_out(
        options.output.out.as_deref(),
        &render(&report, &by, format_of(&options.output)),
    )?;
    refuse_unpriced(&bill.unpriced)
}

/// Returns the format that was asked for.
pub(super) fn format_of(output: &OutputOptions) -> Format {
    if output.json {
        Format::Json
    } else if output.csv {
        Format::Csv
    } else if output.markdown {
        Format::Markdown
    } else {
        Format::Text
    }
}

/// Fails when requests are in no sum because they have no price.
pub(super) fn refuse_unpriced(unpriced: &[Unpriced]) -> Result<(), Failure> {
    if unpriced.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    for one in unpriced {
        text.push_str(&terminal::printable(&format!(
            "error: `{}`: {}; {} requests are in no sum\n",
            one.model, one.reason, one.requests
        )));
    }
    text.push_str("\nhint: give a price: --price MODEL=OTHER or --price MODEL=IN/5M/1H/READ/OUT");
    Err(Failure::Input(text))
}
