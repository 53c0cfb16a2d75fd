//! From settings that are well-formed one by one to a plan: what they say together, the prices of
//! their models, what to know of them.

use std::sync::Arc;

use crate::cache::Ttl;
use crate::experiment::Warning;
use crate::orchestration::{AgentKind, Plan, PlanInput, default_ttl};
use crate::pricing::{Category, ModelRates, PriceBook, RateOptions};
use crate::scenario::validate;
use crate::scenario::{LoadedVariant, Problem, ReadFile, Scenario, Tree};
use crate::workload::Tables;

/// A variant that has been found right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checked {
    pub(super) name: String,
    pub(super) scenario: Scenario,
    main: (String, ModelRates),
    child: (String, ModelRates),
    warnings: Vec<Warning>,
    pub(super) under: Under,
}

/// What stands under the settings of a variant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Under {
    pub(super) profile: Option<Arc<Tree>>,
    /// What to know of the profile.
    pub(super) notes: Vec<Warning>,
    pub(super) book: Arc<PriceBook>,
}

impl Checked {
    /// Makes its plan.
    pub(super) fn planned(self, tables: &Tables) -> LoadedVariant {
        let plan = Plan::with_tables(&plan_input(&self.scenario, &self.main, &self.child), tables);
        LoadedVariant {
            name: self.name,
            plan,
            scenario: self.scenario,
            warnings: self.warnings,
            book: self.under.book.name.clone(),
            as_of: self.under.book.as_of,
        }
    }
}

/// Reads the files of well-formed settings and looks at the settings as a whole.
pub(super) fn examine(scenario: &mut Scenario, tree: &Tree, read: ReadFile<'_>) -> Vec<Problem> {
    let unread = validate::resolve_files(scenario, tree, read);
    let problems = if unread.is_empty() { validate::check(scenario, tree) } else { Vec::new() };
    problems.into_iter().chain(unread).collect()
}

/// Finds the prices of a variant whose settings are right.
///
/// # Errors
/// Problems of its models.
pub(super) fn settle(
    name: &str,
    scenario: Scenario,
    under: Under,
    tree: &Tree,
) -> Result<Checked, Vec<Problem>> {
    let priced = |key: &str, model: &str| match rates(&under.book, model, &scenario) {
        Ok(rates) => Ok((model.to_owned(), rates)),
        Err(message) => Err(tree.problem(key, message)),
    };
    let main = priced("session.model", &scenario.session.model);
    let child = if validate::inherits_model(&scenario.fanout) {
        main.clone()
    } else {
        priced("fanout.model", &scenario.fanout.model)
    };
    let (main, child) = match (main, child) {
        (Ok(main), Ok(child)) => (main, child),
        (main, child) => return Err([main.err(), child.err()].into_iter().flatten().collect()),
    };
    let mut warnings = under.notes.clone();
    warnings.extend(assumed(&[&main, &child]));
    warnings.extend(validate::warnings(name, &scenario));
    Ok(Checked { name: name.to_owned(), scenario, main, child, warnings, under })
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
    for (_, rates) in models {
        for what in &rates.assumed {
            let warning = Warning::AssumedPrices { what: what.clone() };
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
        nested: &scenario.nested,
        workflow: &scenario.workflow,
        resume: &scenario.resume,
        limits: &scenario.limits,
        texts: &scenario.texts,
        provider: &scenario.provider,
        machine: &scenario.machine,
        task: &scenario.task,
        startup: &scenario.startup,
        cache: &scenario.cache,
        compaction: &scenario.compaction,
        latency: &scenario.latency,
        main_model: (&main.0, &main.1),
        child_model: (&child.0, &child.1),
    }
}
