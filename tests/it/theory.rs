//! Goal: what has a closed form comes out of the simulation (validation cases 2.4 and 3.4).
//!
//! Method: long runs at fixed seeds. A statistic agrees when it lies within four standard errors of
//! its closed form (chance of a false alarm 6e-5 a case); the standard error is either binomial,
//! `sqrt(p (1 - p) / n)`, where hits are independent, or that of a ratio over independent cycles.
//! What has no chance in it is compared exactly.

mod controls;
mod fan_out;
mod lifetimes;
