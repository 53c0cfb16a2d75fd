//! `forkcast explain`: one replication told, and every dollar explained.

use std::fmt::Write as _;
use std::path::Path;

use forkcast::explain::{Explanation, Subject, explain};
use forkcast::report::explain::{Frame, render};
use forkcast::report::{Header, PriceHeader, events, perfetto};
use forkcast::scenario::{LoadInput, LoadedVariant, Study, VARIANT_KEY, join_key};

use super::args::ExplainOptions;
use super::failure::Failure;
use super::simulate::{hash, quoted, warn, write_trace};
use super::{files, terminal};

/// Tells one replication.
pub(super) fn run(options: &ExplainOptions) -> Result<(), Failure> {
    let has_report = check_targets(options)?;
    let text = files::read_settings(&options.scenario.scenario)?;
    let chosen = Chosen::open(options, &text)?;
    let explanation = chosen.explain(options, has_report);
    let header = header(options, &text, chosen.variant());
    if let Some(path) = &options.trace {
        write_trace(path, chosen.variant(), options.seed, options.replication)?;
    }
    if let Some(path) = &options.events {
        files::write_lines(path, events::lines(&header, &explanation))?;
    }
    if let Some(path) = &options.perfetto {
        files::write_lines(path, perfetto::lines(&header, &explanation))?;
    }
    if !has_report {
        return Ok(());
    }
    let (warnings, all) = (chosen.variant().warnings.as_slice(), options.all);
    let frame = Frame { header: &header, warnings, notes: &chosen.notes, all };
    let report = render(&frame, &explanation, options.output.format());
    files::write_out(options.output.out.as_deref(), &report)?;
    if !options.quiet && (options.output.json || options.output.csv) {
        warnings.iter().for_each(warn);
    }
    Ok(())
}

/// Refuses to write twice to one place; returns whether the report has one.
fn check_targets(options: &ExplainOptions) -> Result<bool, Failure> {
    let targets = [&options.trace, &options.events, &options.perfetto];
    let targets: Vec<&Path> = targets.into_iter().filter_map(Option::as_deref).collect();
    let to_stdout = targets.iter().filter(|path| files::is_stdout(path)).count();
    if to_stdout > 1 {
        let message = "only one of --events, --perfetto and --trace can be written to stdout";
        return Err(Failure::usage(message.to_owned(), "name files for the others"));
    }
    let mut paths = vec![options.scenario.scenario.as_path()];
    paths.extend(targets.into_iter().filter(|path| !files::is_stdout(path)));
    paths.extend(options.output.out.as_deref());
    files::refuse_same(&paths)?;
    Ok(to_stdout == 0 || options.output.out.is_some())
}

/// A scenario of which one variant, or what is under all of them, is to be explained.
struct Chosen {
    study: Study,
    /// What to say about the choice.
    notes: Vec<String>,
}

impl Chosen {
    fn open(options: &ExplainOptions, text: &str) -> Result<Chosen, Failure> {
        let path = &options.scenario.scenario;
        let name = path.display().to_string();
        let input = LoadInput { name: &name, text, sets: &options.scenario.set.sets, levels: &[] };
        let mut study = Study::open(&input, &mut files::reader_beside(path))
            .map_err(|problems| Failure::problems(&problems))?;
        let names: Vec<String> =
            study.loaded().variants.iter().map(|one| one.name.clone()).collect();
        let mut notes = Vec::new();
        let kept: Vec<&str> = options.variant.as_deref().into_iter().collect();
        if kept.is_empty() && names != ["base"] {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            notes.push(format!(
                "This is the scenario without its variants; --variant explains one of: {}.",
                names.join(", ")
            ));
        }
        if let Some(unknown) = kept.iter().find(|name| !names.iter().any(|known| known == *name)) {
            let message = format!("no variant `{unknown}`; variants are: {}", names.join(", "));
            let hint = "write --variant with the name of a variant, or leave it out";
            return Err(Failure::usage(terminal::printable(&message), hint));
        }
        let option = options.variant.as_deref().unwrap_or_default();
        study.keep_variants(&kept, option).map_err(|problems| Failure::problems(&problems))?;
        Ok(Chosen { study, notes })
    }

    fn variant(&self) -> &LoadedVariant {
        let loaded = self.study.loaded();
        loaded.variants.first().unwrap_or(&loaded.base)
    }

    /// Explains the replication; without a report nobody asks what would have helped.
    fn explain(&self, options: &ExplainOptions, has_report: bool) -> Explanation {
        let variant = self.variant();
        let subject = Subject {
            variant: &variant.name,
            plan: &variant.plan,
            scenario: &variant.scenario,
            seed: options.seed,
            replication: options.replication,
        };
        let is_base = self.study.loaded().variants.is_empty();
        let read = &mut files::reader_beside(&options.scenario.scenario);
        explain(&subject, &mut |set| {
            if !has_report {
                return None;
            }
            // Over the base alone a variant's own settings would win.
            let key = |key: &str| {
                let name = [VARIANT_KEY, &variant.name].map(str::to_owned);
                if is_base { key.to_owned() } else { format!("{}.{key}", join_key(&name)) }
            };
            let set: Vec<(String, &str)> =
                set.iter().map(|(name, value)| (key(name), value.as_str())).collect();
            let set: Vec<(&str, &str)> =
                set.iter().map(|(key, value)| (key.as_str(), *value)).collect();
            let loaded = self.study.load(&set, read).ok()?;
            loaded.into_iter().next().map(|changed| changed.plan)
        })
    }
}

fn header(options: &ExplainOptions, text: &str, variant: &LoadedVariant) -> Header {
    let title = &variant.scenario.title;
    let scenario = options.scenario.scenario.display().to_string();
    let mut reproduce = format!("forkcast explain {}", quoted(&scenario));
    for (key, value) in &options.scenario.set.sets {
        let _ = write!(reproduce, " --set {}", quoted(&format!("{key}={value}")));
    }
    if let Some(name) = &options.variant {
        let _ = write!(reproduce, " --variant {}", quoted(name));
    }
    let _ = write!(reproduce, " --replication {} --seed {}", options.replication, options.seed);
    Header {
        program: format!("forkcast {}", env!("CARGO_PKG_VERSION")),
        title: (!title.is_empty()).then(|| title.clone()),
        scenario,
        scenario_sha256: hash(text),
        reproduce,
        prices: PriceHeader { book: variant.book.clone(), as_of: variant.as_of },
        profile: Some(variant.scenario.profile.clone()),
    }
}
