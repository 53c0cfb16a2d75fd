//! What `forkcast size` selected: the best level of a factor, and why.

use serde_json::{Value, json};

use crate::experiment::{LevelResult, LevelState, SizeResults};
use crate::report::document::{Block, reproduce, table};
use crate::report::number::{count, duration, percent, plain, usd, usd_interval};
use crate::report::{Format, Header, csv, json, markdown, text};

/// Causes named as reasons.
const REASONS: usize = 3;

/// A selection with what was asked.
#[derive(Clone, Debug)]
pub struct SizeReport {
    /// The key that was varied.
    pub key: String,
    /// The objective in words, as it was asked for.
    pub objective: String,
    /// Whether an observation of the objective is that of a batch of so many replications.
    pub batch: u64,
    /// Probability of correct selection.
    pub probability: f64,
    /// Seed of the random streams.
    pub seed: u64,
    /// What it came to.
    pub results: SizeResults,
}

/// Returns the report.
pub fn render(header: &Header, report: &SizeReport, format: Format) -> String {
    match format {
        Format::Text => text::join(&report.blocks(header)),
        Format::Markdown => markdown::join(&report.blocks(header)),
        Format::Json => format!("{:#}\n", report.value(header)),
        Format::Csv => report.csv(),
    }
}

fn state(level: &LevelResult) -> &'static str {
    match level.state {
        LevelState::Chosen => "chosen",
        LevelState::Beaten => "beaten",
        LevelState::Drops => "drops tasks",
        LevelState::TooSlow => "too slow",
    }
}

impl SizeReport {
    fn blocks(&self, header: &Header) -> Vec<Block> {
        let results = &self.results;
        let mut blocks = Vec::new();
        blocks.extend(header.title.as_deref().map(|title| Block::Heading(plain(title))));
        blocks.extend(self.sentences().into_iter().map(Block::Paragraph));
        let row = |level: &LevelResult| {
            vec![
                plain(&level.level),
                state(level).to_owned(),
                level.above_choice.map_or(String::new(), |above| match level.state {
                    LevelState::Chosen => String::new(),
                    _ => usd_interval(above.mean, above.half_width),
                }),
                usd(level.cost_usd),
                duration(level.makespan_s),
                if level.is_on_frontier { "yes" } else { "" }.to_owned(),
                count(level.replications as f64),
            ]
        };
        blocks.push(table(
            &[&self.key, "", "above the choice", "cost", "makespan", "frontier", "replications"],
            results.levels.iter().map(row).collect(),
        ));
        let effort = format!(
            "{} replications of all levels; as many for each as for the last would be {}",
            count(results.replications as f64),
            count(results.equal_allocation as f64)
        );
        blocks.extend(reproduce(header, self.seed, &effort));
        blocks
    }

    fn sentences(&self) -> Vec<String> {
        let results = &self.results;
        let Some(chosen) = results.chosen else {
            let none = format!("No level of {} does what is asked of it.", self.key);
            return [Some(none), self.dropping()].into_iter().flatten().collect();
        };
        let level = |at: usize| plain(&results.levels[at].level);
        let mut sentences = vec![format!(
            "{} = {} is the best: {} = {}.",
            self.key,
            level(chosen),
            self.objective,
            usd(results.levels[chosen].objective.mean),
        )];
        if let Some((next, difference)) = &results.runner_up {
            sentences.push(format!(
                "Next is {}, {} above it (95 % confidence, paired).",
                level(*next),
                usd_interval(difference.mean, difference.half_width),
            ));
        }
        sentences.push(self.promise());
        sentences.extend(self.dropping());
        sentences.extend(self.why());
        sentences
    }

    /// Which levels take no part because of what they leave undone.
    fn dropping(&self) -> Option<String> {
        let is_dropping = |level: &&LevelResult| level.state == LevelState::Drops;
        let levels = self.results.levels.iter().filter(is_dropping);
        let names: Vec<String> = levels.map(|level| plain(&level.level)).collect();
        (!names.is_empty()).then(|| {
            format!(
                "These leave tasks or runs undone and take no part: {}. `--max-dropped` allows it.",
                names.join(", ")
            )
        })
    }

    fn promise(&self) -> String {
        let results = &self.results;
        if !results.is_guaranteed {
            return "The replications ran out: the smallest mean was taken, without a guarantee; \
                    allow more with `--replications` or a wider `--indifference`."
                .to_owned();
        }
        let mut promise = format!(
            "A level better than each other by {} is selected with a probability of at least {}, \
             else one within that of the best.",
            usd(results.indifference_usd),
            percent(self.probability),
        );
        if self.batch > 1 {
            let batch = count(self.batch as f64);
            promise.push_str(" What is compared are means of quantiles of batches of ");
            promise.push_str(&batch);
            promise.push_str(" replications; for that the promise holds.");
        }
        promise
    }

    /// Which causes the factor moves most, from its first level to its last.
    fn why(&self) -> Option<String> {
        let (first, last) = (self.results.levels.first()?, self.results.levels.last()?);
        let mut moved = changes(first, last);
        moved.retain(|(_, change)| change.abs() > 0.0);
        let shown = |(cause, change): &(&str, f64)| {
            let sign = if *change > 0.0 { "+" } else { "" };
            format!("{cause} {sign}{}", usd(*change))
        };
        let named: Vec<String> = moved.iter().take(REASONS).map(shown).collect();
        (!named.is_empty() && self.results.levels.len() > 1).then(|| {
            format!(
                "From {} to {} the cost moves by: {}.",
                plain(&first.level),
                plain(&last.level),
                named.join(", ")
            )
        })
    }

    fn value(&self, header: &Header) -> Value {
        let results = &self.results;
        let level = |level: &LevelResult| {
            json!({
                "level": level.level,
                "state": state(level),
                "replications": level.replications,
                "objective_usd": json::estimate(&level.objective),
                "above_choice_usd": level.above_choice.as_ref().map(json::estimate),
                "cost_usd": json::summary(&level.results.cost_usd),
                "makespan_s": json::summary(&level.results.makespan_s),
                "cost_by_cause_usd": json::breakdown(&level.results.cost_by_cause_usd),
                "frontier": level.is_on_frontier,
            })
        };
        let name = |at: usize| results.levels[at].level.clone();
        let runner_up = results.runner_up.as_ref().map(|(at, difference)| {
            json!({ "level": name(*at), "difference_usd": json::estimate(difference) })
        });
        let ends = results.levels.first().zip(results.levels.last());
        let by_cause: serde_json::Map<String, Value> = ends
            .map(|(first, last)| changes(first, last))
            .unwrap_or_default()
            .into_iter()
            .map(|(cause, change)| (cause.to_owned(), change.into()))
            .collect();
        let mut value = json::origin(header, self.seed, results.replications);
        json::extend(
            &mut value,
            json!({
                "key": self.key,
                "objective": self.objective,
                "choice": results.chosen.map(name),
                "runner_up": runner_up,
                "probability": self.probability,
                "indifference_usd": results.indifference_usd,
                "guaranteed": results.is_guaranteed,
                "equal_allocation": results.equal_allocation,
                "change_by_cause_usd": by_cause,
                "levels": results.levels.iter().map(level).collect::<Vec<_>>(),
            }),
        );
        value
    }

    fn csv(&self) -> String {
        let heading = [&self.key, "state", "objective_usd", "objective_half_width_usd"];
        let more = ["cost_usd_mean", "makespan_s_mean", "frontier", "replications"];
        let mut lines = csv::line([heading, more].concat());
        for level in &self.results.levels {
            let cells = [
                level.level.clone(),
                state(level).to_owned(),
                level.objective.mean.to_string(),
                level.objective.half_width.map_or(String::new(), |half| half.to_string()),
                level.cost_usd.to_string(),
                level.makespan_s.to_string(),
                level.is_on_frontier.to_string(),
                level.replications.to_string(),
            ];
            lines += &csv::line(&cells);
        }
        lines
    }
}

/// Changes of the cost by cause, the largest first.
fn changes<'a>(from: &'a LevelResult, to: &LevelResult) -> Vec<(&'a str, f64)> {
    let (from, to) = (&from.results.cost_by_cause_usd, &to.results.cost_by_cause_usd);
    let mut changes: Vec<(&str, f64)> =
        from.iter().zip(to).map(|((cause, a), (_, b))| (*cause, b - a)).collect();
    changes.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
    changes
}
