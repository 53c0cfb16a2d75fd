//! The cases that are part of the program.

use crate::validation::{Case, CaseFile};

/// The files of cases: name and text.
pub const PACK: [(&str, &str); 6] = [
    ("bills", include_str!("../../scenarios/validation/bills.toml")),
    ("cache", include_str!("../../scenarios/validation/cache.toml")),
    ("traces", include_str!("../../scenarios/validation/traces.toml")),
    ("loops", include_str!("../../scenarios/validation/loops.toml")),
    ("fan-out", include_str!("../../scenarios/validation/fan-out.toml")),
    ("limits", include_str!("../../scenarios/validation/limits.toml")),
];

/// Reads all cases, by topic.
///
/// # Panics
/// When a shipped file is not one of cases; a test reads them all.
pub fn pack() -> Vec<(String, Vec<Case>)> {
    let read = |(name, text): &(&str, &str)| {
        let file: CaseFile =
            toml::from_str(text).unwrap_or_else(|error| panic!("cases `{name}`: {error}"));
        assert_eq!(file.format_version, 1, "cases `{name}` are of format version 1");
        (file.topic, file.cases)
    };
    PACK.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_case_has_a_name_of_its_own_and_something_to_check() {
        let mut names = BTreeSet::new();
        for case in pack().into_iter().flat_map(|(_, cases)| cases) {
            assert!(!case.expect.is_empty(), "{} expects nothing", case.id);
            assert!(!case.source.is_empty(), "{} has no source", case.id);
            assert!(names.insert(case.id.clone()), "two cases are named {}", case.id);
        }
        assert!(names.len() >= 60, "{} cases", names.len());
    }
}
