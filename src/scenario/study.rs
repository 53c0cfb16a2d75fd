//! One scenario at many points: read once, loaded with other settings again and again.

use crate::scenario::load::{Known, Loader, Prepared, entry, is_below};
use crate::scenario::settle::{Checked, settle};
use crate::scenario::validate;
use crate::scenario::{
    Entry, Layers, LoadInput, Loaded, LoadedVariant, Origin, Problem, Problems, ReadFile, Scenario,
    Sources, Tree, VARIANT_KEY, decode, is_settings, split_key,
};

/// A scenario that is loaded at points: settings that stand over those of its file and options.
///
/// What the points share is read, parsed and compiled once. Of a point only the tables that it
/// changes are decoded anew, unless it changes more than settings: a profile, prices, variants.
#[derive(Debug)]
pub struct Study {
    prepared: Prepared,
    sources: Sources,
    known: Known,
    loaded: Loaded,
    /// The scenario without any variant's changes, as it stands.
    base: Checked,
    /// Its variants, as they stand.
    variants: Vec<Checked>,
}

/// Settings of a point: keys with their values.
pub type Point<'a> = &'a [(&'a str, &'a str)];

impl Study {
    /// Loads a scenario as it stands, without the settings of a point.
    ///
    /// # Errors
    /// All problems at once, each with its place.
    pub fn open(input: &LoadInput<'_>, read: ReadFile<'_>) -> Result<Study, Problems> {
        let mut loader = Loader::new(read);
        let prepared = loader.prepare(input);
        let checked = prepared.as_ref().and_then(|prepared| loader.check_all(prepared));
        let (sources, known) = (loader.sources.clone(), loader.known.clone());
        let (prepared, (base, variants)) = loader.end(prepared.zip(checked))?;
        let loaded = Loaded::new(base.clone(), variants.clone(), &known.tables);
        Ok(Study { prepared, sources, known, loaded, base, variants })
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
        let is_kept = |name: &str| names.contains(&name);
        self.prepared.variants.retain(|change| is_kept(&change.name));
        self.loaded.variants.retain(|variant| is_kept(&variant.name));
        self.variants.retain(|variant| is_kept(&variant.name));
        Ok(())
    }

    /// Leaves the scenario alone, without its variants.
    pub fn drop_variants(&mut self) {
        self.prepared.variants.clear();
        self.variants.clear();
        self.loaded.variants = vec![self.loaded.base.clone()];
    }

    /// Checks the variants at a point, which is cheaper than to load them.
    ///
    /// # Errors
    /// All problems of the point.
    pub fn check(&self, point: Point<'_>, read: ReadFile<'_>) -> Result<(), Problems> {
        self.checked(Whom::Variants, point, read).map(|_| ())
    }

    /// Loads the variants at a point; the base alone where there are none.
    ///
    /// # Errors
    /// All problems of the point.
    pub fn load(
        &self,
        point: Point<'_>,
        read: ReadFile<'_>,
    ) -> Result<Vec<LoadedVariant>, Problems> {
        let checked = self.checked(Whom::Variants, point, read)?;
        Ok(checked.into_iter().map(|checked| checked.planned(&self.known.tables)).collect())
    }

    /// Loads the scenario at a point without any variant's changes.
    ///
    /// # Errors
    /// All problems of the point.
    pub fn load_base(
        &self,
        point: Point<'_>,
        read: ReadFile<'_>,
    ) -> Result<LoadedVariant, Problems> {
        let mut checked = self.checked(Whom::Base, point, read)?;
        Ok(checked.swap_remove(0).planned(&self.known.tables))
    }

    fn checked(
        &self,
        whom: Whom,
        point: Point<'_>,
        read: ReadFile<'_>,
    ) -> Result<Vec<Checked>, Problems> {
        let whom = if self.variants.is_empty() { Whom::Base } else { whom };
        let point: Vec<(String, Entry)> = point.iter().map(level).collect();
        let quick = self.quick(whom, &point, read);
        quick.map_or_else(|| self.anew(whom, &point, read), Ok)
    }

    /// Decodes only the tables that a point changes. `None` where that does not do: it changes
    /// more than settings, or something is wrong, which is told in full the long way.
    fn quick(
        &self,
        whom: Whom,
        point: &[(String, Entry)],
        read: ReadFile<'_>,
    ) -> Option<Vec<Checked>> {
        let tables = tables(point)?;
        let base = self.prepared.base.settings.tree().part(&tables);
        let mut changed = |standing: &Checked, over: &[(String, Entry)]| {
            let over =
                over.iter().filter(|(key, _)| table(key).is_none_or(|one| tables.contains(&one)));
            let mut top = Layers::new(is_settings);
            top.merge(base.clone());
            for (key, entry) in point.iter().chain(over) {
                top.set_entry(key, entry.clone()).ok()?;
            }
            standing.changed(&tables, top.into_tree(), read)
        };
        if whom == Whom::Base {
            return changed(&self.base, &[]).map(|base| vec![base]);
        }
        let variants = self.variants.iter().zip(&self.prepared.variants);
        variants.map(|(standing, change)| changed(standing, &change.entries)).collect()
    }

    /// Loads a point as if nothing but the texts were known.
    fn anew(
        &self,
        whom: Whom,
        point: &[(String, Entry)],
        read: ReadFile<'_>,
    ) -> Result<Vec<Checked>, Problems> {
        let mut loader = Loader::after(self.sources.clone(), self.known.clone(), read);
        let mut prepared = self.prepared.clone();
        for (key, entry) in point {
            if is_below(VARIANT_KEY, key) {
                loader.change_variant(&mut prepared.variants, key, entry.clone());
            } else {
                loader.problems.extend(prepared.base.set_entry(key, entry.clone()).err());
            }
        }
        let found = match whom {
            Whom::Base => loader.check("base", &prepared.base).map(|base| vec![base]),
            Whom::Variants => loader.check_changes(&prepared),
        };
        loader.end(found)
    }
}

/// What is loaded at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    Base,
    Variants,
}

fn level((key, value): &(&str, &str)) -> (String, Entry) {
    ((*key).to_owned(), entry(value, Origin::Level { text: format!("{key}={value}") }))
}

/// Returns the top-level keys in which entries stand; `None` if a key is malformed.
fn tables(entries: &[(String, Entry)]) -> Option<Vec<String>> {
    let mut tables: Vec<String> =
        entries.iter().map(|(key, _)| table(key)).collect::<Option<_>>()?;
    tables.sort_unstable();
    tables.dedup();
    Some(tables)
}

fn table(key: &str) -> Option<String> {
    split_key(key).ok().map(|mut parts| parts.swap_remove(0))
}

impl Checked {
    /// Returns the variant with other settings in some tables; `None` where that does not do.
    fn changed(&self, tables: &[String], settings: Tree, read: ReadFile<'_>) -> Option<Checked> {
        let mut layers = Layers::new(is_settings);
        if let Some(profile) = &self.under.profile {
            layers.merge(profile.part(tables));
        }
        layers.merge(settings);
        let tree = layers.tree();
        let (changed, mut problems) = decode::<Scenario>(tree);
        let (mut changed, mut scenario) = (changed?, self.scenario.clone());
        problems.extend(validate::resolve_files(&mut changed, tree, read));
        if !problems.is_empty() || !tables.iter().all(|table| scenario.take(table, &changed)) {
            return None;
        }
        let is_right = validate::check(&scenario, tree).is_empty();
        is_right.then(|| settle(&self.name, scenario, self.under.clone(), tree).ok())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{json_schema, stated_numbers};

    const TEXT: &str = include_str!("../../scenarios/fork-or-fresh.toml");

    fn study(text: &str) -> Study {
        let input = LoadInput { name: "a.toml", text, sets: &[], levels: &[] };
        Study::open(&input, &mut |name| Err(format!("{name} is not read here"))).unwrap()
    }

    fn no_file(name: &str) -> Result<String, String> {
        Err(format!("{name} is not read here"))
    }

    /// Compares both ways at a point; returns whether the short one did.
    fn compare(study: &Study, point: Point<'_>) -> bool {
        let entries: Vec<(String, Entry)> = point.iter().map(level).collect();
        let mut is_quick = Vec::new();
        for whom in [Whom::Base, Whom::Variants] {
            let slow = study.anew(whom, &entries, &mut no_file);
            let quick = study.quick(whom, &entries, &mut no_file);
            is_quick.push(quick.is_some());
            if let Some(quick) = quick {
                assert_eq!(quick, slow.unwrap(), "{point:?}");
            }
        }
        assert_eq!(is_quick[0], is_quick[1], "{point:?}");
        is_quick[0]
    }

    #[test]
    fn tables_decoded_alone_give_what_the_whole_gives() {
        let study = study(&TEXT.replace(
            "\"fanout.model\" = \"claude-sonnet-5\"",
            "\"fanout.model\" = \"claude-sonnet-5\", \"session.answer\" = 7, cache.ttl = \"1h\"",
        ));
        for (key, low, high) in stated_numbers(TEXT, 0.2) {
            for value in [low, high] {
                assert!(compare(&study, &[(&key, &value)]), "{key}");
            }
        }
        let points: [Point<'_>; 9] = [
            &[("fanout.agent", "explore"), ("fanout.model", "claude-haiku-4-5")],
            &[("session.billing", "plan"), ("session.answer", "900")],
            &[("cache.ttl", "5m")],
            &[("cache.ttl.main", "1h"), ("cache.enabled", "true")],
            &[("startup.fresh.tools", "9k"), ("startup.fresh.notes.first", "0")],
            &[("wrappers.fork.call", "7"), ("fork.tail_tokens", "0")],
            &[("task.output", "500"), ("\"task\".'report'", "{ exponential = { mean = 800 } }")],
            &[("latency.first_token.base", "2s"), ("compaction.window", "150k")],
            &[("title", "another"), ("limits.tools", "3"), ("provider.tries", "2")],
        ];
        for point in points {
            assert!(compare(&study, point), "{point:?}");
        }
    }

    #[test]
    fn more_than_settings_and_what_is_wrong_goes_the_long_way() {
        let study = study(TEXT);
        let points: [Point<'_>; 7] = [
            &[("profile", "plain")],
            &[("prices.claude-opus-5.output", "1")],
            &[("fanout.tasks", "0")],
            &[("fanout.taks", "3")],
            &[("session.context", "1")],
            &[("session.model", "nobody")],
            &[("task.output.quantiles.0.1", "9999")],
        ];
        for point in points {
            assert!(!compare(&study, point), "{point:?}");
        }
        let own = [("variant.fork.session.context", "50k")];
        let loaded = study.load(&own, &mut no_file).unwrap();
        let contexts = loaded.iter().map(|one| one.scenario.session.context.unwrap().get());
        assert_eq!(contexts.collect::<Vec<_>>(), [100_000, 50_000, 100_000]);
        assert!(study.load(&[("variant.nobody.title", "x")], &mut no_file).is_err());
        let base = study.load_base(&[("fanout.tasks", "3")], &mut no_file).unwrap();
        assert_eq!((base.name.as_str(), base.scenario.fanout.tasks), ("base", 3));
    }

    #[test]
    fn every_top_level_key_is_taken_over_or_known_to_be_more() {
        let schema = json_schema();
        let keys = schema["properties"].as_object().unwrap().keys();
        let mut scenario = Scenario::default();
        let others: Vec<_> = keys.filter(|key| !scenario.take(key, &Scenario::default())).collect();
        assert_eq!(others, ["profile", "prices", "variant"]);
    }
}
