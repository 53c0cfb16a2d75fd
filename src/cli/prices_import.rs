//! `forkcast prices import`: a price book made of LiteLLM's public map.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ArgAction;
use forkcast::pricing::{ImportOptions as Import, import_litellm, write_book};
use forkcast::units::{Date, SimTime, parse_date};

use super::failure::Failure;
use super::{files, terminal};

/// Options of `prices import`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    forkcast prices import model_prices_and_context_window.json -o litellm.toml\n  \
    forkcast run scenario.toml --set prices=litellm.toml")]
pub(super) struct ImportOptions {
    /// The map
    #[arg(value_name = "FILE")]
    map: PathBuf,
    /// Only models of this provider, as the map names it; `all` for every one
    #[arg(
        long,
        value_name = "NAME",
        default_value = "anthropic",
        value_delimiter = ',',
        action = ArgAction::Append
    )]
    provider: Vec<String>,
    /// Name of the book
    #[arg(long, value_name = "NAME", default_value = "litellm")]
    name: String,
    /// Day on which the map was taken [default: today, UTC]
    #[arg(long, value_name = "DATE", value_parser = day)]
    as_of: Option<Date>,
    /// Write to a file instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Do not say what was left out
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

fn day(text: &str) -> Result<Date, String> {
    parse_date(text).map_err(|error| error.to_string())
}

/// Imports the map.
pub(super) fn run(options: &ImportOptions) -> Result<(), Failure> {
    if let Some(out) = &options.out {
        files::refuse_same(&[&options.map, out])?;
    }
    let text = files::read_settings(&options.map)?;
    let is_all = options.provider.iter().any(|name| name == "all");
    let name = options.map.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let import = Import {
        name: &options.name,
        as_of: options.as_of.unwrap_or_else(today),
        source: &format!("LiteLLM, {name}"),
        providers: if is_all { &[] } else { &options.provider },
    };
    let found = import_litellm(&text, &import).map_err(|reason| {
        let message = format!("cannot import `{}`: {reason}", options.map.display());
        Failure::hinted(message, "--provider NAME takes the models of another provider")
    })?;
    if let Some((path, message)) = found.book.problems().first() {
        let file = options.map.display();
        return Err(Failure::message(format!("cannot import `{file}`: {path}: {message}")));
    }
    files::write_out(options.out.as_deref(), &write_book(&found.book))?;
    if !options.quiet {
        terminal::talk(&terminal::printable(&format!(
            "{} models; {} left out, such as those that are not for text",
            found.book.models.len(),
            found.left_out.len()
        )));
    }
    Ok(())
}

fn today() -> Date {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Date::of(SimTime::from_micros(since.as_micros() as i64))
}
