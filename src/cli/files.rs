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
pub(super) fn reader_beside(scenario: &Path) -> impl Fn(&str) -> Result<String, String> + Sync {
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

/// Says why a file cannot be read or written.
pub(super) fn reason(error: &io::Error) -> String {
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

/// Writes lines to a file, whole or not at all, or to stdout where the path is `-`.
pub(super) fn write_lines(
    path: &Path,
    mut lines: impl Iterator<Item = String>,
) -> Result<(), Failure> {
    if is_stdout(path) {
        let mut out = io::BufWriter::new(io::stdout().lock());
        lines.try_for_each(|line| writeln!(out, "{line}"))?;
        out.flush()?;
        return Ok(());
    }
    write_with(path, |out| lines.try_for_each(|line| writeln!(out, "{line}")))
}

/// Returns whether a path stands for stdout.
pub(super) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a text to a file, whole or not at all.
pub(super) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    write_with(path, |out| out.write_all(text.as_bytes()))
}

/// Writes to a temporary name in the same folder and renames it, so that no half file is left. What
/// is no regular file, such as a pipe, is written to as it is; a link is followed.
pub(super) fn write_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let failed = |error: &io::Error| Failure::file("write", path, error);
    if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        let open = fs::OpenOptions::new().write(true).open(&target);
        let mut file = open.map_err(|error| failed(&error))?;
        return write(&mut file).map_err(Failure::from);
    }
    replace(&target, write).map_err(|error| failed(&error))
}

fn replace(target: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".forkcast-");
    let old = fs::metadata(target).map(|found| found.permissions());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other("there is no such folder"),
        kind => io::Error::new(kind, kind.to_string()),
    })?;
    let mut out = io::BufWriter::new(file.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    if let Ok(permissions) = old {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// Refuses to write over a file that is read, or twice to the same one.
pub(super) fn refuse_same(paths: &[&Path]) -> Result<(), Failure> {
    for (index, path) in paths.iter().enumerate() {
        let place = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if paths[..index].iter().any(|other| place(other) == place(path)) {
            let message = format!("`{}` would be read or written twice", path.display());
            let hint = Some("name another file for the output".to_owned());
            return Err(Failure::Message { message, hint });
        }
    }
    Ok(())
}
