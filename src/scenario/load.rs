//! From texts to plans: layers, prices, variants, checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::experiment::Warning;
use crate::orchestration::Plan;
use crate::scenario::prices::{Books, LoadedPrices, PriceSource};
use crate::scenario::settle::{Checked, Under, examine, settle};
use crate::scenario::{
    Entry, Layers, Node, Origin, PROFILES, Problem, Problems, Scenario, Sources, Tree, Variant,
    decode, find_profile, is_settings, join_key, split_key,
};
use crate::units::Date;
use crate::workload::Tables;

/// Reads a file that a scenario names; the error says why it cannot be read.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// A scenario file and the options that change it.
#[derive(Debug)]
pub struct LoadInput<'a> {
    /// Name of the file, for messages.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// `--set KEY=VALUE` options, in order.
    pub sets: &'a [(String, String)],
    /// Levels of `--vary` options, which stand over all of these.
    pub levels: &'a [(String, String)],
}

/// A variant made ready to run.
#[derive(Clone, Debug)]
pub struct LoadedVariant {
    /// Its name; `base` where the scenario has no variants.
    pub name: String,
    /// Its settings.
    pub scenario: Scenario,
    /// Its plan.
    pub plan: Plan,
    /// What a user should know before trusting its numbers.
    pub warnings: Vec<Warning>,
    /// Name of its price book.
    pub book: String,
    /// Date of its price book.
    pub as_of: Date,
}

/// A scenario made ready to run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario without any variant's changes.
    pub base: LoadedVariant,
    /// Its variants; the base alone where it has none.
    pub variants: Vec<LoadedVariant>,
}

impl Loaded {
    /// Makes the plans of what was found right.
    pub(super) fn new(base: Checked, variants: Vec<Checked>, tables: &Tables) -> Loaded {
        let base = base.planned(tables);
        let mut variants: Vec<_> = variants.into_iter().map(|one| one.planned(tables)).collect();
        if variants.is_empty() {
            variants.push(base.clone());
        }
        Loaded { base, variants }
    }
}

/// Loads a scenario with its profile, prices, variants and `--set` options.
///
/// # Errors
/// All problems at once, each with its place.
pub fn load(input: &LoadInput<'_>, read: ReadFile<'_>) -> Result<Loaded, Problems> {
    let mut loader = Loader::new(read);
    let checked = loader.prepare(input).and_then(|prepared| loader.check_all(&prepared));
    let tables = Arc::clone(&loader.known.tables);
    let (base, variants) = loader.end(checked)?;
    Ok(Loaded::new(base, variants, &tables))
}

/// State of loading: problems are collected, never thrown.
pub(super) struct Loader<'a> {
    pub(super) sources: Sources,
    pub(super) problems: Vec<Problem>,
    pub(super) known: Known,
    read: ReadFile<'a>,
}

/// The profile of a scenario, without what it says of itself.
type Profile = Option<Arc<Tree>>;

/// What has been read and made already, for whoever loads the same scenario again.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    profiles: BTreeMap<String, Profile>,
    books: Books,
    pub(super) tables: Arc<Tables>,
}

/// What a scenario and its options say, before the profile is put under it.
#[derive(Clone, Debug)]
pub(super) struct Layered {
    pub(super) settings: Layers,
    /// Changes of prices, in order: `prices` as a whole or `prices.MODEL.KEY`.
    prices: Vec<(String, Entry)>,
}

/// A scenario with its options, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) base: Layered,
    pub(super) variants: Vec<Change>,
}

/// What a variant changes, in order.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) entries: Vec<(String, Entry)>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(read: ReadFile<'a>) -> Loader<'a> {
        let (sources, known) = (Sources::new(), Known::default());
        Loader { sources, problems: Vec::new(), known, read }
    }

    /// Goes on from what another loader has read.
    pub(super) fn after(sources: Sources, known: Known, read: ReadFile<'a>) -> Loader<'a> {
        Loader { sources, problems: Vec::new(), known, read }
    }

    /// Returns what was loaded, unless there are problems.
    pub(super) fn end<T>(self, loaded: Option<T>) -> Result<T, Problems> {
        match loaded {
            Some(loaded) if self.problems.is_empty() => Ok(loaded),
            _ => Err(Problems::new(self.problems, &self.sources)),
        }
    }

    /// Takes a scenario and its options apart.
    pub(super) fn prepare(&mut self, input: &LoadInput<'_>) -> Option<Prepared> {
        let mut base = Layered { settings: Layers::new(is_settings), prices: Vec::new() };
        base.merge(Arc::unwrap_or_clone(self.parse(input.name, input.text)?));
        let variants = base.settings.remove("variant");
        let text = |(key, value): &(String, String)| format!("{key}={value}");
        let sets = input.sets.iter().map(|set| (set, Origin::Override { text: text(set) }));
        let levels = input.levels.iter().map(|level| (level, Origin::Level { text: text(level) }));
        let (for_variants, for_base): (Vec<_>, Vec<_>) =
            sets.chain(levels).partition(|((key, _), _)| is_below("variant", key));
        for ((key, value), origin) in for_base {
            self.problems.extend(base.set_entry(key, entry(value, origin)).err());
        }
        let names = variants.as_ref().map(|node| self.variant_names(node)).unwrap_or_default();
        let mut changes = Vec::new();
        let nodes = variants.as_ref().map_or(&[][..], Node::items);
        for (node, name) in nodes.iter().zip(names) {
            let set = node.entries().find(|(key, _)| *key == "set");
            let entries = set.iter().flat_map(|(_, set)| set.node.entries());
            let entries = entries.map(|(key, entry)| (key.to_owned(), entry.clone())).collect();
            changes.push(Change { name, entries });
        }
        for ((key, value), origin) in for_variants {
            self.change_variant(&mut changes, key, entry(value, origin));
        }
        Some(Prepared { base, variants: changes })
    }

    /// Checks the base and every variant.
    pub(super) fn check_all(&mut self, prepared: &Prepared) -> Option<(Checked, Vec<Checked>)> {
        let base = self.check("base", &prepared.base);
        let variants = self.check_changes(prepared);
        base.zip(variants)
    }

    /// Checks every variant.
    pub(super) fn check_changes(&mut self, prepared: &Prepared) -> Option<Vec<Checked>> {
        let check = |change: &Change| self.check_change(prepared, change);
        let variants: Vec<_> = prepared.variants.iter().map(check).collect();
        variants.into_iter().collect()
    }

    /// Checks the base with a variant's changes.
    fn check_change(&mut self, prepared: &Prepared, change: &Change) -> Option<Checked> {
        let mut own = prepared.base.clone();
        for (key, entry) in &change.entries {
            self.problems.extend(own.set_entry(key, entry.clone()).err());
        }
        self.check(&change.name, &own)
    }

    /// Adds to the changes of the variant that `variant.NAME.KEY` names, which there must be.
    pub(super) fn change_variant(&mut self, changes: &mut [Change], key: &str, entry: Entry) {
        if let Some((name, rest)) = variant_key(key)
            && let Some(change) = changes.iter_mut().find(|change| change.name == name)
        {
            change.entries.push((rest, entry));
            return;
        }
        let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
        let known = if names.is_empty() {
            "the scenario has no variants".to_owned()
        } else {
            format!("variants are: {}", names.join(", "))
        };
        self.problems.push(Problem {
            path: key.to_owned(),
            message: format!("no such variant; {known}"),
            help: Some("write variant.NAME.KEY, NAME in quotes if it has blanks".to_owned()),
            origin: entry.key,
        });
    }

    fn parse(&mut self, name: &str, text: &str) -> Option<Arc<Tree>> {
        let source = self.sources.add(name, text);
        match Tree::parse(&self.sources, source) {
            Ok(tree) => Some(Arc::new(tree)),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    /// Puts the profile that the settings name under them.
    fn with_profile(&mut self, top: &Layered, notes: &mut Vec<Warning>) -> (Layered, Profile) {
        let mut layered = Layered { settings: Layers::new(is_settings), prices: Vec::new() };
        let asked = match top.settings.get("profile") {
            None => "plain",
            Some(node) => node.as_str().unwrap_or("plain"),
        };
        let profile = self.profile(asked, top, notes);
        if let Some(profile) = &profile {
            layered.merge(Tree::clone(profile));
        }
        layered.settings.merge(top.settings.tree().clone());
        layered.prices.extend(top.prices.iter().cloned());
        (layered, profile)
    }

    /// Reads a profile once, however many variants name it.
    fn profile(&mut self, asked: &str, top: &Layered, notes: &mut Vec<Warning>) -> Profile {
        let choice = find_profile(asked);
        if let Some(choice) = choice
            && choice.is_older
        {
            let used = choice.name.to_owned();
            notes.push(Warning::OlderProfile { asked: asked.to_owned(), used });
        }
        if let Some(known) = self.known.profiles.get(asked) {
            return known.clone();
        }
        let profile = match choice {
            Some(choice) => self.parse(&format!("profile {}", choice.name), choice.text),
            None => match (self.read)(asked) {
                Ok(text) => self.parse(asked, &text),
                Err(reason) => {
                    let problem = unknown_profile(top.settings.tree(), asked, &reason);
                    self.problems.push(problem);
                    None
                }
            },
        };
        let profile = profile.map(|tree| {
            let mut tree = Arc::unwrap_or_clone(tree);
            tree.remove("about");
            tree.remove("sources");
            Arc::new(tree)
        });
        self.known.profiles.insert(asked.to_owned(), profile.clone());
        profile
    }

    /// Decodes and checks one variant.
    pub(super) fn check(&mut self, name: &str, top: &Layered) -> Option<Checked> {
        let before = self.problems.len();
        let mut notes = Vec::new();
        let (layered, profile) = self.with_profile(top, &mut notes);
        let tree = layered.settings.tree();
        let (scenario, problems) = decode::<Scenario>(tree);
        self.problems.extend(problems);
        let prices = self.prices(&layered);
        let mut scenario = scenario?;
        self.problems.extend(examine(&mut scenario, tree, self.read));
        let under = Under { profile, notes, book: prices?.book };
        let checked = settle(name, scenario, under, tree).map_err(|found| {
            self.problems.extend(found);
        });
        checked.ok().filter(|_| self.problems.len() == before)
    }

    fn prices(&mut self, layered: &Layered) -> Option<LoadedPrices> {
        let mut source = PriceSource::default();
        for (key, entry) in &layered.prices {
            self.problems.extend(source.set_entry(key, entry.clone()).err());
        }
        match source.load(&mut self.sources, &mut self.known.books, &mut *self.read) {
            Ok(prices) => Some(prices),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    fn variant_names(&mut self, variants: &Node) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut layers = Layers::new(is_settings);
        let entry = Entry { key: Origin::None, node: variants.clone() };
        self.problems.extend(layers.set_entry("variant", entry).err());
        let tree = layers.tree();
        let (decoded, problems) = decode::<VariantList>(tree);
        self.problems.extend(problems);
        for (index, variant) in decoded.unwrap_or_default().variant.iter().enumerate() {
            let key = format!("variant.{index}.name");
            if variant.name.trim().is_empty() {
                self.problems.push(tree.problem(&key, "a variant needs a name"));
            } else if names.contains(&variant.name) {
                let message = format!("`{}` names two variants; names differ", variant.name);
                self.problems.push(tree.problem(&key, message));
            }
            names.push(variant.name.clone());
        }
        names
    }
}

impl Layered {
    fn merge(&mut self, mut tree: Tree) {
        if let Some(node) = tree.remove("prices") {
            let entry = Entry { key: node.origin.clone(), node };
            self.prices.push(("prices".to_owned(), entry));
        }
        self.settings.merge(tree);
    }

    pub(super) fn set_entry(&mut self, key: &str, entry: Entry) -> Result<(), Problem> {
        if is_below("prices", key) {
            self.prices.push((key.to_owned(), entry));
            return Ok(());
        }
        if is_below("variant", key) {
            return Err(Problem {
                path: key.to_owned(),
                message: "variants cannot be set as a whole or by each other".to_owned(),
                help: Some("write --set variant.NAME.KEY=VALUE".to_owned()),
                origin: entry.key,
            });
        }
        self.settings.set_entry(key, entry)
    }
}

/// The variants of a scenario, decoded apart from it so that their values keep their places.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct VariantList {
    variant: Vec<Variant>,
}

/// Returns a value with one origin for itself and its key.
pub(super) fn entry(value: &str, origin: Origin) -> Entry {
    let node = Node::from_text(value, &origin);
    Entry { key: origin, node }
}

/// Tells whether a dotted key is a top-level table or stands in it.
pub(super) fn is_below(table: &str, key: &str) -> bool {
    split_key(key).is_ok_and(|parts| parts[0] == table)
}

/// Splits `variant.NAME.KEY` into the name and the key.
fn variant_key(key: &str) -> Option<(String, String)> {
    let parts = split_key(key).ok()?;
    (parts.len() > 2).then(|| (parts[1].clone(), join_key(&parts[2..])))
}

fn unknown_profile(tree: &Tree, asked: &str, reason: &str) -> Problem {
    let known: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
    let message = format!(
        "`{asked}` is neither a shipped profile ({}) nor a file: {reason}",
        known.join(", ")
    );
    let nearest = known
        .into_iter()
        .max_by(|a, b| strsim::jaro_winkler(a, asked).total_cmp(&strsim::jaro_winkler(b, asked)));
    let mut problem = tree.problem("profile", message);
    problem.help = nearest
        .filter(|name| strsim::jaro_winkler(name, asked) > 0.8)
        .map(|name| format!("did you mean `{name}`?"));
    problem
}
