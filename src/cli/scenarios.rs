//! Loading a scenario file with its options.

use forkcast::scenario::{LoadInput, Loaded, load};

use super::args::ScenarioOptions;
use super::failure::Failure;
use super::files;

/// A scenario with its text, of which results state the hash.
pub(super) struct Opened {
    pub(super) text: String,
    pub(super) loaded: Loaded,
}

/// Reads and loads a scenario.
pub(super) fn open(options: &ScenarioOptions) -> Result<Opened, Failure> {
    let text = files::read_settings(&options.scenario)?;
    let name = options.scenario.display().to_string();
    let input = LoadInput { name: &name, text: &text, sets: &options.set.sets, levels: &[] };
    let loaded = load(&input, &mut files::reader_beside(&options.scenario))
        .map_err(|problems| Failure::problems(&problems))?;
    Ok(Opened { text, loaded })
}
