//! Requests whose usage a provider has reported: explained instead of predicted, by the same tests.

use crate::cache::store::Bounds;
use crate::cache::{Accounting, Breakpoint, CachePolicy, CacheRequest, PromptCache, Split};
use crate::units::{SimTime, Tokens};

impl PromptCache {
    /// Returns a cache that follows another policy, with the same prompts and no entries. Prompts
    /// keep their numbers, so that what was built once can be replayed under many policies.
    #[must_use]
    pub fn emptied(&self, policy: &CachePolicy) -> PromptCache {
        let mut other = PromptCache::new(policy);
        other.tree = self.tree.without_entries();
        other
    }

    /// Accounts a request whose parts the provider reported, and finds the causes of what was
    /// processed by the same tests as [`PromptCache::lookup`].
    ///
    /// What the rules would have read and the provider did not is an early miss (semantics E8).
    ///
    /// # Panics
    /// When the parts do not sum to the prompt.
    pub fn explain(&mut self, request: &CacheRequest<'_>, recorded: &Split) -> Accounting {
        let end = self.end(request.prompt);
        let read = recorded.read.get();
        let write_1h = read + recorded.write_1h.get();
        let last_write = write_1h + recorded.write_5m.get();
        assert_eq!(last_write + recorded.uncached.get(), end, "the parts must sum to the prompt");
        let within = self.tree.within(request.prompt, recorded.read);
        let hit = (self.depth(within) > 0).then_some(within);
        let found = self.find_hit(request);
        let early_miss = found.is_some_and(|found| self.end(found) > read);
        let request = CacheRequest { early_miss, ..*request };
        let bounds = Bounds { read, plain: read, write_1h, last_write, end };
        self.attribute(&request, hit, found, &bounds);
        self.conclude(&request, hit, &bounds)
    }

    /// As [`PromptCache::lookup`], where a provider is known to have read at most so many tokens of
    /// what lived: the rest is an early miss (semantics E8).
    pub fn lookup_at_most(&mut self, request: &CacheRequest<'_>, most: Tokens) -> Accounting {
        let found = self.find_hit(request);
        if found.is_none_or(|found| self.end(found) <= most.get()) {
            return self.lookup(request);
        }
        let within = self.tree.within(request.prompt, most);
        let hit = (self.depth(within) > 0).then_some(within);
        let request = CacheRequest { early_miss: true, ..*request };
        let mut bounds = self.bounds(&request, hit);
        (bounds.read, bounds.plain) = (most.get(), bounds.plain.max(most.get()));
        bounds.write_1h = bounds.write_1h.max(most.get());
        bounds.last_write = bounds.last_write.max(most.get());
        self.attribute(&request, hit, found, &bounds);
        self.conclude(&request, hit, &bounds)
    }

    /// Puts an entry that was written or kept alive by someone else: by a request that is not among
    /// those replayed.
    pub fn place(&mut self, at: Breakpoint, when: SimTime) {
        self.write(at, when, when, when);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::{BlockKind, CacheKey, Category, Cause, Expected, LastPrompt, Segment, Ttl};

    const TEN: i64 = 600_000_000;

    /// A conversation of 10,000 tokens, then one of 500 more, `pause` microseconds later.
    fn second_request(pause: i64, recorded: [u64; 4]) -> (Accounting, Vec<Segment>) {
        let mut cache = PromptCache::new(&CachePolicy::default());
        let root = cache.tree_mut().root(CacheKey::default());
        let mut append = |at, tokens| {
            cache.tree_mut().append(at, Tokens::new(tokens), BlockKind::UserText, true)
        };
        let first = append(root, 10_000);
        let second = append(first, 500);
        let marks = [first, second].map(|at| [Breakpoint { at, ttl: Ttl::FiveMinutes }]);
        let mut request = CacheRequest {
            prompt: first,
            breakpoints: &marks[0],
            start: SimTime::ZERO,
            ready: SimTime::ZERO,
            minimum: Tokens::ZERO,
            early_miss: false,
            last: None,
            inherited: Tokens::ZERO,
            expected: Expected::Nothing,
        };
        let split = |[read, write_1h, write_5m, uncached]: [u64; 4]| Split {
            read: Tokens::new(read),
            write_1h: Tokens::new(write_1h),
            write_5m: Tokens::new(write_5m),
            uncached: Tokens::new(uncached),
        };
        let found = cache.explain(&request, &split([0, 0, 10_000, 0]));
        cache.commit(&request, &found, SimTime::ZERO, SimTime::ZERO);
        request.prompt = second;
        request.breakpoints = &marks[1];
        request.start = SimTime::from_micros(pause);
        request.ready = request.start;
        request.last = Some(LastPrompt { prompt: first, cached: Tokens::new(10_000) });
        let found = cache.explain(&request, &split(recorded));
        (found, cache.segments().to_vec())
    }

    fn segment(cause: Cause, tokens: u64) -> Segment {
        Segment { cause, category: Category::Write5m, tokens }
    }

    #[test]
    fn a_recorded_read_is_taken_as_it_is() {
        let (found, segments) = second_request(TEN, [10_000, 0, 500, 0]);
        assert_eq!(segments, [segment(Cause::NewContent, 500)]);
        assert!(!found.is_miss);
    }

    #[test]
    fn what_was_not_read_has_expired_or_was_missed() {
        let cases = [(TEN, Cause::Expired), (1, Cause::EarlyMiss)];
        for (pause, cause) in cases {
            let (found, segments) = second_request(pause, [0, 0, 10_500, 0]);
            let expected = [segment(cause, 10_000), segment(Cause::NewContent, 500)];
            assert_eq!(segments, expected);
            assert!(found.is_miss);
        }
    }

    #[test]
    fn a_partial_read_leaves_the_rest_to_its_cause() {
        let (found, segments) = second_request(TEN, [4_000, 0, 6_500, 0]);
        assert_eq!(segments, [segment(Cause::Expired, 6_000), segment(Cause::NewContent, 500)]);
        assert_eq!(found.split.read, Tokens::new(4_000));
    }
}
