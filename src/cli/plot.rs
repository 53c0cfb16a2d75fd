//! `forkcast plot`: figures from figure files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use forkcast::figure::{Scene, Theme};
use forkcast::plot::{Plot, Provenance, ThemeName};
use forkcast::scenario::{LoadInput, Problems, Study};

use super::args::{PlotFormat, PlotOptions, PlotTheme};
use super::failure::Failure;
use super::simulate::quoted;
use super::{files, terminal};

/// Reads all files, then draws and writes one figure after the other.
pub(super) fn run(options: &PlotOptions) -> Result<(), Failure> {
    let jobs = read_all(options)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads.map_or(0, usize::from))
        .build()
        .map_err(|error| Failure::message(format!("cannot start threads: {error}")))?;
    let mut stale = Vec::new();
    for job in &jobs {
        let scene = pool.install(|| job.draw(options))?;
        let outputs = job.outputs(options, &scene);
        if options.check {
            stale.extend(outputs.into_iter().filter(|(path, bytes)| !is_same(path, bytes)));
            continue;
        }
        for (path, bytes) in outputs {
            files::write_with(&path, |out| out.write_all(&bytes))?;
            talk(options, &format!("wrote {}", path.display()));
        }
        let missing: String = scene.missing_characters().into_iter().collect();
        if !missing.is_empty() && options.format != Some(PlotFormat::Svg) {
            talk(options, &format!("note: a PNG has no letters for `{missing}`; the SVG has them"));
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    let names: Vec<String> =
        stale.iter().map(|(path, _)| format!("`{}`", path.display())).collect();
    let names = terminal::printable(&names.join(", "));
    Err(Failure::Check(format!("{names} differ from what their figure files draw")))
}

fn talk(options: &PlotOptions, message: &str) {
    if !options.quiet {
        terminal::talk(&terminal::printable(message));
    }
}

fn is_same(path: &Path, bytes: &[u8]) -> bool {
    std::fs::read(path).is_ok_and(|there| there == bytes)
}

/// A figure file that has been read, with its scenario.
struct Job {
    path: PathBuf,
    /// Name of the file without its ending.
    name: String,
    plot: Plot,
    scenario: PathBuf,
    text: String,
}

/// Reads all files and their scenarios, and tells the problems of all of them at once.
fn read_all(options: &PlotOptions) -> Result<Vec<Job>, Failure> {
    let (mut jobs, mut failures): (Vec<Job>, Vec<Failure>) = (Vec::new(), Vec::new());
    for path in &options.figures {
        match Job::read(path, options) {
            Ok(job)
                if jobs.iter().any(|other| {
                    other.folder(options) == job.folder(options) && other.name == job.name
                }) =>
            {
                let message = format!("two figures would be written as `{}`", job.name);
                return Err(Failure::usage(message, "name each figure file once"));
            }
            Ok(job) => jobs.push(job),
            Err(failure) => failures.push(failure),
        }
    }
    Failure::of_all(failures)?;
    Ok(jobs)
}

impl Job {
    fn read(path: &Path, options: &PlotOptions) -> Result<Job, Failure> {
        let text = files::read_settings(path)?;
        let mut plot = Plot::read(&path.display().to_string(), &text)
            .map_err(|problems| Failure::problems(&problems))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = &mut plot.file;
        if options.replications.is_some() || options.precision.is_some() {
            (file.replications, file.precision) = (options.replications, options.precision);
        }
        file.seed = options.seed.unwrap_or(file.seed);
        file.theme = options.theme.map_or(file.theme, |theme| match theme {
            PlotTheme::Light => ThemeName::Light,
            PlotTheme::Dark => ThemeName::Dark,
            PlotTheme::Both => ThemeName::Both,
        });
        let scenario = path.parent().unwrap_or(Path::new("")).join(&file.scenario);
        let text = files::read_settings(&scenario)?;
        Ok(Job { path: path.to_owned(), name, plot, scenario, text })
    }

    fn draw(&self, options: &PlotOptions) -> Result<Scene, Failure> {
        let mut sets = self.plot.sets();
        sets.extend(options.set.sets.iter().cloned());
        let name = self.scenario.display().to_string();
        let input = LoadInput { name: &name, text: &self.text, sets: &sets, levels: &[] };
        let read = files::reader_beside(&self.scenario);
        let study = Study::open(&input, &mut |name: &str| read(name))
            .map_err(|problems| Failure::problems(&problems))?;
        let bar = terminal::progress(options.quiet, "points");
        let provenance = self.provenance(options);
        let figure = self.plot.draw(study, &provenance, &read, &|done, total| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        match figure {
            Ok(figure) => Ok(figure.scene()),
            Err(all) => {
                let failures = all.iter().map(|one: &Problems| Failure::problems(one)).collect();
                Err(Failure::of_all(failures).err().unwrap_or(Failure::Bug))
            }
        }
    }

    /// Names files without their folders, so that a figure is the same wherever it is drawn.
    fn provenance(&self, options: &PlotOptions) -> Provenance {
        let file_name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut reproduce = format!("forkcast plot {}", quoted(&file_name(&self.path)));
        for (key, value) in &options.set.sets {
            let _ = write!(reproduce, " --set {}", quoted(&format!("{key}={value}")));
        }
        if let Some(count) = options.replications {
            let _ = write!(reproduce, " --replications {count}");
        }
        if let Some(share) = options.precision {
            let _ = write!(reproduce, " --precision {share}");
        }
        if let Some(seed) = options.seed {
            let _ = write!(reproduce, " --seed {seed}");
        }
        Provenance { name: id(&self.name), scenario: file_name(&self.scenario), reproduce }
    }

    fn folder(&self, options: &PlotOptions) -> PathBuf {
        let beside = || self.path.parent().unwrap_or(Path::new("")).to_owned();
        options.out.clone().unwrap_or_else(beside)
    }

    /// Returns the files to write, with what goes into them.
    fn outputs(&self, options: &PlotOptions, scene: &Scene) -> Vec<(PathBuf, Vec<u8>)> {
        let folder = self.folder(options);
        let path = |suffix: &str| folder.join(format!("{}{suffix}", self.name));
        let theme = match self.plot.file.theme {
            ThemeName::Light => Theme::Light,
            ThemeName::Dark => Theme::Dark,
            ThemeName::Both => Theme::Both,
        };
        let mut outputs = Vec::new();
        if options.format != Some(PlotFormat::Png) {
            outputs.push((path(".svg"), scene.svg(theme).into_bytes()));
        }
        if options.format != Some(PlotFormat::Svg) && !options.check {
            outputs.push((path(".png"), scene.png(theme)));
            if theme == Theme::Both {
                outputs.push((path("-dark.png"), scene.png(Theme::Dark)));
            }
        }
        outputs
    }
}

/// Returns a name as an `id` of XML: letters, digits and hyphens, a letter first.
fn id(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    format!("figure-{}", name.chars().map(plain).collect::<String>())
}
