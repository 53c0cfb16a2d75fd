//! Books and scenarios made of what is outside. Goal: they say what their sources say.
//!
//! Method: a public price map against the shipped book, model by model; a scenario made of a
//! recorded session against that session's own usage.

use std::collections::BTreeMap;

use crate::support::program::{expect, json, root};

/// Prices of the standard rows without conditions, as the CSV of a book lists them.
fn standard_prices(book: &str) -> BTreeMap<String, Vec<String>> {
    let text = expect(0, &["prices", "show", book, "--csv"]).0;
    // The note is the last cell, and no price has a comma.
    let standard = text.lines().skip(1).filter(|line| line.ends_with(','));
    standard
        .map(|line| {
            let mut cells = line.split(',').map(str::to_owned);
            (cells.next().expect("a model"), cells.take(5).collect())
        })
        .collect()
}

#[test]
fn the_public_price_map_agrees_with_the_shipped_book() {
    let map = root().join("../shared/data/prices/litellm-1.110.2-model_prices.json");
    if !map.exists() {
        println!("the_public_price_map_agrees_with_the_shipped_book did not run: no price map");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("litellm.toml");
    let (map, file) = (map.to_str().expect("a UTF-8 path"), file.to_str().expect("a UTF-8 path"));
    expect(0, &["prices", "import", map, "--as-of", "2026-11-30", "-o", file, "-q"]);
    let (theirs, ours) = (standard_prices(file), standard_prices("anthropic-2026-11"));
    let common: Vec<&String> = theirs.keys().filter(|model| ours.contains_key(*model)).collect();
    assert!(common.len() >= 12, "{common:?}");
    for model in common {
        assert_eq!(theirs[model], ours[model], "{model}");
    }
    let fixture = "tests/fixtures/client-transcripts";
    let with = |book: &str| json(&["bill", fixture, "--prices", book])["cost_usd"].clone();
    assert_eq!(with(file), with("anthropic-2026-11"));
}

/// The last request of the recorded run read 12,400 tokens and more; its scenario stands there.
#[test]
fn a_session_goes_on_as_a_scenario() {
    let session = "tests/fixtures/client-transcripts/projects/2.1.332/\
                   b3516b2d-e20e-4ad1-81cd-4983ab447dae.jsonl";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("scenario.toml");
    let file = file.to_str().expect("a UTF-8 path");
    let at = "2026-11-30T20:58:41Z";
    expect(0, &["init", "--from", session, "--at", at, file]);
    let run = json(&["run", file, "--set", "fanout.agent=fork", "--replications", "20"]);
    assert_eq!(run["profile"], "claude-code@2.1.332");
    let text = crate::support::program::read(file);
    // 13,423 read and 994 written, sent at 20:57:41.077.
    for stated in ["context = 14417", "age = \"59s\"", "model = \"claude-opus-5-5\""] {
        assert!(text.contains(stated), "{text}");
    }
    assert!(text.contains("ttl = { main = \"5m\", subagent = \"5m\" }"), "{text}");
    expect(1, &["init", "--from", session, "--at", "2026-11-30T20:00:00Z", "--stdout"]);
    expect(1, &["init", "--from", session, "--at", at, file]);
}
