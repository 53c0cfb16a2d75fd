//! Goal: the cache does what the semantics say in every small world (rules B, E, A1, A5, A6).
//!
//! Method: random small worlds whose times crowd around the edges of the rules (0, the first
//! token, 300 s, 3,600 s) are run through the library's cache and a naive one, which must agree on
//! every number of every request. `FORKCAST_LONG=1` runs fifty times as many.

use std::collections::BTreeMap;

use forkcast::cache::{BlockKind, CacheKey, CachePolicy, Cause, Expected, Ttl};
use forkcast::units::SimTime;
use proptest::prelude::*;

use crate::support::naive::{Ask, Block};
use crate::support::pair::Pair;
use crate::support::random::SplitMix;
use crate::support::world::{Step, World};

/// Requests of the seeded loop.
const REQUESTS: usize = 200_000;
/// Worlds of the property.
const CASES: u32 = 300;

#[expect(clippy::disallowed_methods, reason = "the length of a test run is set from outside")]
fn long_factor() -> u32 {
    std::env::var("FORKCAST_LONG").map_or(1, |text| text.parse::<u32>().unwrap_or(1).max(1) * 50)
}

fn steps() -> impl Strategy<Value = Step> {
    let place = (0..4_u8, 0..240_u8, 0..16_u8, 0..64_u8);
    let append = prop::collection::vec((0..12_u8, 1..6_u8), 0..6);
    let marks = prop::collection::vec(prop_oneof![Just(0), 0..32_u8], 0..5);
    let rest = (0..5_u8, 0..240_u8, 0..240_u8, 0..240_u8, 0..64_u8);
    (place, append, marks, rest).prop_map(|(place, append, marks, rest)| {
        let (agent, gap, edit, edit_at) = place;
        let (long, first_token, stream, wait, rare) = rest;
        Step { agent, gap, edit, edit_at, append, marks, long, first_token, stream, wait, rare }
    })
}

fn worlds() -> impl Strategy<Value = World> {
    let head = (any::<[u8; 7]>(), any::<[u8; 12]>(), any::<u16>(), any::<[u8; 2]>());
    (head, prop::collection::vec(steps(), 1..20)).prop_map(|(head, steps)| {
        let (policy, sizes, startup, minima) = head;
        World { policy, sizes, startup, minima, steps }
    })
}

#[test]
fn property_both_caches_agree_in_small_worlds() {
    let config = ProptestConfig {
        cases: CASES * long_factor(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(world in worlds())| {
        let agreed = world.run();
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    });
}

/// The drawn worlds must also reach all that a cache can say: hits, misses, and each cause at least
/// once in a thousand requests.
#[test]
fn both_caches_agree_in_many_drawn_worlds() {
    let mut random = SplitMix(1);
    let (mut requests, mut hits, mut misses) = (0, 0, 0);
    let mut seen: BTreeMap<Cause, usize> = BTreeMap::new();
    while requests < REQUESTS * long_factor() as usize {
        let world = World::draw(&mut random);
        let Ok(answers) = world.run() else {
            let world = world.shrunk();
            panic!("{}\n{world:?}", world.run().unwrap_err());
        };
        requests += answers.len();
        for answer in answers {
            hits += usize::from(answer.hit.is_some());
            misses += usize::from(answer.is_miss);
            for (cause, _) in answer.causes.into_keys() {
                *seen.entry(cause).or_default() += 1;
            }
        }
    }
    println!("{requests} requests, {hits} hits, {misses} misses, {seen:?}");
    assert!(hits * 8 > requests && misses * 50 > requests);
    for cause in Cause::ALL {
        let of_the_cache = !matches!(cause, Cause::Output | Cause::Read | Cause::Fees);
        let count = seen.get(&cause).copied().unwrap_or(0);
        assert!(!of_the_cache || count * 1_000 > requests, "{cause:?} seen only {count} times");
    }
}

fn user(id: u16, tokens: u64) -> Block {
    Block { id, tokens, kind: BlockKind::UserText, startup: false }
}

/// All triples of requests around one edge, in every order that time allows: each starts at one of
/// eight instants, has one of three prompts (A, AB, AC), marks its last block or the first as well,
/// and its response begins after nothing, a microsecond or a second.
#[test]
fn three_requests_around_one_edge_in_every_order() {
    let second = 1_000_000;
    for (ttl, edge) in [(Ttl::FiveMinutes, 300 * second), (Ttl::OneHour, 3_600 * second)] {
        let instants = [0, 1, second, edge - 1, edge, edge + 1, edge + second, 2 * edge]
            .map(SimTime::from_micros);
        let prompts =
            [vec![user(1, 10)], vec![user(1, 10), user(2, 5)], vec![user(1, 10), user(3, 7)]];
        let mut asks = Vec::new();
        for start in instants {
            for prompt in &prompts {
                for first_too in [false, true] {
                    let mut marks = vec![(prompt.len(), ttl)];
                    if first_too && prompt.len() > 1 {
                        marks.insert(0, (1, Ttl::OneHour));
                    }
                    for delay in [0, 1, second] {
                        asks.push((ask(start, prompt.clone(), marks.clone()), delay));
                    }
                }
            }
        }
        assert_eq!(asks.len(), 8 * 3 * 2 * 3);
        assert!(every_triple_agrees(&asks) > 500_000);
    }
}

fn ask(start: SimTime, prompt: Vec<Block>, marks: Vec<(usize, Ttl)>) -> Ask {
    Ask {
        key: CacheKey::default(),
        prompt,
        marks,
        start,
        ready: start,
        minimum: 0,
        early_miss: false,
        last: None,
        inherited: 0,
        expected: Expected::Nothing,
    }
}

fn every_triple_agrees(asks: &[(Ask, i64)]) -> u32 {
    let mut triples = 0;
    for (first, a) in asks {
        for (second, b) in asks.iter().filter(|(ask, _)| ask.start >= first.start) {
            for (third, c) in asks.iter().filter(|(ask, _)| ask.start >= second.start) {
                let mut pair = Pair::new(&CachePolicy::default());
                for (ask, delay) in [(first, a), (second, b), (third, c)] {
                    let begins = SimTime::from_micros(ask.start.as_micros() + delay);
                    if let Err(differ) = pair.send(ask, begins, begins) {
                        panic!("{first:?} {a}\n{second:?} {b}\n{third:?} {c}\n{differ}");
                    }
                }
                triples += 1;
            }
        }
    }
    triples
}
