//! The figure file: what it may say.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A figure: a scenario, what is varied, what is measured, and how it is shown.
///
/// `KEY=SPEC` is what `forkcast sweep --vary` takes: `fanout.tasks=1..16`,
/// `session.context=20k..200k#10`, `cache.ttl=5m,1h`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FigureFile {
    /// Version of the file format; the only one is 1.
    pub format_version: u32,
    /// The scenario file, as seen from the folder of this one.
    pub scenario: String,
    /// What kind of figure it is.
    pub kind: Kind,
    /// What is varied along the horizontal axis, as KEY=SPEC; of bars, one bar for each level.
    pub x: String,
    /// What is measured: a column of `forkcast sweep`, such as `cost_usd`, `cost_usd_p95`,
    /// `makespan_s`, `hit_ratio_tokens`, `cost_by_cause_usd_expired`; left out: the cost.
    pub y: String,
    /// One line for each level of this KEY=SPEC, of the scenario without its variants; left out:
    /// one for each variant.
    pub series: String,
    /// One panel for each level of this KEY=SPEC, or for each variant where it is `variant`.
    pub facet: String,
    /// Names of the variants to show, in this order; left out: all.
    pub variants: Vec<String>,
    /// What the parts of bars are.
    pub by: By,
    /// What the band around a line is.
    pub band: Band,
    /// Changes to the scenario, as `--set` makes them: dotted keys and their values.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub set: BTreeMap<String, toml::Value>,
    /// Replications of each point; left out: 256, which paired differences need seldom more than.
    pub replications: Option<u64>,
    /// Instead of a number: stop when the half-width of the mean cost is this share of it, or at
    /// 10,000 replications.
    pub precision: Option<f64>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The title; left out: what the data say, computed.
    pub title: String,
    /// The line under the title; left out: what is shown.
    pub subtitle: String,
    /// What the horizontal axis counts; left out: from its key.
    pub x_label: String,
    /// What the vertical axis counts; left out: from what is measured.
    pub y_label: String,
    /// Axes on which equal distances are equal factors.
    pub log: Vec<AxisName>,
    /// Which page the figure is for.
    pub theme: ThemeName,
    /// Width and height in pixels of a page; a PNG has twice as many. Left out: 760 wide, and as
    /// high as the kind needs.
    pub size: Option<[u32; 2]>,
}

impl Default for FigureFile {
    fn default() -> FigureFile {
        FigureFile {
            format_version: 1,
            scenario: String::new(),
            kind: Kind::Line,
            x: String::new(),
            y: String::new(),
            series: String::new(),
            facet: String::new(),
            variants: Vec::new(),
            by: By::Item,
            band: Band::Interval,
            set: BTreeMap::new(),
            replications: None,
            precision: None,
            seed: 1,
            title: String::new(),
            subtitle: String::new(),
            x_label: String::new(),
            y_label: String::new(),
            log: Vec::new(),
            theme: ThemeName::Light,
            size: None,
        }
    }
}

/// Kinds of figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Lines over the levels of a key, with bands.
    #[default]
    Line,
    /// Bills as stacked bars.
    Bars,
}

impl Kind {
    /// All kinds, in the order of the reference.
    pub const ALL: [Kind; 2] = [Kind::Line, Kind::Bars];

    /// Returns its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Line => "line",
            Kind::Bars => "bars",
        }
    }
}

/// What the parts of a bill are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Line items: cache reads, cache writes, output, ...
    #[default]
    Item,
    /// On whose behalf: the main session, children, ...
    Role,
    /// Why: `new_content`, `expired`, `cold_start`, ...
    Cause,
}

/// What a band shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Band {
    /// The 95 % interval of the mean.
    #[default]
    Interval,
    /// From the 5th to the 95th percentile of runs.
    Runs,
    /// Nothing.
    None,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AxisName {
    /// The horizontal one.
    X,
    /// The vertical one.
    Y,
}

/// Which page a figure is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThemeName {
    /// A light page.
    #[default]
    Light,
    /// A dark page.
    Dark,
    /// One SVG that follows the reader's color scheme, and a PNG for each.
    Both,
}
