//! The `forkcast` program.
fn main() {}
