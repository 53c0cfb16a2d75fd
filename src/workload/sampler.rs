//! Compiled distributions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::des::{Family, QuantileTable, RandomStream};
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

    /// Returns the variate as the nearest whole number of tokens, at most [`Tokens::MAX`].
    #[inline]
    pub fn sample_tokens(&self, stream: RandomStream, counter: u64) -> Tokens {
        Tokens::new(nearest(self.sample(stream, counter)).min(Tokens::MAX.get()))
    }

    /// Returns the variate as the nearest whole microsecond, at most [`SimDuration::MAX`].
    #[inline]
    pub fn sample_duration(&self, stream: RandomStream, counter: u64) -> SimDuration {
        let micros = nearest(self.sample(stream, counter)).min(i64::MAX as u64) as i64;
        SimDuration::from_micros(micros).min(SimDuration::MAX)
    }

    /// Returns the variate as the nearest whole number from 1 to `u32::MAX`.
    #[inline]
    pub fn sample_count_at_least_one(&self, stream: RandomStream, counter: u64) -> u32 {
        nearest(self.sample(stream, counter)).clamp(1, u64::from(u32::MAX)) as u32
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

/// Rounds half up; a cast saturates, so nothing wraps.
#[inline]
fn nearest(value: f64) -> u64 {
    (value + 0.5) as u64
}
