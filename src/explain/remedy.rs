//! Trying what might have helped: the same replication again, with one change.

use crate::explain::change::{Change, changes};
use crate::explain::moment::moments;
use crate::explain::{Explanation, Moment};
use crate::orchestration::{Outcome, Plan, RunRecord, System};
use crate::scenario::Scenario;
use crate::units::{Money, SimDuration};

/// Moments that are looked at.
const MOMENTS: usize = 3;

/// Returns the plan with some keys set anew, or `None` where the settings do not allow it.
pub type LoadChanged<'a> = &'a mut dyn FnMut(&[(String, String)]) -> Option<Plan>;

/// What is explained.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Name of the variant.
    pub variant: &'a str,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its settings, from which changes are derived.
    pub scenario: &'a Scenario,
    /// Seed of the random streams.
    pub seed: u64,
    /// Number of the replication, from 1.
    pub replication: u64,
}

/// A change that has been tried on the same replication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// The change.
    pub change: Change,
    /// What the replication costs with it.
    pub cost: Money,
    /// What it saves; negative where it costs more.
    pub saved: Money,
    /// How long the replication takes with it.
    pub makespan: SimDuration,
    /// Whether all that was done without it is done with it.
    pub keeps_work: bool,
}

impl Remedy {
    fn helps(&self) -> bool {
        self.saved > Money::ZERO && self.keeps_work
    }
}

/// Explains a replication: runs it, finds its most expensive moments, and tries what might have
/// avoided them.
pub fn explain(subject: &Subject<'_>, load: LoadChanged<'_>) -> Explanation {
    let Subject { variant, plan, scenario, seed, replication } = *subject;
    let mut explanation = Explanation::new(variant, plan, seed, replication);
    let mut moments = moments(&explanation, MOMENTS);
    let mut tried: Vec<Remedy> = Vec::new();
    for moment in &mut moments {
        for change in changes(moment, &explanation, scenario, plan) {
            let known = tried.iter().find(|remedy| remedy.change.set == change.set).cloned();
            let remedy = known.or_else(|| {
                let plan = load(&change.set)?;
                Some(run(&explanation, change, plan))
            });
            if let Some(remedy) = remedy {
                tried.push(remedy.clone());
                moment.add_remedy(remedy);
            }
        }
    }
    explanation.moments = moments;
    explanation
}

fn run(explanation: &Explanation, change: Change, plan: Plan) -> Remedy {
    let mut system = System::new(plan, explanation.seed);
    system.run(explanation.replication);
    let (bill, record) = (system.bill(), system.record());
    Remedy {
        change,
        cost: bill.total,
        saved: explanation.bill.total - bill.total,
        makespan: record.makespan,
        keeps_work: keeps_work(&explanation.record, record),
    }
}

/// Returns whether as many tasks are completed and nothing ends worse: dropping work saves nothing.
fn keeps_work(before: &RunRecord, after: &RunRecord) -> bool {
    let refused = |record: &RunRecord| record.launches.attempted - record.launches.started;
    let (ended, ends) = (before.outcome, after.outcome);
    refused(after) <= refused(before)
        && after.launches.failed <= before.launches.failed
        && after.launches.completed >= before.launches.completed
        && (ends == Outcome::Completed || ends == ended)
}

impl Moment {
    fn add_remedy(&mut self, remedy: Remedy) {
        let list = if remedy.helps() { &mut self.remedies } else { &mut self.in_vain };
        let place = list.partition_point(|other| other.saved >= remedy.saved);
        list.insert(place, remedy);
    }
}
