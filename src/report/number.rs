//! Numbers as people read them.

use crate::units::{Date, SimTime, Tokens};

/// Decimals that leave four significant digits, 2 to 9 of them.
fn decimals(value: f64) -> usize {
    let magnitude = libm::log10(value.abs()).floor();
    if value == 0.0 { 2 } else { (3.0 - magnitude).clamp(2.0, 9.0) as usize }
}

/// Returns an amount of money with four significant digits, at least to the cent: `$0.7789`.
pub fn usd(value: f64) -> String {
    usd_with(value, decimals(value))
}

/// Returns a mean with its half-width: `$12.74 ± 0.05`; `± unknown` where one run says nothing.
pub fn usd_interval(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        None => format!("{} ± unknown", usd(mean)),
        Some(0.0) => usd(mean),
        Some(half) => {
            let first_digit = (-libm::log10(half).floor()).clamp(0.0, 9.0) as usize;
            let decimals = decimals(mean).max(first_digit);
            format!("{} ± {half:.decimals$}", usd_with(mean, decimals))
        }
    }
}

fn usd_with(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, part) = text.split_once('.').unwrap_or((&text, "0"));
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}${}.{part}", grouped(whole))
}

/// Returns a number with four significant digits: `12.34`, `1.234e-7`.
pub fn significant(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 {
        return format!("{value:.3e}");
    }
    let decimals = if value == 0.0 { 0.0 } else { 3.0 - libm::log10(value.abs()).floor() };
    format!("{value:.0$}", decimals.max(0.0) as usize)
}

/// Returns a count with thousands separators; one decimal where it is no whole number, three below
/// one.
pub fn count(value: f64) -> String {
    let decimals = match value {
        whole if whole.fract() == 0.0 => 0,
        below if below < 1.0 => 3,
        _ => 1,
    };
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, part)) => format!("{}.{part}", grouped(whole)),
        None => grouped(&text),
    }
}

fn grouped(digits: &str) -> String {
    digits.parse().map_or_else(|_| digits.to_owned(), |whole| Tokens::new(whole).to_string())
}

/// Returns a number of tokens with about three significant digits: `812`, `48.5k`, `1.2M`.
pub fn tokens(value: f64) -> String {
    let scales = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    // A value that rounds to 1,000 of a unit is shown in the next.
    match scales.into_iter().find(|(scale, _)| value >= scale * 0.999_5) {
        Some((scale, unit)) if value < 99.95 * scale => format!("{:.1}{unit}", value / scale),
        Some((scale, unit)) => format!("{:.0}{unit}", value / scale),
        None => format!("{value:.0}"),
    }
}

/// Returns a length of time: `850ms`, `12.3s`, `4m 12s`, `1h 05m`, `3d 04h`.
pub fn duration(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0s".to_owned();
    }
    if seconds < 0.999_5 {
        return format!("{:.0}ms", seconds * 1e3);
    }
    if seconds < 59.95 {
        return format!("{seconds:.1}s");
    }
    let whole = seconds.round() as u64;
    if whole < 3_600 {
        return format!("{}m {:02}s", whole / 60, whole % 60);
    }
    let minutes = (seconds / 60.0).round() as u64;
    if minutes < 1_440 {
        return format!("{}h {:02}m", minutes / 60, minutes % 60);
    }
    let hours = (seconds / 3_600.0).round() as u64;
    format!("{}d {:02}h", hours / 24, hours % 24)
}

/// Returns a mean length of time with its half-width.
pub fn duration_interval(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        None => format!("{} ± unknown", duration(mean)),
        Some(0.0) => duration(mean),
        Some(half) => format!("{} ± {}", duration(mean), duration(half)),
    }
}

/// Returns a share of one in per cent: `37.2 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Returns an instant that is stated since 1970-01-01 UTC: `2026-11-30T20:57:48.888Z`.
pub fn instant(instant: SimTime) -> String {
    let day = Date::of(instant);
    let micros = instant.as_micros() - day.start().as_micros();
    let (seconds, millis) = (micros / 1_000_000, micros / 1_000 % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Returns text in which control characters are written as escapes, so that it stays on its line
/// and cannot move a terminal's cursor.
pub fn plain(text: &str) -> String {
    let turns = ['\u{2028}'..='\u{2029}', '\u{202A}'..='\u{202E}', '\u{2066}'..='\u{2069}'];
    let is_unsafe =
        |c: char| c.is_control() || c == '`' || turns.iter().any(|range| range.contains(&c));
    let shown = |c: char| if is_unsafe(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_four_significant_digits() {
        let cases = [
            (0.0, "$0.00"),
            (0.778_875, "$0.7789"),
            (12.744, "$12.74"),
            (1_234_567.891, "$1,234,567.89"),
            (-0.25, "-$0.2500"),
            (0.000_012_345, "$0.00001234"),
        ];
        for (value, text) in cases {
            assert_eq!(usd(value), text);
        }
        assert_eq!(usd_interval(12.744, Some(0.051)), "$12.74 ± 0.05");
        assert_eq!(usd_interval(12.744, Some(0.000_4)), "$12.7440 ± 0.0004");
        assert_eq!(usd_interval(12.744, Some(0.0)), "$12.74");
        assert_eq!(usd_interval(12.744, None), "$12.74 ± unknown");
    }

    #[test]
    fn counts_tokens_and_times_are_short() {
        assert_eq!([count(3.0), count(1_234.56), count(0.005)], ["3", "1,234.6", "0.005"]);
        let cases = [(812.0, "812"), (48_500.0, "48.5k"), (999_700.0, "1.0M"), (2.5e8, "250M")];
        for (value, text) in cases {
            assert_eq!(tokens(value), text);
        }
        let cases = [
            (0.85, "850ms"),
            (12.34, "12.3s"),
            (59.97, "1m 00s"),
            (252.0, "4m 12s"),
            (3_599.7, "1h 00m"),
            (3_900.0, "1h 05m"),
            (273_600.0, "3d 04h"),
        ];
        for (value, text) in cases {
            assert_eq!(duration(value), text);
        }
    }

    #[test]
    fn instants_are_written_as_transcripts_do() {
        for text in ["2026-11-30T20:57:48.888Z", "1970-01-01T00:00:00.000Z"] {
            assert_eq!(instant(crate::units::parse_instant(text).unwrap()), text);
        }
    }

    #[test]
    fn control_characters_stay_on_their_line() {
        assert_eq!(plain("a\nb\u{1b}[31m\u{202e}é"), "a\\nb\\u{1b}[31m\\u{202e}é");
    }
}
