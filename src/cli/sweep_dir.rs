//! The folder of a sweep.
//!
//! While a sweep runs, the folder holds its manifest, a lock with the process id, and
//! `rows.part.jsonl`, one self-contained line for each point that is done, in order. At the end
//! the final files are written under other names and renamed, then the part file goes. Whatever
//! the instant of a kill, the folder is either finished or can be resumed; a power loss may cost
//! the points that the system had not yet written.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use forkcast::report::csv;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::failure::Failure;
use super::manifest::{MANIFEST, differences, read_again, read_manifest};

pub(super) const RESULTS: &str = "results.jsonl";
pub(super) const RAW: &str = "raw.csv";
const TABLE: &str = "results.csv";
const PART: &str = "rows.part.jsonl";
const LOCK: &str = ".lock";
pub(super) const RAW_HEADING: &str = "point,variant,replication,cost_usd,makespan_s,wait_s\n";

/// What a point came to: a line of the part file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) point: usize,
    /// One for each variant, as [`csv::flat`] makes them.
    pub(super) rows: Vec<Box<RawValue>>,
    /// Lines of `raw.csv`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) raw: String,
}

/// What to do with a folder that holds a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Refuse,
    Resume,
    Replace,
}

/// A folder that this process alone writes to.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A lock that stays is taken over, since its process is gone.
        let _ = fs::remove_file(self.path.join(LOCK));
    }
}

impl Folder {
    /// Makes the folder where there is none, and locks it.
    pub(super) fn lock(path: &Path) -> Result<Folder, Failure> {
        fs::create_dir_all(path).map_err(|error| Failure::file("make the folder", path, &error))?;
        let lock = path.join(LOCK);
        let failed = |error: &io::Error| Failure::file("write", &lock, error);
        for _ in 0..3 {
            let mut file = tempfile::NamedTempFile::new_in(path).map_err(|error| failed(&error))?;
            write!(file, "{}", std::process::id()).map_err(|error| failed(&error))?;
            match file.persist_noclobber(&lock) {
                Ok(_) => return Ok(Folder { path: path.to_path_buf() }),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&error.error)),
            }
            let holder = fs::read_to_string(&lock).unwrap_or_default();
            if is_alive(&holder) {
                return Err(Failure::hinted(
                    format!("process {holder} is sweeping into `{}`", path.display()),
                    "wait for it, or name another folder; if it is none of yours, such as on \
                     another machine, remove the file `.lock` in the folder",
                ));
            }
            // Moved away first: of two that find it stale, one alone gets this very lock.
            let stale = path.join(format!("{LOCK}-{}", std::process::id()));
            if fs::rename(&lock, &stale).is_ok() {
                let _ = fs::remove_file(&stale);
            }
        }
        Err(Failure::message(format!("others keep locking `{}`", path.display())))
    }

    /// Returns the part file at its end, and how many points it has; `None` of a finished sweep.
    pub(super) fn begin(
        &self,
        manifest: &impl Serialize,
        mode: Mode,
        expected: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Option<(File, usize)>, Failure> {
        let there = |name: &str| self.path.join(name).exists();
        let shown = self.path.display();
        let holds = [MANIFEST, PART, RESULTS, TABLE, RAW].into_iter().any(there);
        if mode == Mode::Refuse && holds {
            let what = if there(PART) { "an unfinished sweep" } else { "a sweep" };
            let hint = "--resume goes on with an unfinished sweep, --force begins anew, or name \
                        another folder with -o";
            return Err(Failure::hinted(format!("`{shown}` holds {what} already"), hint));
        }
        let mut done = 0;
        if mode == Mode::Resume && there(MANIFEST) {
            self.hold_against(manifest)?;
            if there(RESULTS) && !there(PART) {
                return Ok(None);
            }
            done = self.mend(expected)?;
        } else {
            for name in [PART, RESULTS, TABLE, RAW, MANIFEST] {
                self.remove(name)?;
            }
            self.write(MANIFEST, &mut |out| {
                serde_json::to_writer_pretty(&mut *out, manifest)?;
                writeln!(out)
            })?;
        }
        let part = self.path.join(PART);
        let open = fs::OpenOptions::new().create(true).append(true).read(true).open(&part);
        Ok(Some((open.map_err(|error| Failure::file("write", &part, &error))?, done)))
    }

    /// Cuts off what a kill left of a last line, and returns the number of whole ones.
    fn mend(&self, expected: &mut dyn FnMut(usize) -> usize) -> Result<usize, Failure> {
        let path = self.path.join(PART);
        let file = match fs::OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            opened => opened.map_err(|error| Failure::file("read", &path, &error))?,
        };
        let (mut done, mut good) = (0, 0);
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        let failed = |error: &io::Error| Failure::file("read", &path, error);
        while reader.read_until(b'\n', &mut line).map_err(|error| failed(&error))? > 0 {
            if line.last() != Some(&b'\n') {
                break;
            }
            let known = serde_json::from_slice::<Line>(&line);
            if !known.is_ok_and(|line| line.point == expected(done)) {
                let shown = path.display();
                let message = format!("line {} of `{shown}` is not what a sweep wrote", done + 1);
                return Err(Failure::hinted(message, "begin anew with --force"));
            }
            done += 1;
            good += line.len() as u64;
            line.clear();
        }
        file.set_len(good).map_err(|error| failed(&error))?;
        Ok(done)
    }

    fn hold_against(&self, manifest: &impl Serialize) -> Result<(), Failure> {
        let old = read_manifest(&self.path)?;
        let manifest = read_again(manifest)?;
        let mut differs = differences(&old, &manifest);
        if old["shard"] != manifest["shard"] {
            differs.push(format!("shard: {} there, {} now", old["shard"], manifest["shard"]));
        }
        if differs.is_empty() {
            return Ok(());
        }
        Err(Failure::hinted(
            format!(
                "the sweep in `{}` is another one:\n  {}",
                self.path.display(),
                differs.join("\n  ")
            ),
            "resume it with what it was begun with, or begin anew with --force",
        ))
    }

    /// Writes the final files from the rows, and drops the part file.
    ///
    /// Rows are asked for once more where a later one has a column that the first has not.
    pub(super) fn finish(&self, rows: Each<'_>, raw: Option<Each<'_>>) -> Result<(), Failure> {
        let mut columns = csv::Columns::default();
        let mut is_stale = false;
        self.fill(RESULTS, &mut |lines| {
            self.fill(TABLE, &mut |table| {
                let mut is_begun = false;
                rows(&mut |row| {
                    writeln!(lines, "{row}")?;
                    let cells = cells(row)?;
                    is_stale |= columns.add(&cells) && is_begun;
                    if !is_begun {
                        table.write_all(columns.heading().as_bytes())?;
                    }
                    is_begun = true;
                    if !is_stale {
                        table.write_all(columns.line(&cells).as_bytes())?;
                    }
                    Ok(())
                })
            })
        })?;
        if is_stale {
            self.fill(TABLE, &mut |table| write_table(table, &columns, rows))?;
        }
        if let Some(raw) = raw {
            self.fill(RAW, &mut |out| {
                out.write_all(RAW_HEADING.as_bytes())?;
                write_rows(raw, &mut |lines| out.write_all(lines.as_bytes()))
            })?;
        }
        let names = [Some(TABLE), raw.map(|_| RAW), Some(RESULTS)];
        for name in names.into_iter().flatten() {
            self.rename(name)?;
        }
        self.remove(PART)
    }

    fn write(
        &self,
        name: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        self.fill(name, &mut |out| write(out).map_err(Failure::from))?;
        self.rename(name)
    }

    /// Writes a file under its temporary name.
    fn fill(
        &self,
        name: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let path = self.temporary(name);
        let failed = |error: &io::Error| Failure::file("write", &path, error);
        let mut out = BufWriter::new(File::create(&path).map_err(|error| failed(&error))?);
        write(&mut out)?;
        out.flush().map_err(|error| failed(&error))?;
        out.get_ref().sync_all().map_err(|error| failed(&error))
    }

    fn rename(&self, name: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        fs::rename(self.temporary(name), &path)
            .map_err(|error| Failure::file("write", &path, &error))
    }

    fn temporary(&self, name: &str) -> PathBuf {
        self.path.join(format!(".{name}.new"))
    }

    fn remove(&self, name: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::file("remove", &path, &error))
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether a process of this id runs, other than this one.
///
/// Where that cannot be asked, it is taken to run.
fn is_alive(id: &str) -> bool {
    if id == std::process::id().to_string() {
        return false;
    }
    let processes = Path::new("/proc");
    if processes.join("self").exists() {
        return id.parse::<u32>().is_ok() && processes.join(id).exists();
    }
    let asked = std::process::Command::new("kill").args(["-0", id]).output();
    asked.map_or(true, |output| output.status.success())
}

/// Calls a function with each of some texts, in order; can be asked again.
pub(super) type Each<'a> = &'a dyn Fn(Take<'_>) -> Result<(), Failure>;

/// Takes one text.
pub(super) type Take<'a> = &'a mut dyn FnMut(&str) -> Result<(), Failure>;

/// Calls `take` with each line of a part file.
pub(super) fn each_line(
    mut part: &File,
    take: &mut dyn FnMut(Line) -> Result<(), Failure>,
) -> Result<(), Failure> {
    part.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(part);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let parsed = serde_json::from_str(&line);
        take(parsed.map_err(|error| Failure::message(format!("damaged rows: {error}")))?)?;
        line.clear();
    }
    Ok(())
}

/// Returns the columns of rows.
pub(super) fn columns(rows: Each<'_>) -> Result<csv::Columns, Failure> {
    let mut columns = csv::Columns::default();
    rows(&mut |row| {
        columns.add(&cells(row)?);
        Ok(())
    })?;
    Ok(columns)
}

/// Writes rows as CSV, with a heading.
pub(super) fn write_table(
    out: &mut dyn Write,
    columns: &csv::Columns,
    rows: Each<'_>,
) -> Result<(), Failure> {
    out.write_all(columns.heading().as_bytes())?;
    rows(&mut |row| Ok(out.write_all(columns.line(&cells(row)?).as_bytes())?))
}

/// Results that a table for people shows beside the levels; all others stand in the CSV.
const SHOWN: [&str; 7] = [
    "cost_usd_mean",
    "cost_usd_half_width",
    "cost_usd_p95",
    "makespan_s_mean",
    "wait_s_mean",
    "requests_mean",
    "hit_ratio_tokens_mean",
];

/// Writes rows as a Markdown table: levels, variant, replications and what [`SHOWN`] names.
pub(super) fn write_markdown(out: &mut dyn Write, rows: Each<'_>) -> Result<(), Failure> {
    let mut is_first = true;
    rows(&mut |row| {
        let cells = cells(row)?;
        let fixed = cells.iter().position(|(key, _)| key == "replications").unwrap_or(0);
        let shown = cells
            .iter()
            .enumerate()
            .filter(|(index, (key, _))| *index <= fixed || SHOWN.contains(&key.as_ref()));
        let shown: Vec<_> = shown.map(|(_, cell)| cell).collect();
        if std::mem::take(&mut is_first) {
            out.write_all(markdown_line(shown.iter().map(|(key, _)| key)).as_bytes())?;
            out.write_all(markdown_line(shown.iter().map(|_| "---")).as_bytes())?;
        }
        Ok(out.write_all(markdown_line(shown.iter().map(|(_, value)| value)).as_bytes())?)
    })
}

fn markdown_line<S: AsRef<str>>(values: impl Iterator<Item = S>) -> String {
    let cell = |value: S| format!(" {} |", value.as_ref().replace('|', "\\|"));
    format!("|{}\n", values.map(cell).collect::<Vec<_>>().concat())
}

/// Writes each row.
pub(super) fn write_rows(
    rows: Each<'_>,
    write: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<(), Failure> {
    rows(&mut |row| write(row).map_err(Failure::from))
}

fn cells(row: &str) -> Result<csv::Cells<'_>, Failure> {
    csv::cells(row).map_err(|error| Failure::message(format!("a damaged row: {error}")))
}

/// Reads a file line by line.
pub(super) fn lines(path: &Path) -> Result<io::Lines<BufReader<impl Read + use<>>>, Failure> {
    let file = File::open(path).map_err(|error| Failure::file("read", path, &error))?;
    Ok(BufReader::new(file).lines())
}
