//! What the commands that decide share: loading at levels of a key, threads, the header.

use std::fmt::Write as _;

use forkcast::report::{Format, Header, PriceHeader};
use forkcast::scenario::{Factor, LoadInput, Loaded, Problems, Sources, load, parse_factor};

use super::args::{DecideOptions, OutputOptions};
use super::failure::Failure;
use super::simulate::{hash, quoted};
use super::{files, terminal};

/// A scenario that is loaded again and again, with one or two keys set anew each time.
pub(super) struct Subject<'a> {
    options: &'a DecideOptions,
    name: String,
    pub(super) text: String,
}

impl<'a> Subject<'a> {
    /// Reads the scenario; refuses to write over it.
    pub(super) fn read(options: &'a DecideOptions) -> Result<Subject<'a>, Failure> {
        let path = options.scenario.scenario.as_path();
        let mut paths = vec![path];
        paths.extend(options.output.out.as_deref());
        files::refuse_same(&paths)?;
        let text = files::read_settings(path)?;
        Ok(Subject { options, name: path.display().to_string(), text })
    }

    /// Loads it with levels of `--vary` over its own settings and those of the command line.
    pub(super) fn load(&self, levels: &[(String, String)]) -> Result<Loaded, Failure> {
        let sets = &self.options.scenario.set.sets;
        let input = LoadInput { name: &self.name, text: &self.text, sets, levels };
        let read = &mut files::reader_beside(&self.options.scenario.scenario);
        load(&input, read).map_err(|problems| Failure::problems(&problems))
    }

    /// Says where results come from; `arguments` are those of this command alone.
    pub(super) fn header(&self, command: &str, arguments: &[String], loaded: &Loaded) -> Header {
        let base = &loaded.base;
        let title = &base.scenario.title;
        let mut reproduce = format!("forkcast {command} {}", quoted(&self.name));
        for (key, value) in &self.options.scenario.set.sets {
            let _ = write!(reproduce, " --set {}", quoted(&format!("{key}={value}")));
        }
        for argument in arguments {
            let _ = write!(reproduce, " {}", quoted(argument));
        }
        if let Some(count) = self.options.replications {
            let _ = write!(reproduce, " --replications {count}");
        }
        let _ = write!(reproduce, " --seed {}", self.options.execution.seed);
        Header {
            program: format!("forkcast {}", env!("CARGO_PKG_VERSION")),
            title: (!title.is_empty()).then(|| title.clone()),
            scenario: self.name.clone(),
            scenario_sha256: hash(&self.text),
            reproduce,
            prices: PriceHeader { book: base.book.clone(), as_of: base.as_of },
            profile: Some(base.scenario.profile.clone()),
        }
    }
}

impl DecideOptions {
    /// Runs work on the threads asked for.
    pub(super) fn on_threads<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        let threads = self.execution.threads.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| Failure::message(format!("cannot start threads: {error}")))?;
        pool.install(work)
    }
}

impl OutputOptions {
    /// Returns the format asked for.
    pub(super) fn format(&self) -> Format {
        match (self.json, self.csv, self.markdown) {
            (true, ..) => Format::Json,
            (_, true, _) => Format::Csv,
            (_, _, true) => Format::Markdown,
            (false, false, false) => Format::Text,
        }
    }
}

/// Reads the levels of a key.
pub(super) fn factor(option: &str) -> Result<Factor, Failure> {
    parse_factor(option).map_err(|problems| {
        let problems = Problems::new(problems, &Sources::new());
        Failure::Options(problems.render(terminal::stderr_has_color()))
    })
}

/// Returns the numbers of the two variants named, or of the first fork and the first fresh one, or
/// of the first two.
pub(super) fn pair(loaded: &Loaded, between: Option<&str>) -> Result<[usize; 2], Failure> {
    use forkcast::orchestration::AgentKind;
    let variants = &loaded.variants;
    let named = |name: &str| {
        let name = name.trim();
        let found = variants.iter().position(|variant| variant.name == name);
        found.ok_or_else(|| {
            let known: Vec<_> = variants.iter().map(|variant| variant.name.as_str()).collect();
            let message = format!("no variant `{name}`; variants are: {}", known.join(", "));
            Failure::usage(message, "write --between A,B with two names of variants")
        })
    };
    if let Some(between) = between {
        let Some((a, b)) = between.split_once(',') else {
            let message = format!("`{between}` is not two names of variants");
            return Err(Failure::usage(message, "write --between A,B"));
        };
        return Ok([named(a)?, named(b)?]);
    }
    if variants.len() < 2 {
        let message = "the scenario has fewer than two variants".to_owned();
        return Err(Failure::usage(message, "state each as a [[variant]] table"));
    }
    let first = |kind| variants.iter().position(|variant| variant.plan.kind() == kind);
    let pair = first(AgentKind::Fork).zip(first(AgentKind::Fresh));
    Ok(pair.map_or([0, 1], |(fork, fresh)| [fork, fresh]))
}
