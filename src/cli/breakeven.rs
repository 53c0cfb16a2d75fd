//! `forkcast breakeven`: where two variants cost the same.

use forkcast::experiment::{BreakEven, RootSearch, StopRule, breakeven};
use forkcast::orchestration::Plan;
use forkcast::report::breakeven::{BreakEvenReport, render};
use forkcast::scenario::{Factor, KeyRange, Level, Range, Unit};

use super::args::BreakevenOptions;
use super::decide::{Subject, factor, pair};
use super::failure::Failure;
use super::{files, terminal};

/// Searches, once or for each level of a second key, and reports.
pub(super) fn run(options: &BreakevenOptions) -> Result<(), Failure> {
    let common = &options.decide;
    let subject = Subject::read(common)?;
    let KeyRange { key, range } = &options.vary.vary;
    let over = options.over.as_deref().map(factor).transpose()?;
    let levels: Vec<Option<&Level>> =
        over.as_ref().map_or(vec![None], |over| over.levels.iter().map(Some).collect());
    let first = at_level(over.as_ref(), levels[0]);
    let loaded = subject.load(&with(&first, key, range.unit.text(range.low)))?;
    let variants = pair(&loaded, options.between.as_deref())?;
    let mut rows = Vec::new();
    for level in levels {
        let sets = at_level(over.as_ref(), level);
        let problem = Problem { subject: &subject, sets, key, range, variants };
        rows.push((
            level.map(|level| level.label.to_string()),
            common.on_threads(|| problem.solve(options))?,
        ));
    }
    let report = BreakEvenReport {
        key: key.clone(),
        unit: range.unit,
        range: [range.low, range.high],
        between: variants.map(|variant| loaded.variants[variant].name.clone()),
        seed: common.execution.seed,
        over: over.map(|over| over.key),
        rows,
    };
    let header = subject.header("breakeven", &arguments(options), &loaded);
    let text = render(&header, &report, common.output.format());
    files::write_out(common.output.out.as_deref(), &text)
}

fn at_level(over: Option<&Factor>, level: Option<&Level>) -> Vec<(String, String)> {
    let pair = over.zip(level);
    pair.map(|(over, level)| (over.key.clone(), level.value.to_string())).into_iter().collect()
}

fn with(sets: &[(String, String)], key: &str, value: String) -> Vec<(String, String)> {
    [sets, &[(key.to_owned(), value)]].concat()
}

fn arguments(options: &BreakevenOptions) -> Vec<String> {
    let mut arguments = vec!["--vary".to_owned(), options.vary.text.clone()];
    let precision = options.precision.map(|share| share.to_string());
    let named =
        [("--between", &options.between), ("--over", &options.over), ("--precision", &precision)];
    for (name, value) in named {
        arguments.extend(value.iter().flat_map(|value| [name.to_owned(), value.clone()]));
    }
    arguments
}

/// One search.
struct Problem<'a> {
    subject: &'a Subject<'a>,
    sets: Vec<(String, String)>,
    key: &'a str,
    range: &'a Range,
    variants: [usize; 2],
}

impl Problem<'_> {
    fn solve(&self, options: &BreakevenOptions) -> Result<BreakEven, Failure> {
        let bar = terminal::progress(options.decide.quiet, "replications");
        let search = RootSearch {
            low: self.range.low,
            high: self.range.high,
            step: self.range.step,
            resolution: self.resolution(),
            seed: options.decide.execution.seed,
            stop: match options.decide.replications {
                Some(count) => StopRule::Count(count),
                None => StopRule::precision(options.precision.unwrap_or(0.01)),
            },
        };
        let found = breakeven(&search, &mut |value| self.plans_at(value), &|progress| {
            bar.set_length(progress.planned);
            bar.set_position(progress.done);
        });
        bar.finish_and_clear();
        found
    }

    fn plans_at(&self, value: f64) -> Result<[Plan; 2], Failure> {
        let loaded = self.subject.load(&with(&self.sets, self.key, self.range.unit.text(value)))?;
        Ok(self.variants.map(|variant| loaded.variants[variant].plan.clone()))
    }

    /// Whole values only where the bounds are whole and the key takes no half; millionths else.
    fn resolution(&self) -> f64 {
        const FINEST: f64 = 1e-6;
        let Range { low, high, unit, .. } = *self.range;
        let is_whole = unit == Unit::Number && low.fract() == 0.0 && high.fract() == 0.0;
        if is_whole && self.plans_at(low + 0.5).is_err() { 1.0 } else { FINEST }
    }
}
