//! Children of one type that share a prefix of `S` tokens (validation 3.4): who writes, who reads.

use forkcast::cache::{
    BlockKind, Breakpoint, CacheKey, CachePolicy, CacheRequest, Expected, PromptCache, Ttl,
};
use forkcast::units::{SimTime, Tokens};

/// Written and read tokens of `n` children that start at the given instants, in microseconds, and
/// whose responses begin `visible` later.
fn fan_out(size: u64, starts: &[i64], visible: i64) -> (u64, u64) {
    let mut cache = PromptCache::new(&CachePolicy::default());
    let root = cache.tree_mut().root(CacheKey::default());
    let prompt = cache.tree_mut().append(root, Tokens::new(size), BlockKind::System, true);
    let (mut written, mut read) = (0, 0);
    for start in starts {
        let start = SimTime::from_micros(*start);
        let request = CacheRequest {
            prompt,
            breakpoints: &[Breakpoint { at: prompt, ttl: Ttl::FiveMinutes }],
            start,
            ready: start,
            minimum: Tokens::new(512),
            early_miss: false,
            last: None,
            inherited: Tokens::ZERO,
            expected: Expected::Nothing,
        };
        let accounting = cache.lookup(&request);
        let begins = SimTime::from_micros(start.as_micros() + visible);
        cache.commit(&request, &accounting, begins, begins);
        written += accounting.split.write_5m.get();
        read += accounting.split.read.get();
    }
    (written, read)
}

/// Token equivalents at writes of 1.25 and reads of 0.1, times a hundred.
fn hundredths((written, read): (u64, u64)) -> u64 {
    125 * written + 10 * read
}

/// All at once each pay `w S`; after the first response begins, all but one pay `r S`.
#[test]
fn simultaneous_and_staggered_children() {
    let rows = [
        (16, 20_000, 400_000, 55_000),
        (73, 47_700, 4_352_625, 403_065),
        (8, 20_000, 200_000, 39_000),
        (8, 50_000, 500_000, 97_500),
    ];
    for (children, size, simultaneous, staggered) in rows {
        let together = vec![0; children];
        assert_eq!(hundredths(fan_out(size, &together, 2_000_000)), simultaneous * 100);
        let mut held = vec![2_000_000; children];
        held[0] = 0;
        assert_eq!(hundredths(fan_out(size, &held, 2_000_000)), staggered * 100);
    }
}

/// A launch every `delta` with visibility `v`: child `i` writes when `i = 0` or `i delta < v`.
#[test]
fn children_launched_one_after_another() {
    let rows = [(500, 3_200, 7, 885), (1_000, 3_000, 3, 425), (4_000, 3_000, 1, 195)];
    for (delta_ms, visible_ms, writers, hundredths_of_size) in rows {
        let starts: Vec<i64> = (0..8).map(|child| child * delta_ms * 1_000).collect();
        let (written, read) = fan_out(20_000, &starts, visible_ms * 1_000);
        assert_eq!((written, read), (writers * 20_000, (8 - writers) * 20_000));
        assert_eq!(hundredths((written, read)), hundredths_of_size * 20_000);
    }
}
