//! The shell: the only place with files, environment, terminal and the choice of threads.
//!
//! Each command reads its inputs, calls the library, and prints what a renderer made of the
//! result. Data goes to stdout, talk to stderr; exit codes are those of [`failure`].

#![expect(
    clippy::disallowed_methods,
    reason = "files, environment and terminal belong here and nowhere else"
)]

mod args;
mod bill;
mod breakeven;
mod check;
mod decide;
mod explain;
mod failure;
mod files;
mod init;
mod init_session;
mod layout;
mod manifest;
mod merge;
mod option_values;
mod plot;
mod prices;
mod prices_import;
mod profiles;
mod replay;
mod scenarios;
mod schema;
mod sensitivity;
mod session_args;
mod simulate;
mod size;
mod sweep;
mod sweep_dir;
mod terminal;
mod trace;
mod transcripts;
mod validate;

use std::panic;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use failure::Failure;

/// Parses the command line, runs the command, and turns its end into an exit code.
pub(crate) fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let code = if error.use_stderr() { failure::USAGE } else { failure::DONE };
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(_) => ExitCode::from(failure::DONE),
            };
        }
    };
    match panic::catch_unwind(panic::AssertUnwindSafe(|| run(&args))) {
        Ok(Ok(())) => ExitCode::from(failure::DONE),
        Ok(Err(failure)) => failure.report(),
        Err(_) => Failure::Bug.report(),
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Run(options) => simulate::run(options),
        Command::Compare(options) => simulate::compare(options),
        Command::Sweep(options) => sweep::run(options),
        Command::Merge(options) => merge::run(options),
        Command::Breakeven(options) => breakeven::run(options),
        Command::Size(options) => size::run(options),
        Command::Sensitivity(options) => sensitivity::run(options),
        Command::Plot(options) => plot::run(options),
        Command::Explain(options) => explain::run(options),
        Command::Trace(options) => trace::run(options),
        Command::Validate(options) => validate::run(options),
        Command::Bill(options) => bill::run(options),
        Command::Replay(options) => replay::run(options),
        Command::Prices(options) => prices::run(&options.command),
        Command::Profiles(options) => profiles::run(&options.command),
        Command::Check(options) => check::run(options),
        Command::Schema(options) => schema::run(options),
        Command::Init(options) => init::run(options),
        Command::Completions(options) => {
            let mut script = Vec::new();
            let shell = options.shell;
            clap_complete::generate(shell, &mut Args::command(), "forkcast", &mut script);
            files::write_out(None, &String::from_utf8_lossy(&script))
        }
    }
}
