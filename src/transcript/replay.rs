//! What sessions would have cost under another policy, and how far to trust the answer.

use rayon::prelude::*;

use crate::cache::{CachePolicy, Ttl};
use crate::ledger::{Bill, Role};
use crate::pricing::{CategoryPrices, PriceBook};
use crate::transcript::Session;
use crate::transcript::account::by_project;
use crate::transcript::agreement::{Agreement, ClockFit, agreement, clock_fits};
use crate::transcript::chain::Evidence;
use crate::transcript::play::{Played, play};
use crate::transcript::policy::ReplayPolicy;
use crate::transcript::rates::{Rates, Unpriced};
use crate::transcript::recorded::Recorded;
use crate::units::{Money, Tokens};

/// What is asked of a replay.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// Rules of the cache by which the sessions are understood.
    pub cache: CachePolicy,
    /// Policies to play besides those that are always played, each with its name.
    pub policies: Vec<(String, ReplayPolicy)>,
}

/// What a replay found.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// The bill of the provider's own numbers.
    pub recorded: Money,
    /// Number of requests with a price.
    pub requests: u64,
    /// Requests whose replay under the recorded policy gives the recorded parts, to the token.
    pub same_tokens: u64,
    /// Policies, in the order of [`Replay::STANDARD`], then those asked for.
    pub policies: Vec<PolicyResult>,
    /// One lifetime against the other, for main sessions.
    pub main: TtlQuestion,
    /// The same for all other agents.
    pub subagent: TtlQuestion,
    /// Hit or miss, predicted from sizes and times: main sessions.
    pub main_agreement: Agreement,
    /// The same for all agents.
    pub agreement: Agreement,
    /// Clocks of lifetimes and how well they fit.
    pub clocks: Vec<ClockFit>,
    /// Each session.
    pub sessions: Vec<SessionReplay>,
    /// Requests that could not be priced, and so are in no sum.
    pub unpriced: Vec<Unpriced>,
}

/// What one policy comes to.
#[derive(Clone, Debug, Default)]
pub struct PolicyResult {
    /// Its name.
    pub name: String,
    /// Its bill.
    pub bill: Bill,
    /// Keep-alive requests that it sends.
    pub keep_alives: u64,
    /// Compactions that it makes besides the recorded ones.
    pub compactions: u64,
    /// Subagents that start later than recorded.
    pub delayed: u64,
}

/// Five minutes or one hour for a role: what is written for five minutes, and how much of that an
/// hour would have read instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TtlQuestion {
    /// W: tokens that five-minute entries write.
    pub written: Tokens,
    /// S: those of them that one-hour entries would have read.
    pub saved: Tokens,
    /// Cost of the role's requests with five-minute entries.
    pub cost_5m: Money,
    /// The same with one-hour entries.
    pub cost_1h: Money,
    /// What W costs more for an hour: W x (1-hour write price - 5-minute write price).
    pub premium: Money,
    /// What S costs less when read: S x (1-hour write price - read price).
    pub relief: Money,
    /// What W would cost less, were all of it read: W x (1-hour write price - read price).
    pub relief_of_all: Money,
}

impl TtlQuestion {
    /// Returns S / W; `None` where nothing is written.
    pub fn share(&self) -> Option<f64> {
        let written = self.written.get();
        (written > 0).then(|| self.saved.get() as f64 / written as f64)
    }

    /// Returns the share S / W above which one hour is cheaper: 0.75 / 1.9 = 39.5 % where a read
    /// costs a tenth of the base price. Models are weighted by W; `None` where nothing is written.
    pub fn break_even_share(&self) -> Option<f64> {
        let is_priced = self.relief_of_all > Money::ZERO;
        is_priced.then(|| self.premium.as_usd() / self.relief_of_all.as_usd())
    }

    fn add(&mut self, other: &TtlQuestion) {
        self.written += other.written;
        self.saved += other.saved;
        self.cost_5m += other.cost_5m;
        self.cost_1h += other.cost_1h;
        self.premium += other.premium;
        self.relief += other.relief;
        self.relief_of_all += other.relief_of_all;
    }
}

/// One session.
#[derive(Clone, Debug, Default)]
pub struct SessionReplay {
    /// Folder of its project.
    pub project: String,
    /// Its id.
    pub id: String,
    /// Requests with a price.
    pub requests: u64,
    /// Requests whose replay under the recorded policy gives the recorded parts.
    pub same_tokens: u64,
    /// Hit or miss predicted, all its agents.
    pub agreement: Agreement,
    /// Cost under each policy, in the order of [`Replay::policies`].
    pub costs: Vec<Money>,
    /// Five minutes or one hour for all its agents.
    pub ttl: TtlQuestion,
}

impl Replay {
    /// Policies that are always played.
    pub const STANDARD: [&str; 6] =
        ["as recorded", "5m for all", "1h for main", "1h for subagents", "1h for all", "no cache"];
}

/// Replays sessions.
pub fn replay_sessions(sessions: &[Session], book: &PriceBook, options: &ReplayOptions) -> Replay {
    let policies = policies(options);
    let projects = by_project(sessions);
    let parts: Vec<Replay> = projects
        .par_iter()
        .map(|sessions| replay_project(sessions, book, &options.cache, &policies))
        .collect();
    let mut all = Replay::default();
    for part in parts {
        all.join(part);
    }
    all.sessions.sort_by(|a, b| (&a.project, &a.id).cmp(&(&b.project, &b.id)));
    all
}

fn policies(options: &ReplayOptions) -> Vec<(String, ReplayPolicy)> {
    let (short, long) = (Some(Ttl::FiveMinutes), Some(Ttl::OneHour));
    let ttl = |main, subagent| ReplayPolicy::with_ttl(&options.cache, main, subagent);
    let mut off = ttl(None, None);
    off.cache.enabled = false;
    let standard = [
        ttl(None, None),
        ttl(short, short),
        ttl(long, short),
        ttl(short, long),
        ttl(long, long),
        off,
    ];
    let names = Replay::STANDARD.map(str::to_owned);
    let mut policies: Vec<_> = names.into_iter().zip(standard).collect();
    policies.extend(options.policies.iter().cloned());
    policies
}

fn replay_project(
    sessions: &[&Session],
    book: &PriceBook,
    cache: &CachePolicy,
    policies: &[(String, ReplayPolicy)],
) -> Replay {
    let recorded = Recorded::of(sessions, book, cache, Evidence::Reads);
    let played: Vec<Played> = policies.iter().map(|(_, policy)| play(&recorded, policy)).collect();
    let by_size = Recorded::of(sessions, book, cache, Evidence::Sizes);
    let agreements = agreement(&by_size, cache);
    let mut found = Replay { clocks: clock_fits(&by_size, cache), ..Replay::default() };
    for ((name, _), played) in policies.iter().zip(&played) {
        let mut bill = Bill::default();
        for one in &played.bills {
            bill += one;
        }
        found.policies.push(PolicyResult {
            name: name.clone(),
            bill,
            keep_alives: played.keep_alives,
            compactions: played.compactions,
            delayed: played.delayed,
        });
        Unpriced::join(&mut found.unpriced, played.unpriced.clone());
    }
    for (number, (main, all)) in agreements.into_iter().enumerate() {
        found.main_agreement.add(&main);
        found.agreement.add(&all);
        let session = sessions[number];
        found.sessions.push(SessionReplay {
            project: session.project.clone(),
            id: session.id.clone(),
            agreement: all,
            costs: played.iter().map(|played| played.bills[number].total).collect(),
            ..SessionReplay::default()
        });
    }
    found.compare(&recorded, &played);
    found
}

impl Replay {
    /// Compares request by request: the replay with the record, one lifetime with the other.
    fn compare(&mut self, recorded: &Recorded<'_>, played: &[Played]) {
        let [same, short, main, subagent, long, ..] = played else {
            unreachable!("the standard policies are always played")
        };
        let mut rates = Rates::new(recorded.book);
        for (number, step) in recorded.steps.iter().enumerate() {
            let session = recorded.agents[step.agent].0;
            let Some((split, _)) = same.splits[number] else { continue };
            let request = step.request;
            if let Ok(rates) = rates.of_request(request) {
                self.recorded += crate::pricing::charge(&rates, &request.usage).total();
            }
            self.recorded += rates.fees(request);
            let is_same = u64::from(split == step.split);
            self.requests += 1;
            self.same_tokens += is_same;
            self.sessions[session].requests += 1;
            self.sessions[session].same_tokens += is_same;
            let is_main = recorded.role(step.agent) == Role::Main;
            let one_hour = if is_main { main } else { subagent };
            let all = crate::pricing::Usage {
                uncached: Tokens::new(1),
                cache_write_5m: Tokens::new(1),
                cache_write_1h: Tokens::new(1),
                cache_read: Tokens::new(1),
                output: Tokens::new(1),
            };
            let Ok(rates) = rates.of(&request.model, request.options, request.start, &all) else {
                continue;
            };
            let prices = rates.tier(request.usage.prompt());
            let of = if is_main { &mut self.main } else { &mut self.subagent };
            of.add(&question(prices, number, short, one_hour));
            self.sessions[session].ttl.add(&question(prices, number, short, long));
        }
    }

    fn join(&mut self, other: Replay) {
        self.recorded += other.recorded;
        self.requests += other.requests;
        self.same_tokens += other.same_tokens;
        if self.policies.is_empty() {
            self.policies = other.policies;
            self.clocks = other.clocks;
        } else {
            for (sum, part) in self.policies.iter_mut().zip(other.policies) {
                sum.bill += &part.bill;
                sum.keep_alives += part.keep_alives;
                sum.compactions += part.compactions;
                sum.delayed += part.delayed;
            }
            for (sum, part) in self.clocks.iter_mut().zip(other.clocks) {
                sum.wrong += part.wrong;
                sum.near += part.near;
            }
        }
        self.main.add(&other.main);
        self.subagent.add(&other.subagent);
        self.main_agreement.add(&other.main_agreement);
        self.agreement.add(&other.agreement);
        self.sessions.extend(other.sessions);
        Unpriced::join(&mut self.unpriced, other.unpriced);
    }
}

/// Compares one request with entries of five minutes and of one hour.
fn question(prices: &CategoryPrices, number: usize, short: &Played, long: &Played) -> TtlQuestion {
    let (Some((five, cost_5m)), Some((hour, cost_1h))) =
        (short.splits[number], long.splits[number])
    else {
        return TtlQuestion::default();
    };
    let written = five.write_5m + five.write_1h;
    let saved = hour.read.saturating_sub(five.read);
    TtlQuestion {
        written,
        saved,
        cost_5m,
        cost_1h,
        premium: prices.cache_write_1h * written - prices.cache_write_5m * written,
        relief: prices.cache_write_1h * saved - prices.cache_read * saved,
        relief_of_all: prices.cache_write_1h * written - prices.cache_read * written,
    }
}
