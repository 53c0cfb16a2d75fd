//! From a figure file to a figure: simulated, put into charts, with subtitle and footer.

use std::fmt::Write as _;

use crate::figure::{Chart, Figure, Panel};
use crate::plot::file::{Band, Kind};
use crate::plot::read::{BARS_MAX, Facet};
use crate::plot::simulate::{Points, Progress, ReadFile};
use crate::plot::{Plot, words};
use crate::scenario::{Problems, Study};

/// What a figure says of where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Name of the figure, which becomes the `id` of its SVG.
    pub name: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The command that draws it again.
    pub reproduce: String,
}

impl Plot {
    /// Simulates what the figure shows and returns it.
    ///
    /// Works in the current rayon thread pool. The scenario is handed over as it stands with the
    /// changes that the file makes ([`Plot::sets`]).
    ///
    /// # Errors
    /// All problems of the points that the scenario takes on, and of what the file says of it.
    pub fn draw(
        &self,
        mut study: Study,
        provenance: &Provenance,
        read: ReadFile<'_>,
        progress: Progress<'_>,
    ) -> Result<Figure, Vec<Problems>> {
        self.pick_variants(&mut study).map_err(|problems| vec![problems])?;
        let points = self.simulate(&study, read, progress)?;
        let panels = self.panels(&points);
        let title = Some(self.file.title.clone()).filter(|title| !title.is_empty());
        let file = &self.file;
        Ok(Figure {
            id: provenance.name.clone(),
            title,
            subtitle: if file.subtitle.is_empty() {
                self.subtitle(&study, &points)
            } else {
                file.subtitle.clone()
            },
            footer: self.footer(&study, &points, provenance),
            size: file.size.map_or_else(|| size(&panels), |[width, height]| (width, height)),
            panels,
        })
    }

    /// Returns the changes that the file makes to its scenario, as `--set` takes them.
    pub fn sets(&self) -> Vec<(String, String)> {
        let set = |(key, value): (&String, &toml::Value)| (key.clone(), value.to_string());
        self.file.set.iter().map(set).collect()
    }

    /// Leaves the variants that are shown: those named, or all, or none but the base.
    fn pick_variants(&self, study: &mut Study) -> Result<(), Problems> {
        let known: Vec<String> =
            study.loaded().variants.iter().map(|variant| variant.name.clone()).collect();
        for (at, name) in self.file.variants.iter().enumerate() {
            if !known.contains(name) {
                let message =
                    format!("no variant is named `{name}`; variants are: {}", known.join(", "));
                return Err(self.problem(&format!("variants.{at}"), message));
            }
        }
        if !self.file.variants.is_empty() {
            let names: Vec<&str> = self.file.variants.iter().map(String::as_str).collect();
            study.keep_variants(&names, "")?;
        } else if self.series.is_some() {
            study.drop_variants();
        }
        let count = study.loaded().variants.len();
        let (key, lines) = match (&self.series, &self.facet) {
            (Some(_), _) if count > 1 && self.facet != Some(Facet::Variants) => {
                let message = "lines are either levels of `series` or variants: name one variant";
                return Err(self.problem("variants", message));
            }
            (_, Some(Facet::Variants)) => ("facet", 1),
            (_, _) => ("variants", count),
        };
        let levels = Plot::levels(self.x.as_ref());
        let (found, most, what) = match self.file.kind {
            Kind::Line => (lines, crate::figure::HUES, "lines"),
            Kind::Bars => (lines * levels, BARS_MAX, "bars"),
        };
        if found > most {
            return Err(self.problem(key, format!("{found} {what}; a panel has at most {most}")));
        }
        Ok(())
    }

    fn panels(&self, points: &Points) -> Vec<Panel> {
        let chart = |panel: usize| match self.file.kind {
            Kind::Line => Chart::Lines(self.lines(points, panel)),
            Kind::Bars => Chart::Bars(self.bars(points, panel)),
        };
        let headings: Vec<Option<String>> = match &self.facet {
            None => vec![None],
            Some(Facet::Variants) => {
                points.at(0, 0, 0).iter().map(|cell| Some(cell.results.name.clone())).collect()
            }
            Some(Facet::Levels(factor)) => {
                let name = |level: &crate::scenario::Level| words::level(&factor.key, &level.label);
                factor.levels.iter().map(|level| Some(name(level))).collect()
            }
        };
        let panel = |(at, heading)| Panel { heading, chart: chart(at) };
        headings.into_iter().enumerate().map(panel).collect()
    }

    fn subtitle(&self, study: &Study, points: &Points) -> String {
        let title = &study.loaded().base.scenario.title;
        let (low, high) = points.replications();
        let runs =
            if low == high { count(low) } else { format!("{} to {}", count(low), count(high)) };
        let how = match (points.is_random(), self.file.kind, self.file.band) {
            (false, ..) => String::new(),
            (true, Kind::Line, Band::Interval) if self.measure.has_band() => {
                format!("Means over {runs} replications, with their 95 % intervals.")
            }
            (true, Kind::Line, Band::Runs) if self.measure.has_band() => {
                format!("Means over {runs} replications; the band holds 90 % of them.")
            }
            (true, Kind::Bars, _) => format!("{runs} replications, 95 % intervals under the bars."),
            (true, ..) => format!("{runs} replications of each."),
        };
        let blank = if title.is_empty() || how.is_empty() { "" } else { " " };
        let stop = if title.is_empty() || title.ends_with(['.', '?', '!']) { "" } else { "." };
        format!("{title}{stop}{blank}{how}")
    }

    fn footer(&self, study: &Study, points: &Points, provenance: &Provenance) -> Vec<String> {
        let base = &study.loaded().base;
        let mut origin =
            format!("{}, prices {} as of {}", provenance.scenario, base.book, base.as_of);
        if points.is_random() {
            // Writing to a string cannot fail.
            let _ = write!(origin, ", seed {}", self.file.seed);
        }
        vec![format!("{origin}. {}", provenance.reproduce)]
    }
}

fn count(value: u64) -> String {
    crate::units::Tokens::new(value).to_string()
}

/// Returns the size of a figure that states none: as high as its kind needs.
fn size(panels: &[Panel]) -> (u32, u32) {
    const WIDTH: u32 = 760;
    let rows = match panels.len() {
        0..=3 => 1,
        4..=6 => 2,
        _ => 3,
    };
    let height = match panels.first().map(|panel| &panel.chart) {
        Some(Chart::Bars(bars)) => 170 + 44 * bars.bars.len() as u32,
        Some(Chart::Lines(_)) | None if panels.len() > 1 => 250,
        Some(Chart::Lines(_)) | None => 440,
    };
    (WIDTH, if panels.len() > 1 { 130 + rows * height } else { height.clamp(240, 1_600) })
}
