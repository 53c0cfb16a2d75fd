//! Profiles and price books that are part of the program.

/// A profile that is part of the program: its name and text.
pub const PROFILES: [(&str, &str); 3] = [
    ("plain", include_str!("../../scenarios/profiles/plain.toml")),
    ("claude-code@2.1.260", include_str!("../../scenarios/profiles/claude-code@2.1.260.toml")),
    ("claude-code@2.1.332", include_str!("../../scenarios/profiles/claude-code@2.1.332.toml")),
];

/// A price book that is part of the program: its name and text.
pub const PRICE_BOOKS: [(&str, &str); 2] = [
    ("anthropic-2026-11", include_str!("../../scenarios/prices/anthropic-2026-11.toml")),
    ("token-equivalents", include_str!("../../scenarios/prices/token-equivalents.toml")),
];

/// The price book of a scenario that names none.
pub const DEFAULT_PRICES: &str = PRICE_BOOKS[0].0;

/// What a profile request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileChoice {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Whether an older one stands in for the version asked for.
    pub is_older: bool,
}

/// Finds a shipped profile. A version between two known ones takes the older one's rules.
pub fn find_profile(name: &str) -> Option<ProfileChoice> {
    let exact = PROFILES.iter().find(|(known, _)| *known == name);
    if let Some((name, text)) = exact {
        return Some(ProfileChoice { name, text, is_older: false });
    }
    let (client, version) = name.split_once('@')?;
    let asked = version_numbers(version)?;
    let older = PROFILES
        .iter()
        .filter_map(|(known, text)| {
            let (other, version) = known.split_once('@')?;
            let numbers = version_numbers(version)?;
            (other == client && numbers <= asked).then_some((numbers, known, text))
        })
        .max();
    older.map(|(_, name, text)| ProfileChoice { name, text, is_older: true })
}

/// Splits `2.1.260` into its numbers, so that versions compare as numbers.
fn version_numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_between_two_known_ones_takes_the_older_rules() {
        let find = |name| find_profile(name).map(|choice| (choice.name, choice.is_older));
        assert_eq!(find("claude-code@2.1.260"), Some(("claude-code@2.1.260", false)));
        assert_eq!(find("claude-code@2.1.300"), Some(("claude-code@2.1.260", true)));
        assert_eq!(find("claude-code@2.1.1000"), Some(("claude-code@2.1.332", true)));
        assert_eq!(find("claude-code@2.1.100"), None);
        assert_eq!(find("claude-code@newest"), None);
    }
}
