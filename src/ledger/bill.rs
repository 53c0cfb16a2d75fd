//! A bill by line item, role and cause, with its bounds.

use std::ops::AddAssign;

use crate::cache::{Accounting, Category, Cause, Segment};
use crate::pricing::{CategoryPrices, ModelRates, Usage, charge};
use crate::units::{Money, PricePerToken, Tokens};

/// On whose behalf a request was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The main session's own turns.
    Main,
    /// A child's own turns.
    Subagent,
    /// A teammate's turns.
    Teammate,
    /// A summary request, of whichever agent.
    Compaction,
    /// A minimal request that keeps entries alive.
    KeepAlive,
    /// A minimal request that makes a prefix readable before a fan-out.
    Prewarm,
}

impl Role {
    /// All roles, in the order of results.
    pub const ALL: [Role; 6] = [
        Role::Main,
        Role::Subagent,
        Role::Teammate,
        Role::Compaction,
        Role::KeepAlive,
        Role::Prewarm,
    ];

    /// Returns the key used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Main => "main",
            Role::Subagent => "subagent",
            Role::Teammate => "teammate",
            Role::Compaction => "compaction",
            Role::KeepAlive => "keep_alive",
            Role::Prewarm => "prewarm",
        }
    }
}

/// Keys of the line items of a bill, in the order of [`Bill::items`].
pub const ITEM_NAMES: [&str; 6] =
    ["uncached", "cache_write_5m", "cache_write_1h", "cache_read", "output", "fees"];

/// One request to be booked.
#[derive(Clone, Copy, Debug)]
pub struct Booking<'a> {
    /// On whose behalf it was made.
    pub role: Role,
    /// Prices of its model.
    pub rates: &'a ModelRates,
    /// What the cache made of its prompt.
    pub accounting: &'a Accounting,
    /// Causes of its processed tokens.
    pub segments: &'a [Segment],
    /// Its output.
    pub output: Tokens,
}

/// What a run cost: exact sums of integers (semantics T1, A5, A6).
///
/// Items, roles and causes each sum to the total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// The whole bill.
    pub total: Money,
    /// By line item, in the order of [`ITEM_NAMES`].
    pub items: [Money; 6],
    /// By role, in the order of [`Role::ALL`].
    pub roles: [Money; 6],
    /// By cause, in the order of [`Cause::ALL`].
    pub causes: [Money; Cause::COUNT],
    /// Tokens of all requests.
    pub tokens: Usage,
    /// The same with all input at base price (semantics A6).
    pub no_cache: Money,
    /// The same with a perfect cache (semantics A6).
    pub perfect_cache: Money,
    /// Number of requests that were charged.
    pub requests: u64,
    /// Number of misses in the client's sense (semantics A5).
    pub misses: u64,
    /// Number of rebuilds that the client brought about (semantics A5).
    pub expected_rebuilds: u64,
}

impl Bill {
    /// Books one request and returns its cost.
    pub fn book(&mut self, booking: &Booking<'_>) -> Money {
        let split = &booking.accounting.split;
        let usage = Usage {
            uncached: split.uncached,
            cache_write_5m: split.write_5m,
            cache_write_1h: split.write_1h,
            cache_read: split.read,
            output: booking.output,
        };
        let prompt = usage.prompt();
        let prices = booking.rates.tier(prompt);
        let charge = charge(booking.rates, &usage);
        for (item, part) in self.items.iter_mut().zip(charge.parts()) {
            *item += part;
        }
        let cost = charge.total();
        self.total += cost;
        self.roles[booking.role as usize] += cost;
        self.causes[Cause::Read as usize] += charge.cache_read;
        self.causes[Cause::Output as usize] += charge.output;
        for segment in booking.segments {
            self.causes[segment.cause as usize] += segment_cost(prices, segment);
        }
        self.tokens += usage;
        self.book_bounds(booking, prices, prompt, charge.output);
        cost
    }

    /// Books what is not tokens (semantics T4).
    pub fn book_fees(&mut self, role: Role, fees: Money) {
        self.total += fees;
        self.items[ITEM_NAMES.len() - 1] += fees;
        self.roles[role as usize] += fees;
        self.causes[Cause::Fees as usize] += fees;
        self.no_cache += fees;
        self.perfect_cache += fees;
    }

    fn book_bounds(
        &mut self,
        booking: &Booking<'_>,
        prices: &CategoryPrices,
        prompt: Tokens,
        output: Money,
    ) {
        let held = booking.accounting.held;
        self.no_cache += prices.input * prompt + output;
        self.perfect_cache += prices.cache_read * held
            + prices.input.min(prices.cache_write_5m) * (prompt - held)
            + output;
        self.requests += 1;
        self.misses += u64::from(booking.accounting.is_miss);
        self.expected_rebuilds += u64::from(booking.accounting.is_expected_rebuild);
    }
}

/// Returns what a run of processed tokens costs.
pub(super) fn segment_cost(prices: &CategoryPrices, segment: &Segment) -> Money {
    category_price(prices, segment.category) * Tokens::new(segment.tokens)
}

impl AddAssign<&Bill> for Bill {
    fn add_assign(&mut self, other: &Bill) {
        fn add<const N: usize>(sums: &mut [Money; N], parts: &[Money; N]) {
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum += *part;
            }
        }
        self.total += other.total;
        add(&mut self.items, &other.items);
        add(&mut self.roles, &other.roles);
        add(&mut self.causes, &other.causes);
        self.tokens += other.tokens;
        self.no_cache += other.no_cache;
        self.perfect_cache += other.perfect_cache;
        self.requests += other.requests;
        self.misses += other.misses;
        self.expected_rebuilds += other.expected_rebuilds;
    }
}

fn category_price(prices: &CategoryPrices, category: Category) -> PricePerToken {
    match category {
        Category::Uncached => prices.input,
        Category::Write5m => prices.cache_write_5m,
        Category::Write1h => prices.cache_write_1h,
    }
}
