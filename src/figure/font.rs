//! Inter, the one typeface of all figures: how wide a text is, where it breaks, its outlines.
//!
//! The fonts are part of the program (a subset with Latin-1, arrows and signs; SIL Open Font
//! License, beside them in `fonts/`). In SVG each text states its width, so it takes the same room
//! where a reader has no Inter. Characters outside of the subset are measured by rule of thumb; a
//! reader's font has them, a PNG does not.

use std::sync::LazyLock;

use ab_glyph::{Font as _, FontRef, Glyph, PxScale, point};

/// How strong letters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Semibold,
}

static REGULAR: LazyLock<FontRef<'static>> =
    LazyLock::new(|| font(include_bytes!("fonts/Inter-Regular.ttf")));
static SEMIBOLD: LazyLock<FontRef<'static>> =
    LazyLock::new(|| font(include_bytes!("fonts/Inter-SemiBold.ttf")));

fn font(bytes: &'static [u8]) -> FontRef<'static> {
    match FontRef::try_from_slice(bytes) {
        Ok(font) => font,
        Err(error) => unreachable!("a font of the program is no font: {error}"),
    }
}

impl Weight {
    fn font(self) -> &'static FontRef<'static> {
        match self {
            Weight::Regular => &REGULAR,
            Weight::Semibold => &SEMIBOLD,
        }
    }
}

/// A size in pixels per em, and a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Type {
    pub(super) size: f64,
    pub(super) weight: Weight,
}

impl Type {
    pub(super) const fn regular(size: f64) -> Type {
        Type { size, weight: Weight::Regular }
    }

    pub(super) const fn semibold(size: f64) -> Type {
        Type { size, weight: Weight::Semibold }
    }

    /// Returns the height of what stands above the baseline: capitals and digits.
    pub(super) fn cap_height(self) -> f64 {
        0.727 * self.size
    }

    /// Returns the distance of lines.
    pub(super) fn line_height(self) -> f64 {
        1.3 * self.size
    }

    /// Returns the width of a text.
    pub(super) fn width(self, text: &str) -> f64 {
        text.chars().map(|c| self.advance(c)).sum()
    }

    fn advance(self, c: char) -> f64 {
        let font = self.weight.font();
        let glyph = font.glyph_id(c);
        if glyph.0 == 0 {
            return self.size * if is_wide(c) { 1.0 } else { 0.6 };
        }
        let unit = f64::from(font.units_per_em().unwrap_or(1_000.0));
        f64::from(font.h_advance_unscaled(glyph)) / unit * self.size
    }

    /// Returns a text that is at most so wide: cut, with an ellipsis, where it must be.
    pub(super) fn fitted(self, text: &str, width: f64) -> String {
        if self.width(text) <= width {
            return text.to_owned();
        }
        let mut left = width - self.width("…");
        let fits = |c: &char| {
            left -= self.advance(*c);
            left >= 0.0
        };
        let kept: String = text.chars().take_while(fits).collect();
        format!("{}…", kept.trim_end())
    }

    /// Breaks a text into lines at most so wide; of the last line that is allowed, what does not
    /// fit is cut.
    pub(super) fn wrapped(self, text: &str, width: f64, lines_max: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            if lines.len() + 1 == lines_max {
                lines.push(self.fitted(rest, width));
                break;
            }
            let end = self.line_end(rest, width);
            lines.push(rest[..end].trim_end().to_owned());
            rest = rest[end..].trim_start();
        }
        lines
    }

    /// Returns where the first line of a text ends: at its last blank that fits, else anywhere.
    fn line_end(self, text: &str, width: f64) -> usize {
        let (mut end, mut used, mut blank) = (0, 0.0, None);
        for (at, c) in text.char_indices() {
            used += self.advance(c);
            if c.is_whitespace() {
                blank = Some(at);
            } else if used > width {
                let anywhere = if at > 0 { at } else { c.len_utf8() };
                return blank.filter(|blank| *blank > 0).unwrap_or(anywhere);
            }
            end = at + c.len_utf8();
        }
        end
    }

    /// Calls `pixel` with the coverage, from 0 to 1, of each pixel of a text whose baseline starts
    /// at a place, in pixels.
    pub(super) fn rasterize(
        self,
        text: &str,
        at: (f64, f64),
        pixel: &mut dyn FnMut(i32, i32, f32),
    ) {
        let font = self.weight.font();
        let unit = f64::from(font.units_per_em().unwrap_or(1_000.0));
        let scale = PxScale::from((self.size * f64::from(font.height_unscaled()) / unit) as f32);
        let mut x = at.0;
        for c in text.chars() {
            let position = point(x as f32, at.1 as f32);
            let glyph = Glyph { id: font.glyph_id(c), scale, position };
            if let Some(outline) = font.outline_glyph(glyph) {
                let corner = outline.px_bounds().min;
                let (left, top) = (corner.x as i32, corner.y as i32);
                outline.draw(|x, y, coverage| pixel(left + x as i32, top + y as i32, coverage));
            }
            x += self.advance(c);
        }
    }
}

/// Returns whether Inter's subset has a character.
pub(super) fn has(c: char) -> bool {
    c.is_whitespace() || REGULAR.glyph_id(c).0 != 0
}

/// East Asian wide characters and pictographs: as wide as high.
fn is_wide(c: char) -> bool {
    matches!(u32::from(c), 0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF
        | 0x20000..=0x3FFFD)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: Type = Type::regular(100.0);

    /// Advances of Inter 4.001 at 2,048 units per em: `H` 1,522 and `i` 496 (its `hmtx` table).
    #[test]
    fn widths_are_those_of_the_font() {
        let width = BODY.width("Hi");
        assert!((width - (1_522.0 + 496.0) / 20.48).abs() < 1e-3, "{width}");
        assert!(BODY.width("漢字") > 199.0 && !has('漢') && has('±') && has('…'));
        assert!(Type::semibold(100.0).width("Hi") > BODY.width("Hi"));
    }

    #[test]
    fn texts_are_cut_and_broken_to_a_width() {
        let room = BODY.width("fresh on a c");
        assert_eq!(BODY.fitted("fresh", room), "fresh");
        let cut = BODY.fitted("fresh on a cheaper model", room);
        assert!(cut.starts_with("fresh on") && cut.ends_with('…'), "{cut}");
        assert!(BODY.width(&cut) <= room);
        let lines = BODY.wrapped("fresh on a cheaper model", room, 3);
        assert_eq!(lines, ["fresh on a", "cheaper", "model"]);
        assert_eq!(BODY.wrapped("fresh on a cheaper model", room, 2)[1], "cheaper…");
        let pieces = BODY.wrapped(&"x".repeat(40), room, 9);
        assert!(pieces.len() > 2 && pieces.iter().all(|line| BODY.width(line) <= room));
        assert!(BODY.wrapped("  ", room, 2).is_empty());
        assert_eq!(BODY.wrapped("漢", 10.0, 4), ["漢"], "one character is wider than the room");
    }
}
