//! `forkcast validate`: the published cases, worked out again.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table};
use forkcast::report::csv;
use forkcast::validation::{CheckedCase, Finding, check, pack};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::args::ValidateOptions;
use super::failure::Failure;
use super::layout::lay_out;
use super::{files, terminal};

/// Cases under a heading.
type Topic = (String, Vec<CheckedCase>);

/// Checks the cases asked for and reports.
pub(super) fn run(options: &ValidateOptions) -> Result<(), Failure> {
    let topics = checked(options)?;
    let rows: Vec<Value> = cases(&topics).flat_map(rows).collect();
    let output = &options.output;
    let text = if output.json {
        let object = json!({
            "format_version": 1,
            "program": format!("forkcast {}", env!("CARGO_PKG_VERSION")),
            "cases": rows,
        });
        format!("{object:#}\n")
    } else if output.csv {
        csv::objects(&rows)
    } else if output.markdown {
        markdown(&topics)
    } else {
        text(&topics)
    };
    files::write_out(output.out.as_deref(), &text)?;
    let failed: Vec<&str> =
        cases(&topics).filter(|case| !case.is_ok()).map(|case| case.id.as_str()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Check(format!("{} failed: {}", number(failed.len()), failed.join(", "))))
}

/// Checks the cases whose names begin with one of those given; all where none is given.
fn checked(options: &ValidateOptions) -> Result<Vec<Topic>, Failure> {
    let wanted = &options.cases;
    let is_wanted =
        |id: &str| wanted.is_empty() || wanted.iter().any(|prefix| id.starts_with(prefix.as_str()));
    let mut topics = pack();
    let strange = wanted.iter().find(|prefix| {
        let mut all = topics.iter().flat_map(|(_, cases)| cases);
        !all.any(|case| case.id.starts_with(prefix.as_str()))
    });
    if let Some(prefix) = strange {
        let message = format!("no case is named `{prefix}` or begins so");
        return Err(Failure::usage(message, "`forkcast validate` lists all cases"));
    }
    for (_, cases) in &mut topics {
        cases.retain(|case| is_wanted(&case.id));
    }
    topics.retain(|(_, cases)| !cases.is_empty());
    let bar = terminal::progress(options.quiet, "cases");
    bar.set_length(topics.iter().map(|(_, cases)| cases.len() as u64).sum());
    let check_all = |(topic, cases): (String, Vec<_>)| {
        let checked = cases.par_iter().map(check).inspect(|_| bar.inc(1));
        (topic, checked.collect::<Vec<CheckedCase>>())
    };
    let checked = topics.into_iter().map(check_all).collect();
    bar.finish_and_clear();
    Ok(checked)
}

fn cases(topics: &[Topic]) -> impl Iterator<Item = &CheckedCase> {
    topics.iter().flat_map(|(_, cases)| cases)
}

fn verdict(is_ok: bool) -> &'static str {
    if is_ok { "ok" } else { "failed" }
}

fn number(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

/// One object for each number of a case; numbers of one case are told apart by `.1`, `.2`, ...
fn rows(case: &CheckedCase) -> Vec<Value> {
    let row = |(index, finding): (usize, &Finding)| {
        let id = match case.findings.len() {
            1 => case.id.clone(),
            _ => format!("{}.{}", case.id, index + 1),
        };
        json!({
            "id": id,
            "case": case.id,
            "title": case.title,
            "source": case.source,
            "value": finding.value,
            "expected": finding.expected,
            "got": finding.got,
            "tolerance": finding.tolerance,
            "verdict": verdict(finding.is_ok),
            "note": case.note,
        })
    };
    case.findings.iter().enumerate().map(row).collect()
}

fn text(topics: &[Topic]) -> String {
    let mut text = String::new();
    for (topic, cases) in topics {
        let _ = writeln!(text, "{topic}\n");
        let mut table = Table::new();
        table.set_header(["case", "what", "expected", "got", "verdict"]);
        for case in cases {
            for (index, finding) in case.findings.iter().enumerate() {
                let id = if index == 0 { case.id.as_str() } else { "" };
                table.add_row([
                    id,
                    &what(finding),
                    &shown(&finding.expected),
                    &shown(&finding.got),
                    verdict(finding.is_ok),
                ]);
            }
        }
        align(&mut table, [2, 3]);
        text += &lay_out(table, &super::args::TableOptions::default());
        text.push('\n');
    }
    text + &summary(topics)
}

/// The last keys of where a number stands: enough beside the name of its case.
fn what(finding: &Finding) -> String {
    let short = |path: &str| {
        let keys: Vec<&str> = path.split('.').filter(|key| *key != "mean").collect();
        keys[keys.len().saturating_sub(2)..].join(".")
    };
    let parts: Vec<String> = finding.value.split(' ').map(short).collect();
    parts.join(" ")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => format!("{}", (float * 1e8).round() / 1e8),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

fn align(table: &mut Table, columns: [usize; 2]) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn summary(topics: &[Topic]) -> String {
    let count = cases(topics).count();
    let failed = cases(topics).filter(|case| !case.is_ok()).count();
    let numbers: usize = cases(topics).map(|case| case.findings.len()).sum();
    let end = if failed == 0 {
        "all as they must be".to_owned()
    } else {
        format!("{failed} of them failed")
    };
    format!("{}, {numbers} numbers: {end}.\n", number(count))
}

/// The page of trust: every case with its source, and what to know of published sums.
fn markdown(topics: &[Topic]) -> String {
    let mut text = format!(
        "# Can these numbers be trusted?\n\nEvery number below was published or follows from a \
         closed form, and is worked out again by this program. Written by `forkcast validate \
         --markdown`; inputs stand in the files beside this page.\n\n{}",
        summary(topics)
    );
    for (topic, cases) in topics {
        let _ = write!(
            text,
            "\n## {topic}\n\n| case | what it shows | expected | got | tolerance | verdict |\n\
             |---|---|--:|--:|---|---|\n"
        );
        for case in cases {
            for (index, finding) in case.findings.iter().enumerate() {
                let (id, title) =
                    if index == 0 { (case.id.as_str(), case.title.as_str()) } else { ("", "") };
                let title = match (title, case.findings.len()) {
                    (title, 1) => title.to_owned(),
                    ("", _) => what(finding),
                    (title, _) => format!("{title}: {}", what(finding)),
                };
                let _ = writeln!(
                    text,
                    "| {id} | {} | {} | {} | {} | {} |",
                    cell(&title),
                    shown(&finding.expected),
                    cell(&shown(&finding.got)),
                    finding.tolerance,
                    verdict(finding.is_ok)
                );
            }
        }
        text.push_str("\nSources and remarks:\n\n");
        for case in cases {
            let _ = write!(text, "- {}: {}.", case.id, case.source);
            let _ = case.note.iter().try_for_each(|note| write!(text, " {note}"));
            text.push('\n');
        }
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
