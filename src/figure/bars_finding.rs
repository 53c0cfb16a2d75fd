//! Findings of bars: the best, the worst, and what part sets them apart.

use crate::figure::finding::{capitalized, percent, short, verb};
use crate::figure::{Bar, Bars};

impl Bars {
    pub(super) fn finding(&self) -> String {
        match &self.bars[..] {
            [] => String::new(),
            [only] => self.largest_part(only),
            bars => {
                let by_total = |a: &usize, b: &usize| bars[*a].total().total_cmp(&bars[*b].total());
                let low = (0..bars.len()).min_by(by_total).unwrap_or(0);
                let high = (0..bars.len()).max_by(by_total).unwrap_or(0);
                self.gap(low, high)
            }
        }
    }

    /// What sets the shortest and the longest bar apart.
    fn gap(&self, low: usize, high: usize) -> String {
        let (shortest, longest) = (&self.bars[low], &self.bars[high]);
        let (low_name, high_name) = (short(&shortest.name), short(&longest.name));
        let gap = longest.total() - shortest.total();
        let unit = self.x.unit;
        if gap <= 1e-12 * longest.total() {
            return format!("All come to {}", unit.value(shortest.total()));
        }
        if !self.differ[low][high] {
            return match self.bars.len() {
                2 => format!(
                    "{} and {high_name} differ by no more than chance",
                    capitalized(&low_name)
                ),
                _ => "The bills differ by no more than chance".to_owned(),
            };
        }
        let gap = format!("{} ({})", unit.value(gap), percent(gap / shortest.total()));
        let why = self.why(shortest, longest).map_or_else(String::new, |why| format!(", {why}"));
        let costs = verb(&high_name, "costs", "cost");
        let others = self.bars.len() - 1;
        let is_certain = (0..=others).all(|other| other == low || self.differ[low][other]);
        if others == 1 || !is_certain {
            return capitalized(&format!("{high_name} {costs} {gap} more than {low_name}{why}"));
        }
        let is = verb(&low_name, "is", "are");
        let word = self.better.word(others);
        capitalized(&format!("{low_name} {is} {word}; {high_name} {costs} {gap} more{why}"))
    }

    fn largest_part(&self, bar: &Bar) -> String {
        let largest = (0..bar.parts.len()).max_by(|a, b| bar.parts[*a].total_cmp(&bar.parts[*b]));
        let Some(largest) = largest.filter(|_| bar.total() > 0.0) else { return String::new() };
        let share = percent(bar.parts[largest] / bar.total());
        let total = self.x.unit.value(bar.total());
        let name = capitalized(&self.parts[largest].name);
        format!("{name} is {share} of the {total} of {}", short(&bar.name))
    }

    /// The part that grows most from one bar to another.
    fn why(&self, low: &Bar, high: &Bar) -> Option<String> {
        let growth = |part: usize| high.parts[part] - low.parts[part];
        let most = (0..self.parts.len()).max_by(|a, b| growth(*a).total_cmp(&growth(*b)))?;
        if self.parts.len() < 2 || growth(most) <= 0.0 {
            return None;
        }
        let name = &self.parts[most].name;
        Some(format!("{name} alone {}", self.x.unit.change(growth(most))))
    }
}

#[cfg(test)]
mod tests {
    use crate::figure::{Axis, Bar, Bars, Better, Part, Unit};

    fn finding(bars: &[(&str, [f64; 2])]) -> String {
        let part = |(hue, name): (usize, &str)| Part { name: name.to_owned(), hue };
        let bars = Bars {
            x: Axis::plain("Cost", Unit::Usd),
            better: Better::CHEAPER,
            parts: ["reads", "writes"].into_iter().enumerate().map(part).collect(),
            bars: bars
                .iter()
                .map(|(name, parts)| Bar {
                    name: (*name).to_owned(),
                    parts: parts.to_vec(),
                    half_width: None,
                })
                .collect(),
            differ: vec![vec![true; bars.len()]; bars.len()],
        };
        bars.finding()
    }

    #[test]
    fn the_finding_names_the_gap_and_its_largest_part() {
        assert_eq!(finding(&[("all", [1.0, 3.0])]), "Writes is 75 % of the $4.00 of all");
        assert_eq!(
            finding(&[("5m", [1.0, 3.0]), ("1h", [1.0, 4.0])]),
            "1h costs $1.00 (25 %) more than 5m, writes alone +$1.00"
        );
        assert_eq!(
            finding(&[("a", [1.0, 3.0]), ("b", [3.5, 2.5]), ("c", [1.0, 4.0])]),
            "A is cheapest; b costs $2.00 (50 %) more, reads alone +$2.50"
        );
        assert_eq!(finding(&[("a", [1.0, 3.0]), ("b", [2.0, 2.0])]), "All come to $4.00");
    }
}
