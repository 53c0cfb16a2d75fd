//! From texts to plans: layers, prices, variants, checks.

use crate::cache::{CachePolicy, RoleTtl, Ttl};
use crate::experiment::Warning;
use crate::orchestration::{AgentKind, Plan, PlanInput, default_ttl};
use crate::pricing::{Category, ModelRates, PriceBook, RateOptions};
use crate::scenario::prices::{LoadedPrices, PriceSource};
use crate::scenario::validate;
use crate::scenario::{
    Entry, Layers, Node, Origin, PROFILES, Problem, Problems, Scenario, Sources, Tree, Variant,
    decode, find_profile, is_settings, join_key, split_key,
};
use crate::units::Date;

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

/// Loads a scenario with its profile, prices, variants and `--set` options.
///
/// # Errors
/// All problems at once, each with its place.
pub fn load(input: &LoadInput<'_>, read: ReadFile<'_>) -> Result<Loaded, Problems> {
    let mut loader = Loader { sources: Sources::new(), problems: Vec::new(), read };
    let loaded = loader.load(input);
    match loaded {
        Some(loaded) if loader.problems.is_empty() => Ok(loaded),
        _ => Err(Problems::new(loader.problems, &loader.sources)),
    }
}

/// A cache policy given by options alone, for accounting a trace.
#[derive(Clone, Debug)]
pub struct TracePolicy {
    /// The policy.
    pub cache: CachePolicy,
    /// Lifetimes for `main`, where an option gives them.
    pub main_ttl: Option<RoleTtl>,
    /// Lifetimes for all other agents, where an option gives them.
    pub subagent_ttl: Option<RoleTtl>,
}

/// Makes a cache policy of `--set cache.KEY=VALUE` options.
///
/// # Errors
/// All problems at once; keys outside `cache` have no effect on a trace and are refused.
pub fn trace_policy(sets: &[(String, String)]) -> Result<TracePolicy, Problems> {
    let mut layers = Layers::new(is_settings);
    let mut problems = Vec::new();
    for (key, value) in sets {
        let outcome = if key.starts_with("cache.") {
            layers.set(key, value)
        } else {
            Err(Problem {
                path: key.clone(),
                message: "this key does not act on a trace; only keys of `cache` do".to_owned(),
                help: Some("write for instance cache.ttl=1h".to_owned()),
                origin: Origin::Override { text: format!("{key}={value}") },
            })
        };
        problems.extend(outcome.err());
    }
    let (scenario, found) = decode::<Scenario>(layers.tree());
    problems.extend(found);
    let cache = scenario.unwrap_or_default().cache;
    problems.extend(validate::check_cache_policy(&cache, layers.tree()));
    if !problems.is_empty() {
        return Err(Problems::new(problems, &Sources::new()));
    }
    let given = |role: &str| {
        let ttl = cache.ttl?;
        let node = layers.get("cache.ttl")?;
        let is_given = node.as_str().is_some() || node.entries().any(|(key, _)| key == role);
        is_given.then_some(if role == "main" { ttl.main } else { ttl.subagent })
    };
    let (main_ttl, subagent_ttl) = (given("main"), given("subagent"));
    Ok(TracePolicy { cache, main_ttl, subagent_ttl })
}

/// State of loading: problems are collected, never thrown.
struct Loader<'a> {
    sources: Sources,
    problems: Vec<Problem>,
    read: ReadFile<'a>,
}

/// Settings and the prices that go with them, before they are decoded.
#[derive(Clone)]
struct Layered {
    settings: Layers,
    prices: PriceSource,
    notes: Vec<Warning>,
}

impl Loader<'_> {
    fn load(&mut self, input: &LoadInput<'_>) -> Option<Loaded> {
        let tree = self.parse(input.name, input.text)?;
        let mut layered = self.with_profile(&tree)?;
        layered.merge(tree);
        let variants = layered.settings.remove("variant");
        let (for_variants, sets): (Vec<_>, Vec<_>) =
            input.sets.iter().partition(|(key, _)| key.trim_start().starts_with("variant."));
        for (key, value) in sets {
            self.set(&mut layered, key, value);
        }
        let base = self.finish("base", &layered);
        let Some(variants) = variants else {
            self.refuse_variant_sets(&for_variants, &[]);
            let base = base?;
            return Some(Loaded { variants: vec![base.clone()], base });
        };
        let names = self.variant_names(&variants);
        self.refuse_variant_sets(&for_variants, &names);
        let mut loaded = Vec::new();
        for (node, name) in variants.items().iter().zip(&names) {
            let mut own = layered.clone();
            if let Some(set) = node.entries().find(|(key, _)| *key == "set") {
                self.problems.extend(own.set_all(&set.1.node));
            }
            for (key, value) in &for_variants {
                if let Some((target, rest)) = variant_key(key)
                    && target == *name
                {
                    self.set(&mut own, &rest, value);
                }
            }
            loaded.push(self.finish(name, &own));
        }
        let variants: Vec<LoadedVariant> = loaded.into_iter().collect::<Option<_>>()?;
        let base = base?;
        let variants = if variants.is_empty() { vec![base.clone()] } else { variants };
        Some(Loaded { base, variants })
    }

    fn parse(&mut self, name: &str, text: &str) -> Option<Tree> {
        let source = self.sources.add(name, text);
        match Tree::parse(&self.sources, source) {
            Ok(tree) => Some(tree),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    /// Starts with the profile that a scenario names.
    fn with_profile(&mut self, tree: &Tree) -> Option<Layered> {
        let mut layered = Layered {
            settings: Layers::new(is_settings),
            prices: PriceSource::default(),
            notes: Vec::new(),
        };
        let asked = match tree.get("profile").map(|node| (node.as_str(), node)) {
            None => "plain",
            Some((Some(name), _)) => name,
            Some((None, _)) => return Some(layered),
        };
        let (name, text) = match find_profile(asked) {
            Some(choice) => {
                if choice.is_older {
                    layered.notes.push(Warning::OlderProfile {
                        asked: asked.to_owned(),
                        used: choice.name.to_owned(),
                    });
                }
                (format!("profile {}", choice.name), choice.text.to_owned())
            }
            None => match (self.read)(asked) {
                Ok(text) => (asked.to_owned(), text),
                Err(reason) => {
                    self.problems.push(unknown_profile(tree, asked, &reason));
                    return Some(layered);
                }
            },
        };
        let mut profile = self.parse(&name, &text)?;
        profile.remove("about");
        profile.remove("sources");
        layered.merge(profile);
        Some(layered)
    }

    fn set(&mut self, layered: &mut Layered, key: &str, value: &str) {
        if let Err(problem) = layered.set(key, value) {
            self.problems.push(problem);
        }
    }

    /// Decodes and checks one variant and makes its plan.
    fn finish(&mut self, name: &str, layered: &Layered) -> Option<LoadedVariant> {
        let tree = layered.settings.tree();
        let (scenario, problems) = decode::<Scenario>(tree);
        let decoded = problems.is_empty();
        self.problems.extend(problems);
        let prices = self.prices(layered);
        let mut scenario = scenario?;
        self.problems.extend(validate::check(&scenario, tree));
        self.problems.extend(validate::resolve_files(&mut scenario, tree, self.read));
        let prices = prices?;
        let main = self.rates(&scenario, &prices, tree, "session.model");
        let child = if validate::inherits_model(&scenario.fanout) {
            main.clone()
        } else {
            self.rates(&scenario, &prices, tree, "fanout.model")
        };
        let (main, child) = (main?, child?);
        if !decoded {
            return None;
        }
        let mut warnings = layered.notes.clone();
        warnings.extend(assumed(&[&main, &child]));
        warnings.extend(validate::warnings(name, &scenario));
        let plan = Plan::new(&plan_input(&scenario, &main, &child));
        Some(LoadedVariant {
            name: name.to_owned(),
            plan,
            scenario,
            warnings,
            book: prices.book.name.clone(),
            as_of: prices.book.as_of,
        })
    }

    fn prices(&mut self, layered: &Layered) -> Option<LoadedPrices> {
        let (sources, read) = (&mut self.sources, &mut *self.read);
        match layered.prices.load(layered.settings.tree(), sources, read) {
            Ok(prices) => Some(prices),
            Err(problems) => {
                self.problems.extend(problems);
                None
            }
        }
    }

    fn rates(
        &mut self,
        scenario: &Scenario,
        prices: &LoadedPrices,
        tree: &Tree,
        key: &str,
    ) -> Option<(String, ModelRates)> {
        let model =
            if key == "session.model" { &scenario.session.model } else { &scenario.fanout.model };
        match rates(&prices.book, model, scenario) {
            Ok(rates) => Some((model.clone(), rates)),
            Err(message) => {
                self.problems.push(tree.problem(key, message));
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

    /// A `--set variant.NAME.KEY` must name a variant there is.
    fn refuse_variant_sets(&mut self, sets: &[&(String, String)], names: &[String]) {
        for (key, value) in sets {
            let known = variant_key(key).is_some_and(|(name, _)| names.contains(&name));
            if !known {
                let known = if names.is_empty() {
                    "the scenario has no variants".to_owned()
                } else {
                    format!("variants are: {}", names.join(", "))
                };
                self.problems.push(Problem {
                    path: key.clone(),
                    message: format!("no such variant; {known}"),
                    help: Some(
                        "write variant.NAME.KEY, NAME in quotes if it has blanks".to_owned(),
                    ),
                    origin: Origin::Override { text: format!("{key}={value}") },
                });
            }
        }
    }
}

impl Layered {
    fn merge(&mut self, mut tree: Tree) {
        if let Some(prices) = tree.remove("prices") {
            self.prices.add(&prices);
        }
        self.settings.merge(tree);
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        if is_price_key(key) {
            return self.prices.set(key, value);
        }
        self.settings.set(key, value)
    }

    fn set_all(&mut self, table: &Node) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (key, entry) in table.entries() {
            let set = if is_price_key(key) {
                self.prices.set_entry(key, entry.clone())
            } else {
                self.settings.set_entry(key, entry.clone())
            };
            problems.extend(set.err());
        }
        problems
    }
}

/// The variants of a scenario, decoded apart from it so that their values keep their places.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct VariantList {
    variant: Vec<Variant>,
}

fn is_price_key(key: &str) -> bool {
    key.trim() == "prices" || key.trim_start().starts_with("prices.")
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

/// Prices for the categories that the scenario can use.
fn rates(book: &PriceBook, model: &str, scenario: &Scenario) -> Result<ModelRates, String> {
    let mut used = vec![Category::Input, Category::CacheRead, Category::Output];
    if scenario.cache.enabled {
        let ttl = scenario.cache.ttl.unwrap_or_else(|| default_ttl(scenario.session.billing));
        let lifetimes = [ttl.main.head, ttl.main.tail, ttl.subagent.head, ttl.subagent.tail];
        if lifetimes.contains(&Ttl::FiveMinutes) {
            used.push(Category::CacheWrite5m);
        }
        if lifetimes.contains(&Ttl::OneHour) {
            used.push(Category::CacheWrite1h);
        }
    }
    book.rates_for(model, book.as_of, RateOptions::default(), &used)
        .map_err(|error| error.to_string())
}

fn assumed(models: &[&(String, ModelRates)]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (name, rates) in models {
        for what in &rates.assumed {
            let warning = Warning::AssumedPrices { what: format!("{what} of {name}") };
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

fn plan_input<'a>(
    scenario: &'a Scenario,
    main: &'a (String, ModelRates),
    child: &'a (String, ModelRates),
) -> PlanInput<'a> {
    let inherits = scenario.fanout.agent == AgentKind::Fork;
    let child = if inherits { main } else { child };
    PlanInput {
        session: &scenario.session,
        fanout: &scenario.fanout,
        wrappers: &scenario.wrappers,
        fork: &scenario.fork,
        limits: &scenario.limits,
        task: &scenario.task,
        startup: &scenario.startup,
        cache: &scenario.cache,
        compaction: &scenario.compaction,
        latency: &scenario.latency,
        main_model: (&main.0, &main.1),
        child_model: (&child.0, &child.1),
    }
}
