//! One scenario at many points: read once, loaded with other settings again and again.

use std::sync::Arc;

use crate::scenario::load::{Change, Checked, Known, Loader, Prepared, entry, is_below};
use crate::scenario::{
    LoadInput, Loaded, LoadedVariant, Origin, Problem, Problems, ReadFile, Sources, VARIANT_KEY,
};

/// A scenario that is loaded at points: settings that stand over those of its file and options.
///
/// What the points share is read, parsed and compiled once.
#[derive(Debug)]
pub struct Study {
    prepared: Prepared,
    sources: Sources,
    known: Known,
    loaded: Loaded,
}

impl Study {
    /// Loads a scenario as it stands, without the settings of a point.
    ///
    /// # Errors
    /// All problems at once, each with its place.
    pub fn open(input: &LoadInput<'_>, read: ReadFile<'_>) -> Result<Study, Problems> {
        let mut loader = Loader::new(read);
        let prepared = loader.prepare(input);
        let loaded = prepared.as_ref().and_then(|prepared| loader.load(prepared));
        let (sources, known) = (loader.sources.clone(), loader.known.clone());
        let loaded = loader.end(prepared.zip(loaded));
        loaded.map(|(prepared, loaded)| Study { prepared, sources, known, loaded })
    }

    /// Returns the scenario as it stands.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Returns the texts it was read from: the scenario, profiles and price books, each once.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Keeps only the variants of these names, in their order in the scenario.
    ///
    /// # Errors
    /// One problem for each name that no variant has; `option` is where the names were given.
    pub fn keep_variants(&mut self, names: &[&str], option: &str) -> Result<(), Problems> {
        let known: Vec<String> =
            self.loaded.variants.iter().map(|variant| variant.name.clone()).collect();
        let unknown = names.iter().filter(|name| !known.iter().any(|known| known == *name));
        let problem = |name: &&str| Problem {
            path: VARIANT_KEY.to_owned(),
            message: format!("no variant is named `{name}`; variants are: {}", known.join(", ")),
            help: None,
            origin: Origin::Level { text: option.to_owned() },
        };
        let problems: Vec<Problem> = unknown.map(problem).collect();
        if !problems.is_empty() {
            return Err(Problems::new(problems, &self.sources));
        }
        self.prepared.variants.retain(|change| names.contains(&change.name.as_str()));
        self.loaded.variants.retain(|variant| names.contains(&variant.name.as_str()));
        Ok(())
    }

    /// Leaves the scenario alone, without its variants.
    pub fn drop_variants(&mut self) {
        self.prepared.variants.clear();
        self.loaded.variants = vec![self.loaded.base.clone()];
    }

    /// Checks a point, which is cheaper than to load it.
    ///
    /// # Errors
    /// All its problems.
    pub fn check(&self, point: &[(&str, &str)], read: ReadFile<'_>) -> Result<(), Problems> {
        self.checked(point, read).map(|_| ())
    }

    /// Loads the variants at a point, given as keys with their values.
    ///
    /// # Errors
    /// All its problems.
    pub fn load(
        &self,
        point: &[(&str, &str)],
        read: ReadFile<'_>,
    ) -> Result<Vec<LoadedVariant>, Problems> {
        let checked = self.checked(point, read)?;
        let tables = Arc::clone(&self.known.tables);
        Ok(checked.into_iter().map(|checked| checked.planned(&tables)).collect())
    }

    fn checked(
        &self,
        point: &[(&str, &str)],
        read: ReadFile<'_>,
    ) -> Result<Vec<Checked>, Problems> {
        let mut loader = Loader::after(self.sources.clone(), self.known.clone(), read);
        let mut prepared = self.prepared.clone();
        for (key, value) in point {
            let entry = entry(value, Origin::Level { text: format!("{key}={value}") });
            if is_below(VARIANT_KEY, key) {
                loader.change_variant(&mut prepared.variants, key, entry);
            } else {
                loader.problems.extend(prepared.base.set_entry(key, entry).err());
            }
        }
        let found: Vec<Option<Checked>> = if prepared.variants.is_empty() {
            vec![loader.check("base", &prepared.base)]
        } else {
            let check = |change: &Change| loader.check_change(&prepared, change);
            prepared.variants.iter().map(check).collect()
        };
        loader.end(found.into_iter().collect())
    }
}
