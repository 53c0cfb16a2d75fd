//! Token buckets: rate limits with continuous refill.

use crate::units::{SimDuration, SimTime};

const MICROS_PER_MINUTE: i128 = 60_000_000;

/// A bucket that refills continuously, exactly and without floats (semantics R1).
///
/// The level is kept in sixty-millionths of a unit, so that a rate per minute is a whole number per
/// microsecond. Nothing is reserved: who is refused asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    per_minute: i128,
    capacity: i128,
    level: i128,
    updated: SimTime,
}

impl TokenBucket {
    /// Returns a full bucket of `capacity` units that refills at `per_minute` units a minute.
    pub fn new(per_minute: u64, capacity: u64) -> TokenBucket {
        let capacity = i128::from(capacity) * MICROS_PER_MINUTE;
        let updated = SimTime::BEGINNING;
        TokenBucket { per_minute: per_minute.into(), capacity, level: capacity, updated }
    }

    /// Returns how long it takes until `units` can be taken if nothing else arrives; zero: now.
    ///
    /// What is more than the bucket holds can be taken when it is full.
    pub fn wait(&mut self, units: u64, now: SimTime) -> SimDuration {
        self.refill(now);
        let needed = (i128::from(units) * MICROS_PER_MINUTE).min(self.capacity);
        let missing = needed - self.level;
        if missing <= 0 {
            return SimDuration::ZERO;
        }
        let micros = (missing + self.per_minute - 1) / self.per_minute.max(1);
        SimDuration::from_micros(micros.min(i128::from(SimDuration::MAX.as_micros())) as i64)
    }

    /// Takes units; the level may fall below zero.
    pub fn take(&mut self, units: u64, now: SimTime) {
        self.refill(now);
        self.level -= i128::from(units) * MICROS_PER_MINUTE;
    }

    fn refill(&mut self, now: SimTime) {
        if now <= self.updated {
            return;
        }
        if self.updated != SimTime::BEGINNING {
            let elapsed = i128::from(now.since(self.updated).as_micros());
            self.level = (self.level + elapsed * self.per_minute).min(self.capacity);
        }
        self.updated = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_exact() {
        let second = |seconds: i64| SimTime::from_micros(seconds * 1_000_000);
        let mut bucket = TokenBucket::new(60, 2);
        assert_eq!(bucket.wait(2, second(0)), SimDuration::ZERO);
        bucket.take(2, second(0));
        assert_eq!(bucket.wait(1, second(0)), SimDuration::from_seconds(1));
        assert_eq!(bucket.wait(1, second(1)), SimDuration::ZERO);
        bucket.take(5, second(1));
        assert_eq!(bucket.wait(1, second(1)), SimDuration::from_seconds(5));
        // More than it holds: when it is full.
        assert_eq!(bucket.wait(9, second(1)), SimDuration::from_seconds(6));
        assert_eq!(bucket.wait(9, second(100)), SimDuration::ZERO);
    }
}
