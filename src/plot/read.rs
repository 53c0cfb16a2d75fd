//! From the text of a figure file to a plot, with every problem at once.

use crate::figure::HUES;
use crate::plot::file::{AxisName, Band, By, FigureFile, Kind};
use crate::plot::measure::Measure;
use crate::scenario::{
    Factor, Problem, Problems, Sources, Tree, VARIANT_KEY, decode, parse_factor,
};

/// The most points that a figure simulates.
const POINTS_MAX: usize = 10_000;
/// The most panels.
const PANELS_MAX: usize = 12;
/// The most bars, so that each has room for its name.
pub(super) const BARS_MAX: usize = 40;
const REPLICATIONS: std::ops::RangeInclusive<u64> = 1..=1_000_000;
const SIZES: std::ops::RangeInclusive<u32> = 200..=4_000;

/// A figure file that has been read and found right.
#[derive(Clone, Debug)]
pub struct Plot {
    /// What it says.
    pub file: FigureFile,
    pub(super) x: Option<Factor>,
    pub(super) series: Option<Factor>,
    pub(super) facet: Option<Facet>,
    pub(super) measure: Measure,
    tree: Tree,
    sources: Sources,
}

/// What sets panels apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Facet {
    /// Each variant has its panel.
    Variants,
    /// Each level of a key.
    Levels(Factor),
}

impl Plot {
    /// Reads a figure file; the name is for messages.
    ///
    /// # Errors
    /// All problems at once, each with its place.
    pub fn read(name: &str, text: &str) -> Result<Plot, Problems> {
        let mut sources = Sources::new();
        let source = sources.add(name, text);
        let tree = match Tree::parse(&sources, source) {
            Ok(tree) => tree,
            Err(problems) => return Err(Problems::new(problems, &sources)),
        };
        let (file, problems) = decode::<FigureFile>(&tree);
        let is_decoded = problems.is_empty();
        let mut reader = Reader { tree: &tree, problems };
        let file = file.unwrap_or_default();
        let x = reader.factor("x", &file.x);
        let series = reader.factor("series", &file.series);
        let facet = if file.facet == VARIANT_KEY {
            Some(Facet::Variants)
        } else {
            reader.factor("facet", &file.facet).map(Facet::Levels)
        };
        let measure = reader.measure(&file);
        if is_decoded {
            reader.check(&file);
        }
        let problems = reader.problems;
        let plot = Plot { file, x, series, facet, measure, tree, sources };
        let problems = [problems, plot.too_many()].concat();
        if problems.is_empty() { Ok(plot) } else { Err(Problems::new(problems, &plot.sources)) }
    }

    /// Returns problems found later, at a key of the file.
    pub(super) fn problem(&self, key: &str, message: impl Into<String>) -> Problems {
        Problems::new(vec![self.tree.problem(key, message)], &self.sources)
    }

    /// Returns the levels of a factor, or one of nothing.
    pub(super) fn levels(factor: Option<&Factor>) -> usize {
        factor.map_or(1, |factor| factor.levels.len())
    }

    pub(super) fn facet_factor(&self) -> Option<&Factor> {
        match &self.facet {
            Some(Facet::Levels(factor)) => Some(factor),
            Some(Facet::Variants) | None => None,
        }
    }

    fn too_many(&self) -> Vec<Problem> {
        let [x, series, facet] =
            [self.x.as_ref(), self.series.as_ref(), self.facet_factor()].map(Plot::levels);
        let mut problems = Vec::new();
        let mut limit = |key: &str, count: usize, most: usize, what: &str| {
            if count > most {
                let message = format!("{count} {what}; a figure has at most {most}");
                problems.push(self.tree.problem(key, message));
            }
        };
        limit("series", series, HUES, "series");
        limit("facet", facet, PANELS_MAX, "panels");
        limit("x", x.saturating_mul(series).saturating_mul(facet), POINTS_MAX, "points");
        if self.file.kind == Kind::Bars {
            limit("x", x, BARS_MAX, "bars");
        }
        problems
    }
}

struct Reader<'a> {
    tree: &'a Tree,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, key: &str, message: impl Into<String>) {
        self.problems.push(self.tree.problem(key, message));
    }

    fn factor(&mut self, key: &str, spec: &str) -> Option<Factor> {
        if spec.is_empty() {
            return None;
        }
        match parse_factor(spec) {
            Ok(factor) if factor.key == VARIANT_KEY => {
                self.wrong(key, "variants are picked by `variants`, and have panels by `facet`");
                None
            }
            Ok(factor) => Some(factor),
            Err(problems) => {
                for problem in problems {
                    let place = self.tree.problem(key, problem.message);
                    self.problems.push(Problem { help: problem.help, ..place });
                }
                None
            }
        }
    }

    fn measure(&mut self, file: &FigureFile) -> Measure {
        if file.y.is_empty() {
            return Measure::COST;
        }
        Measure::parse(&file.y).unwrap_or_else(|message| {
            self.wrong("y", message);
            Measure::COST
        })
    }

    /// Checks what the types alone do not.
    fn check(&mut self, file: &FigureFile) {
        if file.format_version != 1 {
            let message =
                format!("`{}` is no known version; the only one is 1", file.format_version);
            self.wrong("format_version", message);
        }
        if file.scenario.is_empty() {
            self.wrong("scenario", "key `scenario` is missing; write the path of a scenario file");
        }
        if file.kind == Kind::Line && file.x.is_empty() {
            self.wrong("x", "key `x` is missing; write KEY=SPEC, such as \"fanout.tasks=1..16\"");
        }
        if file.replications.is_some() && file.precision.is_some() {
            self.wrong("precision", "`precision` and `replications` exclude each other");
        }
        if file.replications.is_some_and(|count| !REPLICATIONS.contains(&count)) {
            self.wrong("replications", "expected a whole number from 1 to 1000000");
        }
        if file.precision.is_some_and(|share| !(1e-5..1.0).contains(&share)) {
            self.wrong("precision", "expected a share from 0.00001 to 1, such as 0.01");
        }
        if file.size.is_some_and(|size| !size.iter().all(|length| SIZES.contains(length))) {
            self.wrong(
                "size",
                "expected a width and a height from 200 to 4000, such as [760, 440]",
            );
        }
        for (at, name) in file.variants.iter().enumerate() {
            if file.variants[..at].contains(name) {
                self.wrong(&format!("variants.{at}"), format!("`{name}` is there twice"));
            }
        }
        self.check_kind(file);
    }

    /// Refuses keys that do not act on a kind.
    fn check_kind(&mut self, file: &FigureFile) {
        let lines = [Kind::Line];
        let has_log = |axis: AxisName| file.log.contains(&axis);
        let written = [
            ("series", !file.series.is_empty(), &lines[..]),
            ("y", !file.y.is_empty(), &lines),
            ("band", file.band != Band::Interval, &lines),
            ("log", has_log(AxisName::X) || has_log(AxisName::Y), &lines),
            ("by", file.by != By::Item, &[Kind::Bars]),
        ];
        for (key, is_written, kinds) in written {
            if is_written && !kinds.contains(&file.kind) {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                let kind = file.kind.name();
                self.wrong(
                    key,
                    format!("does not act on kind `{kind}`, only on {}", names.join(", ")),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        Plot::read("f.toml", text).map_or_else(|problems| problems.to_string(), |_| String::new())
    }

    #[test]
    fn three_lines_are_a_figure() {
        let text = "scenario = \"s.toml\"\nkind = \"line\"\nx = \"fanout.tasks=1..4\"";
        let plot = Plot::read("f.toml", text).unwrap();
        assert_eq!(plot.x.map(|factor| factor.levels.len()), Some(4));
        assert_eq!((plot.measure, plot.file.seed), (Measure::COST, 1));
    }

    #[test]
    fn all_problems_are_told_at_their_places() {
        let text = "kind = \"bars\"\ny = \"cost\"\nseries = \"fanout.tasks=1..,2\"\n\
                    replications = 0\nprecision = 0.01\nsize = [760, 1]\nvariants = [\"a\", \"a\"]\n\
                    facet = \"variant=a\"\n";
        let expected = "\
f.toml:1:1: scenario: key `scenario` is missing; write the path of a scenario file
f.toml:2:5: y: `cost` is no column of results; the nearest is `cost_usd`
f.toml:2:5: y: does not act on kind `bars`, only on line
f.toml:3:10: series: `1..` has `` where a number belongs: at most nine decimals, and a unit of \
tokens (k, M), of time (us, ms, s, m, h, d), % or tokens/s; a range is LO..HI, LO..HI:STEP, \
LO..HI#N or LO..HI*N, such as 1..20 or 10k..200k#5
f.toml:3:10: series: does not act on kind `bars`, only on line
f.toml:4:16: replications: expected a whole number from 1 to 1000000
f.toml:5:13: precision: `precision` and `replications` exclude each other
f.toml:6:8: size: expected a width and a height from 200 to 4000, such as [760, 440]
f.toml:7:18: variants.1: `a` is there twice
f.toml:8:9: facet: variants are picked by `variants`, and have panels by `facet`";
        assert_eq!(wrong(text), expected);
        let unknown = wrong("scenario = 's'\nkind = 'pie'\nx = 'a=1'\ncolor = 1\n");
        assert!(unknown.contains("f.toml:2:8: kind: `pie` is unknown; expected one of `line`"));
        assert!(unknown.contains("f.toml:4:1: color: unknown key `color`"), "{unknown}");
        let many = wrong("scenario = 's'\nx = 'a=1..200'\nseries = 'b=1..9'\nfacet = 'c=1..13'");
        assert_eq!(many.lines().count(), 3, "{many}");
    }
}
