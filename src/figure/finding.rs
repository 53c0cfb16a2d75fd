//! What the data say, in one sentence: the title of a figure that has none.

use crate::figure::{Chart, Panel};

/// Returns the finding of a figure's panels.
pub(super) fn of(panels: &[Panel]) -> String {
    let findings: Vec<String> = panels.iter().map(|panel| panel.chart.finding()).collect();
    match &findings[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            format!("{first}, in every panel")
        }
        [first, .., last] => {
            let heading = |at: usize| panels[at].heading.clone().unwrap_or_default();
            let (a, b) = (heading(0), heading(panels.len() - 1));
            format!("{a}: {}. {b}: {}", uncapitalized(first), uncapitalized(last))
        }
    }
}

impl Chart {
    /// Returns what the data say.
    pub fn finding(&self) -> String {
        match self {
            Chart::Lines(lines) => lines.finding(),
            Chart::Bars(bars) => bars.finding(),
        }
    }
}

/// Returns a sentence's beginning with a capital letter, where it begins with one word of letters.
pub(super) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

fn uncapitalized(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// Returns a name that is not too long for a sentence.
pub(super) fn short(name: &str) -> String {
    const LONGEST: usize = 40;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", name[..end].trim_end()),
        None => name.to_owned(),
    }
}

/// Returns the form of a verb for a name: a single word that ends in one `s` is taken for a plural.
pub(super) fn verb(name: &str, singular: &'static str, plural: &'static str) -> &'static str {
    let is_word = name.chars().all(char::is_alphabetic);
    if is_word && name.ends_with('s') && !name.ends_with("ss") { plural } else { singular }
}

/// Returns a share of one in whole per cent, or in tenths below ten.
pub(super) fn percent(share: f64) -> String {
    let decimals = usize::from(share.abs() < 0.099_5);
    format!("{:.decimals$} %", share * 100.0)
}
