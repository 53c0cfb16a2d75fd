//! The library's cache and the naive one side by side: both answer each request and must agree.

use std::collections::BTreeMap;

use forkcast::cache::{
    Breakpoint, CacheKey, CachePolicy, CacheRequest, Category, LastPrompt, PrefixId, PromptCache,
};
use forkcast::units::{SimTime, Tokens};

use super::naive::{Answer, Ask, Block, Charge, Naive};

/// Both caches under one policy.
pub(crate) struct Pair {
    real: PromptCache,
    naive: Naive,
    interned: BTreeMap<(PrefixId, u16), PrefixId>,
}

impl Pair {
    pub(crate) fn new(policy: &CachePolicy) -> Pair {
        let (real, naive) = (PromptCache::new(policy), Naive::new(policy));
        Pair { real, naive, interned: BTreeMap::new() }
    }

    /// Returns the prefixes of a prompt, the empty one first; equal chains get equal prefixes.
    fn prefixes(&mut self, key: CacheKey, prompt: &[Block]) -> Vec<PrefixId> {
        let tree = self.real.tree_mut();
        let mut prefixes = vec![tree.root(key)];
        for block in prompt {
            let parent = prefixes[prefixes.len() - 1];
            let prefix = self.interned.entry((parent, block.id)).or_insert_with(|| {
                tree.append(parent, Tokens::new(block.tokens), block.kind, block.startup)
            });
            prefixes.push(*prefix);
        }
        prefixes
    }

    /// Lets both caches account and commit a request whose response begins and ends as stated.
    ///
    /// # Errors
    /// With both answers, when they differ.
    pub(crate) fn send(
        &mut self,
        ask: &Ask,
        begins: SimTime,
        ends: SimTime,
    ) -> Result<Answer, String> {
        let prefixes = self.prefixes(ask.key, &ask.prompt);
        let breakpoints: Vec<Breakpoint> =
            ask.marks.iter().map(|(at, ttl)| Breakpoint { at: prefixes[*at], ttl: *ttl }).collect();
        let last = ask.last.as_ref().map(|last| {
            let before = self.prefixes(last.key, &last.prompt);
            LastPrompt { prompt: before[before.len() - 1], cached: Tokens::new(last.cached) }
        });
        let request = CacheRequest {
            prompt: prefixes[ask.prompt.len()],
            breakpoints: &breakpoints,
            start: ask.start,
            ready: ask.ready,
            minimum: Tokens::new(ask.minimum),
            early_miss: ask.early_miss,
            last,
            inherited: Tokens::new(ask.inherited),
            expected: ask.expected,
        };
        let accounting = self.real.lookup(&request);
        let mut causes = BTreeMap::new();
        for segment in self.real.segments() {
            let charge = match segment.category {
                Category::Uncached => Charge::Uncached,
                Category::Write5m => Charge::Write5m,
                Category::Write1h => Charge::Write1h,
            };
            *causes.entry((segment.cause, charge)).or_default() += segment.tokens;
        }
        let split = accounting.split;
        let real = Answer {
            hit: accounting.hit.and_then(|hit| prefixes.iter().position(|prefix| *prefix == hit)),
            read: split.read.get(),
            write_1h: split.write_1h.get(),
            write_5m: split.write_5m.get(),
            uncached: split.uncached.get(),
            cached: accounting.cached.get(),
            held: accounting.held.get(),
            is_miss: accounting.is_miss,
            causes,
        };
        let naive = self.naive.answer(ask);
        if real != naive {
            return Err(format!("the cache says {real:?}\nnaive says     {naive:?}"));
        }
        let parts = split.read + split.write_1h + split.write_5m + split.uncached;
        assert_eq!(parts, self.real.tree().tokens(request.prompt), "parts must sum to the prompt");
        let processed: u64 = real.causes.values().sum();
        assert_eq!(processed, split.processed().get(), "causes must sum to the processed tokens");
        self.real.commit(&request, &accounting, begins, ends);
        self.naive.commit(ask, &naive, begins, ends);
        Ok(real)
    }
}
