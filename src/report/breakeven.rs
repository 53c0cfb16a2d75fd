//! What `forkcast breakeven` found: where two variants cost the same.

use serde_json::{Value, json};

use crate::experiment::{BreakEven, Crossing};
use crate::report::document::{Block, reproduce, table};
use crate::report::number::{count, duration, plain};
use crate::report::{Format, Header, csv, json, markdown, text};
use crate::scenario::Unit;
use crate::stats::Verdict;

/// Results of a search, one for each level of a second key.
#[derive(Clone, Debug)]
pub struct BreakEvenReport {
    /// The key in which the root was searched.
    pub key: String,
    /// How its values are written.
    pub unit: Unit,
    /// The range that was searched.
    pub range: [f64; 2],
    /// The names of the variants.
    pub between: [String; 2],
    /// Seed of the random streams.
    pub seed: u64,
    /// The second key, if any.
    pub over: Option<String>,
    /// Levels of the second key with what was found; one without a level where there is none.
    pub rows: Vec<(Option<String>, BreakEven)>,
}

/// Returns the report.
pub fn render(header: &Header, report: &BreakEvenReport, format: Format) -> String {
    match format {
        Format::Text => text::join(&report.blocks(header)),
        Format::Markdown => markdown::join(&report.blocks(header)),
        Format::Json => format!("{:#}\n", report.value(header)),
        Format::Csv => report.csv(),
    }
}

impl BreakEvenReport {
    fn name(&self, verdict: Verdict) -> Option<&str> {
        match verdict {
            Verdict::A => Some(&self.between[0]),
            Verdict::B => Some(&self.between[1]),
            Verdict::Undecided => None,
        }
    }

    fn shown(&self, value: f64) -> String {
        match self.unit {
            Unit::Seconds => duration(value),
            Unit::Number if value.abs() >= 1_000.0 => count(value.round()),
            Unit::Number => {
                let text = format!("{value:.4}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
        }
    }

    fn interval(&self, crossing: &Crossing) -> String {
        let root = &crossing.root;
        match (root.low, root.high) {
            (Some(low), Some(high)) if low.to_bits() == high.to_bits() => "exact".to_owned(),
            (low, high) => {
                let end = |end: Option<f64>| end.map_or("open".to_owned(), |end| self.shown(end));
                format!("{} to {}", end(low), end(high))
            }
        }
    }

    fn blocks(&self, header: &Header) -> Vec<Block> {
        let mut blocks = Vec::new();
        blocks.extend(header.title.as_deref().map(|title| Block::Heading(plain(title))));
        if let Some(over) = &self.over {
            let heading = [over.as_str(), "break-even", "95 % interval", "cheaper below", "above"];
            let text = format!(
                "Where {} costs what {} does, in {}:",
                self.quoted(1),
                self.quoted(0),
                self.key
            );
            blocks.push(Block::Paragraph(text));
            blocks
                .push(table(&heading, self.rows.iter().flat_map(|row| self.cells(row)).collect()));
        } else {
            blocks.extend(self.rows.iter().flat_map(|(_, found)| self.sentences(found)));
        }
        let replications = self.rows.iter().map(|(_, found)| found.replications).max().unwrap_or(0);
        let runs: u64 = self.rows.iter().map(|(_, found)| found.runs).sum();
        let effort = format!(
            "up to {} replications of a level, {} runs in all",
            count(replications as f64),
            count(runs as f64)
        );
        blocks.extend(reproduce(header, self.seed, &effort));
        blocks
    }

    fn quoted(&self, variant: usize) -> String {
        format!("`{}`", plain(&self.between[variant]))
    }

    fn sentences(&self, found: &BreakEven) -> Vec<Block> {
        let paragraphs = if found.crossings.is_empty() {
            vec![self.no_crossing(found)]
        } else {
            found.crossings.iter().map(|crossing| self.crossing(found, crossing)).collect()
        };
        paragraphs.into_iter().map(Block::Paragraph).collect()
    }

    fn crossing(&self, found: &BreakEven, crossing: &Crossing) -> String {
        let name = |verdict| plain(self.name(verdict).unwrap_or_default());
        let interval = match self.interval(crossing).as_str() {
            "exact" => "nothing is random".to_owned(),
            interval => format!(
                "{:.0} % confidence: {interval}, {} replications",
                found.confidence * 100.0,
                count(crossing.replications as f64)
            ),
        };
        format!(
            "{} and {} cost the same at {} = {} ({interval}). Below, `{}` is cheaper; above, `{}`.",
            self.quoted(0),
            self.quoted(1),
            self.key,
            self.shown(crossing.root.at),
            name(crossing.below()),
            name(crossing.above()),
        )
    }

    fn no_crossing(&self, found: &BreakEven) -> String {
        let [low, high] = self.range.map(|bound| self.shown(bound));
        let range = format!("{} from {low} to {high}", self.key);
        match (self.name(found.below), self.name(found.above)) {
            (Some(below), Some(above)) if below == above => {
                format!("No crossing: `{}` is cheaper at every {range}.", plain(below))
            }
            (Some(one), None) | (None, Some(one)) => format!(
                "No crossing found: `{}` is cheaper at one end of {range}, the other is not \
                 decided.",
                plain(one)
            ),
            _ => format!("No crossing found: who is cheaper is not decided at any {range}."),
        }
    }

    fn cells(&self, (level, found): &(Option<String>, BreakEven)) -> Vec<Vec<String>> {
        let level = plain(level.as_deref().unwrap_or_default());
        let name = |verdict| plain(self.name(verdict).unwrap_or("not decided"));
        if found.crossings.is_empty() {
            let sides = [name(found.below), name(found.above)];
            let row = [vec![level, "none".to_owned(), String::new()], sides.to_vec()];
            return vec![row.concat()];
        }
        let row = |crossing: &Crossing| {
            vec![
                level.clone(),
                self.shown(crossing.root.at),
                self.interval(crossing),
                name(crossing.below()),
                name(crossing.above()),
            ]
        };
        found.crossings.iter().map(row).collect()
    }

    fn value(&self, header: &Header) -> Value {
        let first = self.rows.first().map(|(_, found)| found);
        let replications = first.map_or(0, |found| found.replications);
        let mut value = json::origin(header, self.seed, replications);
        json::extend(&mut value, json!({ "key": self.key, "between": self.between }));
        if let (Some(found), None) = (first, &self.over) {
            json::extend(&mut value, self.found(found));
        }
        let point = |(level, found): &(Option<String>, BreakEven)| {
            let mut point = json!({ "level": level });
            json::extend(&mut point, self.found(found));
            point
        };
        let is_curve = self.over.is_some();
        let curve: Vec<Value> = self.rows.iter().filter(|_| is_curve).map(point).collect();
        json::extend(&mut value, json!({ "over": self.over, "curve": curve }));
        value
    }

    fn found(&self, found: &BreakEven) -> Value {
        let crossing = |crossing: &Crossing| {
            json!({
                "root": crossing.root.at,
                "low": crossing.root.low,
                "high": crossing.root.high,
                "winner_below": self.name(crossing.below()),
                "winner_above": self.name(crossing.above()),
                "replications": crossing.replications,
            })
        };
        let crossings: Vec<Value> = found.crossings.iter().map(crossing).collect();
        let first = crossings.first();
        let part = |key: &str| first.map_or(Value::Null, |first| first[key].clone());
        let side = |key: &str, end| first.map_or(json!(self.name(end)), |first| first[key].clone());
        json!({
            "root": part("root"),
            "low": part("low"),
            "high": part("high"),
            "confidence": found.confidence,
            "winner_below": side("winner_below", found.below),
            "winner_above": side("winner_above", found.above),
            "replications": found.replications,
            "runs": found.runs,
            "crossings": crossings,
        })
    }

    fn csv(&self) -> String {
        let mut lines = csv::line([
            self.over.as_deref().unwrap_or("level"),
            "key",
            "root",
            "low",
            "high",
            "confidence",
            "winner_below",
            "winner_above",
            "replications",
        ]);
        for (level, found) in &self.rows {
            let value = self.found(found);
            let crossings = value["crossings"].as_array().map_or(&[][..], Vec::as_slice);
            let rows = if crossings.is_empty() { std::slice::from_ref(&value) } else { crossings };
            for row in rows {
                let cell = |key: &str| match &row[key] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let mut cells = vec![level.clone().unwrap_or_default(), self.key.clone()];
                cells.extend(["root", "low", "high"].map(cell));
                cells.push(found.confidence.to_string());
                cells.extend(["winner_below", "winner_above", "replications"].map(cell));
                lines += &csv::line(&cells);
            }
        }
        lines
    }
}
