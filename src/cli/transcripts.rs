//! Transcripts: where they stand, and how their files are read.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use forkcast::transcript::{FileReader, FileRole, Session, put_together};
use rayon::prelude::*;

use super::failure::Failure;
use super::{files, terminal};

/// The longest line that is read; the longest seen have a few MiB.
const LINE_BYTES_MAX: usize = 64 << 20;
/// The most broken lines that are told.
const BROKEN_TOLD_MAX: usize = 10;

/// Sessions and what there is to say of reading them.
pub(super) struct Reading {
    pub(super) sessions: Vec<Session>,
    pub(super) files: usize,
    pub(super) broken_lines: usize,
    pub(super) unknown_records: u64,
}

/// Reads all transcripts under the paths, or where the client puts them.
pub(super) fn read(paths: &[PathBuf], quiet: bool) -> Result<Reading, Failure> {
    let found = if paths.is_empty() { in_client_folders()? } else { under(paths)? };
    if found.is_empty() {
        let hint = "name a folder with .jsonl transcripts, or a file";
        return Err(Failure::hinted("no transcripts found".to_owned(), hint));
    }
    let bar = terminal::progress(quiet, "files");
    bar.set_length(found.len() as u64);
    let readers: Vec<FileReader> = found
        .par_iter()
        .with_max_len(1)
        .map(|file| {
            let reader = read_file(file);
            bar.inc(1);
            reader
        })
        .collect::<Result<_, _>>()?;
    bar.finish_and_clear();
    let readers = keep_asked(readers, &found);
    let told = tell_faults(&readers, &found, quiet);
    Ok(Reading { sessions: put_together(readers.into_iter().flatten().collect()), ..told })
}

/// A transcript file.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    path: PathBuf,
    role: FileRole,
    /// Session that was asked for, where the file may belong to another.
    only: Option<String>,
}

/// Returns the files in the folders in which the client keeps them.
fn in_client_folders() -> Result<Vec<Found>, Failure> {
    let stated = env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty());
    let folders: Vec<PathBuf> = if let Some(stated) = stated {
        // Several may stand between commas, as other tools that read transcripts have it.
        stated.to_string_lossy().split(',').map(|one| one.trim().into()).collect()
    } else {
        let home = env::home_dir().unwrap_or_default();
        let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.unwrap_or_else(|| home.join(".config"));
        vec![config.join("claude"), home.join(".claude")]
    };
    let projects: Vec<PathBuf> = folders.iter().map(|folder| folder.join("projects")).collect();
    let there: Vec<PathBuf> = projects.iter().filter(|path| path.is_dir()).cloned().collect();
    if there.is_empty() {
        let looked: Vec<String> =
            projects.iter().map(|path| format!("`{}`", path.display())).collect();
        return Err(Failure::hinted(
            format!("no transcripts: there is no folder {}", looked.join(" and no folder ")),
            "name a folder with transcripts, a file, or set CLAUDE_CONFIG_DIR",
        ));
    }
    under(&there)
}

/// Returns the transcripts at and under some paths, by their paths, each once.
fn under(paths: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        let failed = |error: &io::Error| Failure::file("read", path, error);
        let whole = fs::canonicalize(path).map_err(|error| failed(&error))?;
        if whole.is_dir() {
            walk(&whole, &mut found).map_err(|error| failed(&error))?;
            continue;
        }
        let Some(role) = role_of(&whole) else {
            let message = format!("`{}` is no transcript", path.display());
            return Err(Failure::hinted(message, "a transcript is a .jsonl file"));
        };
        if let FileRole::Session { session, .. } = &role {
            with_subagents(&whole, session, &mut found).map_err(|error| failed(&error))?;
        }
        found.push(Found { path: whole, role, only: None });
    }
    found.sort();
    found.dedup_by(|a, b| a.path == b.path);
    Ok(found)
}

fn role_of(path: &Path) -> Option<FileRole> {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    FileRole::of(&parts.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
}

fn walk(folder: &Path, found: &mut Vec<Found>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() {
            walk(&path, found)?;
        } else if let Some(role) = role_of(&path)
            && path.is_file()
        {
            found.push(Found { path, role, only: None });
        }
    }
    Ok(())
}

/// Adds the files of the subagents of a session: in its folder, or beside it.
fn with_subagents(file: &Path, session: &str, found: &mut Vec<Found>) -> io::Result<()> {
    let own = file.with_extension("");
    if own.is_dir() {
        walk(&own, found)?;
    }
    let Some(folder) = file.parent() else { return Ok(()) };
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(role @ FileRole::Agent { .. }) = role_of(&path)
            && path.is_file()
        {
            found.push(Found { path, role, only: Some(session.to_owned()) });
        }
    }
    Ok(())
}

fn read_file(found: &Found) -> Result<FileReader, Failure> {
    let failed = |error: io::Error| Failure::file("read", &found.path, &error);
    let file = fs::File::open(&found.path).map_err(failed)?;
    let mut reader = FileReader::new(found.role.clone());
    each_line(file, &mut reader).map_err(failed)?;
    Ok(reader)
}

/// Hands each line to the reader; lines that stand whole in the buffer are not copied.
fn each_line(file: fs::File, reader: &mut FileReader) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 20, file);
    let mut begun: Vec<u8> = Vec::new();
    let mut is_too_long = false;
    let too_long = format!("the line has more than {} MiB", LINE_BYTES_MAX >> 20);
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let used = end.map_or(buffer.len(), |end| end + 1);
        is_too_long |= begun.len() + part.len() > LINE_BYTES_MAX;
        match (end, is_too_long) {
            (Some(_), true) => {
                reader.unreadable_line(&too_long);
                begun = Vec::new();
                is_too_long = false;
            }
            (Some(_), false) if begun.is_empty() => reader.line(part),
            (Some(_), false) => {
                begun.extend_from_slice(part);
                reader.line(&begun);
                begun.clear();
            }
            (None, true) => begun = Vec::new(),
            (None, false) => begun.extend_from_slice(part),
        }
        input.consume(used);
    }
    if is_too_long {
        reader.unreadable_line(&too_long);
    } else if !begun.is_empty() {
        reader.line(&begun);
    }
    Ok(())
}

/// Drops the files beside a session that belong to another one.
fn keep_asked(readers: Vec<FileReader>, found: &[Found]) -> Vec<Option<FileReader>> {
    let asked = |(reader, found): (FileReader, &Found)| {
        let is_other = found.only.as_deref().is_some_and(|only| reader.session() != Some(only));
        (!is_other).then_some(reader)
    };
    readers.into_iter().zip(found).map(asked).collect()
}

/// Tells what could not be read; what was read counts all the same.
fn tell_faults(readers: &[Option<FileReader>], found: &[Found], quiet: bool) -> Reading {
    let mut told = Reading { sessions: Vec::new(), files: 0, broken_lines: 0, unknown_records: 0 };
    let mut unknown: BTreeMap<&str, u64> = BTreeMap::new();
    for (reader, found) in readers.iter().zip(found) {
        let Some(reader) = reader else { continue };
        told.files += 1;
        for line in &reader.broken {
            told.broken_lines += 1;
            if !quiet && told.broken_lines <= BROKEN_TOLD_MAX {
                let place = format!("{}:{}", found.path.display(), line.line);
                terminal::talk(&terminal::printable(&format!(
                    "warning: {place}: {}; the line is passed over",
                    line.reason
                )));
            }
        }
        told.broken_lines += reader.broken_unlisted;
        for (kind, number) in &reader.unknown {
            *unknown.entry(kind).or_default() += number;
            told.unknown_records += number;
        }
    }
    if !quiet && told.broken_lines > BROKEN_TOLD_MAX {
        let more = told.broken_lines - BROKEN_TOLD_MAX;
        terminal::talk(&format!("warning: and {more} more lines that could not be read"));
    }
    if !quiet && !unknown.is_empty() {
        let kinds: Vec<String> =
            unknown.iter().map(|(kind, number)| format!("`{kind}` ({number})")).collect();
        terminal::talk(&terminal::printable(&format!(
            "note: records of unknown types were passed over: {}",
            kinds.join(", ")
        )));
    }
    told
}

/// Refuses to write over a transcript.
pub(super) fn refuse_output(paths: &[PathBuf], out: Option<&Path>) -> Result<(), Failure> {
    let Some(out) = out else { return Ok(()) };
    for path in paths {
        files::refuse_same(&[path, out])?;
    }
    Ok(())
}
