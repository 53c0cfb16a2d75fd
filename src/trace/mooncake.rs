//! Mooncake traces: requests as lists of hashed blocks of 512 tokens.
//!
//! The rules are those of the published replay, not of semantics section 3: every block end is a
//! possible entry, readable at once, without a minimum and without a lookback. A request reads its
//! leading run of blocks that are present; then all its blocks are touched, first to last, and the
//! blocks touched longest ago are evicted until the capacity holds.

use std::collections::BTreeMap;

use crate::pricing::{Category, ModelRates, PriceBook, PriceError, Usage, charge};
use crate::trace::object::Line;
use crate::trace::{AccountOptions, TraceProblem, TraceProblems};
use crate::units::{Money, SimDuration, SimTime, Tokens};

/// Tokens of a block; the last block of a prompt may hold fewer.
pub const BLOCK_TOKENS: u64 = 512;

const KEYS: [&str; 4] = ["timestamp", "input_length", "output_length", "hash_ids"];
/// The latest timestamp, in milliseconds; about 30,000 years.
const TIMESTAMP_MAX: u64 = 1_000_000_000_000_000;

/// One request of a Mooncake trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MooncakeRequest {
    /// When it started; in files, milliseconds.
    pub start: SimTime,
    /// Its prompt.
    pub input: Tokens,
    /// Its output.
    pub output: Tokens,
    /// Its blocks, each identity standing for the whole prefix up to it.
    pub blocks: Vec<u64>,
}

/// Reads a Mooncake trace line by line and finds all that is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct MooncakeReader {
    number: usize,
    requests: Vec<MooncakeRequest>,
    problems: TraceProblems,
}

impl MooncakeReader {
    /// Returns a reader at the start of a file.
    pub fn new() -> MooncakeReader {
        MooncakeReader::default()
    }

    /// Reads the next line, without its line break. A blank line is skipped.
    pub fn line(&mut self, text: &str) {
        self.number += 1;
        if !text.trim().is_empty() {
            let mut line = Line::new(text, self.number, &mut self.problems);
            self.requests.extend(read_request(&mut line));
        }
    }

    /// Notes a problem that only the caller sees, in place of a line.
    pub fn unreadable_line(&mut self, message: &str) {
        self.number += 1;
        self.problems.push(TraceProblem::new(self.number, message));
    }

    /// Returns the requests by start, equal starts in the order of the file.
    ///
    /// # Errors
    /// All problems of the lines that were read, or that there was none.
    pub fn finish(mut self) -> Result<Vec<MooncakeRequest>, TraceProblems> {
        if self.problems.is_empty() && self.requests.is_empty() {
            self.problems.push(TraceProblem::new(0, "the trace holds no request"));
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        self.requests.sort_by_key(|request| request.start);
        Ok(self.requests)
    }
}

fn read_request(line: &mut Line<'_, '_>) -> Option<MooncakeRequest> {
    let parsed = line.parse()?;
    let object = line.known(parsed, "a Mooncake request", KEYS);
    let start = line.required(&object, "timestamp");
    let start = start.and_then(|value| line.whole(value, 0, TIMESTAMP_MAX));
    let input = line.required(&object, "input_length").and_then(|value| line.tokens(value));
    let output = line.required(&object, "output_length").and_then(|value| line.tokens(value));
    let items = line.required(&object, "hash_ids").and_then(|value| line.list(value))?;
    let blocks: Vec<_> = items.into_iter().map(|item| line.whole(item, 0, u64::MAX)).collect();
    Some(MooncakeRequest {
        start: SimTime::from_micros(start? as i64 * 1_000),
        input: input?,
        output: output?,
        blocks: blocks.into_iter().collect::<Option<_>>()?,
    })
}

/// Whether a block is still present when exactly its lifetime has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtlBound {
    /// It is, as in the published replay.
    #[default]
    Inclusive,
    /// It is gone, as in semantics E5.
    Strict,
}

/// How long blocks stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MooncakeOptions {
    /// Lifetime since the last request that holds a block; none: forever.
    pub ttl: Option<SimDuration>,
    /// What holds at the end of the lifetime.
    pub bound: TtlBound,
    /// The most blocks that stay; none: all.
    pub capacity: Option<u64>,
}

/// What a replay of a Mooncake trace found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MooncakeReplay {
    /// Number of requests.
    pub requests: u64,
    /// Number of blocks of all prompts.
    pub blocks: u64,
    /// Number of blocks that were read.
    pub hit_blocks: u64,
    /// Tokens that were read: at most the prompt, and 512 a block.
    pub hit_tokens: Tokens,
    /// Tokens of all prompts.
    pub input: Tokens,
    /// Tokens of all outputs.
    pub output: Tokens,
}

impl MooncakeReplay {
    /// Returns the share of prompt tokens that were read; `None` for a trace without any.
    pub fn token_hit_ratio(&self) -> Option<f64> {
        let input = self.input.get();
        (input > 0).then(|| self.hit_tokens.get() as f64 / input as f64)
    }

    /// Returns the share of blocks that were read; `None` for a trace without any.
    pub fn block_hit_ratio(&self) -> Option<f64> {
        (self.blocks > 0).then(|| self.hit_blocks as f64 / self.blocks as f64)
    }
}

/// Replays requests in their order; `each` is given every request with the tokens it read.
///
/// # Example
/// ```
/// use forkcast::trace::{MooncakeOptions, MooncakeReader, replay_mooncake};
///
/// let mut reader = MooncakeReader::new();
/// reader.line(r#"{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [7, 8]}"#);
/// reader.line(r#"{"timestamp": 9, "input_length": 700, "output_length": 5, "hash_ids": [7, 9]}"#);
/// let found = replay_mooncake(&reader.finish()?, &MooncakeOptions::default(), |_, _| {});
/// assert_eq!((found.hit_blocks, found.hit_tokens.get()), (1, 512));
/// # Ok::<(), forkcast::trace::TraceProblems>(())
/// ```
pub fn replay_mooncake(
    requests: &[MooncakeRequest],
    options: &MooncakeOptions,
    mut each: impl FnMut(&MooncakeRequest, Tokens),
) -> MooncakeReplay {
    let mut blocks = Blocks { options: *options, ..Blocks::default() };
    let mut sum = MooncakeReplay::default();
    for request in requests {
        let present = request.blocks.iter().take_while(|id| blocks.has(**id, request.start));
        let hit_blocks = present.count() as u64;
        let hit_tokens = Tokens::new(request.input.get().min(BLOCK_TOKENS * hit_blocks));
        blocks.touch(&request.blocks, request.start);
        each(request, hit_tokens);
        sum.requests += 1;
        sum.blocks += request.blocks.len() as u64;
        sum.hit_blocks += hit_blocks;
        sum.hit_tokens += hit_tokens;
        sum.input += request.input;
        sum.output += request.output;
    }
    sum
}

/// Prices a replay: tokens read at the read price of the model, all other prompt tokens at its
/// 5-minute write price (every block end is an entry, so all that is not read is written; the price
/// of one hour is not used, whatever the lifetime of the replay), output at its output price.
///
/// # Errors
/// When the model is unknown or has no price in force for one of these.
pub fn price_mooncake(
    requests: &[MooncakeRequest],
    replay: &MooncakeOptions,
    (book, model): (&PriceBook, &str),
    options: &AccountOptions,
) -> Result<(MooncakeReplay, Money), PriceError> {
    let used = [Category::CacheWrite5m, Category::CacheRead, Category::Output];
    let date = options.date.unwrap_or(book.as_of);
    let rates = book.rates_for(model, date, options.rates, &used)?;
    let mut cost = Money::ZERO;
    let found = replay_mooncake(requests, replay, |request, hit| {
        cost += request_cost(&rates, request, hit);
    });
    Ok((found, cost))
}

fn request_cost(rates: &ModelRates, request: &MooncakeRequest, hit: Tokens) -> Money {
    let usage = Usage {
        cache_read: hit,
        cache_write_5m: request.input - hit,
        output: request.output,
        ..Usage::default()
    };
    charge(rates, &usage).total()
}

/// The blocks that are present, by identity and by the order in which they were last touched.
#[derive(Default)]
struct Blocks {
    options: MooncakeOptions,
    touched: BTreeMap<u64, (u64, SimTime)>,
    order: BTreeMap<u64, u64>,
    touches: u64,
}

impl Blocks {
    fn has(&self, id: u64, now: SimTime) -> bool {
        let Some((_, last)) = self.touched.get(&id) else { return false };
        self.options.ttl.is_none_or(|ttl| match self.options.bound {
            TtlBound::Inclusive => now.since(*last) <= ttl,
            TtlBound::Strict => now.since(*last) < ttl,
        })
    }

    fn touch(&mut self, ids: &[u64], now: SimTime) {
        for id in ids {
            self.touches += 1;
            if let Some((former, _)) = self.touched.insert(*id, (self.touches, now)) {
                self.order.remove(&former);
            }
            self.order.insert(self.touches, *id);
        }
        let capacity = self.options.capacity.unwrap_or(u64::MAX);
        while self.order.len() as u64 > capacity {
            if let Some((_, id)) = self.order.pop_first() {
                self.touched.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(rows: &[(u64, u64, &[u64])]) -> Vec<MooncakeRequest> {
        let request = |(millis, input, blocks): &(u64, u64, &[u64])| MooncakeRequest {
            start: SimTime::from_micros(*millis as i64 * 1_000),
            input: Tokens::new(*input),
            output: Tokens::new(1),
            blocks: blocks.to_vec(),
        };
        rows.iter().map(request).collect()
    }

    fn hits(rows: &[(u64, u64, &[u64])], options: MooncakeOptions) -> (u64, u64) {
        let found = replay_mooncake(&requests(rows), &options, |_, _| {});
        (found.hit_blocks, found.hit_tokens.get())
    }

    #[test]
    fn the_leading_run_is_read_and_at_most_the_prompt() {
        let rows: [(u64, u64, &[u64]); 3] =
            [(0, 1_500, &[1, 2, 3]), (1, 1_500, &[1, 9, 3]), (2, 600, &[1, 2])];
        // 0 + 512 + min(600, 1,024)
        assert_eq!(hits(&rows, MooncakeOptions::default()), (3, 1_112));
    }

    #[test]
    fn lifetimes_slide_and_the_bound_is_a_setting() {
        let rows: [(u64, u64, &[u64]); 3] = [(0, 512, &[1]), (600, 512, &[1]), (1_600, 512, &[1])];
        let ttl = Some(SimDuration::from_seconds(1));
        let inclusive = MooncakeOptions { ttl, ..MooncakeOptions::default() };
        assert_eq!(hits(&rows, inclusive), (2, 1_024));
        assert_eq!(hits(&rows, MooncakeOptions { bound: TtlBound::Strict, ..inclusive }), (1, 512));
    }

    #[test]
    fn the_block_touched_longest_ago_is_evicted_after_the_request() {
        let rows: [(u64, u64, &[u64]); 4] =
            [(0, 1_024, &[1, 2]), (1, 512, &[3]), (2, 512, &[2]), (3, 512, &[1])];
        let options = MooncakeOptions { capacity: Some(2), ..MooncakeOptions::default() };
        assert_eq!(hits(&rows, options), (1, 512));
        let none = MooncakeOptions { capacity: Some(0), ..options };
        assert_eq!(hits(&rows, none), (0, 0));
    }
}
