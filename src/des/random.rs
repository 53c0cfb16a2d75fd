//! Keyed counter streams: a random number is a function of a key and a counter.
//!
//! A stream is never consumed in the order of events. Whoever draws says which stream (semantics
//! X2: seed, replication, entity, purpose) and which number of it, so two variants of a scenario
//! that do the same work draw the same numbers, whatever else happens in them.
//! Every variate takes exactly one `u64`.
//!
//! The output function is `SplitMix64` (Steele, Lea, Flood 2014) read at a position: a Weyl
//! sequence through Stafford's 13th mixer. It is not for cryptography.

use std::convert::Infallible;

use rand::TryRng;

/// Increment of the Weyl sequence: 2^64 divided by the golden ratio, odd.
const GOLD: u64 = 0x9E37_79B9_7F4A_7C15;
/// Increment while a key is hashed; another one, so that no key is a draw of a shorter key.
const ABSORB: u64 = 0xD1B5_4A32_D192_ED03;

/// What identifies a random stream (semantics X2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamKey {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u64,
    /// Number of the task, agent or other thing that draws.
    pub entity: u64,
    /// What is drawn: one number for each kind of variate.
    pub purpose: u64,
}

impl StreamKey {
    /// Returns the key of the four parts.
    pub const fn new(seed: u64, replication: u64, entity: u64, purpose: u64) -> StreamKey {
        StreamKey { seed, replication, entity, purpose }
    }

    /// Returns the stream of this key: each part in turn is mixed into the hash of those before.
    #[inline]
    pub const fn stream(self) -> RandomStream {
        EntityStreams::new(self.seed, self.replication, self.entity).purpose(self.purpose)
    }
}

/// All streams of one entity in one replication, hashed as far as they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityStreams {
    hash: u64,
    /// What the bits are xored with: nothing, or all ones in mirrored streams.
    mirror: u64,
}

impl EntityStreams {
    /// Returns the streams of an entity.
    #[inline]
    pub const fn new(seed: u64, replication: u64, entity: u64) -> EntityStreams {
        let hash = absorb(mix64(seed.wrapping_add(ABSORB)), replication);
        EntityStreams { hash: absorb(hash, entity), mirror: 0 }
    }

    /// Returns the antithetic streams: where these have `u` of the unit interval, those have
    /// `1 - u`.
    ///
    /// All bits are inverted. That maps the 2^64 numbers onto themselves, so a mirrored variate has
    /// the same law, whatever is made of the bits.
    #[inline]
    #[must_use]
    pub const fn mirrored(self) -> EntityStreams {
        EntityStreams { mirror: !self.mirror, ..self }
    }

    /// Returns the stream of one purpose: the same as that of the whole [`StreamKey`].
    #[inline]
    pub const fn purpose(self, purpose: u64) -> RandomStream {
        RandomStream { key: absorb(self.hash, purpose), mirror: self.mirror }
    }
}

/// A stream of random numbers that are read by position. Copying it does not advance anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomStream {
    key: u64,
    mirror: u64,
}

impl RandomStream {
    /// Returns number `counter` of the stream: 64 uniform bits.
    #[inline]
    pub const fn at(&self, counter: u64) -> u64 {
        mix64(self.key.wrapping_add(counter.wrapping_add(1).wrapping_mul(GOLD))) ^ self.mirror
    }

    /// Returns a generator that reads the stream from its first number on.
    pub const fn cursor(self) -> StreamCursor {
        StreamCursor { stream: self, counter: 0 }
    }
}

/// A generator of the `rand` crate that reads one stream in sequence.
#[derive(Clone, Debug)]
pub struct StreamCursor {
    stream: RandomStream,
    counter: u64,
}

impl TryRng for StreamCursor {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|bits| (bits >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let bits = self.stream.at(self.counter);
        self.counter = self.counter.wrapping_add(1);
        Ok(bits)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

/// Mixes one part of a key into the hash of the parts before it.
const fn absorb(hash: u64, part: u64) -> u64 {
    mix64((hash ^ part).wrapping_add(ABSORB))
}

/// Stafford's 13th variant of the 64-bit `MurmurHash3` finalizer, a bijection.
const fn mix64(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    //! Known answers, then two checks that the numbers are uniform and that streams whose keys
    //! differ in one part are unrelated, at fixed seeds.

    use rand::Rng;

    use super::*;

    const DRAWS: u64 = 1 << 16;

    /// Published `SplitMix64` outputs for seed 1234567 (Rosetta Code, "Pseudo-random
    /// numbers/Splitmix64").
    #[test]
    fn a_stream_is_splitmix64() {
        let stream = RandomStream { key: 1_234_567, mirror: 0 };
        let known = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let drawn: Vec<u64> = (0..5).map(|counter| stream.at(counter)).collect();
        assert_eq!(drawn, known);
    }

    #[test]
    fn a_cursor_reads_the_stream_in_sequence() {
        let stream = StreamKey::new(1, 2, 3, 4).stream();
        let mut cursor = stream.cursor();
        assert_eq!(cursor.next_u64(), stream.at(0));
        assert_eq!(u64::from(cursor.next_u32()), stream.at(1) >> 32);
        let mut bytes = [0; 11];
        cursor.fill_bytes(&mut bytes);
        assert_eq!(bytes[..8], stream.at(2).to_le_bytes());
        assert_eq!(bytes[8..], stream.at(3).to_le_bytes()[..3]);
    }

    #[test]
    fn mirrored_streams_are_the_complement() {
        let streams = EntityStreams::new(1, 2, 3);
        let (plain, mirrored) = (streams.purpose(4), streams.mirrored().purpose(4));
        assert!((0..100).all(|counter| mirrored.at(counter) == u64::MAX - plain.at(counter)));
        assert_eq!(streams.mirrored().mirrored(), streams);
    }

    /// Worked out by an independent implementation. A change of these changes every result of
    /// every seed.
    #[test]
    fn keys_are_pinned() {
        assert_eq!(StreamKey::new(1, 0, 0, 0).stream().at(0), 2_953_658_501_714_313_615);
        assert_eq!(StreamKey::new(1, 2, 3, 4).stream().at(5), 11_089_688_566_541_460_199);
    }

    /// Chi-square of 65,536 draws in 256 bins of the top and of the lowest byte, 255 degrees of
    /// freedom: mean 255, standard deviation 22.6; 330.5 is exceeded with probability 0.001.
    #[test]
    fn bytes_are_equally_likely() {
        for key in [StreamKey::new(1, 0, 0, 0), StreamKey::new(1, 7, 2, 3)] {
            let stream = key.stream();
            for shift in [0, 56] {
                let mut bins = [0.0_f64; 256];
                for counter in 0..DRAWS {
                    bins[usize::from((stream.at(counter) >> shift) as u8)] += 1.0;
                }
                let expected = DRAWS as f64 / 256.0;
                let squares = bins.iter().map(|n| (n - expected) * (n - expected));
                let statistic = squares.sum::<f64>() / expected;
                assert!(statistic < 330.5, "{key:?} byte at {shift}: {statistic}");
            }
        }
    }

    /// Correlation of n pairs of independent uniforms has standard error 1/sqrt(n): |z| < 4.
    #[test]
    fn neighboring_streams_are_unrelated() {
        let centered = |bits: u64| (bits >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        let first = StreamKey::new(1, 1, 1, 1).stream();
        let others = [(2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 2, 1), (1, 1, 1, 2), (1, 1, 1, 0)];
        for (seed, replication, entity, purpose) in others {
            let second = StreamKey::new(seed, replication, entity, purpose).stream();
            for lag in [0, 1] {
                let product = |i| centered(first.at(i)) * centered(second.at(i + lag));
                let correlation = (0..DRAWS).map(product).sum::<f64>() * 12.0 / DRAWS as f64;
                let z = correlation * (DRAWS as f64).sqrt();
                assert!(z.abs() < 4.0, "{seed} {replication} {entity} {purpose} lag {lag}: {z}");
            }
        }
    }

    /// Across replications the first draw must look like one uniform sample: |z| < 4 of its mean,
    /// standard error sqrt(1/12n).
    #[test]
    fn first_draws_of_replications_are_uniform() {
        let draw = |replication| {
            let bits = StreamKey::new(1, replication, 0, 0).stream().at(0);
            (bits >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mean = (0..DRAWS).map(draw).sum::<f64>() / DRAWS as f64;
        let z = (mean - 0.5) * (12.0 * DRAWS as f64).sqrt();
        assert!(z.abs() < 4.0, "{z}");
    }
}
