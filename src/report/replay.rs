//! What real sessions would have cost under another policy, and how far to trust the answer.

use serde_json::{Map, Value, json};

use crate::cache::TtlClock;
use crate::ledger::{Bill, ITEM_NAMES};
use crate::pricing::PriceBook;
use crate::report::document::{Block, Table};
use crate::report::number::{count, duration, percent, plain, tokens, usd};
use crate::report::{Format, csv, markdown, text};
use crate::transcript::{
    Agreement, ClockFit, Difference, PolicyResult, Replay, SessionReplay, TtlQuestion,
};
use crate::units::Money;

/// A replay with what it was made of.
#[derive(Clone, Copy, Debug)]
pub struct ReplayReport<'a> {
    /// What was found.
    pub replay: &'a Replay,
    /// The prices.
    pub book: &'a PriceBook,
    /// What every policy takes for granted, and what the policies asked for do besides.
    pub assumptions: &'a [String],
}

/// Returns the report.
pub fn render(report: &ReplayReport<'_>, format: Format) -> String {
    match format {
        Format::Text => text::join(&report.blocks()),
        Format::Markdown => markdown::join(&report.blocks()),
        Format::Json => format!("{:#}\n", report.value()),
        Format::Csv => {
            csv::objects(&report.replay.policies.iter().map(policy_value).collect::<Vec<_>>())
        }
    }
}

impl ReplayReport<'_> {
    fn blocks(&self) -> Vec<Block> {
        let replay = self.replay;
        let mut blocks = vec![Block::Paragraph(self.answer()), self.policies()];
        blocks.push(Block::Heading("Five minutes or one hour?".to_owned()));
        for (question, setting, who) in [
            (&replay.main, "promptCacheTtl", "main sessions"),
            (&replay.subagent, "subagentPromptCacheTtl", "subagents"),
        ] {
            blocks.push(Block::Paragraph(advice(question, setting, who)));
        }
        blocks.push(Block::Heading("How far to trust it".to_owned()));
        blocks.push(Block::Paragraph(format!(
            "Replayed as recorded, {} of {} requests read and wrote what they did, token for \
             token.",
            count(replay.same_tokens as f64),
            count(replay.requests as f64)
        )));
        for (agreement, who) in
            [(&replay.main_agreement, "main sessions"), (&replay.agreement, "all agents")]
        {
            blocks.push(Block::Paragraph(prediction(agreement, who)));
        }
        blocks.push(Block::Paragraph(clocks(&replay.clocks)));
        blocks.push(Block::Heading("Taken for granted".to_owned()));
        blocks.extend(self.assumptions.iter().map(|text| Block::Paragraph(text.clone())));
        for one in &replay.unpriced {
            blocks.push(Block::Paragraph(format!(
                "Not priced and in no sum: {} requests of `{}`: {}.",
                count(one.requests as f64),
                plain(&one.model),
                plain(&one.reason)
            )));
        }
        blocks
    }

    fn answer(&self) -> String {
        let replay = self.replay;
        let Some(recorded) = replay.policies.first() else { return String::new() };
        let best = replay.policies.iter().skip(1).min_by_key(|policy| policy.bill.total);
        let best = best.filter(|best| best.bill.total < recorded.bill.total);
        let sessions = replay.sessions.len();
        let opening = format!(
            "{} for {} requests in {} sessions, as recorded.",
            usd(replay.recorded.as_usd()),
            count(replay.requests as f64),
            count(sessions as f64)
        );
        match best {
            Some(best) => format!(
                "{opening} `{}` is the cheapest of the policies below: it saves {} ({}).",
                plain(&best.name),
                usd((recorded.bill.total - best.bill.total).as_usd()),
                percent(saving(best, recorded))
            ),
            None => format!("{opening} No policy below is cheaper."),
        }
    }

    fn policies(&self) -> Block {
        let replay = self.replay;
        let mut rows = Vec::new();
        let row = |name: &str, bill: &Bill, cost: Money| {
            let recorded = replay.policies[0].bill.total;
            let difference = cost - recorded;
            let sign = if difference > Money::ZERO { "+" } else { "" };
            let share = difference.as_usd() / recorded.as_usd();
            let is_first = name == Replay::STANDARD[0];
            vec![
                plain(name),
                usd(cost.as_usd()),
                if is_first {
                    String::new()
                } else {
                    format!("{sign}{}", usd(difference.as_usd()))
                },
                if is_first || !share.is_finite() {
                    String::new()
                } else {
                    format!("{sign}{}", percent(share))
                },
                tokens((bill.tokens.cache_write_5m + bill.tokens.cache_write_1h).get() as f64),
                tokens(bill.tokens.cache_read.get() as f64),
            ]
        };
        for policy in &replay.policies {
            rows.push(row(&policy.name, &policy.bill, policy.bill.total));
        }
        if let Some(recorded) = replay.policies.first() {
            let mut perfect = row("perfect cache", &recorded.bill, recorded.bill.perfect_cache);
            perfect[4].clear();
            perfect[5].clear();
            rows.push(perfect);
        }
        let heading = ["policy", "cost", "difference", "share", "written", "read"];
        let heading = heading.map(str::to_owned).to_vec();
        Block::Table(Table { heading, rows, names: 1 })
    }

    fn value(&self) -> Value {
        let replay = self.replay;
        let sessions = replay.sessions.iter().map(|one| self.session_value(one));
        let sessions: Vec<Value> = sessions.collect();
        json!({
            "format_version": 1,
            "program": concat!("forkcast ", env!("CARGO_PKG_VERSION")),
            "prices": { "book": self.book.name, "as_of": self.book.as_of.to_string() },
            "recorded_cost_usd": replay.recorded.as_usd(),
            "requests": replay.requests,
            "same_tokens": replay.same_tokens,
            "policies": replay.policies.iter().map(policy_value).collect::<Vec<_>>(),
            "ttl": { "main": ttl_value(&replay.main), "subagent": ttl_value(&replay.subagent) },
            "agreement": {
                "main": agreement_value(&replay.main_agreement),
                "all": agreement_value(&replay.agreement),
            },
            "ttl_clocks": replay.clocks.iter().map(clock_value).collect::<Vec<_>>(),
            "sessions": sessions,
            "unpriced": replay.unpriced.iter().map(|one| json!({
                "model": one.model,
                "reason": one.reason,
                "requests": one.requests,
                "tokens": one.tokens.get(),
            })).collect::<Vec<_>>(),
            "assumptions": self.assumptions,
        })
    }

    fn session_value(&self, session: &SessionReplay) -> Value {
        let costs = self.replay.policies.iter().zip(&session.costs);
        let costs: Map<String, Value> =
            costs.map(|(policy, cost)| (policy.name.clone(), json!(cost.as_usd()))).collect();
        json!({
            "session": session.id,
            "project": session.project,
            "requests": session.requests,
            "same_tokens": session.same_tokens,
            "agreement": agreement_value(&session.agreement),
            "cost_usd": costs,
            "ttl": ttl_value(&session.ttl),
        })
    }
}

fn saving(policy: &PolicyResult, recorded: &PolicyResult) -> f64 {
    1.0 - policy.bill.total.as_usd() / recorded.bill.total.as_usd()
}

/// Says whether a role's entries should live one hour.
fn advice(question: &TtlQuestion, setting: &str, who: &str) -> String {
    let (Some(share), written) = (question.share(), question.written) else {
        return format!("{setting}: nothing was written by {who}.");
    };
    let difference = question.cost_1h - question.cost_5m;
    let is_cheaper = difference < Money::ZERO;
    let amount = if is_cheaper { Money::ZERO - difference } else { difference };
    let (verdict, relation) = if is_cheaper { ("1h", "less") } else { ("5m", "more") };
    let pays = match question.break_even_share() {
        Some(least) => format!("; one hour pays above {}.", percent(least)),
        None => ".".to_owned(),
    };
    format!(
        "{setting} = {verdict}: with one-hour entries {who} would cost {} {relation} than with \
         five-minute ones ({} against {}). Of the {} tokens that five-minute entries write, {} \
         ({}) would be read instead{pays}",
        usd(amount.as_usd()),
        usd(question.cost_1h.as_usd()),
        usd(question.cost_5m.as_usd()),
        tokens(written.get() as f64),
        tokens(question.saved.get() as f64),
        percent(share),
    )
}

fn prediction(agreement: &Agreement, who: &str) -> String {
    let others = agreement.differences.iter().map(|(difference, number)| {
        let what = match difference {
            Difference::ChangedWithPrompt => "missed with a new prompt, though their entry lived",
            Difference::EarlyMiss => "missed after results of tools, though their entry lived",
            Difference::Outlived => "read an entry after its lifetime",
        };
        format!("{} {what}", count(*number as f64))
    });
    let others: Vec<String> = others.collect();
    let rest = match others.as_slice() {
        [] => String::new(),
        _ => format!(" The others: {}.", others.join("; ")),
    };
    format!(
        "Predicted from sizes and times alone, {} of {} requests of {who} hit or miss as recorded \
         ({}), {} of them token for token. First requests and rebuilds are not counted.{rest}",
        count(agreement.same_verdict as f64),
        count(agreement.requests as f64),
        percent(agreement.share()),
        count(agreement.same_tokens as f64),
    )
}

fn clock_name(clock: TtlClock) -> &'static str {
    match clock {
        TtlClock::RequestStart => "request_start",
        TtlClock::ResponseEnd => "response_end",
    }
}

/// Says which clock of lifetimes fits.
fn clocks(fits: &[ClockFit]) -> String {
    let Some(least) = fits.iter().map(|fit| fit.wrong).min() else { return String::new() };
    let near = fits.iter().map(|fit| fit.near).max().unwrap_or(0);
    let of = |clock| {
        let best = fits.iter().filter(|fit| fit.clock == clock).min_by_key(|fit| fit.wrong);
        best.map(|fit| {
            let slack = match fit.slack.as_seconds() {
                0.0 => String::new(),
                seconds => format!(" and {} of slack", duration(seconds)),
            };
            (fit.wrong, format!("{}{slack}", clock_name(clock)))
        })
    };
    let best = [TtlClock::RequestStart, TtlClock::ResponseEnd].map(of);
    let fitting: Vec<&str> = best
        .iter()
        .flatten()
        .filter(|(wrong, _)| *wrong == least)
        .map(|(_, name)| name.as_str())
        .collect();
    let edge = format!(
        "{} requests were sent within a minute of the end of a lifetime",
        count(near as f64)
    );
    if fitting.len() > 1 {
        return format!(
            "Clock of lifetimes (cache.ttl_clock): these sessions do not tell; {} fit equally \
             well, with {} verdicts wrong. {edge}.",
            fitting.join(" and "),
            count(least as f64)
        );
    }
    format!(
        "Clock of lifetimes (cache.ttl_clock): {} fits best, with {} verdicts wrong. {edge}.",
        fitting.join(""),
        count(least as f64)
    )
}

fn policy_value(policy: &PolicyResult) -> Value {
    let bill = &policy.bill;
    let items: Map<String, Value> = ITEM_NAMES
        .into_iter()
        .zip(bill.items)
        .map(|(name, cost)| (name.to_owned(), json!(cost.as_usd())))
        .collect();
    let causes: Map<String, Value> = crate::cache::Cause::ALL
        .into_iter()
        .zip(bill.causes)
        .map(|(cause, cost)| (cause.name().to_owned(), json!(cost.as_usd())))
        .collect();
    json!({
        "name": policy.name,
        "cost_usd": bill.total.as_usd(),
        "tokens": {
            "uncached": bill.tokens.uncached.get(),
            "cache_write_5m": bill.tokens.cache_write_5m.get(),
            "cache_write_1h": bill.tokens.cache_write_1h.get(),
            "cache_read": bill.tokens.cache_read.get(),
            "output": bill.tokens.output.get(),
        },
        "cost_by_item_usd": items,
        "cost_by_cause_usd": causes,
        "misses": bill.misses,
        "bounds": {
            "no_cache_usd": bill.no_cache.as_usd(),
            "perfect_cache_usd": bill.perfect_cache.as_usd(),
        },
        "keep_alives": policy.keep_alives,
        "compactions": policy.compactions,
        "delayed_agents": policy.delayed,
    })
}

fn ttl_value(question: &TtlQuestion) -> Value {
    json!({
        "written_tokens": question.written.get(),
        "saved_tokens": question.saved.get(),
        "share": question.share(),
        "break_even_share": question.break_even_share(),
        "cost_5m_usd": question.cost_5m.as_usd(),
        "cost_1h_usd": question.cost_1h.as_usd(),
        "premium_usd": question.premium.as_usd(),
        "relief_usd": question.relief.as_usd(),
    })
}

fn agreement_value(agreement: &Agreement) -> Value {
    let differences: Map<String, Value> = Difference::ALL
        .into_iter()
        .map(|one| {
            let number = agreement.differences.get(&one).copied().unwrap_or(0);
            (one.name().to_owned(), json!(number))
        })
        .collect();
    json!({
        "requests": agreement.requests,
        "same_verdict": agreement.same_verdict,
        "same_tokens": agreement.same_tokens,
        "share": agreement.share(),
        "differences": differences,
    })
}

fn clock_value(fit: &ClockFit) -> Value {
    json!({
        "clock": clock_name(fit.clock),
        "slack_s": fit.slack.as_seconds(),
        "wrong": fit.wrong,
        "near": fit.near,
    })
}
