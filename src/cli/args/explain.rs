//! Arguments of `explain`.

use std::path::PathBuf;

use super::{OutputOptions, ScenarioOptions};

/// Options of `explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "FILE may be - for stdout, which then has no report.\n\n\
    Examples:\n  \
    forkcast explain scenarios/five-minute-pause.toml\n  \
    forkcast explain scenarios/fork-or-fresh.toml --variant fork --perfetto fork.json\n  \
    forkcast explain scenarios/fork-or-fresh.toml --events - | grep expired")]
pub(in crate::cli) struct ExplainOptions {
    #[command(flatten)]
    pub(in crate::cli) scenario: ScenarioOptions,
    /// The variant to explain [default: the scenario without any variant's changes]
    #[arg(long, value_name = "NAME", help_heading = "Run")]
    pub(in crate::cli) variant: Option<String>,
    /// Number of the replication, from 1
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000),
        help_heading = "Run"
    )]
    pub(in crate::cli) replication: u64,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Run")]
    pub(in crate::cli) seed: u64,
    /// Show each request, also of long runs
    #[arg(long, help_heading = "Output")]
    pub(in crate::cli) all: bool,
    /// Write all that happened, one JSON object a line
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(in crate::cli) events: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(in crate::cli) perfetto: Option<PathBuf>,
    /// Write a request trace with usage, for `forkcast trace`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(in crate::cli) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) output: OutputOptions,
    /// No warnings on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(in crate::cli) quiet: bool,
}
