//! The bill of a trace: every request looked up in the cache, charged and explained.

use std::collections::BTreeMap;

use crate::cache::{
    Accounting, CachePolicy, CacheRequest, Cause, LastPrompt, PromptCache, RoleTtl, Ttl,
};
use crate::ledger::{Bill, Booking, Role};
use crate::pricing::{Category, ModelRates, PriceBook, RateOptions, Usage, charge};
use crate::trace::prompts::{Marks, Prompt, Prompts};
use crate::trace::{FailedAttempt, RequestLine, Trace, TraceProblem, TraceProblems};
use crate::units::{Date, Money, SimTime, Tokens};

/// How a trace is accounted, besides its cache policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountOptions {
    /// Lifetimes of the breakpoints of `main` instead of those in the trace.
    pub main_ttl: Option<RoleTtl>,
    /// Lifetimes of the breakpoints of all other agents instead of those in the trace.
    pub subagent_ttl: Option<RoleTtl>,
    /// Day whose prices are taken; none: the day of the price book.
    pub date: Option<Date>,
    /// How the requests are made, as far as it changes prices.
    pub rates: RateOptions,
    /// Seed of early misses (semantics E8).
    pub seed: u64,
}

impl Default for AccountOptions {
    fn default() -> AccountOptions {
        AccountOptions {
            main_ttl: None,
            subagent_ttl: None,
            date: None,
            rates: RateOptions::default(),
            seed: 1,
        }
    }
}

impl AccountOptions {
    fn marks(&self, policy: &CachePolicy, agent: &str) -> Marks {
        let ttl = if agent == MAIN { self.main_ttl } else { self.subagent_ttl };
        if policy.enabled { Marks::On(ttl) } else { Marks::Off }
    }
}

/// What a trace costs.
#[derive(Clone, Debug)]
pub struct TraceBill {
    /// The sums.
    pub bill: Bill,
    /// The charged requests in the order of their starts.
    pub requests: Vec<TraceRequest>,
    /// Whether every recorded usage equals what the rules say; `None` where none is recorded.
    pub agrees: Option<bool>,
    /// What the recorded usage costs at the same prices; `None` where none is recorded.
    pub recorded_cost: Option<Money>,
    /// Prices that were used and that no source confirms.
    pub warnings: Vec<String>,
    /// Number of attempts that failed; they cost nothing (semantics A3).
    pub failed_attempts: u64,
}

/// One charged request.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    /// Line of the trace.
    pub line: usize,
    /// Who sent it.
    pub agent: String,
    /// When it started.
    pub start: SimTime,
    /// What it read, wrote and produced.
    pub usage: Usage,
    /// What it cost.
    pub cost: Money,
    /// Why: causes with their tokens and money, in the order of [`Cause::ALL`], none empty.
    pub causes: Vec<(Cause, Tokens, Money)>,
    /// What the provider reported.
    pub recorded: Option<Usage>,
    /// Whether that equals `usage`.
    pub agrees: Option<bool>,
}

const MAIN: &str = "main";

/// Accounts a trace under a cache policy and prices.
///
/// Requests are taken by start, equal starts in the order of the file. The breakpoints are those of
/// the trace; `policy.breakpoints`, `policy.ttl` and `policy.keep_alive` do not act on it. A
/// request without `end_s` counts as ended when its response began.
///
/// # Errors
/// All models without prices, and all blocks of one identity that contradict each other.
///
/// # Example
/// ```
/// use forkcast::cache::CachePolicy;
/// use forkcast::trace::{AccountOptions, account, read_trace};
///
/// let book = toml::from_str(
///     "format_version = 1\nname = 'own'\nas_of = '2026-11-30'\ncurrency = 'USD'\nsource = 'own'\n\
///      [models.m]\ninput = 1\nwrite_5m = '1.25'\nread = '0.1'\noutput = 5",
/// )?;
/// let text = r#"{"start_s": 0, "first_token_s": 1.5, "agent": "main", "model": "m",
///     "blocks": [{"id": "a", "tokens": 2000, "kind": "user:text", "ttl": "5m"}],
///     "output_tokens": 10}"#;
/// let trace = read_trace(&text.replace('\n', " "), false)?;
/// let found = account(&trace, &book, &CachePolicy::default(), &AccountOptions::default())?;
/// // 2,000 tokens written at $1.25 and 10 of output at $5 per million.
/// assert_eq!(found.bill.total.to_string(), "$0.00255");
/// assert_eq!(found.agrees, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn account(
    trace: &Trace,
    book: &PriceBook,
    policy: &CachePolicy,
    options: &AccountOptions,
) -> Result<TraceBill, TraceProblems> {
    let mut problems = TraceProblems::default();
    let rates = rates_of_models(trace, book, options, &mut problems);
    let mut cache = PromptCache::new(policy);
    let mut prompts = Prompts::default();
    let mut steps = Vec::new();
    for event in in_order(trace) {
        let prompt = match event {
            Event::Failed(_) => None,
            Event::Request(number, line) => {
                let marks = options.marks(policy, &line.agent);
                let added = prompts.add(cache.tree_mut(), line, marks);
                let note = |message| problems.push(TraceProblem::new(number, message));
                added.map_err(|messages| messages.into_iter().for_each(note)).ok()
            }
        };
        steps.push((event, prompt));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut replay = Replay::new(cache, policy, options.seed, rates);
    for (event, prompt) in steps {
        match (event, prompt) {
            (Event::Failed(attempt), _) => replay.fail(attempt),
            (Event::Request(number, line), Some(prompt)) => replay.request(number, line, &prompt),
            (Event::Request(..), None) => unreachable!("a request without prompt is a problem"),
        }
    }
    Ok(replay.finish())
}

/// One line of a trace.
#[derive(Clone, Copy)]
enum Event<'a> {
    Request(usize, &'a RequestLine),
    Failed(&'a FailedAttempt),
}

fn in_order(trace: &Trace) -> Vec<Event<'_>> {
    let requests = trace.requests.iter().map(|(number, line)| {
        let event = Event::Request(*number, line);
        (line.start, *number, event)
    });
    let failed = trace.failed.iter().map(|(number, line)| {
        let event = Event::Failed(line);
        (line.start, *number, event)
    });
    let mut events: Vec<_> = requests.chain(failed).collect();
    events.sort_by_key(|(start, number, _)| (*start, *number));
    events.into_iter().map(|(_, _, event)| event).collect()
}

/// Finds the prices of all models that are charged; a category that is never used needs none.
fn rates_of_models<'a>(
    trace: &'a Trace,
    book: &PriceBook,
    options: &AccountOptions,
    problems: &mut TraceProblems,
) -> BTreeMap<&'a str, ModelRates> {
    let mut used =
        vec![Category::Input, Category::CacheWrite5m, Category::CacheRead, Category::Output];
    if writes_for_an_hour(trace, options) {
        used.push(Category::CacheWrite1h);
    }
    let date = options.date.unwrap_or(book.as_of);
    let mut rates = BTreeMap::new();
    let mut tried = BTreeMap::new();
    for (number, line) in &trace.requests {
        tried.entry(line.model.as_str()).or_insert(*number);
    }
    for (model, number) in tried {
        match book.rates_for(model, date, options.rates, &used) {
            Ok(found) => drop(rates.insert(model, found)),
            Err(error) => problems.push(
                TraceProblem::new(number, error.to_string())
                    .with_help("another price book is chosen with `--prices`"),
            ),
        }
    }
    rates
}

fn writes_for_an_hour(trace: &Trace, options: &AccountOptions) -> bool {
    let stated = [options.main_ttl, options.subagent_ttl].into_iter().flatten();
    let mut blocks = trace.requests.iter().flat_map(|(_, line)| &line.blocks);
    let recorded = trace.requests.iter().filter_map(|(_, line)| line.usage);
    stated.into_iter().any(|ttl| ttl.head.max(ttl.tail) == Ttl::OneHour)
        || recorded.into_iter().any(|usage| !usage.cache_write_1h.is_zero())
        || blocks.any(|block| block.ttl == Some(Ttl::OneHour))
}

/// What is known of an agent while its requests are taken in order.
#[derive(Clone, Copy, Default)]
struct Agent {
    last: Option<LastPrompt>,
    /// Start of the first of the attempts that failed since its last response.
    waiting_since: Option<SimTime>,
}

struct Replay<'a> {
    cache: PromptCache,
    policy: &'a CachePolicy,
    seed: u64,
    rates: BTreeMap<&'a str, ModelRates>,
    agents: BTreeMap<&'a str, Agent>,
    taken: u64,
    result: TraceBill,
}

impl<'a> Replay<'a> {
    fn new(
        cache: PromptCache,
        policy: &'a CachePolicy,
        seed: u64,
        rates: BTreeMap<&'a str, ModelRates>,
    ) -> Replay<'a> {
        let result = TraceBill {
            bill: Bill::default(),
            requests: Vec::new(),
            agrees: None,
            recorded_cost: None,
            warnings: rates.values().flat_map(|rates| rates.assumed.clone()).collect(),
            failed_attempts: 0,
        };
        Replay { cache, policy, seed, rates, agents: BTreeMap::new(), taken: 0, result }
    }

    fn fail(&mut self, attempt: &'a FailedAttempt) {
        self.agents.entry(&attempt.agent).or_default().waiting_since.get_or_insert(attempt.start);
        self.result.failed_attempts += 1;
    }

    fn request(&mut self, number: usize, line: &'a RequestLine, prompt: &Prompt) {
        let agent = self.agents.entry(&line.agent).or_default();
        let request = CacheRequest {
            prompt: prompt.at,
            breakpoints: &prompt.breakpoints,
            start: line.start,
            ready: agent.waiting_since.unwrap_or(line.start),
            minimum: self.policy.minimum.unwrap_or(self.rates[&*line.model].minimum_cacheable),
            early_miss: is_drawn(self.seed, self.taken, self.policy.early_miss_probability),
            last: agent.last,
            inherited: prompt.inherited,
            expected: prompt.expected,
        };
        let accounting = self.cache.lookup(&request);
        let last = LastPrompt { prompt: prompt.at, cached: accounting.cached };
        *agent = Agent { last: Some(last), waiting_since: None };
        self.taken += 1;
        if !line.is_paid {
            self.book(number, line, &accounting);
        }
        let end = line.end.unwrap_or(line.first_token);
        self.cache.commit(&request, &accounting, line.first_token, end);
    }

    fn book(&mut self, number: usize, line: &RequestLine, accounting: &Accounting) {
        let role = if line.agent == MAIN { Role::Main } else { Role::Subagent };
        let rates = &self.rates[&*line.model];
        let segments = self.cache.segments();
        let before = self.result.bill.causes;
        let booking = Booking { role, rates, accounting, segments, output: line.output };
        let cost = self.result.bill.book(&booking);
        if let Some(recorded) = &line.usage {
            let sum = self.result.recorded_cost.get_or_insert(Money::ZERO);
            *sum += charge(rates, recorded).total();
        }
        let split = accounting.split;
        let usage = Usage {
            uncached: split.uncached,
            cache_write_5m: split.write_5m,
            cache_write_1h: split.write_1h,
            cache_read: split.read,
            output: line.output,
        };
        let mut tokens = [Tokens::ZERO; Cause::COUNT];
        tokens[Cause::Output as usize] = usage.output;
        tokens[Cause::Read as usize] = usage.cache_read;
        for segment in segments {
            tokens[segment.cause as usize] += Tokens::new(segment.tokens);
        }
        let after = &self.result.bill.causes;
        let causes = Cause::ALL
            .into_iter()
            .map(|cause| {
                (cause, tokens[cause as usize], after[cause as usize] - before[cause as usize])
            })
            .filter(|(_, tokens, _)| !tokens.is_zero());
        self.result.requests.push(TraceRequest {
            line: number,
            agent: line.agent.clone(),
            start: line.start,
            usage,
            cost,
            causes: causes.collect(),
            recorded: line.usage,
            agrees: line.usage.map(|recorded| recorded == usage),
        });
    }

    fn finish(mut self) -> TraceBill {
        let verdicts = self.result.requests.iter().filter_map(|request| request.agrees);
        self.result.agrees = verdicts.reduce(|all, agrees| all && agrees);
        self.result
    }
}

/// Draws with a probability, by a hash of the seed and the number of the request, so that the draw
/// for one request does not depend on the others.
fn is_drawn(seed: u64, number: u64, probability: f64) -> bool {
    let mixed = mix(mix(seed) ^ number);
    ((mixed >> 11) as f64) / ((1_u64 << 53) as f64) < probability
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
