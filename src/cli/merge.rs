//! `forkcast merge`: the shards of a sweep, put together.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::args::MergeOptions;
use super::failure::Failure;
use super::files;
use super::manifest::{differences, read_manifest};
use super::sweep_dir::{Each, Folder, Mode, RAW, RESULTS, Take, lines};

/// Checks that the shards are those of one sweep, all of them, and writes the whole.
pub(super) fn run(options: &MergeOptions) -> Result<(), Failure> {
    let mut paths: Vec<&Path> = options.shards.iter().map(PathBuf::as_path).collect();
    paths.push(&options.out);
    files::refuse_same(&paths)?;
    let shards = Shards::open(&options.shards)?;
    let mut manifest = shards.manifest.clone();
    manifest["shard"] = Value::Null;
    let folder = Folder::lock(&options.out)?;
    let mode = if options.force { Mode::Replace } else { Mode::Refuse };
    folder.begin(&manifest, mode, &mut |job| job)?;
    let rows: Each<'_> = &|take| shards.each_row(take);
    let raw: Each<'_> = &|take| shards.each_raw(take);
    let is_raw = manifest["raw"] == true;
    folder.finish(rows, is_raw.then_some(raw))
}

/// The folders of all shards, in their order.
struct Shards {
    folders: Vec<PathBuf>,
    manifest: Value,
    points: u64,
    variants: u64,
}

impl Shards {
    fn open(folders: &[PathBuf]) -> Result<Shards, Failure> {
        let mut manifest = None;
        let mut by_index: Vec<Option<PathBuf>> = Vec::new();
        for folder in folders {
            let own = read_manifest(folder)?;
            let first = manifest.get_or_insert_with(|| own.clone());
            let mut differs = differences(first, &own);
            if first["shard"]["count"] != own["shard"]["count"] {
                differs.push("another number of shards".to_owned());
            }
            let (shown, other) = (folder.display(), folders[0].display());
            if !differs.is_empty() {
                let differs = differs.join("\n  ").replace(" there, ", " in the first, ");
                let message = format!("`{shown}` is of another sweep than `{other}`:\n  {differs}");
                return Err(Failure::message(message));
            }
            let count = own["shard"]["count"].as_u64().unwrap_or(1).clamp(1, 1_000_000) as usize;
            let index = own["shard"]["index"].as_u64().unwrap_or(1) as usize;
            by_index.resize(count, None);
            if !folder.join(RESULTS).exists() {
                let message = format!("shard {index}/{count} in `{shown}` is not finished");
                return Err(Failure::hinted(message, "finish it with `sweep --resume`"));
            }
            let place = by_index.get_mut(index - 1).ok_or_else(|| {
                Failure::message(format!("`{shown}` has a damaged manifest: shard {index}/{count}"))
            })?;
            if let Some(twice) = place.replace(folder.clone()) {
                let twice = twice.display();
                let message = format!("`{twice}` and `{shown}` are both shard {index}/{count}");
                return Err(Failure::message(message));
            }
        }
        let missing: Vec<String> = (1..=by_index.len())
            .filter(|index| by_index[index - 1].is_none())
            .map(|index| format!("{index}/{}", by_index.len()))
            .collect();
        if !missing.is_empty() {
            return Err(Failure::message(format!("shards are missing: {}", missing.join(", "))));
        }
        let manifest = manifest.unwrap_or_default();
        let points = manifest["points"].as_u64().unwrap_or(0);
        let variants = manifest["variants"].as_array().map_or(0, Vec::len) as u64;
        let folders = by_index.into_iter().flatten().collect();
        Ok(Shards { folders, manifest, points, variants })
    }

    fn each_row(&self, take: Take<'_>) -> Result<(), Failure> {
        let mut files = Vec::new();
        for folder in &self.folders {
            files.push(lines(&folder.join(RESULTS))?);
        }
        let count = files.len();
        for point in 0..self.points {
            let at = point as usize % count;
            for _ in 0..self.variants {
                let row = next(&mut files[at])?;
                take(&row.ok_or_else(|| self.short(at, RESULTS))?)?;
            }
        }
        Ok(())
    }

    fn each_raw(&self, take: Take<'_>) -> Result<(), Failure> {
        let mut files = Vec::new();
        for folder in &self.folders {
            let mut file = lines(&folder.join(RAW))?;
            next(&mut file)?;
            files.push((file, None::<String>));
        }
        let count = files.len();
        for point in 0..self.points {
            let at = point as usize % count;
            let (file, held) = &mut files[at];
            let prefix = format!("{point},");
            let mut found = false;
            loop {
                let line = match held.take() {
                    Some(line) => Some(line),
                    None => next(file)?,
                };
                match line {
                    Some(line) if line.starts_with(&prefix) => take(&(line + "\n"))?,
                    rest => {
                        *held = rest;
                        break;
                    }
                }
                found = true;
            }
            if !found {
                return Err(self.short(at, RAW));
            }
        }
        Ok(())
    }

    fn short(&self, at: usize, name: &str) -> Failure {
        let path = self.folders[at].join(name);
        Failure::message(format!("`{}` does not have all rows of its shard", path.display()))
    }
}

fn next(lines: &mut impl Iterator<Item = io::Result<String>>) -> Result<Option<String>, Failure> {
    lines.next().transpose().map_err(|error| Failure::message(format!("cannot read: {error}")))
}
