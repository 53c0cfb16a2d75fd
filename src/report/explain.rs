//! One replication explained: what happened, where each dollar went, and what would have avoided
//! the most expensive moments.

use crate::cache::Cause;
use crate::experiment::Warning;
use crate::explain::{Explanation, Moment, MomentKind, Remedy};
use crate::ledger::{ITEM_NAMES, Role};
use crate::orchestration::Outcome;
use crate::pricing::Category;
use crate::report::document::{Block, Table, reproduce, share, table};
use crate::report::explain_data::{csv, value};
use crate::report::number::{count, duration, plain, tokens, usd};
use crate::report::timeline::{agent_list, clock, timeline};
use crate::report::{Format, Header, json, markdown, text};
use crate::units::{Money, Tokens};

/// Agents in the table by agent; the others are summed.
const AGENTS_SHOWN: usize = 12;
/// Remedies of a moment that are shown.
const REMEDIES_SHOWN: usize = 3;
/// Changes of a moment that did not help and are named.
const IN_VAIN_SHOWN: usize = 4;

/// What a report says besides the explanation.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Where it comes from.
    pub header: &'a Header,
    /// What to know before relying on it.
    pub warnings: &'a [Warning],
    /// Sentences for people beside the answer.
    pub notes: &'a [String],
    /// Whether the timeline shows each request.
    pub all: bool,
}

/// Returns the report in a format.
pub fn render(frame: &Frame<'_>, explanation: &Explanation, format: Format) -> String {
    match format {
        Format::Text => text::join(&document(frame, explanation)),
        Format::Markdown => markdown::join(&document(frame, explanation)),
        Format::Csv => csv(explanation),
        Format::Json => {
            let mut object = json::origin(frame.header, explanation.seed, 1);
            json::extend(&mut object, value(explanation));
            let warnings: Vec<_> = frame.warnings.iter().map(json::message).collect();
            object["warnings"] = warnings.into();
            format!("{object:#}\n")
        }
    }
}

fn document(frame: &Frame<'_>, explanation: &Explanation) -> Vec<Block> {
    let header = frame.header;
    let mut blocks = Vec::new();
    blocks.extend(header.title.as_deref().map(|title| Block::Heading(plain(title))));
    blocks.push(Block::Paragraph(answer(explanation)));
    blocks.extend(mostly(explanation).map(Block::Paragraph));
    blocks.extend(frame.notes.iter().map(|note| Block::Paragraph(plain(note))));
    blocks.push(Block::Heading("What happened".to_owned()));
    let told = timeline(explanation, frame.all);
    blocks.push(Block::Lines(told.lines));
    blocks.extend(left_out(told.folded, told.untold).map(Block::Paragraph));
    blocks.push(Block::Heading("Where each dollar went".to_owned()));
    blocks.extend(bills(explanation));
    blocks.push(Block::Heading("The most expensive moments".to_owned()));
    if explanation.moments.is_empty() {
        blocks.push(Block::Paragraph("Nothing was paid for but reading and output.".to_owned()));
    }
    if explanation.moments.iter().any(|moment| !moment.remedies.is_empty()) {
        let text = "Changes were tried one at a time, each on this same replication; what one does \
                    on average is told by `forkcast run --set`.";
        blocks.push(Block::Paragraph(text.to_owned()));
    }
    for index in 0..explanation.moments.len() {
        blocks.extend(tell_moment(explanation, index));
    }
    if !frame.warnings.is_empty() {
        blocks.push(Block::Heading("Warnings".to_owned()));
    }
    for warning in frame.warnings {
        blocks.push(Block::Paragraph(format!("{}: {}", warning.code(), plain(&warning.message()))));
    }
    let which = format!("replication {}", count(explanation.replication as f64));
    blocks.extend(reproduce(header, explanation.seed, &which));
    blocks
}

fn answer(explanation: &Explanation) -> String {
    let (bill, record) = (&explanation.bill, &explanation.record);
    let requests = plural(bill.requests, "request", "requests");
    let agents = plural(explanation.agents.len() as u64, "agent", "agents");
    let mut text = format!(
        "Replication {} of {} costs {}: {requests} of {agents} in {}.",
        count(explanation.replication as f64),
        plain(&explanation.variant),
        usd(bill.total.as_usd()),
        duration(record.makespan.as_seconds()),
    );
    if !record.wait.is_zero() {
        let waited = duration(record.wait.as_seconds());
        text = format!("{text} In queues and back-off its agents waited {waited}, summed.");
    }
    let launches = &record.launches;
    let refused = u64::from(launches.attempted - launches.started);
    if refused > 0 {
        text = format!("{text} {} refused.", plural(refused, "launch was", "launches were"));
    }
    if launches.failed > 0 {
        let failed = plural(u64::from(launches.failed), "child", "children");
        text = format!("{text} {failed} ended without a report.");
    }
    if record.outcome != Outcome::Completed {
        text = format!("{text} The run ended as {}.", record.outcome.name());
    }
    text
}

fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number as f64), if number == 1 { one } else { many })
}

/// The three largest causes in a sentence.
fn mostly(explanation: &Explanation) -> Option<String> {
    let bill = &explanation.bill;
    let mut causes: Vec<(Cause, Money)> =
        Cause::ALL.into_iter().zip(bill.causes).filter(|(_, cost)| *cost > Money::ZERO).collect();
    causes.sort_by_key(|(_, cost)| -*cost);
    let part = |(cause, cost): &(Cause, Money)| {
        let share = share(cost.as_usd(), bill.total.as_usd());
        format!("{} ({}, {share})", cause.name(), usd(cost.as_usd()))
    };
    let parts: Vec<String> = causes.iter().take(3).map(part).collect();
    let total = bill.tokens.prompt();
    let read = share(bill.tokens.cache_read.get() as f64, total.get() as f64);
    match parts.as_slice() {
        [] => None,
        [only] => Some(format!("All of it went for {only}.")),
        [first, rest @ ..] => Some(format!(
            "Most of it went for {first}, then {}. Of all prompts {read} was read from the cache.",
            rest.join(" and ")
        )),
    }
}

fn left_out(folded: usize, untold: usize) -> Option<String> {
    let mut parts = Vec::new();
    if folded > 0 {
        let requests = plural(folded as u64, "request is", "requests are");
        parts.push(format!("{requests} folded into lines with dots"));
    }
    if untold > 0 {
        parts.push(format!("{} not told", plural(untold as u64, "event is", "events are")));
    }
    if parts.is_empty() {
        return None;
    }
    Some(format!("{}: --all shows each, --events writes all that happened.", parts.join(" and ")))
}

/// The bill by cause, line item, role and agent.
fn bills(explanation: &Explanation) -> Vec<Block> {
    let bill = &explanation.bill;
    let total = bill.total.as_usd();
    let row = |name: String, cost: Money, used: Option<Tokens>| {
        let used = used.map_or_else(String::new, |used| tokens(used.get() as f64));
        vec![name, usd(cost.as_usd()), share(cost.as_usd(), total), used]
    };
    let by_cause = tokens_by_cause(explanation);
    let causes = Cause::ALL.into_iter().zip(bill.causes).zip(by_cause);
    let causes = causes
        .filter(|((_, cost), used)| *cost > Money::ZERO || !used.is_zero())
        .map(|((cause, cost), used)| row(cause.name().to_owned(), cost, Some(used)))
        .collect();
    let parts = Category::ALL.map(|category| bill.tokens.tokens(category));
    let items = ITEM_NAMES.into_iter().zip(bill.items).enumerate();
    let items = items
        .map(|(index, (name, cost))| (name, cost, parts.get(index).copied()))
        .filter(|(_, cost, used)| *cost > Money::ZERO || used.is_some_and(|used| !used.is_zero()))
        .map(|(name, cost, used)| row(name.to_owned(), cost, used))
        .collect();
    let roles = Role::ALL.into_iter().zip(bill.roles).filter(|(_, cost)| *cost > Money::ZERO);
    let roles =
        roles.map(|(role, cost)| row(role.name().to_owned(), cost, None)[..3].to_vec()).collect();
    vec![
        table(&["cause", "cost", "share", "tokens"], causes),
        table(&["item", "cost", "share", "tokens"], items),
        table(&["role", "cost", "share"], roles),
        agents(explanation),
    ]
}

/// Tokens by cause; those read and those of output included.
fn tokens_by_cause(explanation: &Explanation) -> [Tokens; Cause::COUNT] {
    let mut sums = [Tokens::ZERO; Cause::COUNT];
    sums[Cause::Read as usize] = explanation.bill.tokens.cache_read;
    sums[Cause::Output as usize] = explanation.bill.tokens.output;
    let records = explanation.log.run.requests.iter().zip(&explanation.requests);
    let charged = records.filter(|(record, _)| !record.is_paid);
    for one in charged.flat_map(|(_, account)| &account.causes) {
        sums[one.cause as usize] += one.tokens;
    }
    sums
}

fn agents(explanation: &Explanation) -> Block {
    let total = explanation.bill.total.as_usd();
    let mut order: Vec<usize> = (0..explanation.agents.len()).collect();
    if order.len() > AGENTS_SHOWN {
        order[1..].sort_by_key(|index| -explanation.agents[*index].bill.cost);
    }
    let row = |index: &usize| {
        let agent = &explanation.agents[*index];
        let cost = agent.bill.cost.as_usd();
        vec![
            agent.name.clone(),
            agent.kind.map_or("main session", |kind| kind.name()).to_owned(),
            plain(&agent.model),
            usd(cost),
            share(cost, total),
            count(agent.bill.requests as f64),
            tokens(agent.bill.last_request.get() as f64),
        ]
    };
    let mut rows: Vec<Vec<String>> = order.iter().take(AGENTS_SHOWN).map(row).collect();
    let rest = order.get(AGENTS_SHOWN..).unwrap_or_default();
    if !rest.is_empty() {
        let bills = || rest.iter().map(|index| &explanation.agents[*index].bill);
        let cost = bills().map(|bill| bill.cost).sum::<Money>().as_usd();
        let requests = bills().map(|bill| bill.requests).sum::<u64>() as f64;
        let name = format!("{} more", count(rest.len() as f64));
        let nothing = String::new();
        rows.push(vec![
            name,
            nothing.clone(),
            nothing.clone(),
            usd(cost),
            share(cost, total),
            count(requests),
            nothing,
        ]);
    }
    let heading = ["agent", "kind", "model", "cost", "share", "requests", "last request, tokens"];
    let heading = heading.map(str::to_owned).to_vec();
    Block::Table(Table { heading, rows, names: 3 })
}

fn tell_moment(explanation: &Explanation, index: usize) -> Vec<Block> {
    let moment = &explanation.moments[index];
    let total = explanation.bill.total.as_usd();
    let cost = moment.cost.as_usd();
    let when = if clock(moment.start) == clock(moment.end) {
        format!("At {}", clock(moment.start))
    } else {
        format!("From {} to {}", clock(moment.start), clock(moment.end))
    };
    let mut text = format!(
        "{}. {when}, {}: {} tokens {} ({}) cost {}, {} of the bill.",
        index + 1,
        agent_list(&moment.agents),
        tokens(moment.tokens.get() as f64),
        phrase(moment.kind),
        moment.kind.name(),
        usd(cost),
        share(cost, total),
    );
    let best = best(&moment.remedies, &[]);
    let same = |other: &Moment| !best.is_empty() && best == self::best(&other.remedies, &[]);
    if let Some(earlier) = explanation.moments[..index].iter().position(same) {
        text = format!("{text} What helps is the same as under {}.", earlier + 1);
        return vec![Block::Paragraph(text)];
    }
    let in_vain = did_not_help(moment, &self::best(&moment.in_vain, &best));
    if best.is_empty() {
        return vec![Block::Paragraph([text, in_vain.unwrap_or_default()].join(" "))];
    }
    let mut blocks = vec![Block::Paragraph(text), remedies(explanation, &best)];
    blocks.extend(in_vain.map(Block::Paragraph));
    blocks
}

/// Returns the best setting of each knob that is not `known` already; the list is sorted.
fn best<'a>(remedies: &'a [Remedy], known: &[&Remedy]) -> Vec<&'a Remedy> {
    let mut knobs: Vec<String> = known.iter().map(|remedy| remedy.change.knob()).collect();
    let mut best = Vec::new();
    for remedy in remedies {
        let knob = remedy.change.knob();
        if !knobs.contains(&knob) {
            knobs.push(knob);
            best.push(remedy);
        }
    }
    best
}

/// What would have been cheaper, simulated.
fn remedies(explanation: &Explanation, best: &[&Remedy]) -> Block {
    let total = explanation.bill.total.as_usd();
    let row = |remedy: &&Remedy| {
        let saved = remedy.saved.as_usd();
        vec![
            plain(&remedy.change.text()),
            remedy.change.meaning.clone(),
            usd(saved),
            share(saved, total),
            duration(remedy.makespan.as_seconds()),
        ]
    };
    let rows = best.iter().take(REMEDIES_SHOWN).map(row).collect();
    let heading = ["with", "that is", "saves", "of the bill", "takes"];
    Block::Table(Table { heading: heading.map(str::to_owned).to_vec(), rows, names: 2 })
}

fn did_not_help(moment: &Moment, in_vain: &[&Remedy]) -> Option<String> {
    if moment.remedies.is_empty() && in_vain.is_empty() {
        let is_work = moment.kind == MomentKind::Cause(Cause::NewContent);
        let why = if is_work { "That is the work itself" } else { "It has to be paid" };
        return Some(format!("{why}: no setting is known that avoids it."));
    }
    let lead = match (moment.remedies.is_empty(), in_vain) {
        (_, []) => return None,
        (true, _) => "Nothing tried helps",
        (false, _) => "Tried in vain",
    };
    let part = |remedy: &&Remedy| format!("{} {}", plain(&remedy.change.text()), effect(remedy));
    let parts: Vec<String> = in_vain.iter().take(IN_VAIN_SHOWN).map(part).collect();
    let unnamed = in_vain.len().saturating_sub(IN_VAIN_SHOWN);
    let rest = if unnamed > 0 { format!("; {unnamed} more") } else { String::new() };
    Some(format!("{lead}: {}{rest}.", parts.join("; ")))
}

/// Why a change does not help.
fn effect(remedy: &Remedy) -> String {
    if !remedy.keeps_work {
        return "leaves work undone".to_owned();
    }
    if remedy.saved == Money::ZERO {
        return "costs the same".to_owned();
    }
    format!("costs {} more", usd(-remedy.saved.as_usd()))
}

/// What the tokens of a moment were, after their number.
fn phrase(kind: MomentKind) -> &'static str {
    let MomentKind::Cause(cause) = kind else {
        return "read and written in turns of the parent after notices";
    };
    match cause {
        Cause::CachingDisabled => "processed without caching",
        Cause::BelowMinimum => "in prompts too short to be cached",
        Cause::Expired => "processed again because their entries had expired",
        Cause::ExpiredWhileLimited => {
            "processed again because their entries expired while the provider made them wait"
        }
        Cause::EarlyMiss => "processed again although their entries lived",
        Cause::SiblingNotReady => {
            "written by each of several, none of which could read the others'"
        }
        Cause::LookbackExceeded => "processed again because their entry stood too far back",
        Cause::Compaction => "of summaries and of what was written anew after them",
        Cause::ClearedToolResults => "processed again after old tool results were cleared",
        Cause::PrefixChangedTools => "processed again because the tools before them changed",
        Cause::PrefixChangedSystem => "processed again because the system prompt changed",
        Cause::PrefixChangedModel => "processed again because the model changed",
        Cause::PrefixChangedEffort => "processed again because effort or speed changed",
        Cause::PrefixChangedMessages => "processed again because an earlier message changed",
        Cause::ColdStart => "of start-up context that could not be read",
        Cause::NewContent => "of new content",
        Cause::Output | Cause::Read | Cause::Fees => "of output, reading and fees",
    }
}
