//! Where tools and system end in the prompts of each agent.

use std::collections::BTreeMap;

use crate::transcript::Agent;

/// Ends of tools and system that are marked, besides the end of the prompt (C1).
const MARKED_MAX: usize = 2;
/// The most ends that are told apart.
const ENDS_MAX: usize = 8;
/// The shortest prefix that any provider caches; what is shorter tells nothing.
const HEAD_TOKENS_MIN: u64 = 512;

/// Ends of tools and system, learned from what was read where the conversation behind them was
/// not: by an agent's first request, after a rebuild, after a pause.
#[derive(Debug)]
pub(super) struct Heads {
    ends: Vec<Vec<(u64, bool)>>,
    groups: Vec<u32>,
    parents: Vec<Option<usize>>,
}

impl Heads {
    /// Learns from the agents of a project; each comes with the number of its session.
    pub(super) fn of(agents: &[(usize, &Agent)]) -> Heads {
        let groups = groups(agents);
        let own: Vec<_> = agents.iter().map(|(_, agent)| observed(agent)).collect();
        let mut ends: Vec<Vec<(u64, bool)>> = own.iter().map(most_frequent).collect();
        for number in 0..agents.len() {
            if ends[number].is_empty() && agents[number].1.parent.is_some() {
                ends[number] = of_siblings(agents, &groups, &own, number);
            }
        }
        let parents = agents.iter().map(|(session, agent)| {
            let parent = agent.parent.as_ref()?;
            agents.iter().position(|(of, other)| of == session && other.name == *parent)
        });
        let parents = parents.collect();
        Heads { ends, groups, parents }
    }

    /// Returns the ends in an agent's prompts, ascending, and whether an entry is written there.
    pub(super) fn ends(&self, number: usize) -> &[(u64, bool)] {
        &self.ends[number]
    }

    /// Returns the group of agents whose prompts begin alike.
    pub(super) fn group(&self, number: usize) -> u32 {
        self.groups[number]
    }

    /// Returns who launched an agent.
    pub(super) fn parent(&self, number: usize) -> Option<usize> {
        self.parents[number]
    }
}

fn groups(agents: &[(usize, &Agent)]) -> Vec<u32> {
    let mut names = BTreeMap::new();
    let mut groups = Vec::new();
    for (_, agent) in agents {
        let name = agent.parent.as_ref().map(|_| agent.kind.as_deref().unwrap_or_default());
        let next = names.len() as u32;
        groups.push(*names.entry(name).or_insert(next));
    }
    groups
}

/// Returns the reads of an agent that end within its first prompt, where no entry of the
/// conversation can be, with their frequency.
fn observed(agent: &Agent) -> BTreeMap<u64, u32> {
    let mut seen = BTreeMap::new();
    let Some(first) = agent.requests.first() else { return seen };
    let limit = first.usage.prompt().get() - first.usage.uncached.get();
    for request in &agent.requests {
        let read = request.usage.cache_read.get();
        if (HEAD_TOKENS_MIN..limit).contains(&read) {
            *seen.entry(read).or_default() += 1;
        }
    }
    seen
}

/// Returns the most frequent ends, ascending, and of each whether an entry is written there: at the
/// most frequent of all.
fn most_frequent(seen: &BTreeMap<u64, u32>) -> Vec<(u64, bool)> {
    let mut ends: Vec<(u32, u64)> = seen.iter().map(|(end, count)| (*count, *end)).collect();
    ends.sort_unstable_by(|a, b| b.cmp(a));
    ends.truncate(ENDS_MAX);
    let ends = ends.into_iter().enumerate();
    let mut ends: Vec<(u64, bool)> =
        ends.map(|(rank, (_, end))| (end, rank < MARKED_MAX)).collect();
    ends.sort_unstable();
    ends
}

/// Takes the ends of an agent that shows none from its siblings of the same kind and model.
fn of_siblings(
    agents: &[(usize, &Agent)],
    groups: &[u32],
    own: &[BTreeMap<u64, u32>],
    number: usize,
) -> Vec<(u64, bool)> {
    let (session, agent) = agents[number];
    let model = |agent: &Agent| agent.requests.first().map(|request| request.model.clone());
    let mut seen: BTreeMap<u64, u32> = BTreeMap::new();
    for (other, (of, sibling)) in agents.iter().enumerate() {
        let is_alike = *of == session && groups[other] == groups[number];
        if is_alike && model(sibling) == model(agent) {
            for (end, count) in &own[other] {
                *seen.entry(*end).or_default() += count;
            }
        }
    }
    most_frequent(&seen)
}
