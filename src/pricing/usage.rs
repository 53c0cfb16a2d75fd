//! Token counts of a request in disjoint parts.

use std::fmt;
use std::ops::{Add, AddAssign};

use serde::Serialize;

use crate::units::Tokens;

/// What tokens are charged as; each category has its own price (semantics T2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Prompt tokens processed without a cache, at the base price.
    Input,
    /// Prompt tokens written to the cache for 5 minutes.
    #[serde(rename = "cache_write_5m")]
    CacheWrite5m,
    /// Prompt tokens written to the cache for 1 hour.
    #[serde(rename = "cache_write_1h")]
    CacheWrite1h,
    /// Prompt tokens read from the cache.
    CacheRead,
    /// Tokens produced, thinking included.
    Output,
}

impl Category {
    /// Every category, in the order of a price list.
    pub const ALL: [Category; 5] = [
        Category::Input,
        Category::CacheWrite5m,
        Category::CacheWrite1h,
        Category::CacheRead,
        Category::Output,
    ];

    /// Returns the key of this category's price in a price book.
    pub const fn price_key(self) -> &'static str {
        match self {
            Category::Input => "input_usd_per_mtok",
            Category::CacheWrite5m => "cache_write_5m_usd_per_mtok",
            Category::CacheWrite1h => "cache_write_1h_usd_per_mtok",
            Category::CacheRead => "cache_read_usd_per_mtok",
            Category::Output => "output_usd_per_mtok",
        }
    }
}

impl fmt::Display for Category {
    /// Writes the name a person uses: `5-minute cache write`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Category::Input => "input",
            Category::CacheWrite5m => "5-minute cache write",
            Category::CacheWrite1h => "1-hour cache write",
            Category::CacheRead => "cache read",
            Category::Output => "output",
        })
    }
}

/// Tokens of one request, or of a sum of requests, in disjoint parts.
///
/// The four parts of the prompt sum to the prompt, always (semantics A1). A provider's
/// `input_tokens` is only the uncached part (A2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Prompt tokens neither read from nor written to the cache.
    pub uncached: Tokens,
    /// Prompt tokens written to the cache for 5 minutes.
    pub cache_write_5m: Tokens,
    /// Prompt tokens written to the cache for 1 hour.
    pub cache_write_1h: Tokens,
    /// Prompt tokens read from the cache.
    pub cache_read: Tokens,
    /// Tokens produced.
    pub output: Tokens,
}

impl Usage {
    /// Returns the size of the prompt: the sum of its four parts (semantics A2).
    pub fn prompt(&self) -> Tokens {
        self.uncached + self.cache_write_5m + self.cache_write_1h + self.cache_read
    }

    /// Returns the tokens of one category.
    pub const fn tokens(&self, category: Category) -> Tokens {
        match category {
            Category::Input => self.uncached,
            Category::CacheWrite5m => self.cache_write_5m,
            Category::CacheWrite1h => self.cache_write_1h,
            Category::CacheRead => self.cache_read,
            Category::Output => self.output,
        }
    }
}

impl Add for Usage {
    type Output = Usage;
    fn add(self, other: Usage) -> Usage {
        Usage {
            uncached: self.uncached + other.uncached,
            cache_write_5m: self.cache_write_5m + other.cache_write_5m,
            cache_write_1h: self.cache_write_1h + other.cache_write_1h,
            cache_read: self.cache_read + other.cache_read,
            output: self.output + other.output,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_the_sum_of_its_parts_without_the_output() {
        // F: 115,771 = 2 + 2,762 + 104,528 + 8,479, the last being output.
        let usage = Usage {
            uncached: Tokens::new(2),
            cache_write_5m: Tokens::new(2_762),
            cache_read: Tokens::new(104_528),
            output: Tokens::new(8_479),
            ..Usage::default()
        };
        assert_eq!(usage.prompt(), Tokens::new(107_292));
        assert_eq!((usage + usage).prompt(), Tokens::new(214_584));
        let sum: Tokens = Category::ALL.into_iter().map(|part| usage.tokens(part)).sum();
        assert_eq!(sum, Tokens::new(115_771));
    }
}
