//! Colors: one palette for light pages and one for dark ones.
//!
//! Series have the hues of Okabe and Ito (2008), which people with any kind of color vision can
//! tell apart, made darker or lighter until they stand out from the page. Names of series are
//! texts, so they have darker inks of their own: every text has a contrast of 4.5 or more.

/// Which page a figure is drawn for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// A light page.
    #[default]
    Light,
    /// A dark page.
    Dark,
    /// SVG: whichever the reader prefers. PNG: a light page.
    Both,
}

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

/// A color on light and on dark pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ink {
    pub(super) light: Rgb,
    pub(super) dark: Rgb,
}

/// The inks of one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hue {
    /// Of lines and surfaces.
    pub(super) fill: Ink,
    /// Of its name.
    pub(super) text: Ink,
}

const fn rgb(hex: u32) -> Rgb {
    [(hex >> 16) as u8, (hex >> 8) as u8, hex as u8]
}

const fn ink(light: u32, dark: u32) -> Ink {
    Ink { light: rgb(light), dark: rgb(dark) }
}

const fn hue(fill: u32, text: u32, dark: u32) -> Hue {
    Hue { fill: ink(fill, dark), text: ink(text, dark) }
}

pub(super) const PAGE: Ink = ink(0xFF_FF_FF, 0x0D_11_17);
pub(super) const TEXT: Ink = ink(0x1F_23_28, 0xE6_ED_F3);
pub(super) const MUTED: Ink = ink(0x57_60_6A, 0x9D_A7_B1);
pub(super) const GRID: Ink = ink(0xE3_E7_EB, 0x26_2C_34);
pub(super) const AXIS: Ink = ink(0x9A_A3_AC, 0x56_5F_69);

/// What has no color of its own, such as the rest of a bill.
pub(super) const NEUTRAL: Hue = hue(0x82_8B_95, 0x57_60_6A, 0x8B_95_9F);

/// The most series that have a hue of their own.
pub const HUES: usize = 8;

const SERIES: [Hue; HUES] = [
    hue(0x00_72_B2, 0x00_66_A0, 0x4F_A8_E8),
    hue(0xD5_5E_00, 0xB3_4D_00, 0xFF_8C_4D),
    hue(0x00_9E_73, 0x00_76_56, 0x35_C7_9A),
    hue(0xB8_60_9A, 0x9C_4A_83, 0xE0_8F_C0),
    hue(0xC9_85_00, 0x87_5A_00, 0xF0_B4_29),
    hue(0x2E_9B_D6, 0x1A_72_A4, 0x93_D3_FA),
    hue(0x55_4B_A8, 0x4B_41_9C, 0xA9_9C_F5),
    hue(0x7A_7A_00, 0x66_66_00, 0xD3_CF_55),
];

/// Returns the inks of a series by its number, counted from 0; those beyond the last hue are
/// neutral.
pub(super) fn series(number: usize) -> Hue {
    SERIES.get(number).copied().unwrap_or(NEUTRAL)
}

/// Returns the ink of a text on a surface: whichever of black and white stands out more.
pub(super) fn text_on(surface: Ink) -> Ink {
    let (black, white) = (rgb(0x00_00_00), rgb(0xFF_FF_FF));
    let pick = |under: Rgb| {
        if contrast(under, black) >= contrast(under, white) { black } else { white }
    };
    Ink { light: pick(surface.light), dark: pick(surface.dark) }
}

/// Returns the contrast of two colors, from 1 to 21 (WCAG 2.2, "contrast ratio").
fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Returns the relative luminance of a color (WCAG 2.2, "relative luminance").
fn luminance(color: Rgb) -> f64 {
    let linear = |part: u8| {
        let share = f64::from(part) / 255.0;
        if share <= 0.040_45 { share / 12.92 } else { libm::pow((share + 0.055) / 1.055, 2.4) }
    };
    let [red, green, blue] = color.map(linear);
    0.212_6 * red + 0.715_2 * green + 0.072_2 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(ink: Ink, other: Ink) -> f64 {
        contrast(ink.light, other.light).min(contrast(ink.dark, other.dark))
    }

    #[test]
    fn contrast_is_that_of_the_standard() {
        assert!((contrast(rgb(0x00_00_00), rgb(0xFF_FF_FF)) - 21.0).abs() < 1e-9);
        // The standard's usual example of a gray that just passes: #767676 on white, 4.54.
        assert!((contrast(rgb(0x76_76_76), rgb(0xFF_FF_FF)) - 4.54).abs() < 0.005);
    }

    #[test]
    fn texts_and_marks_stand_out_from_the_page() {
        for text in [TEXT, MUTED, NEUTRAL.text] {
            assert!(both(text, PAGE) >= 4.5, "{text:?}");
        }
        for number in 0..HUES {
            let Hue { fill, text } = series(number);
            assert!(both(text, PAGE) >= 4.5, "text {number}: {}", both(text, PAGE));
            assert!(both(fill, PAGE) >= 3.0, "fill {number}: {}", both(fill, PAGE));
        }
    }
}
