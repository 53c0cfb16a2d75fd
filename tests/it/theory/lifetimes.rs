//! Lifetimes, sharing and visibility under random request times (validation 2.4).

use forkcast::cache::{
    BlockKind, Breakpoint, CacheKey, CachePolicy, CacheRequest, Expected, PrefixId, PromptCache,
    Ttl, TtlClock,
};
use forkcast::units::{SimDuration, SimTime, Tokens};

use crate::support::random::SplitMix;

const SHORT: f64 = 300.0;
const LONG: f64 = 3_600.0;
/// Requests of a case.
const REQUESTS: u32 = 100_000;

#[expect(clippy::disallowed_methods, reason = "a test may differ in the last bit")]
fn exp(x: f64) -> f64 {
    x.exp()
}

fn micros(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

fn later(time: SimTime, seconds: f64) -> SimTime {
    time + SimDuration::from_micros(micros(seconds))
}

/// A cache and prompts in it, asked for one at a time.
struct Bench {
    cache: PromptCache,
    ttl: Ttl,
}

impl Bench {
    fn new(policy: &CachePolicy, ttl: Ttl) -> Bench {
        Bench { cache: PromptCache::new(policy), ttl }
    }

    /// Returns a prompt of `blocks` blocks that differs from all others after `parent`.
    fn prompt(&mut self, parent: Option<PrefixId>) -> PrefixId {
        let tree = self.cache.tree_mut();
        let parent = parent.unwrap_or_else(|| tree.root(CacheKey::default()));
        tree.append(parent, Tokens::new(1_000), BlockKind::UserText, false)
    }

    /// Sends the last of `chain`, marked at each of its prefixes; returns what is read.
    fn send(&mut self, chain: &[PrefixId], start: SimTime, begins: f64, ends: f64) -> u64 {
        let mut marks = [Breakpoint { at: chain[0], ttl: self.ttl }; 2];
        for (mark, at) in marks.iter_mut().zip(chain) {
            mark.at = *at;
        }
        let request = CacheRequest {
            prompt: chain[chain.len() - 1],
            breakpoints: &marks[..chain.len()],
            start,
            ready: start,
            minimum: Tokens::ZERO,
            early_miss: false,
            last: None,
            inherited: Tokens::ZERO,
            expected: Expected::Nothing,
        };
        let accounting = self.cache.lookup(&request);
        self.cache.commit(&request, &accounting, later(start, begins), later(start, ends));
        accounting.split.read.get()
    }
}

/// Fails unless `hits` of `count` independent trials agree with probability `p`: the binomial
/// standard error is `sqrt(p (1 - p) / count)`; what is expected less than once in a million
/// runs must not happen at all.
fn assert_binomial(name: &str, hits: u32, count: u32, p: f64) {
    let (n, hits) = (f64::from(count), f64::from(hits));
    let variance = p * (1.0 - p) / n;
    if n * (1.0 - p) < 1e-6 {
        assert!((hits - n).abs() < 0.5, "{name}: {hits} of {n}, all must hit");
        return;
    }
    let z = (hits / n - p) / variance.sqrt();
    assert!(z.abs() < 4.0, "{name}: {} against {p}, z = {z}", hits / n);
}

/// Fails unless the ratio of sums over independent cycles agrees with `expected`. With cycles
/// `(x, y)` and `r = sum x / sum y` the variance of `r` is that of `x - r y` over the cycles,
/// divided by their number and by the squared mean of `y` (delta method).
fn assert_ratio(name: &str, cycles: &[(f64, f64)], expected: f64) {
    let count = cycles.len() as f64;
    let (x, y) = cycles.iter().fold((0.0, 0.0), |sum, cycle| (sum.0 + cycle.0, sum.1 + cycle.1));
    let squares: f64 = cycles.iter().map(|cycle| (cycle.0 - expected * cycle.1).powi(2)).sum();
    let error = (squares / count).sqrt() / count.sqrt() / (y / count);
    let z = (x / y - expected) / error;
    assert!(z.abs() < 4.0, "{name}: {} against {expected}, z = {z}", x / y);
}

/// Hits of one prompt that is asked for again after each of `REQUESTS` gaps, given as seconds from
/// start to start and of the response.
fn renewals(policy: &CachePolicy, ttl: Ttl, mut gap: impl FnMut() -> (f64, f64)) -> Vec<bool> {
    let mut bench = Bench::new(policy, ttl);
    let prompt = [bench.prompt(None)];
    let mut now = SimTime::ZERO;
    let (mut wait, mut response) = gap();
    bench.send(&prompt, now, 0.0, response);
    (0..REQUESTS)
        .map(|_| {
            now = later(now, wait);
            (wait, response) = gap();
            bench.send(&prompt, now, 0.0, response) > 0
        })
        .collect()
}

fn count(hits: &[bool]) -> u32 {
    hits.iter().filter(|hit| **hit).count() as u32
}

/// A sliding lifetime hits when the gap is shorter than it, so hits are independent with `F(T)`.
fn assert_sliding(name: &str, short: f64, long: f64, seed: u64, draw: fn(&mut SplitMix) -> f64) {
    for (ttl, p) in [(Ttl::FiveMinutes, short), (Ttl::OneHour, long)] {
        let mut random = SplitMix(seed);
        let hits = renewals(&CachePolicy::default(), ttl, || (draw(&mut random), 0.0));
        assert_binomial(name, count(&hits), REQUESTS, p);
    }
}

/// Fixed lifetimes (`refresh_on_read = false`): a cycle is a miss and the hits up to the next.
fn assert_fixed(name: &str, p: f64, ttl: Ttl, mut gap: impl FnMut() -> f64) {
    let policy = CachePolicy { refresh_on_read: false, ..CachePolicy::default() };
    let hits = renewals(&policy, ttl, || (gap(), 0.0));
    let cycles: Vec<(f64, f64)> = hits
        .split(|hit| !hit)
        .skip(1)
        .map(|cycle| (cycle.len() as f64, cycle.len() as f64 + 1.0))
        .collect();
    assert_ratio(name, &cycles[..cycles.len() - 1], p);
}

/// Poisson requests: sliding `1 - exp(-T / mean)`, fixed `a / (1 + a)` with `a = T / mean`.
#[test]
fn poisson_gaps() {
    let oracles = [
        (60.0, 0.993_262, 1.000_000, 0.833_333, 0.983_607),
        (120.0, 0.917_915, 1.000_000, 0.714_286, 0.967_742),
        (300.0, 0.632_121, 0.999_994, 0.500_000, 0.923_077),
        (600.0, 0.393_469, 0.997_521, 0.333_333, 0.857_143),
        (1_200.0, 0.221_199, 0.950_213, 0.200_000, 0.750_000),
        (3_600.0, 0.079_956, 0.632_121, 0.076_923, 0.500_000),
    ];
    for (mean, short, long, fixed_short, fixed_long) in oracles {
        let rows =
            [(Ttl::FiveMinutes, SHORT, short, fixed_short), (Ttl::OneHour, LONG, long, fixed_long)];
        for (ttl, lifetime, sliding, fixed) in rows {
            let name = format!("Poisson {mean} s, {}", ttl.name());
            let p = 1.0 - exp(-lifetime / mean);
            assert!((p - sliding).abs() < 6e-7, "{name}: {p} in the table as {sliding}");
            let mut random = SplitMix(micros(mean) as u64);
            let policy = CachePolicy::default();
            let hits = renewals(&policy, ttl, || (random.exponential(mean), 0.0));
            assert_binomial(&name, count(&hits), REQUESTS, p);
            assert_fixed(&name, fixed, ttl, || random.exponential(mean));
        }
    }
}

/// Erlang-2 gaps of mean 300 s: sliding `1 - (1 + 2) exp(-2)`, fixed `m / (1 + m)` with
/// `m = 3/4 + exp(-4)/4` renewals in a lifetime.
#[test]
fn erlang_gaps() {
    let p = 1.0 - 3.0 * exp(-2.0);
    assert!((p - 0.593_994).abs() < 6e-7);
    let long = 1.0 - 25.0 * exp(-24.0);
    let draw = |random: &mut SplitMix| random.exponential(150.0) + random.exponential(150.0);
    assert_sliding("Erlang-2", p, long, 2, draw);
    let mut random = SplitMix(3);
    assert_fixed("Erlang-2 fixed", 0.430_063, Ttl::FiveMinutes, || draw(&mut random));
}

/// Gaps with long tails; the table gives `P(X <= 5m)` and `P(X > 60m)`.
#[test]
fn heavy_tailed_gaps() {
    assert_sliding("lognormal 79 s", 0.795_949, 1.0 - 0.008_947, 4, |r| {
        79.0 * exp(1.613 * r.normal())
    });
    assert_sliding("lognormal 60 s", 0.946_240, 1.0 - 0.000_021, 5, |r| 60.0 * exp(r.normal()));
    assert_sliding("Weibull", 0.756_883, 1.0 - 0.007_454, 6, |r| {
        150.0 * r.exponential(1.0).powi(2)
    });
    assert_sliding("H2", 0.921_182, 1.0 - 0.002_015, 7, |r| {
        let mean = if r.unit() < 0.89 { 10.0 } else { 900.0 };
        r.exponential(mean)
    });
}

/// Clock from the start: a hit needs response and idle time together below the lifetime,
/// `1 - (m exp(-T/m) - d exp(-T/d)) / (m - d)`; from the end idle time alone.
#[test]
fn the_clock_runs_from_start_or_end() {
    let oracles = [(120.0, 60.0, 0.842_568, 0.917_915), (300.0, 30.0, 0.591_250, 0.632_121)];
    for (idle, busy, from_start, from_end) in oracles {
        let closed = 1.0 - (idle * exp(-SHORT / idle) - busy * exp(-SHORT / busy)) / (idle - busy);
        assert!((closed - from_start).abs() < 6e-7);
        let clocks = [(TtlClock::RequestStart, from_start), (TtlClock::ResponseEnd, from_end)];
        for (ttl_clock, p) in clocks {
            let policy = CachePolicy { ttl_clock, ..CachePolicy::default() };
            let mut random = SplitMix(micros(idle + busy) as u64);
            let hits = renewals(&policy, Ttl::FiveMinutes, || {
                let response = random.exponential(busy);
                (response + random.exponential(idle), response)
            });
            assert_binomial(&format!("{ttl_clock:?} {idle} {busy}"), count(&hits), REQUESTS, p);
        }
        let mut random = SplitMix(8);
        let p = 1.0 - exp(-(SHORT - busy) / idle);
        let policy = CachePolicy::default();
        let fixed = || (busy + random.exponential(idle), busy);
        let hits = renewals(&policy, Ttl::FiveMinutes, fixed);
        assert_binomial("deterministic response", count(&hits), REQUESTS, p);
    }
}

/// An entry is readable `v` after its write: a chain of Poisson requests without a gap of `T` has
/// `exp(l T)` requests, of which `1 + l v` miss. Times are scaled so that `T` is 300 s. A cycle
/// starts at each cold miss: (misses, requests).
#[test]
fn misses_before_the_first_response_begins() {
    let oracles = [(0.5, 4.0, 10.0, 0.020_214), (0.1, 3.0, 60.0, 0.003_222)];
    for (rate, delay, lifetime, expected) in oracles {
        let closed = (1.0 + rate * delay) * exp(-rate * lifetime);
        assert!((closed - expected).abs() < 6e-7_f64);
        let scale = SHORT / lifetime;
        let mut bench = Bench::new(&CachePolicy::default(), Ttl::FiveMinutes);
        let prompt = [bench.prompt(None)];
        let (mut random, mut now) = (SplitMix(9), SimTime::ZERO);
        let mut cycles: Vec<(f64, f64)> = Vec::new();
        for _ in 0..10 * REQUESTS {
            let gap = random.exponential(scale / rate);
            now = later(now, gap);
            let read = bench.send(&prompt, now, delay * scale, delay * scale);
            if gap >= SHORT || cycles.is_empty() {
                cycles.push((0.0, 0.0));
            }
            let last = cycles.len() - 1;
            let cycle = &mut cycles[last];
            cycle.0 += if read == 0 { 1.0 } else { 0.0 };
            cycle.1 += 1.0;
        }
        assert_ratio("miss ratio", &cycles[..cycles.len() - 1], closed);
        let starts: Vec<(f64, f64)> = cycles.iter().map(|cycle| (cycle.0, 1.0)).collect();
        assert_ratio("writes per cold start", &starts, 1.0 + rate * delay);
    }
}

/// Eight Poisson agents, 600 s each, share a system prompt: shared `1 - exp(-N T / mean)`, private
/// `1 - exp(-T / mean)`. Both kinds of gap are independent, so hits are binomial.
#[test]
fn poisson_sharers() {
    let mut bench = Bench::new(&CachePolicy::default(), Ttl::FiveMinutes);
    let shared = bench.prompt(None);
    let own: Vec<PrefixId> = (0..8).map(|_| bench.prompt(Some(shared))).collect();
    let (mut random, mut now) = (SplitMix(10), SimTime::ZERO);
    let (mut shared_hits, mut own_hits) = (0, 0);
    for _ in 0..REQUESTS {
        now = later(now, random.exponential(600.0 / 8.0));
        let agent = random.below(8) as usize;
        let read = bench.send(&[shared, own[agent]], now, 0.0, 0.0);
        shared_hits += u32::from(read > 0);
        own_hits += u32::from(read > 1_000);
    }
    assert_binomial("shared", shared_hits, REQUESTS, 0.981_684);
    assert_binomial("private", own_hits, REQUESTS, 0.393_469);
}

/// Eight agents, each every 600 s at a random phase: shared `1 - (1 - T/D)^7`, private none. Hits
/// of one draw of phases depend on each other, so a cycle is a draw, its second period counted.
#[test]
fn periodic_sharers() {
    let mut random = SplitMix(11);
    let mut cycles = Vec::new();
    for _ in 0..REQUESTS / 20 {
        let mut bench = Bench::new(&CachePolicy::default(), Ttl::FiveMinutes);
        let shared = bench.prompt(None);
        let mut phases: Vec<f64> = (0..8).map(|_| 600.0 * random.unit()).collect();
        phases.sort_by(f64::total_cmp);
        let agents: Vec<(f64, PrefixId)> =
            phases.into_iter().map(|phase| (phase, bench.prompt(Some(shared)))).collect();
        let mut hits = 0.0;
        for period in [0.0, 600.0] {
            for (phase, own) in &agents {
                let start = later(SimTime::ZERO, period + phase);
                let read = bench.send(&[shared, *own], start, 0.0, 0.0);
                assert!(read <= 1_000, "no private prefix outlives a period of 600 s");
                hits += if period > 0.0 && read > 0 { 1.0 } else { 0.0 };
            }
        }
        cycles.push((hits, 8.0));
    }
    let expected = 1.0 - 0.5_f64.powi(7);
    assert!((expected - 0.992_188).abs() < 6e-7);
    assert_ratio("periodic", &cycles, expected);
}
