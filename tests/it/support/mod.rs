//! What the tests share.

pub(crate) mod naive;
pub(crate) mod pair;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod world;

use forkcast::orchestration::System;
use forkcast::pricing::PriceBook;
use forkcast::scenario::{DEFAULT_PRICES, LoadInput, Loaded, Problems, load, load_book};

/// The price book of a scenario that names none.
pub(crate) fn default_book() -> PriceBook {
    load_book(DEFAULT_PRICES, &mut |_| Err("no files in this test".to_owned()))
        .unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

/// Loads a scenario text without any file besides.
pub(crate) fn try_load(text: &str, sets: &[(&str, &str)]) -> Result<Loaded, Problems> {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let input = LoadInput { name: "test.toml", text, sets: &sets };
    load(&input, &mut |_| Err("no files in this test".to_owned()))
}

/// Loads a scenario text that must be right.
pub(crate) fn scenario(text: &str, sets: &[(&str, &str)]) -> Loaded {
    try_load(text, sets).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

/// Runs replication 1 of a scenario's base variant.
pub(crate) fn run(text: &str, sets: &[(&str, &str)]) -> System {
    let loaded = scenario(text, sets);
    let mut system = System::new(loaded.base.plan, 1);
    system.run(1);
    system
}
