//! What `forkcast sensitivity` found: which single setting matters.

use serde_json::{Value, json};

use crate::experiment::{Effect, Sensitivity};
use crate::report::document::{Block, replications, reproduce, table};
use crate::report::number::{plain, usd_interval};
use crate::report::{Format, Header, csv, json, markdown, text};

/// An analysis with what was asked.
#[derive(Clone, Debug)]
pub struct SensitivityReport {
    /// The two variants whose difference is looked at; `None` for the cost of the base.
    pub between: Option<[String; 2]>,
    /// Keys that are passed by because a value of theirs is not accepted.
    pub skipped: Vec<String>,
    /// Seed of the random streams.
    pub seed: u64,
    /// What it came to.
    pub results: Sensitivity,
}

/// Returns the report.
pub fn render(header: &Header, report: &SensitivityReport, format: Format) -> String {
    match format {
        Format::Text => text::join(&report.blocks(header)),
        Format::Markdown => markdown::join(&report.blocks(header)),
        Format::Json => format!("{:#}\n", report.value(header)),
        Format::Csv => report.csv(),
    }
}

/// A value for a table; of a distribution only which way it was scaled.
fn short(value: &str, way: &str) -> String {
    if value.starts_with('{') { way.to_owned() } else { plain(value) }
}

impl SensitivityReport {
    fn blocks(&self, header: &Header) -> Vec<Block> {
        let results = &self.results;
        let base = &results.base;
        let mut blocks = Vec::new();
        blocks.extend(header.title.as_deref().map(|title| Block::Heading(plain(title))));
        let mean = if self.between.is_some() { base.mean.abs() } else { base.mean };
        let amount = usd_interval(mean, base.half_width);
        let relation = if base.mean < 0.0 { "less" } else { "more" };
        let moves = "What one setting alone moves that by";
        blocks.push(Block::Paragraph(match &self.between {
            None => format!("A run costs {amount}. {moves}:"),
            Some([a, b]) => {
                let (a, b) = (plain(a), plain(b));
                format!(
                    "`{b}` costs {amount} {relation} than `{a}`. {moves}, and whether it turns \
                     the sign:"
                )
            }
        }));
        let (moving, still): (Vec<_>, Vec<_>) =
            results.effects.iter().partition(|effect| effect.size() > 0.0);
        let row = |effect: &&Effect| {
            let shown = |one: &crate::stats::Estimate| usd_interval(one.mean, one.half_width);
            let mut cells = vec![
                plain(&effect.key),
                short(&effect.low, "smaller"),
                shown(&effect.at_low),
                short(&effect.high, "larger"),
                shown(&effect.at_high),
            ];
            if self.between.is_some() {
                cells.push(if effect.turns(base) { "yes" } else { "" }.to_owned());
            }
            cells
        };
        let mut heading = vec!["setting", "low", "moves by", "high", "moves by"];
        heading.extend(self.between.is_some().then_some("turns"));
        blocks.push(table(&heading, moving.iter().map(row).collect()));
        let keys: Vec<String> = still.iter().map(|effect| plain(&effect.key)).collect();
        for (what, keys) in [("No effect", &keys), ("Passed by", &self.skipped)] {
            if !keys.is_empty() {
                blocks.push(Block::Paragraph(format!("{what}: {}.", keys.join(", "))));
            }
        }
        blocks.extend(reproduce(header, self.seed, &replications(results.replications)));
        blocks
    }

    fn value(&self, header: &Header) -> Value {
        let results = &self.results;
        let effect = |effect: &Effect| {
            json!({
                "key": effect.key,
                "low": effect.low,
                "high": effect.high,
                "at_low_usd": json::estimate(&effect.at_low),
                "at_high_usd": json::estimate(&effect.at_high),
                "swing_usd": json::estimate(&effect.swing),
                "turns": self.between.as_ref().map(|_| effect.turns(&results.base)),
            })
        };
        let mut value = json::origin(header, self.seed, results.replications);
        json::extend(
            &mut value,
            json!({
                "between": self.between,
                "base_usd": json::estimate(&results.base),
                "effects": results.effects.iter().map(effect).collect::<Vec<_>>(),
                "skipped": self.skipped,
            }),
        );
        value
    }

    fn csv(&self) -> String {
        let mut lines = csv::line([
            "key",
            "low",
            "high",
            "at_low_usd",
            "at_low_half_width_usd",
            "at_high_usd",
            "at_high_half_width_usd",
            "swing_usd",
            "swing_half_width_usd",
        ]);
        for effect in &self.results.effects {
            let mut cells = vec![effect.key.clone(), effect.low.clone(), effect.high.clone()];
            for one in [&effect.at_low, &effect.at_high, &effect.swing] {
                cells.push(one.mean.to_string());
                cells.push(one.half_width.map_or(String::new(), |half| half.to_string()));
            }
            lines += &csv::line(&cells);
        }
        lines
    }
}
