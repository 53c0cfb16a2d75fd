//! Goal: the cache does what providers document and what was measured against them.
//!
//! Method: a table of cases, each with its source and the date at which it was read or measured.
//! Both caches (the library's and the naive one) answer every request and must agree, and both
//! must agree with the case. That the parts sum to the prompt (X1) is checked on every request.
//! Not here, since no cache is involved: X5 (rate limits) and X10 (duplicate transcript rows).

use forkcast::cache::{
    BlockKind, BreakpointError, CacheKey, CachePolicy, Cause, ColdWrites, Expected, Ttl, TtlClock,
    check_breakpoints,
};
use forkcast::units::{SimDuration, SimTime};

use crate::support::naive::{Answer, Ask, Block, Previous};
use crate::support::pair::Pair;

type Marks = &'static [(usize, Ttl)];

const SHORT: Ttl = Ttl::FiveMinutes;
const LONG: Ttl = Ttl::OneHour;
const SECOND: i64 = 1_000_000;

fn seconds(seconds: i64) -> SimTime {
    SimTime::from_micros(seconds * SECOND)
}

fn block(id: u16, tokens: u64, kind: BlockKind) -> Block {
    Block { id, tokens, kind, startup: false }
}

fn text(id: u16, tokens: u64) -> Block {
    block(id, tokens, BlockKind::UserText)
}

/// Blocks `from..=to` of 100 tokens each.
fn texts(from: u16, to: u16) -> Vec<Block> {
    (from..=to).map(|id| text(id, 100)).collect()
}

fn ask(start: SimTime, prompt: &[Block], marks: &[(usize, Ttl)]) -> Ask {
    Ask {
        key: CacheKey::default(),
        prompt: prompt.to_vec(),
        marks: marks.to_vec(),
        start,
        ready: start,
        minimum: 512,
        early_miss: false,
        last: None,
        inherited: 0,
        expected: Expected::Nothing,
    }
}

fn end(prompt: &[Block]) -> [(usize, Ttl); 1] {
    [(prompt.len(), SHORT)]
}

/// Sends a request whose response begins one second after its start and ends then.
fn send(pair: &mut Pair, ask: &Ask) -> Answer {
    let begins = ask.start + SimDuration::from_seconds(1);
    pair.send(ask, begins, begins).unwrap_or_else(|differ| panic!("{differ}"))
}

/// Read, one-hour write, five-minute write, uncached.
fn parts(answer: &Answer) -> [u64; 4] {
    [answer.read, answer.write_1h, answer.write_5m, answer.uncached]
}

fn causes(answer: &Answer) -> Vec<(Cause, u64)> {
    answer.causes.iter().map(|((cause, _), count)| (*cause, *count)).collect()
}

fn pair() -> Pair {
    Pair::new(&CachePolicy::default())
}

/// rossoctl/context-guru PR #100, measured 2026: write 5,860, ping at t+240 s, read at t+482 s: 3
/// of 3 hits; without the ping 3 of 3 misses. (The PR reports 5,861 read: one token of its own.)
#[test]
fn x2_a_read_refreshes_for_free() {
    for (ping, expected) in [(true, [5_860, 0, 0, 0]), (false, [0, 0, 5_860, 0])] {
        let (mut pair, prompt) = (pair(), [text(1, 5_860)]);
        send(&mut pair, &ask(seconds(0), &prompt, &end(&prompt)));
        if ping {
            let answer = send(&mut pair, &ask(seconds(240), &prompt, &end(&prompt)));
            assert_eq!(parts(&answer), [5_860, 0, 0, 0]);
        }
        let answer = send(&mut pair, &ask(seconds(482), &prompt, &end(&prompt)));
        assert_eq!(parts(&answer), expected, "ping {ping}");
    }
}

/// Anthropic, prompt caching, read 2026-10-02: "The lifetime is measured from the start of the
/// request": a 240 s response and 59 s idle is a hit, 61 s idle a miss; counted from the end of
/// the response both are hits.
#[test]
fn x3_the_clock_runs_from_the_start_of_the_request() {
    let cases = [
        (TtlClock::RequestStart, 59, true),
        (TtlClock::RequestStart, 61, false),
        (TtlClock::ResponseEnd, 59, true),
        (TtlClock::ResponseEnd, 61, true),
        (TtlClock::ResponseEnd, 299, true),
        (TtlClock::ResponseEnd, 300, false),
    ];
    for (ttl_clock, idle, is_hit) in cases {
        let mut pair = Pair::new(&CachePolicy { ttl_clock, ..CachePolicy::default() });
        let prompt = [text(1, 5_000)];
        let first = ask(seconds(0), &prompt, &end(&prompt));
        pair.send(&first, seconds(1), seconds(240)).unwrap();
        let answer = send(&mut pair, &ask(seconds(240 + idle), &prompt, &end(&prompt)));
        assert_eq!(answer.hit.is_some(), is_hit, "{ttl_clock:?} idle {idle}");
    }
}

/// Anthropic, prompt caching, August 2026: "a cache entry only becomes available after the first
/// response begins": parallel requests on a cold prefix each write. Under `first` (P 8.2,
/// unconfirmed) the others pay plain input.
#[test]
fn x4_parallel_cold_requests_all_write() {
    let cases = [(ColdWrites::Each, [0, 0, 5_000, 0]), (ColdWrites::First, [0, 0, 0, 5_000])];
    for (concurrent_cold_writes, others) in cases {
        let mut pair = Pair::new(&CachePolicy { concurrent_cold_writes, ..CachePolicy::default() });
        let prompt = [text(1, 5_000)];
        let first = ask(seconds(0), &prompt, &end(&prompt));
        assert_eq!(parts(&send(&mut pair, &first)), [0, 0, 5_000, 0]);
        for start in [0, 0, SECOND - 1] {
            let other = ask(SimTime::from_micros(start), &prompt, &end(&prompt));
            let answer = send(&mut pair, &other);
            assert_eq!(parts(&answer), others);
            assert_eq!(causes(&answer), [(Cause::SiblingNotReady, 5_000)]);
        }
        let later = ask(seconds(1), &prompt, &end(&prompt));
        assert_eq!(parts(&send(&mut pair, &later)), [5_000, 0, 0, 0]);
    }
}

/// claude-code #82739, 2026: arm A 11,374 written once, then 3 x 11,374 read; arm B, 33 tokens
/// changed each time: 5,303 written and 6,076 read each.
#[test]
fn x6_a_change_writes_its_block_and_all_after_again() {
    let (mut a, prompt) = (pair(), [text(1, 11_374)]);
    for dispatch in 0..4 {
        let answer = send(&mut a, &ask(seconds(30 * dispatch), &prompt, &end(&prompt)));
        let expected = if dispatch == 0 { [0, 0, 11_374, 0] } else { [11_374, 0, 0, 0] };
        assert_eq!(parts(&answer), expected);
    }
    let mut b = pair();
    for dispatch in 0..4 {
        let prompt = [text(1, 6_076), text(10 + dispatch, 33), text(2, 5_270)];
        let marks = [(1, SHORT), (3, SHORT)];
        let answer = send(&mut b, &ask(seconds(30 * i64::from(dispatch)), &prompt, &marks));
        let expected = if dispatch == 0 { [0, 0, 11_379, 0] } else { [6_076, 0, 5_303, 0] };
        assert_eq!(parts(&answer), expected);
    }
}

/// Anthropic, prompt caching, August 2026 (20 positions, the breakpoint's own first): 18 added
/// blocks hit, 22 miss; by E3 19 hit and 20 miss. C24 (Claude Code 2.1.332, measured 2026-11-30):
/// 20 notices at once, and the whole prefix was written again, as `lookback_exceeded`.
#[test]
fn x7_nineteen_added_positions_hit_and_twenty_miss() {
    for (added, is_hit) in [(18, true), (19, true), (20, false), (22, false)] {
        let mut pair = pair();
        let before = texts(1, 10);
        send(&mut pair, &ask(seconds(0), &before, &end(&before)));
        let after = texts(1, 10 + added);
        let answer = send(&mut pair, &ask(seconds(9), &after, &end(&after)));
        assert_eq!(answer.hit.is_some(), is_hit, "{added} added");
        let new = (Cause::NewContent, u64::from(added) * 100);
        let expected = if is_hit { vec![new] } else { vec![(Cause::LookbackExceeded, 1_000), new] };
        assert_eq!(causes(&answer), expected);
    }
}

/// As above in a session that is older than the lifetime: the entries of its first requests have
/// lapsed, the last one lives, and all that it covers is `lookback_exceeded` (A5).
#[test]
fn lapsed_entries_below_a_live_one_are_not_to_blame() {
    let mut pair = pair();
    for (turn, blocks) in [(0, 10), (1, 12), (2, 14), (3, 16)] {
        let prompt = texts(1, blocks);
        let answer = send(&mut pair, &ask(seconds(200 * turn), &prompt, &end(&prompt)));
        assert_eq!(answer.hit.is_some(), turn > 0);
    }
    let prompt = texts(1, 40);
    let request = ask(seconds(601), &prompt, &end(&prompt));
    let early = Ask { early_miss: true, ..ask(seconds(602), &texts(1, 16), &[(16, SHORT)]) };
    let answer = send(&mut pair, &request);
    assert_eq!(causes(&answer), [(Cause::LookbackExceeded, 1_600), (Cause::NewContent, 2_400)]);
    assert_eq!(causes(&send(&mut pair, &early)), [(Cause::EarlyMiss, 1_600)]);
}

/// Anthropic, prompt caching, August 2026 and readers' notes of 2026-09-16 to 10-06: a run of tool
/// uses, or of tool results, is one position; also when the breakpoint, or the entry that is
/// sought, stands inside the run.
#[test]
fn x7_runs_of_tool_blocks_are_one_position() {
    let run = |from: u16, to: u16, kind| (from..=to).map(move |id| block(id, 100, kind));
    let calls = [texts(1, 10), run(11, 40, BlockKind::ToolUse).collect()].concat();
    let both: Vec<Block> =
        calls.iter().copied().chain(run(41, 70, BlockKind::ToolResult)).collect();
    let long: Vec<Block> = both.iter().copied().chain(texts(71, 87)).collect();
    // Written up to, prompt, mark, found when runs collapse, and when they do not.
    let cases = [
        (10, &calls, 40, true, false),
        (10, &calls, 25, true, true),
        (10, &calls, 35, true, false),
        (10, &both, 70, true, false),
        (10, &both, 60, true, false),
        (10, &long, 87, true, false),
        (9, &long, 87, false, false),
        (11, &long, 87, true, false),
        (25, &long, 87, true, false),
        (45, &long, 87, true, false),
    ];
    for (written, prompt, mark, collapsed, single) in cases {
        for (collapse_tool_runs, is_hit) in [(true, collapsed), (false, single)] {
            let mut pair = Pair::new(&CachePolicy { collapse_tool_runs, ..CachePolicy::default() });
            send(&mut pair, &ask(seconds(0), &prompt[..written], &[(written, SHORT)]));
            let answer = send(&mut pair, &ask(seconds(9), prompt, &[(mark, SHORT)]));
            let expected = is_hit.then_some(written);
            assert_eq!(answer.hit, expected, "{written} {mark} collapse {collapse_tool_runs}");
        }
    }
}

/// Anthropic, prompt caching, August 2026: at most four breakpoints, one-hour ones first.
#[test]
fn x7_illegal_breakpoints_are_refused() {
    assert_eq!(check_breakpoints(&[LONG, LONG, SHORT, SHORT]), Ok(()));
    assert_eq!(check_breakpoints(&[SHORT; 5]), Err(BreakpointError::TooMany(5)));
    assert_eq!(
        check_breakpoints(&[LONG, SHORT, LONG]),
        Err(BreakpointError::OneHourAfterFiveMinutes)
    );
}

/// Anthropic, prompt caching, August 2026 (2,048; 4,096) and notes of 2026-10-01 to 10-08 (512):
/// below the model's minimum nothing is cached and nothing is said.
#[test]
fn x7_below_the_minimum_nothing_is_cached() {
    for minimum in [512, 1_024, 2_048, 4_096] {
        for (size, expected) in
            [(minimum - 1, [0, 0, 0, minimum - 1]), (minimum, [minimum, 0, 0, 0])]
        {
            let (mut pair, prompt) = (pair(), [text(1, size)]);
            send(&mut pair, &Ask { minimum, ..ask(seconds(0), &prompt, &end(&prompt)) });
            let again = Ask { minimum, ..ask(seconds(2), &prompt, &end(&prompt)) };
            let answer = send(&mut pair, &again);
            assert_eq!(parts(&answer), expected);
            assert_eq!(
                answer.causes.keys().any(|(c, _)| *c == Cause::BelowMinimum),
                size < minimum
            );
        }
    }
}

/// local-operator PR #537, 2026: X writes 5,787, Y writes 5,787, X reads 5,787, for two models as
/// for two accounts.
#[test]
fn x8_caches_are_per_model_and_per_scope() {
    let other_keys = [
        CacheKey { model: 1, ..CacheKey::default() },
        CacheKey { scope: 1, ..CacheKey::default() },
    ];
    for key in other_keys {
        let (mut pair, prompt) = (pair(), [text(1, 5_787)]);
        let x = ask(seconds(0), &prompt, &end(&prompt));
        assert_eq!(parts(&send(&mut pair, &x)), [0, 0, 5_787, 0]);
        let y = Ask { key, ..ask(seconds(5), &prompt, &end(&prompt)) };
        assert_eq!(parts(&send(&mut pair, &y)), [0, 0, 5_787, 0]);
        let again = ask(seconds(10), &prompt, &end(&prompt));
        assert_eq!(parts(&send(&mut pair, &again)), [5_787, 0, 0, 0]);
    }
}

/// erwins-enkel/shepherd PR #2266, 2026: a step at the lifetime, nothing below it. At the instant
/// itself the entry is gone (E5, our choice), `expiry_slack` later if that is set (E8).
#[test]
fn x9_a_step_at_the_lifetime() {
    for (ttl, lifetime) in [(SHORT, 300), (LONG, 3_600)] {
        for slack in [0, 15] {
            for (micros, is_hit) in [(-1, true), (0, false), (1, false)] {
                let expiry_slack = SimDuration::from_seconds(slack);
                let mut pair = Pair::new(&CachePolicy { expiry_slack, ..CachePolicy::default() });
                let prompt = [text(1, 5_000)];
                send(&mut pair, &ask(seconds(0), &prompt, &[(1, ttl)]));
                let start = SimTime::from_micros((lifetime + slack) * SECOND + micros);
                let answer = send(&mut pair, &ask(start, &prompt, &[(1, ttl)]));
                assert_eq!(answer.hit.is_some(), is_hit, "{ttl:?} {slack} {micros}");
                let expected = if is_hit { vec![] } else { vec![(Cause::Expired, 5_000)] };
                assert_eq!(causes(&answer), expected);
            }
        }
    }
}

/// Anthropic, prompt caching, August 2026 (P 1.1 row 6): write at block 10; breakpoint 15 hits at
/// 10 and writes 15; breakpoint 35 tests 35 to 16 and misses; a second breakpoint at 15 hits.
#[test]
fn lookback_of_the_documented_case() {
    for (marks, hit) in [(vec![(35, SHORT)], None), (vec![(15, SHORT), (35, SHORT)], Some(15))] {
        let mut pair = pair();
        let blocks = texts(1, 35);
        send(&mut pair, &ask(seconds(0), &blocks[..10], &[(10, SHORT)]));
        let answer = send(&mut pair, &ask(seconds(5), &blocks[..15], &[(15, SHORT)]));
        assert_eq!((answer.hit, parts(&answer)), (Some(10), [1_000, 0, 500, 0]));
        let answer = send(&mut pair, &ask(seconds(10), &blocks, &marks));
        assert_eq!(answer.hit, hit);
        let read = hit.map_or(0, |_| 1_500);
        assert_eq!(parts(&answer), [read, 0, 3_500 - read, 0]);
    }
}

/// Anthropic, prompt caching, August 2026 (P 1.4 row 6): A, B and C of requests with both
/// lifetimes; what stands at or below the hit is not written (E7).
#[test]
fn billing_of_mixed_lifetimes() {
    let blocks = texts(1, 60);
    // Written before, up to block; marks; parts of a prompt of 6,000 tokens.
    let cases: [(usize, Marks, [u64; 4]); 6] = [
        (0, &[(30, LONG), (50, SHORT)], [0, 3_000, 2_000, 1_000]),
        (20, &[(30, LONG), (50, SHORT)], [2_000, 1_000, 2_000, 1_000]),
        (35, &[(30, LONG), (50, SHORT)], [3_500, 0, 1_500, 1_000]),
        (50, &[(30, LONG), (50, SHORT)], [5_000, 0, 0, 1_000]),
        (20, &[(25, LONG), (30, LONG), (40, SHORT), (60, SHORT)], [2_000, 1_000, 3_000, 0]),
        (20, &[(3, LONG), (30, LONG)], [2_000, 1_000, 0, 3_000]),
    ];
    for (written, marks, expected) in cases {
        let mut pair = pair();
        if written > 0 {
            send(&mut pair, &ask(seconds(0), &blocks[..written], &[(written, SHORT)]));
        }
        let answer = send(&mut pair, &ask(seconds(5), &blocks, marks));
        assert_eq!(parts(&answer), expected, "{written} {marks:?}");
    }
}

/// claude-cookbooks `cost_optimization.ipynb`, Opus 5, commit 2c8d9d64 of 2026-08-13 (P 6.2): write
/// and read of each request of a loop with one automatic breakpoint; two tokens behind it. In T4
/// the sixth request drops all but what the first one sent. T5 is the orchestrator's part.
#[test]
fn published_traces_of_three_agent_loops() {
    let t1 = [
        (13_237, 0),
        (135_244, 13_237),
        (547, 148_481),
        (148, 149_028),
        (168, 149_176),
        (1_160, 149_344),
        (510, 150_504),
        (207, 151_014),
        (1_695, 151_221),
        (563, 152_916),
        (1_029, 153_479),
    ];
    let t4 = [
        (13_237, 0),
        (135_244, 13_237),
        (536, 148_481),
        (138, 149_017),
        (272, 149_155),
        (1_207, 13_237),
        (505, 14_444),
        (207, 14_949),
        (321, 15_156),
        (563, 15_477),
        (138, 16_040),
        (332, 16_178),
    ];
    let t5 = [
        (13_238, 0),
        (529, 13_238),
        (148, 13_767),
        (107, 13_915),
        (935, 14_022),
        (510, 14_957),
        (459, 15_467),
        (913, 15_926),
        (563, 16_839),
        (542, 17_402),
    ];
    for (trace, pruned_before) in [(&t1[..], None), (&t4[..], Some(5)), (&t5[..], None)] {
        let (mut pair, mut prompt) = (pair(), Vec::new());
        for (number, (write, read)) in trace.iter().enumerate() {
            if pruned_before == Some(number) {
                prompt.truncate(1);
            }
            prompt.push(text(1 + number as u16, *write));
            let marks = end(&prompt);
            let sent = [&prompt[..], &[text(0, 2)]].concat();
            let answer = send(&mut pair, &ask(seconds(12 * number as i64), &sent, &marks));
            assert_eq!(parts(&answer), [*read, 0, *write, 2], "request {number}");
        }
    }
}

/// Claude Code 2.1.260, measured 2026-11-30 (C7, C9): siblings started together write all that
/// they send, one after the first response reads tools and system; forks read the parent's prompt
/// at once and write their own tails.
#[test]
fn siblings_and_forks_of_a_real_client() {
    let head = [block(1, 7_200, BlockKind::Tool), block(2, 2_400, BlockKind::System)];
    let child = |task| [head[0], head[1], text(3, 1_100), text(task, 500)];
    let marks = [(2, SHORT), (4, SHORT)];
    let mut siblings = pair();
    for (task, start, read) in [(10, 0, 0), (11, 0, 0), (12, 0, 0), (13, 2, 9_600)] {
        let answer = send(&mut siblings, &ask(seconds(start), &child(task), &marks));
        assert_eq!(parts(&answer), [read, 0, 11_200 - read, 0]);
    }
    let (mut forks, parent) = (pair(), [head[0], head[1], text(3, 6_500)]);
    send(&mut forks, &ask(seconds(0), &parent, &[(2, SHORT), (3, SHORT)]));
    for fork in 0..3 {
        let prompt = [&parent[..], &[text(20 + fork, 350)]].concat();
        let request = Ask { inherited: 16_100, ..ask(seconds(5), &prompt, &marks) };
        let answer = send(&mut forks, &request);
        assert_eq!(parts(&answer), [16_100, 0, 350, 0]);
        assert_eq!(causes(&answer), [(Cause::NewContent, 350)]);
    }
}

/// Anthropic, prompt caching and cache diagnostics, August 2026 (P 1.5): what changes breaks its
/// level and all after it. C15 (Claude Code 2.1.260, measured 2026-11-30): with fewer tools the
/// whole context is written again, and it is the tools that changed (C8).
#[test]
fn what_breaks_which_level() {
    use Cause::{
        PrefixChangedEffort, PrefixChangedMessages, PrefixChangedModel, PrefixChangedSystem,
        PrefixChangedTools,
    };
    let tools = |id| block(id, 1_000, BlockKind::Tool);
    let system = |id| block(id, 1_000, BlockKind::System);
    let before = [tools(1), tools(2), system(3), text(4, 1_000)];
    let other_model = CacheKey { model: 1, ..CacheKey::default() };
    let other_effort = CacheKey { effort: 1, ..CacheKey::default() };
    let same = CacheKey::default();
    let cases: [(CacheKey, &[Block], u64, Cause); 7] = [
        (same, &[tools(9), tools(2), system(3), text(4, 1_000)], 0, PrefixChangedTools),
        (same, &[tools(1), system(3), text(4, 1_000)], 0, PrefixChangedTools),
        (same, &[tools(1), tools(2), system(9), text(4, 1_000)], 2_000, PrefixChangedSystem),
        (same, &[tools(1), tools(2), text(4, 1_000)], 2_000, PrefixChangedSystem),
        (same, &[tools(1), tools(2), system(3), text(9, 1_000)], 3_000, PrefixChangedMessages),
        (other_model, &before, 0, PrefixChangedModel),
        (other_effort, &before, 0, PrefixChangedEffort),
    ];
    for (key, after, read, cause) in cases {
        let mut pair = pair();
        let marks = [(2, SHORT), (3, SHORT), (4, SHORT)];
        let first = ask(seconds(0), &before, &marks);
        let cached = send(&mut pair, &first).cached;
        let last = Previous { key: first.key, prompt: before.to_vec(), cached };
        let marks: Vec<(usize, Ttl)> = (2..=after.len()).map(|at| (at, SHORT)).collect();
        let request = Ask { key, last: Some(last), ..ask(seconds(5), after, &marks) };
        let answer = send(&mut pair, &request);
        let rest = after.len() as u64 * 1_000 - read;
        assert_eq!((answer.read, causes(&answer)), (read, vec![(cause, rest)]));
    }
}
