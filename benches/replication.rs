//! Benchmarks of whole replications.

fn main() {}
