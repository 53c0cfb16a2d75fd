//! The manifest of a sweep: everything that its results depend on.

use std::fs;
use std::path::Path;

use forkcast::experiment::StopRule;
use forkcast::scenario::Factor;
use serde::Serialize;
use serde_json::{Value, json};

use super::failure::Failure;

/// Name of the file.
pub(super) const MANIFEST: &str = "manifest.json";

/// Keys that two parts of one sweep need not share.
const OWN_KEYS: [&str; 3] = ["shard", "reproduce", "scenario"];

/// A manifest, which is written level by level, for there may be a million.
#[derive(Debug, Serialize)]
pub(super) struct Manifest<'a> {
    pub(super) format_version: u32,
    pub(super) program: String,
    pub(super) scenario: String,
    pub(super) scenario_sha256: String,
    pub(super) inputs: Vec<Input>,
    pub(super) set: Vec<String>,
    pub(super) seed: u64,
    pub(super) stop: Value,
    pub(super) factors: &'a [Factor],
    pub(super) design: &'static str,
    pub(super) points: usize,
    pub(super) variants: Vec<&'a str>,
    pub(super) raw: bool,
    pub(super) shard: Option<ShardOf>,
    pub(super) reproduce: String,
}

/// A text besides the scenario: a profile, a price book, a file of data.
#[derive(Debug, Serialize)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) sha256: String,
}

/// The shard, counted from 1, and the number of shards.
#[derive(Debug, Serialize)]
pub(super) struct ShardOf {
    pub(super) index: usize,
    pub(super) count: usize,
}

/// Returns when replications end, as a manifest says it.
pub(super) fn stop(stop: StopRule) -> Value {
    match stop {
        StopRule::Count(count) => json!({ "replications": count }),
        StopRule::Precision { relative, count_min, count_max } => json!({
            "precision": relative,
            "replications_min": count_min,
            "replications_max": count_max,
        }),
    }
}

/// Reads the manifest of a folder.
pub(super) fn read_manifest(folder: &Path) -> Result<Value, Failure> {
    let path = folder.join(MANIFEST);
    let text = fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::message(format!("`{}` is damaged: {error}", path.display())))
}

/// Returns a manifest as it would be read from its file.
pub(super) fn read_again(manifest: &impl Serialize) -> Result<Value, Failure> {
    let text = serde_json::to_string(manifest);
    text.and_then(|text| serde_json::from_str(&text))
        .map_err(|error| Failure::message(error.to_string()))
}

/// Returns where two manifests are not of one sweep, in words.
pub(super) fn differences(old: &Value, new: &Value) -> Vec<String> {
    let mut keys: Vec<&String> =
        new.as_object().into_iter().flatten().map(|(key, _)| key).collect();
    keys.retain(|key| !OWN_KEYS.contains(&key.as_str()) && old[key.as_str()] != new[key.as_str()]);
    let shown = |value: &Value| -> String {
        let text = value.to_string();
        let mut short: String = text.chars().take(200).collect();
        if short.len() < text.len() {
            short += "...";
        }
        short
    };
    keys.iter()
        .map(|key| {
            let key = key.as_str();
            format!("{key}: {} there, {} now", shown(&old[key]), shown(&new[key]))
        })
        .collect()
}
