//! Arguments of the commands that read sessions.

use std::path::PathBuf;

use clap::{ArgAction, ValueEnum};
use forkcast::pricing::{Model, PriceBook, PriceRow};
use forkcast::report::sessions::Breakdown;
use forkcast::units::{Date, PricePerToken, parse_date, parse_price};

use super::args::{OutputOptions, SetOptions};
use super::failure::Failure;

/// Which sessions are read, and at which prices.
#[derive(Debug, clap::Args)]
pub(super) struct SessionOptions {
    /// Transcripts: folders, or files of sessions, whose subagents come with them [default: the
    /// folders of the client: CLAUDE_CONFIG_DIR, else ~/.claude and ~/.config/claude]
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// Price book: a shipped name or a file
    #[arg(long, value_name = "BOOK")]
    pub(super) prices: Option<String>,
    /// Prices of a model that the book lacks: MODEL=OTHER, priced like the other one, or
    /// MODEL=INPUT/WRITE_5M/WRITE_1H/READ/OUTPUT in US dollars per million tokens
    #[arg(long, value_name = "MODEL=PRICE", value_parser = own_price, action = ArgAction::Append)]
    pub(super) price: Vec<OwnPrice>,
    /// First day, UTC
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(super) since: Option<Date>,
    /// Last day, UTC
    #[arg(long, value_name = "DATE", value_parser = day)]
    pub(super) until: Option<Date>,
}

/// Options of `bill`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forkcast bill                                what all sessions of this machine cost\n  \
    forkcast bill session.jsonl --by agent,cause one session with its subagents\n  \
    forkcast bill ~/.claude --since 2026-11-01 --by day --csv\n\n\
    Exit code 1 when a model has no price: its requests are named and in no sum.")]
pub(super) struct BillOptions {
    #[command(flatten)]
    pub(super) sessions: SessionOptions,
    #[command(flatten)]
    pub(super) set: SetOptions,
    /// What to break the bill down by; CSV has the first one
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_values = ["item", "cause", "model", "session"]
    )]
    pub(super) by: Vec<By>,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    /// No progress and no warnings on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// Options of `replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Keys that act: those of cache (but for breakpoints) and compaction,\n\
    session.model, fanout.model and fanout.launch.\n\n\
    Examples:\n  \
    forkcast replay                                       5m or 1h, and for whom?\n  \
    forkcast replay s.jsonl --set cache.ttl.subagent=1h   subagents with one-hour entries\n  \
    forkcast replay --set cache.keep_alive=4m             entries kept alive in pauses\n  \
    forkcast replay --set session.model=claude-sonnet-5   the same on another model\n  \
    forkcast replay --set compaction.trigger=120k         compacted earlier")]
pub(super) struct ReplayOptions {
    #[command(flatten)]
    pub(super) sessions: SessionOptions,
    #[command(flatten)]
    pub(super) set: SetOptions,
    #[command(flatten)]
    pub(super) output: OutputOptions,
    /// No progress and no warnings on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
}

/// What a bill is broken down by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// Uncached input, writes, reads, output, fees
    Item,
    /// Why each token was processed
    Cause,
    /// Main sessions and subagents
    Role,
    /// Models as recorded
    Model,
    /// UTC days
    Day,
    /// Projects
    Project,
    /// Sessions with their subagents
    Session,
    /// Agents, as a tree
    Agent,
    /// Requests that processed again what had been cached
    Miss,
}

impl By {
    pub(super) const fn breakdown(self) -> Breakdown {
        match self {
            By::Item => Breakdown::Item,
            By::Cause => Breakdown::Cause,
            By::Role => Breakdown::Role,
            By::Model => Breakdown::Model,
            By::Day => Breakdown::Day,
            By::Project => Breakdown::Project,
            By::Session => Breakdown::Session,
            By::Agent => Breakdown::Agent,
            By::Miss => Breakdown::Miss,
        }
    }
}

/// A price given on the command line.
#[derive(Clone, Debug)]
pub(super) struct OwnPrice {
    model: String,
    price: Price,
}

#[derive(Clone, Debug)]
enum Price {
    Like(String),
    Stated([PricePerToken; 5]),
}

fn own_price(text: &str) -> Result<OwnPrice, String> {
    const EXPECTED: &str = "expected MODEL=OTHER or MODEL=INPUT/WRITE_5M/WRITE_1H/READ/OUTPUT, \
                            such as glm-5=1/1.25/2/0.1/3.2";
    let (model, price) = text.split_once('=').ok_or(EXPECTED)?;
    let parts: Vec<&str> = price.split('/').collect();
    let is_number = |part: &&str| part.starts_with(|c: char| c.is_ascii_digit());
    let is_numeric = parts.iter().all(is_number);
    let price = match (is_numeric, parts.as_slice()) {
        (true, [_, _, _, _, _]) => {
            let mut prices = [PricePerToken::default(); 5];
            for (price, part) in prices.iter_mut().zip(parts) {
                *price = parse_price(part).map_err(|error| error.to_string())?;
            }
            Price::Stated(prices)
        }
        (false, _) if !price.is_empty() => Price::Like(price.to_owned()),
        _ => return Err(EXPECTED.to_owned()),
    };
    if model.is_empty() {
        return Err(EXPECTED.to_owned());
    }
    Ok(OwnPrice { model: model.to_owned(), price })
}

fn day(text: &str) -> Result<Date, String> {
    // Other tools write days without dashes.
    let is_compact = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let dashed = is_compact.then(|| format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]));
    parse_date(dashed.as_deref().unwrap_or(text)).map_err(|error| error.to_string())
}

/// Puts the prices of the command line into a book.
pub(super) fn add_prices(book: &mut PriceBook, prices: &[OwnPrice]) -> Result<(), Failure> {
    for OwnPrice { model, price } in prices {
        let added = match price {
            Price::Like(other) => {
                let Some((_, known)) = book.model(other) else {
                    let known: Vec<&str> = book.models.keys().map(String::as_str).collect();
                    return Err(Failure::Message {
                        message: format!("--price {model}={other}: no model `{other}`"),
                        hint: Some(format!("known models: {}", known.join(", "))),
                    });
                };
                Model { aliases: Vec::new(), ..known.clone() }
            }
            Price::Stated([input, short, long, read, output]) => Model {
                rows: vec![PriceRow {
                    input_usd_per_mtok: Some(*input),
                    cache_write_5m_usd_per_mtok: Some(*short),
                    cache_write_1h_usd_per_mtok: Some(*long),
                    cache_read_usd_per_mtok: Some(*read),
                    output_usd_per_mtok: Some(*output),
                    source: "the command line".to_owned(),
                    ..PriceRow::default()
                }],
                ..Model::default()
            },
        };
        book.models.insert(model.clone(), added);
    }
    Ok(())
}
