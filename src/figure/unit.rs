//! Units of what figures show: values in words, ticks in round steps.

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// US dollars.
    Usd,
    /// Seconds.
    Seconds,
    /// Tokens.
    Tokens,
    /// A share of one, shown in per cent.
    Share,
    /// Anything else.
    Number,
}

/// Round lengths of time in seconds.
const TIMES: [f64; 26] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    20.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1_200.0,
    1_800.0,
    3_600.0,
    7_200.0,
    10_800.0,
    14_400.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    432_000.0,
    864_000.0,
    1_728_000.0,
    4_320_000.0,
];

/// Round lengths of time about three to six times as long as the one before.
const TIMES_FEW: [f64; 14] = [
    1.0,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
    600.0,
    1_800.0,
    3_600.0,
    10_800.0,
    43_200.0,
    86_400.0,
    432_000.0,
    1_728_000.0,
];

/// Round lengths of time about six to ten times as long as the one before.
const TIMES_FEWEST: [f64; 8] = [1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 864_000.0];

impl Unit {
    /// Returns a value as a sentence has it, money to the cent or finer:
    /// `$5.68`, `9m 12s`, `83.8k`, `12.7 %`, `9.8`.
    pub fn value(self, value: f64) -> String {
        match self {
            Unit::Usd if value.abs() >= 1e3 => usd(value, 0),
            Unit::Usd => usd(value, decimals_of(value, 2).max(2)),
            Unit::Seconds => signed(value, seconds),
            Unit::Tokens => signed(value, |value| tokens(value, 3)),
            Unit::Share => {
                format!("{} %", plain(value * 100.0, decimals_of(value * 100.0, 3).min(1)))
            }
            Unit::Number => trimmed(&plain(value, decimals_of(value, 3))),
        }
    }

    /// Returns a difference with its sign.
    pub fn change(self, value: f64) -> String {
        let sign = if value > 0.0 { "+" } else { "" };
        format!("{sign}{}", self.value(value))
    }

    /// Returns the smallest round step of ticks that is at least so long.
    fn step(self, at_least: f64) -> f64 {
        if self == Unit::Seconds
            && at_least > 1.0
            && let Some(step) = TIMES.into_iter().find(|step| *step >= at_least)
        {
            return step;
        }
        let power = libm::pow(10.0, libm::floor(libm::log10(at_least)));
        let digit =
            [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= at_least * 0.999_999);
        digit.unwrap_or(10.0) * power
    }

    /// Returns round values between two bounds, both included, at most so many: 1, 2 or 5 times a
    /// power of ten apart.
    pub fn ticks(self, low: f64, high: f64, count_max: usize) -> Vec<f64> {
        if high <= low || count_max == 0 {
            return vec![low];
        }
        let step = self.step((high - low) / count_max as f64);
        let first = libm::ceil(low / step - 1e-9) as i64;
        let last = libm::floor(high / step + 1e-9) as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }

    /// Returns values for a logarithmic axis: powers of ten, with their doubles and fives where
    /// there is room, or round times.
    pub fn log_ticks(self, low: f64, high: f64, count_max: usize) -> Vec<f64> {
        let inside = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
        let powers = libm::floor(libm::log10(low)) as i32..=libm::ceil(libm::log10(high)) as i32;
        let mut choices: Vec<Vec<f64>> = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]]
            .iter()
            .map(|digits| {
                let of = |power: i32| digits.iter().map(move |digit| tenfold(*digit, power));
                powers.clone().flat_map(of).filter(inside).collect()
            })
            .collect();
        if self == Unit::Seconds && high > 60.0 {
            let lists = [&TIMES[..], &TIMES_FEW, &TIMES_FEWEST];
            let within = |list: &&[f64]| list.iter().copied().filter(inside).collect();
            choices = lists.iter().map(within).collect();
        }
        let fitting = choices.iter().find(|ticks| ticks.len() <= count_max);
        let ticks = fitting.cloned().unwrap_or_else(|| {
            let all = choices.last().cloned().unwrap_or_default();
            let apart = all.len().div_ceil(count_max.max(1)).max(1);
            all.into_iter().step_by(apart).collect()
        });
        if ticks.len() < 2 { self.ticks(low, high, count_max) } else { ticks }
    }

    /// Returns the texts of ticks, all with as many decimals as the finest of them needs.
    pub fn tick_texts(self, ticks: &[f64]) -> Vec<String> {
        let largest = ticks.iter().fold(0.0_f64, |largest, tick| largest.max(tick.abs()));
        let (scale, suffix) = match self {
            Unit::Tokens if largest >= 999_500.0 => (1e6, "M"),
            Unit::Tokens if largest >= 1_000.0 => (1e3, "k"),
            Unit::Share => (0.01, " %"),
            Unit::Usd | Unit::Seconds | Unit::Tokens | Unit::Number => (1.0, ""),
        };
        let is_log = ticks
            .windows(3)
            .any(|three| ((three[1] - three[0]) - (three[2] - three[1])).abs() > 1e-6 * largest);
        let needed = |tick: &f64| {
            (0..9).find(|decimals| is_round(tick / scale, *decimals)).unwrap_or(9) as usize
        };
        let all = ticks.iter().map(needed).max().unwrap_or(0);
        let text = |tick: &f64| {
            let decimals = if is_log { needed(tick) } else { all };
            match self {
                Unit::Seconds => signed(*tick, seconds),
                Unit::Usd => usd(*tick, if decimals == 1 { 2 } else { decimals }),
                Unit::Tokens if is_log => tokens(*tick, 3),
                _ if *tick == 0.0 && self != Unit::Share => "0".to_owned(),
                Unit::Tokens | Unit::Share | Unit::Number => {
                    format!("{}{suffix}", plain(tick / scale, decimals))
                }
            }
        };
        ticks.iter().map(text).collect()
    }
}

fn tenfold(digit: f64, power: i32) -> f64 {
    if power < 0 {
        digit / libm::pow(10.0, f64::from(-power))
    } else {
        digit * libm::pow(10.0, f64::from(power))
    }
}

fn is_round(value: f64, decimals: i32) -> bool {
    let scaled = value * libm::pow(10.0, f64::from(decimals));
    (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
}

/// Returns how many decimals show so many significant digits.
fn decimals_of(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    (digits - 1 - libm::floor(libm::log10(value.abs())) as i32).clamp(0, 9) as usize
}

fn signed(value: f64, text: impl Fn(f64) -> String) -> String {
    if value < 0.0 { format!("−{}", text(-value)) } else { text(value) }
}

fn usd(value: f64, decimals: usize) -> String {
    signed(value, |value| format!("${}", plain(value, decimals)))
}

/// Returns a number with its decimals, and commas between its thousands.
fn plain(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let is_zero = !text.contains(|c: char| ('1'..='9').contains(&c));
    let sign = if value < 0.0 && !is_zero { "−" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

/// Takes off decimals that say nothing.
fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

fn tokens(value: f64, digits: i32) -> String {
    let (scale, suffix) = match value {
        value if value >= 999_500.0 => (1e6, "M"),
        value if value >= 999.5 => (1e3, "k"),
        _ => (1.0, ""),
    };
    let scaled = value / scale;
    let decimals = if suffix.is_empty() { 0 } else { decimals_of(scaled, digits) };
    format!("{}{suffix}", trimmed(&plain(scaled, decimals)))
}

/// Returns a length of time in its two largest units: `850ms`, `12.3s`, `4m 12s`, `1h 5m`.
fn seconds(value: f64) -> String {
    if value == 0.0 {
        return "0s".to_owned();
    }
    if value < 0.999_5 {
        return format!("{}ms", trimmed(&plain(value * 1e3, decimals_of(value * 1e3, 3))));
    }
    if value < 59.95 {
        return format!("{}s", trimmed(&plain(value, 1)));
    }
    let two = |large: u64, small: u64, names: [&str; 2]| match small {
        0 => format!("{large}{}", names[0]),
        small => format!("{large}{} {small}{}", names[0], names[1]),
    };
    let whole = value.round() as u64;
    if whole < 3_600 {
        return two(whole / 60, whole % 60, ["m", "s"]);
    }
    let minutes = (value / 60.0).round() as u64;
    if minutes < 2_880 {
        return two(minutes / 60, minutes % 60, ["h", "m"]);
    }
    let hours = (value / 3_600.0).round() as u64;
    two(hours / 24, hours % 24, ["d", "h"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_unit() {
        let cases = [
            (Unit::Usd, 5.677, "$5.68"),
            (Unit::Usd, 0.0123, "$0.012"),
            (Unit::Usd, -0.4, "−$0.40"),
            (Unit::Usd, 27.04, "$27.04"),
            (Unit::Usd, 12_345.6, "$12,346"),
            (Unit::Usd, 0.0, "$0.00"),
            (Unit::Seconds, 552.4, "9m 12s"),
            (Unit::Seconds, 0.25, "250ms"),
            (Unit::Seconds, 3_599.8, "1h"),
            (Unit::Seconds, -90.0, "−1m 30s"),
            (Unit::Tokens, 83_811.0, "83.8k"),
            (Unit::Tokens, 100_000.0, "100k"),
            (Unit::Tokens, 1_250_000.0, "1.25M"),
            (Unit::Tokens, 812.0, "812"),
            (Unit::Share, 0.1274, "12.7 %"),
            (Unit::Share, 1.0, "100 %"),
            (Unit::Number, 9.8, "9.8"),
            (Unit::Number, 13.0, "13"),
        ];
        for (unit, value, text) in cases {
            assert_eq!(unit.value(value), text, "{unit:?} {value}");
        }
        assert_eq!([Unit::Usd.change(0.5), Unit::Usd.change(-0.5)], ["+$0.50", "−$0.50"]);
    }

    fn texts(unit: Unit, ticks: &[f64]) -> String {
        unit.tick_texts(ticks).join(" ")
    }

    #[test]
    fn ticks_are_one_two_or_five_times_a_power_of_ten_apart() {
        let cases = [
            (Unit::Usd, 0.0, 9.3, "$0 $2 $4 $6 $8"),
            (Unit::Usd, 0.0, 1.9, "$0.00 $0.50 $1.00 $1.50"),
            (Unit::Usd, 0.0, 0.04, "$0.00 $0.01 $0.02 $0.03 $0.04"),
            (Unit::Tokens, 10_000.0, 200_000.0, "50k 100k 150k 200k"),
            (Unit::Tokens, 0.0, 2_000_000.0, "0 0.5M 1.0M 1.5M 2.0M"),
            (Unit::Seconds, 0.0, 700.0, "0s 5m 10m"),
            (Unit::Seconds, 0.0, 100.0, "0s 20s 40s 1m 1m 20s 1m 40s"),
            (Unit::Share, -0.4, 0.4, "−40 % −20 % 0 % 20 % 40 %"),
            (Unit::Number, 1.0, 20.0, "5 10 15 20"),
        ];
        for (unit, low, high, expected) in cases {
            assert_eq!(texts(unit, &unit.ticks(low, high, 5)), expected, "{unit:?} {low} {high}");
        }
        assert_eq!(Unit::Usd.ticks(3.0, 3.0, 5), [3.0]);
    }

    #[test]
    fn logarithmic_ticks_thin_out() {
        let cases = [
            (Unit::Usd, 0.3, 20.0, 6, "$0.50 $1 $2 $5 $10 $20"),
            (Unit::Usd, 0.01, 1_000.0, 6, "$0.01 $0.10 $1 $10 $100 $1,000"),
            (Unit::Tokens, 1_000.0, 1_000_000.0, 5, "1k 10k 100k 1M"),
            (Unit::Seconds, 10.0, 4_000.0, 6, "10s 1m 10m 1h"),
            (Unit::Number, 4.0, 6.0, 5, "4.0 4.5 5.0 5.5 6.0"),
        ];
        for (unit, low, high, count, expected) in cases {
            let ticks = unit.log_ticks(low, high, count);
            assert_eq!(texts(unit, &ticks), expected, "{unit:?} {low} {high}");
        }
    }
}
