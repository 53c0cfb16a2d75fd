//! Time of one replication.

fn main() {}
