//! Compiled distributions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::des::whole::nearest;
use crate::des::{Family, QuantileTable, RandomStream, WholeLimits, WholeMoments};
use crate::units::{SimDuration, Tokens};

/// A distribution made ready to draw from, in the base unit of its quantity.
///
/// Cheap to clone and shared between threads. A variate depends on the stream and the counter
/// alone; apart from a sequence, it rises with the stream's bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Sampler {
    /// Always the same; no number is drawn.
    Constant(f64),
    /// The value at the counter, the last one repeated; no number is drawn.
    Sequence(Arc<[f64]>),
    /// Equally likely values in rising order.
    Empirical(Arc<[f64]>),
    /// Uniform from `low` to `low + width`.
    Uniform {
        /// Lower end.
        low: f64,
        /// Length of the interval.
        width: f64,
    },
    /// Anything else, by its quantile function.
    Table(Arc<QuantileTable>),
}

impl Sampler {
    /// Returns variate number `counter` of a stream.
    #[inline]
    pub fn sample(&self, stream: RandomStream, counter: u64) -> f64 {
        match self {
            Sampler::Constant(value) => *value,
            Sampler::Sequence(values) => values[(counter as usize).min(values.len() - 1)],
            Sampler::Empirical(values) => {
                let product = u128::from(stream.at(counter)) * values.len() as u128;
                values[(product >> u64::BITS) as usize]
            }
            Sampler::Uniform { low, width } => {
                let part = ((stream.at(counter) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64;
                low + width * part
            }
            Sampler::Table(table) => table.sample(stream.at(counter)),
        }
    }

    /// Limits of [`Sampler::sample_tokens`].
    pub const TOKENS: WholeLimits = (0, Tokens::MAX.get());
    /// Limits of [`Sampler::sample_count`].
    pub const COUNT: WholeLimits = (0, u32::MAX as u64);
    /// Limits of [`Sampler::sample_count_at_least_one`].
    pub const COUNT_AT_LEAST_ONE: WholeLimits = (1, u32::MAX as u64);

    /// Returns the variate as the nearest whole number of tokens, at most [`Tokens::MAX`].
    #[inline]
    pub fn sample_tokens(&self, stream: RandomStream, counter: u64) -> Tokens {
        Tokens::new(nearest(self.sample(stream, counter)).min(Self::TOKENS.1))
    }

    /// Returns the variate as the nearest whole microsecond, at most [`SimDuration::MAX`].
    #[inline]
    pub fn sample_duration(&self, stream: RandomStream, counter: u64) -> SimDuration {
        let micros = nearest(self.sample(stream, counter)).min(i64::MAX as u64) as i64;
        SimDuration::from_micros(micros).min(SimDuration::MAX)
    }

    /// Returns the variate as the nearest whole number from 0 to `u32::MAX`.
    #[inline]
    pub fn sample_count(&self, stream: RandomStream, counter: u64) -> u32 {
        nearest(self.sample(stream, counter)).min(Self::COUNT.1) as u32
    }

    /// Returns the variate as the nearest whole number from 1 to `u32::MAX`.
    #[inline]
    pub fn sample_count_at_least_one(&self, stream: RandomStream, counter: u64) -> u32 {
        self.sample_count(stream, counter).max(1)
    }

    /// Returns mean and mean square of variate number `counter`, rounded to a whole number within
    /// limits: those of what the sampler gives, not of the law that was stated.
    pub fn whole_moments(&self, counter: u64, limits: WholeLimits) -> WholeMoments {
        match self {
            Sampler::Constant(value) => WholeMoments::of_value(*value, limits),
            Sampler::Sequence(values) => {
                let value = values[(counter as usize).min(values.len() - 1)];
                WholeMoments::of_value(value, limits)
            }
            Sampler::Empirical(values) => WholeMoments::of_values(values, limits),
            Sampler::Uniform { low, width } => WholeMoments::of_line(*low, low + width, limits),
            Sampler::Table(table) => table.whole_moments(limits),
        }
    }

    /// Returns whether the variate depends on its number.
    pub fn is_sequence(&self) -> bool {
        matches!(self, Sampler::Sequence(_))
    }

    /// Returns below which power the mean of the variate's powers is finite
    /// ([`Family::tail_index`]).
    pub fn tail_index(&self) -> f64 {
        match self {
            Sampler::Table(table) => table.family().tail_index(),
            Sampler::Constant(_)
            | Sampler::Sequence(_)
            | Sampler::Empirical(_)
            | Sampler::Uniform { .. } => f64::INFINITY,
        }
    }
}

/// Most tables that are kept for another plan: 16 MiB.
const TABLES_MAX: usize = 256;

/// Quantile tables by their law, so that plans which share a law share its table.
///
/// A table takes milliseconds to make, as much as tens of replications.
#[derive(Debug, Default)]
pub struct Tables {
    by_law: Mutex<BTreeMap<String, Arc<QuantileTable>>>,
}

impl Tables {
    /// Returns the table of a family, made now if it is not there.
    pub fn get(&self, family: Family) -> Arc<QuantileTable> {
        let law = format!("{family:?}");
        let known = self.lock().get(&law).cloned();
        known.unwrap_or_else(|| {
            let table = Arc::new(QuantileTable::new(family));
            let mut tables = self.lock();
            if tables.len() >= TABLES_MAX {
                tables.clear();
            }
            tables.insert(law, Arc::clone(&table));
            table
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<QuantileTable>>> {
        self.by_law.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
