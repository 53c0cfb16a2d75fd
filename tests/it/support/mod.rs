//! What the tests share.

pub(crate) mod naive;
pub(crate) mod pair;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod world;

use forkcast::orchestration::System;
use forkcast::pricing::PriceBook;
use forkcast::scenario::{DEFAULT_PRICES, LoadInput, Loaded, Problems, load, load_book};

/// The scenario of validation 3.3: P = 100k, a = b = 500, C = 20k, R = 30k, m = 1, o = 500,
/// d = 1,500, report 500, at $5 / $25.
pub(crate) const FORK_OR_FRESH: &str = r#"
profile = "plain"
[session]
model = "claude-opus-5"
context = "100k"
[fanout]
background = false
[task]
output = 500
tool_result = 1500
report = 500
prompt = 500
rediscovery = { tokens = "30k", iterations = 1 }
[startup.fresh]
system = "20k"
[fork]
tail_tokens = 500
"#;

/// Whether tests that are short by default shall take their time.
#[expect(clippy::disallowed_methods, reason = "tests read how long they may take")]
pub(crate) fn is_long() -> bool {
    std::env::var("FORKCAST_LONG").is_ok()
}

/// The price book of a scenario that names none.
pub(crate) fn default_book() -> PriceBook {
    load_book(DEFAULT_PRICES, &mut |_| Err("no files in this test".to_owned()))
        .unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

/// Loads a scenario text without any file besides.
pub(crate) fn try_load(text: &str, sets: &[(&str, &str)]) -> Result<Loaded, Problems> {
    let sets: Vec<(String, String)> =
        sets.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let input = LoadInput { name: "test.toml", text, sets: &sets, levels: &[] };
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
