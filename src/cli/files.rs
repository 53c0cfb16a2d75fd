//! Files: read within limits, written whole or not at all.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::failure::Failure;

/// The largest settings file that is read: far above any real one.
const SETTINGS_BYTES_MAX: u64 = 16 << 20;

/// Reads a settings file.
pub(super) fn read_settings(path: &Path) -> Result<String, Failure> {
    read_text(path)
        .map_err(|reason| Failure::message(format!("cannot read `{}`: {reason}", path.display())))
}

/// Returns a reader of the files that a scenario names, relative to the scenario.
pub(super) fn reader_beside(scenario: &Path) -> impl FnMut(&str) -> Result<String, String> {
    let folder = scenario.parent().map(Path::to_path_buf).unwrap_or_default();
    move |name| {
        let path = PathBuf::from(name);
        read_text(&if path.is_absolute() { path } else { folder.join(path) })
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| reason(&error))?;
    let mut text = String::new();
    let count = file
        .take(SETTINGS_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| reason(&error))?;
    if count as u64 > SETTINGS_BYTES_MAX {
        return Err(format!("it has more than {} MiB", SETTINGS_BYTES_MAX >> 20));
    }
    Ok(text)
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    }
}

/// Writes to a file, whole or not at all, or to stdout where none is named.
pub(super) fn write_out(path: Option<&Path>, text: &str) -> Result<(), Failure> {
    match path {
        None => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(text.as_bytes())?;
            stdout.flush()?;
            Ok(())
        }
        Some(path) => write_whole(path, text),
    }
}

/// Writes to a temporary name in the same folder and renames it, so that no half file is left.
pub(super) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".forkcast-").tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Failure::file("write", path, &error))
}
