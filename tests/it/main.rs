//! The one integration test binary: behavior as a user of the library or the program sees it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod oracles;
mod provider_rules;
mod small_world;
mod support;
mod theory;
mod traces;
