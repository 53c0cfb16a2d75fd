//! Texts that settings come from.

use std::ops::Range;
use std::sync::Arc;

/// Named texts, each known by the number it was added under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    texts: Vec<(Arc<str>, Arc<str>)>,
}

impl Sources {
    /// Returns an empty list.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds a text under the name that problems show, and returns its number.
    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> usize {
        self.texts.push((name.into(), text.into()));
        self.texts.len() - 1
    }

    /// Returns all texts with their names, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, text)| (&**name, &**text))
    }

    /// Returns the name of a text; empty for an unknown number.
    pub fn name(&self, source: usize) -> &str {
        self.texts.get(source).map_or("", |(name, _)| name)
    }

    /// Returns a text; empty for an unknown number.
    pub fn text(&self, source: usize) -> &str {
        self.texts.get(source).map_or("", |(_, text)| text)
    }

    /// Returns line and column, both from 1, of a byte offset; columns count characters.
    pub fn line_and_column(&self, source: usize, offset: usize) -> (usize, usize) {
        let text = self.text(source);
        let before = &text[..floor_boundary(text, offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    /// Returns the line a span starts on, without its end, and the part of the span on that line.
    pub(super) fn line_of(&self, source: usize, span: &Range<usize>) -> (&str, Range<usize>) {
        let text = self.text(source);
        let start = floor_boundary(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[line_start..].split('\n').next().unwrap_or("");
        let line = line.strip_suffix('\r').unwrap_or(line);
        let from = (start - line_start).min(line.len());
        let to = floor_boundary(text, span.end).saturating_sub(line_start).clamp(from, line.len());
        (line, from..to)
    }
}

fn floor_boundary(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let mut sources = Sources::new();
        let source = sources.add("a.toml", "é = 1\r\nüü = 2\n");
        assert_eq!(sources.line_and_column(source, 0), (1, 1));
        assert_eq!(sources.line_and_column(source, 1), (1, 1));
        assert_eq!(sources.line_and_column(source, 14), (2, 5));
        assert_eq!(sources.line_and_column(source, 999), (3, 1));
        assert_eq!(sources.line_of(source, &(8..99)), ("üü = 2", 0..8));
        assert_eq!(sources.line_of(7, &(8..99)), ("", 0..0));
    }
}
