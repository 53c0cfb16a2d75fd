//! All arguments.

mod explain;
mod plot;

use std::path::PathBuf;

use clap::{ArgAction, Parser, Subcommand, ValueEnum};
use forkcast::experiment::{Indifference, Objective};
use forkcast::scenario::KeyRange;

use super::option_values::{duration, key_value, money, range, shard, share, share_or_none};
pub(super) use explain::ExplainOptions;
pub(super) use plot::{FigureKind, PlotFormat, PlotOptions, PlotTheme};

/// Forecasts what an agent orchestration will cost, fork or fresh, before it runs.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    after_help = "Examples:\n  \
        forkcast compare scenarios/fork-or-fresh.toml\n  \
        forkcast run scenarios/thirteen-children.toml --set fanout.max_parallel=5\n  \
        forkcast run scenarios/five-minute-pause.toml --trace run.jsonl\n  \
        forkcast trace run.jsonl --set cache.ttl=1h\n\n\
        Exit codes: 0 done, 1 bad input, 2 bad usage, 3 a check or cap did not hold, 70 a bug of \
        ours."
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Simulate one scenario without its variants: the bill, and where every dollar goes
    Run(RunOptions),
    /// Compare the variants of a scenario on common random numbers
    Compare(SimulateOptions),
    /// Simulate a scenario at many points: every combination of the values of some keys
    Sweep(SweepOptions),
    /// Put the shards of a sweep together
    Merge(MergeOptions),
    /// Find where two variants cost the same: the root of their paired difference in a numeric key
    Breakeven(BreakevenOptions),
    /// Select the best level of a key, with a stated probability of being right
    Size(SizeOptions),
    /// Change one setting at a time, and the provider's unconfirmed rules: what matters most?
    Sensitivity(SensitivityOptions),
    /// Draw figures from figure files, as SVG and PNG
    Plot(PlotOptions),
    /// Tell one replication: what happened, what each dollar was for, what would have avoided it
    Explain(ExplainOptions),
    /// Price a recorded request trace, alone or against the usage recorded in it
    Trace(TraceOptions),
    /// What real sessions cost: Claude Code transcripts by session, agent, model and cause
    Bill(super::session_args::BillOptions),
    /// What the same sessions would have cost under another policy
    Replay(super::session_args::ReplayOptions),
    /// Replay the built-in published cases: expected, got, source, verdict
    Validate(ValidateOptions),
    /// List and show price books
    Prices(PricesOptions),
    /// List, show and compare client profiles
    Profiles(ProfilesOptions),
    /// Check a scenario: all problems at once
    Check(CheckOptions),
    /// Print the JSON Schema of scenario or figure files, or the reference as Markdown
    Schema(SchemaOptions),
    /// Write a commented scenario or figure file to start from
    Init(InitOptions),
    /// Print a completion script for a shell
    Completions(CompletionsOptions),
}

/// A scenario and what changes it.
#[derive(Debug, clap::Args)]
pub(super) struct ScenarioOptions {
    /// Scenario file
    #[arg(value_name = "SCENARIO")]
    pub(super) scenario: PathBuf,
    #[command(flatten)]
    pub(super) set: SetOptions,
}

/// Settings changed on the command line.
#[derive(Debug, clap::Args)]
pub(super) struct SetOptions {
    /// Set a key: a dotted path into the scenario, or variant.NAME.KEY; VALUE is TOML, else text.
    /// On a trace only keys of the cache policy act, such as cache.ttl=1h
    #[arg(
        long = "set",
        value_name = "KEY=VALUE",
        value_parser = key_value,
        action = ArgAction::Append
    )]
    pub(super) sets: Vec<(String, String)>,
}

/// Options of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct RunOptions {
    #[command(flatten)]
    pub(super) simulate: SimulateOptions,
    /// Write replication 1 as a request trace with usage, for `forkcast trace`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) trace: Option<PathBuf>,
}

/// Options of commands that simulate.
#[derive(Debug, clap::Args)]
pub(super) struct SimulateOptions {
    #[command(flatten)]
    pub(super) scenario: ScenarioOptions,
    #[command(flatten)]
    pub(super) effort: EffortOptions,
    /// Make the intervals of mean costs narrower
    #[arg(long, value_name = "METHOD", value_enum, default_value = "none", help_heading = "Run")]
    pub(super) variance_reduction: Reduction,
    /// Exit with 3 when the 95th percentile of any variant's cost exceeds this many US dollars
    #[arg(long, value_name = "USD", value_parser = money, help_heading = "Run")]
    pub(super) budget_cap: Option<f64>,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    /// No progress and no warnings on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// How much is simulated, on which random numbers.
#[derive(Debug, clap::Args)]
pub(super) struct EffortOptions {
    /// Number of replications
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "precision",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000),
        help_heading = "Run"
    )]
    pub(super) replications: Option<u64>,
    /// Stop when the half-width of the mean cost is this share of it, or at 10,000 [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Run")]
    pub(super) precision: Option<f64>,
    #[command(flatten)]
    pub(super) execution: ExecutionOptions,
}

/// How intervals are made narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Reduction {
    /// Common random numbers alone
    None,
    /// Pairs of replications on mirrored random numbers
    Antithetic,
    /// Correct by the work that was drawn, whose mean is known
    Control,
    /// Antithetic pairs, corrected
    Both,
}

/// On which random numbers and threads.
#[derive(Debug, clap::Args)]
pub(super) struct ExecutionOptions {
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Run")]
    pub(super) seed: u64,
    /// Threads; the results do not depend on it [default: all cores]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1_024),
        help_heading = "Run"
    )]
    pub(super) threads: Option<u16>,
}

/// Options of `sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "SPEC is a list of values, ranges and named values between commas:\n  \
    fresh,fork         values: TOML, else text; commas in quotes and brackets are theirs\n  \
    1..20              whole steps, both ends included\n  \
    1s..10s:3s         steps of 3s\n  \
    10k..200k#5        5 values evenly; whole ends give whole numbers if there are enough\n  \
    1k..1M*4           4 values, each the same factor above the one before\n  \
    calm:=0.5          the value 0.5, called calm in results\n\n\
    --vary variant=NAME,NAME keeps only these variants.\n\n\
    Examples:\n  \
    forkcast sweep scenarios/fork-or-fresh.toml --vary fanout.tasks=1..8 -o fan-out\n  \
    forkcast sweep s.toml --vary session.context=10k..200k#20 --vary cache.ttl=5m,1h -o s")]
pub(super) struct SweepOptions {
    #[command(flatten)]
    pub(super) scenario: ScenarioOptions,
    /// Vary a key over the values of SPEC; repeat it for every combination
    #[arg(long, value_name = "KEY=SPEC", required = true, action = ArgAction::Append)]
    pub(super) vary: Vec<String>,
    /// Instead of every combination, N points of a Latin hypercube
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        help_heading = "Run"
    )]
    pub(super) lhs: Option<u32>,
    #[command(flatten)]
    pub(super) effort: EffortOptions,
    /// Work on every n-th point only, beginning with point i: `i/n`, for `merge`; or `auto`, from
    /// the variables of a Slurm array or a Kubernetes job with --shards
    #[arg(long, value_name = "I/N", value_parser = shard, help_heading = "Run")]
    pub(super) shard: Option<ShardChoice>,
    /// The number of shards, where the job's variables do not tell it
    #[arg(
        long,
        value_name = "N",
        requires = "shard",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        help_heading = "Run"
    )]
    pub(super) shards: Option<u32>,
    /// Write results.csv, results.jsonl and manifest.json to a folder, rows as they come
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    /// Also write raw.csv, one row for each replication
    #[arg(long, requires = "out", help_heading = "Output")]
    pub(super) raw: bool,
    /// Go on with the sweep that was interrupted in the folder
    #[arg(long, requires = "out", help_heading = "Output")]
    pub(super) resume: bool,
    /// Begin anew in a folder that holds a sweep
    #[arg(long, requires = "out", conflicts_with = "resume", help_heading = "Output")]
    pub(super) force: bool,
    /// Without a folder: one JSON object a line
    #[arg(long, conflicts_with_all = ["out", "csv"], help_heading = "Output")]
    pub(super) json: bool,
    /// Without a folder: CSV, which is the default
    #[arg(long, conflicts_with = "out", help_heading = "Output")]
    pub(super) csv: bool,
    /// Without a folder: a Markdown table of the main results
    #[arg(long, conflicts_with_all = ["out", "csv", "json"], help_heading = "Output")]
    pub(super) markdown: bool,
    /// No progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// Which part of a sweep to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShardChoice {
    /// What the variables of a batch system say.
    Auto,
    /// This one, from 1, of so many.
    One(u32, u32),
}

/// Options of `merge`.
#[derive(Debug, clap::Args)]
pub(super) struct MergeOptions {
    /// Folders of all shards of one sweep
    #[arg(value_name = "DIR", required = true)]
    pub(super) shards: Vec<PathBuf>,
    /// Folder for the whole
    #[arg(short, long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Begin anew in a folder that holds a sweep
    #[arg(long)]
    pub(super) force: bool,
}

/// Options of `completions`.
#[derive(Debug, clap::Args)]
pub(super) struct CompletionsOptions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(super) shell: clap_complete::Shell,
}

/// Options of commands that decide between levels of a key.
#[derive(Debug, clap::Args)]
pub(super) struct DecideOptions {
    #[command(flatten)]
    pub(super) scenario: ScenarioOptions,
    /// Replications of each level; at most so many where levels are dropped
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(2..=1_000_000),
        help_heading = "Run"
    )]
    pub(super) replications: Option<u64>,
    #[command(flatten)]
    pub(super) execution: ExecutionOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    /// No progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// A key and the range to search, with the words that said so.
#[derive(Clone, Debug)]
pub(super) struct RangeOption {
    pub(super) text: String,
    pub(super) vary: KeyRange,
}

/// Options of `breakeven`.
#[derive(Debug, clap::Args)]
pub(super) struct BreakevenOptions {
    #[command(flatten)]
    pub(super) decide: DecideOptions,
    /// The key and the range to search: task.iterations=1..60, session.context=20k..500k, with
    /// :STEP the grid that is scanned first
    #[arg(long, value_name = "KEY=LOW..HIGH", value_parser = range)]
    pub(super) vary: RangeOption,
    /// Two variants [default: the first fork and the first fresh one, else the first two]
    #[arg(long, value_name = "A,B")]
    pub(super) between: Option<String>,
    /// A second key: one root for each of its levels
    #[arg(long, value_name = "KEY=SPEC")]
    pub(super) over: Option<String>,
    /// Stop when the half-width of the interval is this share of the root, or at 10,000
    /// replications of a level [default: 1%]
    #[arg(
        long,
        value_name = "SHARE",
        conflicts_with = "replications",
        value_parser = share,
        help_heading = "Run"
    )]
    pub(super) precision: Option<f64>,
}

/// Options of `size`.
#[derive(Debug, clap::Args)]
pub(super) struct SizeOptions {
    #[command(flatten)]
    pub(super) decide: DecideOptions,
    /// The key and its levels: fanout.max_parallel=1..20, cache.ttl=5m,1h
    #[arg(long, value_name = "KEY=SPEC")]
    pub(super) vary: String,
    /// What is to be small: cost, cost-with-makespan<=10m, cost+30*makespan (US dollars an hour),
    /// or a quantile of the cost such as p95
    #[arg(long, default_value = "cost", value_parser = super::size::objective)]
    pub(super) objective: (String, Objective),
    /// Probability of selecting the best level
    #[arg(long, value_name = "SHARE", default_value = "0.95", value_parser = share)]
    pub(super) probability: f64,
    /// The smallest difference worth finding, as a share of the best or in US dollars
    #[arg(
        long,
        value_name = "1%|USD",
        default_value = "1%",
        value_parser = super::size::indifference
    )]
    pub(super) indifference: (String, Indifference),
    /// Largest share of tasks or runs that a level may leave undone, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share_or_none)]
    pub(super) max_dropped: f64,
}

/// Options of `sensitivity`.
#[derive(Debug, clap::Args)]
pub(super) struct SensitivityOptions {
    #[command(flatten)]
    pub(super) decide: DecideOptions,
    /// A key with its low and its high value, repeatable [default: all numbers that the scenario
    /// states]
    #[arg(long, value_name = "KEY=LOW,HIGH", action = ArgAction::Append)]
    pub(super) vary: Vec<String>,
    /// How far numbers are changed where no key is given
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "20%",
        value_parser = share,
        conflicts_with = "vary"
    )]
    pub(super) change: f64,
    /// Look at the difference of two variants instead of the cost
    #[arg(long, value_name = "A,B")]
    pub(super) between: Option<String>,
}

/// Where and how results are written.
#[derive(Debug, clap::Args)]
pub(super) struct OutputOptions {
    /// One JSON object
    #[arg(long, group = "format", help_heading = "Output")]
    pub(super) json: bool,
    /// CSV, one row per variant, crossing, level or request
    #[arg(long, group = "format", help_heading = "Output")]
    pub(super) csv: bool,
    /// Markdown tables
    #[arg(long, group = "format", help_heading = "Output")]
    pub(super) markdown: bool,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
}

/// Format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TraceFormat {
    /// Request traces of forkcast
    Forkcast,
    /// Mooncake prefix-cache traces
    Mooncake,
}

/// Whether an entry still lives at the instant at which its lifetime ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Bound {
    /// It does
    Inclusive,
    /// It does not
    Strict,
}

/// Options of `trace`.
#[derive(Debug, clap::Args)]
pub(super) struct TraceOptions {
    /// Trace file, one request a line
    #[arg(value_name = "TRACE")]
    pub(super) trace: PathBuf,
    #[command(flatten)]
    pub(super) set: SetOptions,
    /// Price book: a shipped name or a file
    #[arg(long, value_name = "BOOK")]
    pub(super) prices: Option<String>,
    /// Format of the trace
    #[arg(long, value_enum, default_value = "forkcast")]
    pub(super) format: TraceFormat,
    /// Lifetime of entries of a Mooncake trace
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Mooncake")]
    pub(super) ttl: Option<forkcast::units::SimDuration>,
    /// Whether an entry lives at the instant at which its lifetime ends [default: inclusive]
    #[arg(long, value_enum, help_heading = "Mooncake")]
    pub(super) ttl_bound: Option<Bound>,
    /// Blocks the cache holds; the least recently used go first
    #[arg(long, value_name = "BLOCKS", help_heading = "Mooncake")]
    pub(super) capacity: Option<u64>,
    /// Model whose prices a Mooncake trace is charged at
    #[arg(long, value_name = "MODEL", help_heading = "Mooncake")]
    pub(super) model: Option<String>,
    /// Seed of cache.early_miss_probability
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// One JSON object
    #[arg(long, group = "layout", help_heading = "Output")]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) table: TableOptions,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
}

/// How a table is written.
#[derive(Debug, Default, clap::Args)]
pub(super) struct TableOptions {
    /// CSV
    #[arg(long, group = "layout", help_heading = "Output")]
    pub(super) csv: bool,
    /// A Markdown table
    #[arg(long, group = "layout", help_heading = "Output")]
    pub(super) markdown: bool,
}

/// Options of `validate`.
#[derive(Debug, clap::Args)]
pub(super) struct ValidateOptions {
    /// Names of cases, or beginnings of names; all where none is given
    #[arg(value_name = "CASE")]
    pub(super) cases: Vec<String>,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    /// No progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// Options of `prices`.
#[derive(Debug, clap::Args)]
pub(super) struct PricesOptions {
    #[command(subcommand)]
    pub(super) command: PricesCommand,
}

/// What to do with price books.
#[derive(Debug, Subcommand)]
pub(super) enum PricesCommand {
    /// List the shipped price books
    List,
    /// Show a price book: all models, or one with its sources
    Show {
        /// A shipped book or a file
        #[arg(value_name = "BOOK", default_value = forkcast::scenario::DEFAULT_PRICES)]
        book: String,
        /// Show this model only, with the source of each price
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        #[command(flatten)]
        table: TableOptions,
    },
    /// Make a price book of LiteLLM's public map, model_prices_and_context_window.json
    Import(super::prices_import::ImportOptions),
}

/// Options of `profiles`.
#[derive(Debug, clap::Args)]
pub(super) struct ProfilesOptions {
    #[command(subcommand)]
    pub(super) command: ProfilesCommand,
}

/// What to do with profiles.
#[derive(Debug, Subcommand)]
pub(super) enum ProfilesCommand {
    /// List the shipped profiles
    List,
    /// Show a profile: each value with its source
    Show {
        /// A shipped profile
        #[arg(value_name = "PROFILE")]
        profile: String,
        #[command(flatten)]
        table: TableOptions,
    },
    /// Show where two profiles differ
    Diff {
        /// A shipped profile
        #[arg(value_name = "A")]
        a: String,
        /// Another one
        #[arg(value_name = "B")]
        b: String,
        #[command(flatten)]
        table: TableOptions,
    },
}

/// Options of `check`.
#[derive(Debug, clap::Args)]
pub(super) struct CheckOptions {
    #[command(flatten)]
    pub(super) scenario: ScenarioOptions,
}

/// Options of `schema`.
#[derive(Debug, clap::Args)]
pub(super) struct SchemaOptions {
    /// The reference of all keys as Markdown instead of JSON Schema
    #[arg(long)]
    pub(super) markdown: bool,
    /// Of figure files instead of scenarios
    #[arg(long)]
    pub(super) figure: bool,
}

/// Options of `init`.
#[derive(Debug, clap::Args)]
pub(super) struct InitOptions {
    /// File to write; an existing one is left alone [default: scenario.toml or figure.toml]
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// A figure file of this kind instead of a scenario
    #[arg(long, value_enum, value_name = "KIND")]
    pub(super) figure: Option<FigureKind>,
    /// A scenario that goes on from where a real session stands: a Claude Code transcript
    #[arg(long, value_name = "SESSION.jsonl", conflicts_with = "figure")]
    pub(super) from: Option<PathBuf>,
    /// As the session stood then: 2026-11-30T20:57:48Z [default: now]
    #[arg(
        long,
        value_name = "INSTANT",
        requires = "from",
        value_parser = forkcast::units::parse_instant
    )]
    pub(super) at: Option<forkcast::units::SimTime>,
    /// Write to stdout instead
    #[arg(long)]
    pub(super) stdout: bool,
}
