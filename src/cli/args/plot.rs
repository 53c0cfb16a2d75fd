//! Arguments of `plot`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::SetOptions;
use crate::cli::option_values::share;

/// Options of `plot`.
#[derive(Debug, clap::Args)]
#[command(after_help = "A figure file names a scenario, a kind, and what is varied:\n  \
    scenario = \"my.toml\"             as seen from the folder of the figure file\n  \
    kind     = \"line\"                what it is; see `forkcast schema --figure --markdown`\n  \
    x        = \"fanout.tasks=1..16\"  KEY=SPEC, as `sweep --vary` takes it\n\n\
    `forkcast init --figure line` writes one to start from.\n\n\
    Examples:\n  \
    forkcast plot figure.toml\n  \
    forkcast plot plots/*.toml --format svg --check\n  \
    forkcast plot figure.toml -o docs --theme dark --replications 2000")]
pub(in crate::cli) struct PlotOptions {
    /// Figure files; each is drawn to NAME.svg and NAME.png
    #[arg(value_name = "FIGURE", required = true)]
    pub(in crate::cli) figures: Vec<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) set: SetOptions,
    /// Replications of each point, whatever the file says
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "precision",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000),
        help_heading = "Run"
    )]
    pub(in crate::cli) replications: Option<u64>,
    /// Stop when the half-width of the mean cost is this share of it, or at 10,000
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Run")]
    pub(in crate::cli) precision: Option<f64>,
    /// Seed of all random numbers, whatever the file says
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(in crate::cli) seed: Option<u64>,
    /// Threads; the figures do not depend on it [default: all cores]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1_024),
        help_heading = "Run"
    )]
    pub(in crate::cli) threads: Option<u16>,
    /// Write into this folder [default: beside each figure file]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(in crate::cli) out: Option<PathBuf>,
    /// Only this format [default: both]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output")]
    pub(in crate::cli) format: Option<PlotFormat>,
    /// Which page the figures are for, whatever the file says; `both` gives one SVG that follows
    /// the reader's color scheme, and a PNG for each
    #[arg(long, value_enum, value_name = "THEME", help_heading = "Output")]
    pub(in crate::cli) theme: Option<PlotTheme>,
    /// Write nothing; exit with 3 when an SVG that is there differs from what would be drawn
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    pub(in crate::cli) check: bool,
    /// No progress and no notes on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(in crate::cli) quiet: bool,
}

/// A format of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PlotFormat {
    /// Scalable, with texts and names on hover
    Svg,
    /// Pixels, two to each of a page
    Png,
}

/// A theme of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PlotTheme {
    /// A light page
    Light,
    /// A dark page
    Dark,
    /// Whichever the reader prefers
    Both,
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum FigureKind {
    /// Lines over the levels of a key
    Line,
    /// Bills as stacked bars
    Bars,
}
