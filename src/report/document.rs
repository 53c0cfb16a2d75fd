//! What people are shown, before it is text or Markdown.

use crate::experiment::{Breakdown, Difference, Results, Summary, VariantResults};
use crate::report::number::{
    count, duration, duration_interval, percent, plain, tokens, usd, usd_interval,
};
use crate::report::{Header, View, reduction};
use crate::stats::Verdict;

/// Most variants side by side, so that a table fits 100 columns.
const VARIANTS_MAX: usize = 4;

/// A part of a report.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Heading(String),
    Paragraph(String),
    /// A line that must stay one.
    Command(String),
    Table(Table),
    /// Lines that are laid out already.
    Lines(Vec<String>),
}

/// Rows under a heading; the first columns name, the others count.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) heading: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
    /// How many columns are text, which begins at the left.
    pub(super) names: usize,
}

/// Returns the report that answers a question, the answer first.
pub(super) fn document(
    header: &Header,
    results: &Results,
    view: View,
    notes: &[String],
) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(header.title.as_deref().map(|title| Block::Heading(plain(title))));
    match view {
        View::Run => results.variants.iter().for_each(|v| run(results, v, &mut blocks)),
        View::Compare => compare(results, notes, &mut blocks),
    }
    blocks.extend(reduction::blocks(results));
    if !results.warnings.is_empty() {
        blocks.push(Block::Heading("Warnings".to_owned()));
    }
    for warning in &results.warnings {
        let text = format!("{}: {}", warning.code(), plain(&warning.message()));
        blocks.push(Block::Paragraph(text));
    }
    blocks.extend(reproduce(header, results.seed, &replications(results.replications)));
    blocks
}

/// Returns where results come from, and the command that makes them again.
pub(super) fn reproduce(header: &Header, seed: u64, replications: &str) -> [Block; 3] {
    [
        Block::Heading("Reproduce".to_owned()),
        Block::Paragraph(origin(header, seed, replications)),
        Block::Command(plain(&header.reproduce)),
    ]
}

fn origin(header: &Header, seed: u64, replications: &str) -> String {
    let profile = header
        .profile
        .as_deref()
        .map_or_else(String::new, |profile| format!("profile {}, ", plain(profile)));
    format!(
        "{}, scenario {}, {profile}prices {} of {}, seed {seed}, {replications}.",
        plain(&header.program),
        plain(&header.scenario),
        plain(&header.prices.book),
        header.prices.as_of,
    )
}

pub(super) fn replications(number: u64) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} replication{plural}", count(number as f64))
}

fn run(results: &Results, variant: &VariantResults, blocks: &mut Vec<Block>) {
    blocks.push(Block::Paragraph(answer(results, variant)));
    let row = |name: &str,
               summary: &Summary,
               interval: fn(f64, Option<f64>) -> String,
               show: fn(f64) -> String| {
        let estimate = &summary.estimate;
        let quantiles = [summary.p5, summary.p50, summary.p95, summary.p99, summary.max].map(show);
        let mean = interval(estimate.mean, estimate.half_width);
        [vec![name.to_owned(), mean], quantiles.to_vec()].concat()
    };
    blocks.push(table(
        &["", "mean", "5 %", "median", "95 %", "99 %", "max"],
        vec![
            row("cost", &variant.cost_usd, usd_interval, usd),
            row("makespan", &variant.makespan_s, duration_interval, duration),
            row("wait", &variant.wait_s, duration_interval, duration),
        ],
    ));
    blocks.push(Block::Heading("Where each dollar goes".to_owned()));
    blocks.push(items(variant));
    blocks.push(shares("role", &variant.cost_by_role_usd));
    blocks.push(shares("cause", &variant.cost_by_cause_usd));
    blocks.push(Block::Heading("Counts".to_owned()));
    blocks.push(counts(&[variant]));
    blocks.push(Block::Heading("Bounds".to_owned()));
    blocks.push(bounds(&[variant]));
}

/// The answer in one or two sentences.
fn answer(results: &Results, variant: &VariantResults) -> String {
    let (name, cost) = (plain(&variant.name), &variant.cost_usd);
    let mean = usd_interval(cost.estimate.mean, cost.estimate.half_width);
    if results.replications == 1 && cost.estimate.half_width == Some(0.0) {
        return format!("{name} costs {mean} in every run: nothing in it is random.");
    }
    format!(
        "{name} costs {mean} on average ({:.0} % confidence, {}). Half of the runs cost at most \
         {}, 95 % of them at most {}.",
        cost.estimate.confidence * 100.0,
        replications(results.replications),
        usd(cost.p50),
        usd(cost.p95),
    )
}

fn items(variant: &VariantResults) -> Block {
    let total = variant.sample_mean_usd();
    let used = |name: &str| variant.tokens.iter().find(|(key, _)| *key == name);
    let row = |(name, cost): &(&str, f64)| {
        let used = used(name).map_or_else(String::new, |(_, used)| tokens(*used));
        vec![(*name).to_owned(), usd(*cost), share(*cost, total), used]
    };
    let shown = |(name, cost): &&(&str, f64)| {
        *cost != 0.0 || used(name).is_some_and(|(_, used)| *used != 0.0)
    };
    let rows = variant.cost_by_item_usd.iter().filter(shown).map(row).collect();
    table(&["item", "cost", "share", "tokens"], rows)
}

fn shares(what: &str, parts: &Breakdown) -> Block {
    let total = parts.iter().map(|(_, cost)| cost).sum();
    let row =
        |(name, cost): &(&str, f64)| vec![(*name).to_owned(), usd(*cost), share(*cost, total)];
    let rows = parts.iter().filter(|(_, cost)| *cost != 0.0).map(row).collect();
    table(&[what, "cost", "share"], rows)
}

pub(super) fn share(part: f64, total: f64) -> String {
    if total == 0.0 { String::new() } else { percent(part / total) }
}

fn compare(results: &Results, notes: &[String], blocks: &mut Vec<Block>) {
    blocks.push(Block::Paragraph(winner(results)));
    let row = |variant: &VariantResults| {
        let (cost, makespan) = (&variant.cost_usd, &variant.makespan_s);
        vec![
            plain(&variant.name),
            usd_interval(cost.estimate.mean, cost.estimate.half_width),
            usd(cost.p95),
            duration_interval(makespan.estimate.mean, makespan.estimate.half_width),
            count(variant.requests),
            percent(variant.hit_ratio_tokens),
        ]
    };
    blocks.push(table(
        &["variant", "cost", "95 % cost at most", "makespan", "requests", "tokens read"],
        results.variants.iter().map(row).collect(),
    ));
    if !results.differences.is_empty() {
        blocks.push(Block::Heading("Differences".to_owned()));
    }
    let many = results.variants.len() > VARIANTS_MAX;
    let first = results.variants.first().map_or("", |variant| &variant.name);
    let shown = results.differences.iter().filter(|pair| !many || pair.a == first);
    blocks.extend(shown.map(|pair| Block::Paragraph(sentence(pair))));
    if many {
        let text = format!("Against `{}`; all pairs are in the JSON.", plain(first));
        blocks.push(Block::Paragraph(text));
    }
    blocks.extend(notes.iter().cloned().map(Block::Paragraph));
    blocks.push(Block::Heading("Where each dollar goes".to_owned()));
    for group in results.variants.chunks(VARIANTS_MAX) {
        let group: Vec<_> = group.iter().collect();
        blocks.push(side_by_side("item", &group, |variant| &variant.cost_by_item_usd));
        blocks.push(side_by_side("role", &group, |variant| &variant.cost_by_role_usd));
        blocks.push(side_by_side("cause", &group, |variant| &variant.cost_by_cause_usd));
    }
    blocks.push(Block::Heading("Counts and bounds".to_owned()));
    for group in results.variants.chunks(VARIANTS_MAX) {
        let group: Vec<_> = group.iter().collect();
        blocks.push(counts(&group));
        blocks.push(bounds(&group));
    }
}

/// The variant that is cheaper than each other one, or that there is none.
fn winner(results: &Results) -> String {
    let loses = |name: &str, pair: &Difference| match pair.verdict {
        Verdict::Undecided => pair.a == name || pair.b == name,
        Verdict::A => pair.b == name,
        Verdict::B => pair.a == name,
    };
    let complete = |name: &str| {
        let variant = results.variants.iter().find(|variant| variant.name == name);
        variant.is_some_and(|variant| {
            let (dropped, attempted) = variant.dropped_tasks();
            dropped <= 0.05 * attempted
        })
    };
    let counts = |pair: &&Difference| complete(&pair.a) && complete(&pair.b);
    let wins = |name: &str| {
        complete(name) && !results.differences.iter().filter(counts).any(|pair| loses(name, pair))
    };
    let all = results.variants.iter().all(|variant| complete(&variant.name));
    let among = if all { "" } else { " of those that do all tasks" };
    match results.variants.iter().find(|variant| wins(&variant.name)) {
        Some(variant) if results.variants.len() == 1 => answer(results, variant),
        Some(variant) => format!("`{}` is the cheapest{among}.", plain(&variant.name)),
        None => format!("Which is the cheapest{among} is not decided."),
    }
}

fn sentence(pair: &Difference) -> String {
    let (a, b) = (plain(&pair.a), plain(&pair.b));
    let estimate = &pair.cost_usd;
    let amount = usd_interval(estimate.mean.abs(), estimate.half_width);
    let (b_share, confidence) = (pair.probability_b_cheaper, estimate.confidence * 100.0);
    let relation = if estimate.mean > 0.0 { "more" } else { "less" };
    if estimate.mean == 0.0 {
        return format!("`{b}` costs the same as `{a}` on average.");
    }
    if estimate.count == 1 && estimate.half_width == Some(0.0) {
        return format!("`{b}` costs {amount} {relation} than `{a}`.");
    }
    let verdict = match pair.verdict {
        Verdict::Undecided => ": not decided",
        Verdict::A | Verdict::B => "",
    };
    format!(
        "`{b}` costs {amount} {relation} than `{a}` ({confidence:.0} % confidence) and is cheaper \
         in {} of the replications{verdict}.",
        percent(b_share),
    )
}

fn side_by_side(
    what: &str,
    variants: &[&VariantResults],
    parts: fn(&VariantResults) -> &Breakdown,
) -> Block {
    let columns: Vec<&Breakdown> = variants.iter().map(|variant| parts(variant)).collect();
    let totals: Vec<f64> =
        columns.iter().map(|column| column.iter().map(|(_, cost)| cost).sum()).collect();
    let keys = columns.first().map_or(0, |column| column.len());
    let used = |key: &usize| columns.iter().any(|column| column[*key].1 != 0.0);
    let row = |key: usize| {
        let cell = |(column, total): (&&Breakdown, &f64)| {
            let cost = column[key].1;
            if cost == 0.0 {
                String::new()
            } else {
                format!("{} ({})", usd(cost), share(cost, *total))
            }
        };
        let name = columns[0][key].0.to_owned();
        std::iter::once(name).chain(columns.iter().zip(&totals).map(cell)).collect()
    };
    named(what, variants, (0..keys).filter(used).map(row).collect())
}

fn counts(variants: &[&VariantResults]) -> Block {
    let launch = |variant: &VariantResults, name: &str| {
        variant.launches.iter().find(|(key, _)| *key == name).map_or(0.0, |(_, mean)| *mean)
    };
    let row = |name: &str, cell: &dyn Fn(&VariantResults) -> String| {
        let cells = variants.iter().map(|variant| cell(variant));
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let mut rows = vec![
        row("requests", &|variant| count(variant.requests)),
        row("tokens read of all prompts", &|variant| percent(variant.hit_ratio_tokens)),
        row("misses", &|variant| count(variant.misses)),
        row("expected rebuilds", &|variant| count(variant.expected_rebuilds)),
        row("children started", &|variant| count(launch(variant, "started"))),
        row("launches refused", &|variant| count(launch(variant, "refused_concurrency"))),
        row("children completed", &|variant| count(launch(variant, "completed"))),
        row("last requests, tokens", &|variant| tokens(variant.last_request_tokens)),
    ];
    let failed = |variant: &VariantResults| {
        variant.failed_attempts.iter().map(|(_, mean)| mean).sum::<f64>()
    };
    if variants.iter().any(|variant| failed(variant) > 0.0) {
        rows.push(row("failed attempts (429, 529)", &|variant| count(failed(variant))));
    }
    if variants.iter().any(|variant| variant.wait_s.estimate.mean > 0.0) {
        rows.push(row("wait, summed over agents", &|variant| {
            duration(variant.wait_s.estimate.mean)
        }));
    }
    named("mean of a run", variants, rows)
}

fn bounds(variants: &[&VariantResults]) -> Block {
    let row = |name: &str, bound: fn(&VariantResults) -> f64| {
        let cells = variants.iter().map(|variant| usd(bound(variant)));
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let rows = vec![
        row("no cache", |variant| variant.no_cache_usd),
        row("simulated", VariantResults::sample_mean_usd),
        row("perfect cache", |variant| variant.perfect_cache_usd),
    ];
    named("cost with", variants, rows)
}

fn named(what: &str, variants: &[&VariantResults], rows: Vec<Vec<String>>) -> Block {
    let names = variants.iter().map(|variant| plain(&variant.name));
    let heading = std::iter::once(what.to_owned()).chain(names).collect();
    Block::Table(Table { heading, rows, names: 1 })
}

pub(super) fn table(heading: &[&str], rows: Vec<Vec<String>>) -> Block {
    let heading = heading.iter().map(|&name| name.to_owned()).collect();
    Block::Table(Table { heading, rows, names: 1 })
}
