//! What real sessions cost: the bill by session, day, project, agent, model, line item and cause.

use crate::cache::Cause;
use crate::ledger::{Bill, ITEM_NAMES, Role};
use crate::pricing::PriceBook;
use crate::report::document::{Block, Table, table};
use crate::report::number::{count, duration, instant, percent, plain, tokens, usd};
use crate::report::{Format, csv, markdown, text};
use crate::transcript::{AgentBill, Miss, SessionBill, SessionsBill};
use crate::units::{Date, Money};

/// By what a bill is broken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakdown {
    /// One row for each session.
    Session,
    /// One row for each UTC day.
    Day,
    /// One row for each project.
    Project,
    /// One row for each agent of each session, children under their parents.
    Agent,
    /// One row for each model.
    Model,
    /// One row for each line item.
    Item,
    /// One row for each cause.
    Cause,
    /// One row for each role.
    Role,
    /// One row for each miss: a request that processed again what had been cached.
    Miss,
}

/// A bill with what it was made of.
#[derive(Clone, Copy, Debug)]
pub struct SessionsReport<'a> {
    /// The bill.
    pub bill: &'a SessionsBill,
    /// The prices.
    pub book: &'a PriceBook,
    /// First day, where it was chosen.
    pub since: Option<Date>,
    /// Last day, where it was chosen.
    pub until: Option<Date>,
    /// Number of files that were read.
    pub files: usize,
    /// Number of lines that could not be read.
    pub broken_lines: usize,
    /// Number of records of unknown types.
    pub unknown_records: u64,
}

/// The most rows of a table in text; JSON and CSV have all.
const ROWS_MAX: usize = 25;

/// Returns the report, broken down as asked.
pub fn render(report: &SessionsReport<'_>, by: &[Breakdown], format: Format) -> String {
    match format {
        Format::Text => text::join(&report.blocks(by, ROWS_MAX)),
        Format::Markdown => markdown::join(&report.blocks(by, usize::MAX)),
        Format::Json => format!("{:#}\n", report.value()),
        Format::Csv => {
            csv::objects(&report.rows(by.first().copied().unwrap_or(Breakdown::Session)))
        }
    }
}

impl SessionsReport<'_> {
    fn blocks(&self, by: &[Breakdown], rows_max: usize) -> Vec<Block> {
        let mut blocks = vec![Block::Paragraph(self.answer())];
        for breakdown in by {
            let heading = format!("By {}", breakdown.name());
            let mut table = self.table(*breakdown, rows_max == usize::MAX);
            if table.rows.is_empty() {
                continue;
            }
            blocks.push(Block::Heading(heading));
            let left_out = table.rows.len().saturating_sub(rows_max);
            table.rows.truncate(rows_max);
            blocks.push(Block::Table(table));
            if left_out > 0 {
                let what = "more rows; --csv, --json and --markdown have all";
                blocks.push(Block::Paragraph(format!("{left_out} {what}.")));
            }
        }
        blocks.push(Block::Heading("Cache".to_owned()));
        blocks.push(Block::Paragraph(self.cache()));
        let notes = self.notes();
        if !notes.is_empty() {
            blocks.push(Block::Heading("Not in this bill, or not certain".to_owned()));
            blocks.extend(notes.into_iter().map(Block::Paragraph));
        }
        blocks
    }

    fn answer(&self) -> String {
        let bill = &self.bill.total;
        let Some((first, last)) = self.span() else {
            return "No request in these days.".to_owned();
        };
        let sessions = self.bill.sessions.len();
        let children: usize = self.bill.sessions.iter().map(children_of).sum();
        let days = if first == last { format!("on {first}") } else { format!("{first} to {last}") };
        let with = match children {
            0 => String::new(),
            _ => format!(" with {}, theirs included", many(children as u64, "subagent")),
        };
        format!(
            "{} for {} in {}{with}, {days} (UTC). Prices: {}, as of {}, by the day of each \
             request.",
            usd(bill.total.as_usd()),
            many(bill.requests, "request"),
            many(sessions as u64, "session"),
            plain(&self.book.name),
            self.book.as_of,
        )
    }

    fn span(&self) -> Option<(Date, Date)> {
        let days = &self.bill.days;
        Some((*days.first_key_value()?.0, *days.last_key_value()?.0))
    }

    fn cache(&self) -> String {
        let bill = &self.bill.total;
        let rewritten: Money = Cause::ALL
            .into_iter()
            .filter(|cause| cause.is_miss())
            .map(|cause| bill.causes[cause as usize])
            .sum();
        let rebuilds = match bill.expected_rebuilds {
            0 => String::new(),
            number => format!(" The client itself brought about {}.", many(number, "rebuild")),
        };
        format!(
            "{} of all prompt tokens were read from the cache. {} processed again what had been \
             cached, for {}.{rebuilds} Without a cache the same requests cost {}, with a perfect \
             one {}.",
            percent(hit_ratio(bill)),
            many(bill.misses, "miss"),
            usd(rewritten.as_usd()),
            usd(bill.no_cache.as_usd()),
            usd(bill.perfect_cache.as_usd()),
        )
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let compaction = self.bill.compaction();
        if compaction.requests > 0 {
            let whole = self.bill.total.total + compaction.cost;
            let (stand, are) =
                if compaction.requests == 1 { ("stands", "is") } else { ("stand", "are") };
            notes.push(format!(
                "Compaction: {} {stand} in no transcript and {are} not in the sums. Estimated: {}, \
                 which makes {}.",
                many(compaction.requests, "summary request"),
                usd(compaction.cost.as_usd()),
                usd(whole.as_usd()),
            ));
        }
        let unknown = self.bill.unknown_output();
        if unknown.requests > 0 {
            notes.push(format!(
                "Output: of {} only the beginning is recorded ({} tokens; clients before 2.1.60). \
                 Going by what was said, {} are missing; going by the prompts that followed, at \
                 most {}.",
                many(unknown.requests, "response"),
                tokens(unknown.recorded.get() as f64),
                usd(unknown.likely_missing_cost.as_usd()),
                usd(unknown.most_missing_cost.as_usd()),
            ));
        }
        let unseen = self.bill.unseen();
        if unseen.requests > 0 {
            notes.push(format!(
                "Requests outside the transcripts: {} read {} tokens that no recorded request had \
                 written. Something else did, such as suggestions of prompts, and was paid for.",
                many(unseen.requests, "request"),
                tokens(unseen.tokens.get() as f64),
            ));
        }
        for one in &self.bill.unpriced {
            notes.push(format!(
                "Not priced: {} of `{}`, {} tokens: {}.",
                many(one.requests, "request"),
                plain(&one.model),
                tokens(one.tokens.get() as f64),
                plain(&one.reason),
            ));
        }
        let assumed = self.bill.assumed.iter().map(|text| format!("Price: {}.", plain(text)));
        notes.extend(assumed);
        notes
    }

    fn table(&self, by: Breakdown, full_ids: bool) -> Table {
        let bill = self.bill;
        let mut table = match by {
            Breakdown::Session => self.sessions(full_ids),
            Breakdown::Agent => self.agents(full_ids),
            Breakdown::Day => {
                sums("day", bill.days.iter().map(|(day, sum)| (day.to_string(), sum)))
            }
            Breakdown::Project => {
                let mut by_cost: Vec<_> =
                    bill.projects.iter().map(|(name, sum)| (plain(name), sum)).collect();
                by_cost.sort_by_key(|(_, sum)| -sum.total);
                sums("project", by_cost.into_iter())
            }
            Breakdown::Model => {
                let mut by_cost: Vec<_> =
                    bill.models.iter().map(|(name, sum)| (plain(name), sum)).collect();
                by_cost.sort_by_key(|(_, sum)| -sum.total);
                sums("model", by_cost.into_iter())
            }
            Breakdown::Item => items(&bill.total),
            Breakdown::Cause => {
                let causes = Cause::ALL.map(Cause::name).into_iter().zip(bill.total.causes);
                shares("cause", causes, bill.total.total)
            }
            Breakdown::Role => {
                let roles = Role::ALL.map(Role::name).into_iter().zip(bill.total.roles);
                shares("role", roles, bill.total.total)
            }
            Breakdown::Miss => self.misses(),
        };
        table.rows.retain(|row| row.iter().skip(1).any(|cell| !cell.is_empty()));
        table
    }

    fn sessions(&self, full_ids: bool) -> Table {
        let mut sessions: Vec<&SessionBill> = self.bill.sessions.iter().collect();
        sessions.sort_by_key(|session| -session.bill.total);
        let rows = sessions.into_iter().map(|session| {
            let bill = &session.bill;
            let cells = [
                plain(if full_ids { &session.id } else { short(&session.id) }),
                plain(&session.project),
                Date::of(session.first).to_string(),
                count(session.agents.len() as f64),
            ];
            cells.into_iter().chain(cells_of(bill)).collect()
        });
        let heading = ["session", "project", "day", "agents"].into_iter().chain(SUM_HEADING);
        let heading = heading.map(str::to_owned).collect();
        Table { heading, rows: rows.collect(), names: 3 }
    }

    fn agents(&self, full_ids: bool) -> Table {
        let mut rows = Vec::new();
        for session in &self.bill.sessions {
            for (depth, agent) in tree(&session.agents) {
                let id = if full_ids { &agent.name } else { short_agent(&agent.name) };
                let of = if full_ids { session.id.as_str() } else { short(&session.id) };
                let name = match depth {
                    0 => format!("{id} {of}"),
                    _ => format!("{} {id}", "-".repeat(depth)),
                };
                let mut row = vec![plain(&name), plain(agent.kind.as_deref().unwrap_or_default())];
                row.extend(cells_of(&agent.bill));
                row.push(tokens(agent.last_request.get() as f64));
                rows.push(row);
            }
        }
        let heading = ["agent", "kind"].into_iter().chain(SUM_HEADING).chain(["last request"]);
        Table { heading: heading.map(str::to_owned).collect(), rows, names: 2 }
    }

    fn misses(&self) -> Table {
        let mut misses: Vec<(&SessionBill, &Miss)> = Vec::new();
        for session in &self.bill.sessions {
            misses.extend(session.misses.iter().map(|miss| (session, miss)));
        }
        misses.sort_by_key(|(_, miss)| -miss.cost);
        let row = |(session, miss): (&SessionBill, &Miss)| {
            let pause = miss.since_last.map_or(String::new(), |pause| duration(pause.as_seconds()));
            vec![
                plain(short(&session.id)),
                plain(short_agent(&miss.agent)),
                miss.cause.name().to_owned(),
                instant(miss.at)[..16].replace('T', " "),
                pause,
                tokens(miss.tokens.get() as f64),
                usd(miss.cost.as_usd()),
            ]
        };
        let heading = ["session", "agent", "cause", "sent (UTC)", "after", "tokens", "cost"];
        let heading = heading.map(str::to_owned).to_vec();
        Table { heading, rows: misses.into_iter().map(row).collect(), names: 3 }
    }
}

impl Breakdown {
    /// Returns the word for one row.
    pub const fn name(self) -> &'static str {
        match self {
            Breakdown::Session => "session",
            Breakdown::Day => "day",
            Breakdown::Project => "project",
            Breakdown::Agent => "agent",
            Breakdown::Model => "model",
            Breakdown::Item => "line item",
            Breakdown::Cause => "cause",
            Breakdown::Role => "role",
            Breakdown::Miss => "miss",
        }
    }
}

const SUM_HEADING: [&str; 6] = ["requests", "written", "read", "output", "read %", "cost"];

fn cells_of(bill: &Bill) -> Vec<String> {
    let used = &bill.tokens;
    let short = |value: crate::units::Tokens| tokens(value.get() as f64);
    vec![
        count(bill.requests as f64),
        short(used.cache_write_5m + used.cache_write_1h),
        short(used.cache_read),
        short(used.output),
        percent(hit_ratio(bill)),
        usd(bill.total.as_usd()),
    ]
}

fn sums<'a>(what: &str, sums: impl Iterator<Item = (String, &'a Bill)>) -> Table {
    let rows = sums.map(|(name, bill)| std::iter::once(name).chain(cells_of(bill)).collect());
    let heading = std::iter::once(what).chain(SUM_HEADING);
    Table { heading: heading.map(str::to_owned).collect(), rows: rows.collect(), names: 1 }
}

fn items(bill: &Bill) -> Table {
    let used = &bill.tokens;
    let amounts =
        [used.uncached, used.cache_write_5m, used.cache_write_1h, used.cache_read, used.output];
    let amounts = amounts.map(|amount| tokens(amount.get() as f64)).into_iter();
    let amounts = amounts.chain(std::iter::once(String::new()));
    let rows = ITEM_NAMES.into_iter().zip(amounts).zip(bill.items);
    let rows = rows.filter(|(_, cost)| *cost != Money::ZERO).map(|((name, amount), cost)| {
        vec![name.to_owned(), amount, usd(cost.as_usd()), share(cost, bill.total)]
    });
    let Block::Table(table) = table(&["line item", "tokens", "cost", "share"], rows.collect())
    else {
        unreachable!("a table is a table")
    };
    table
}

fn shares<'a>(what: &str, parts: impl Iterator<Item = (&'a str, Money)>, total: Money) -> Table {
    let rows = parts
        .filter(|(_, cost)| *cost != Money::ZERO)
        .map(|(name, cost)| vec![name.to_owned(), usd(cost.as_usd()), share(cost, total)]);
    let heading = [what, "cost", "share"].map(str::to_owned).to_vec();
    Table { heading, rows: rows.collect(), names: 1 }
}

fn share(part: Money, total: Money) -> String {
    if total == Money::ZERO { String::new() } else { percent(part.as_usd() / total.as_usd()) }
}

pub(super) fn hit_ratio(bill: &Bill) -> f64 {
    let prompt = bill.tokens.prompt().get();
    if prompt == 0 { 0.0 } else { bill.tokens.cache_read.get() as f64 / prompt as f64 }
}

fn children_of(session: &SessionBill) -> usize {
    session.agents.iter().filter(|agent| agent.role == Role::Subagent).count()
}

/// Writes `1 request`, `2 requests`, `3 misses`.
fn many(number: u64, what: &str) -> String {
    let plural = match (number, what.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {what}{plural}", count(number as f64))
}

/// The first part of an id, enough to tell sessions apart.
fn short(id: &str) -> &str {
    id.split('-').next().unwrap_or(id)
}

/// The first characters of an agent's id, which is a hash.
fn short_agent(id: &str) -> &str {
    let end = id.char_indices().nth(8).map_or(id.len(), |(end, _)| end);
    if id.starts_with("acompact") { id } else { &id[..end] }
}

/// Returns the agents with their depth, children after their parents.
pub(super) fn tree(agents: &[AgentBill]) -> Vec<(usize, &AgentBill)> {
    fn visit<'a>(
        agents: &'a [AgentBill],
        (parent, depth): (Option<&str>, usize),
        taken: &mut Vec<usize>,
        rows: &mut Vec<(usize, &'a AgentBill)>,
    ) {
        for (number, agent) in agents.iter().enumerate() {
            if agent.parent.as_deref() == parent && !taken.contains(&number) {
                taken.push(number);
                rows.push((depth, agent));
                visit(agents, (Some(&agent.name), depth + 1), taken, rows);
            }
        }
    }
    let (mut taken, mut rows) = (Vec::new(), Vec::new());
    visit(agents, (None, 0), &mut taken, &mut rows);
    // What is left has a parent without requests in the transcripts.
    let left = agents.iter().enumerate().filter(|(number, _)| !taken.contains(number));
    rows.extend(left.map(|(_, agent)| (1, agent)));
    rows
}
