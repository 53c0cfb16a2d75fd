//! Where tools and system end in the prompts of each agent.

use std::collections::BTreeMap;

use crate::cache::Expected;
use crate::transcript::Agent;

/// Ends of tools and system that are marked, besides the end of the prompt (C1).
const HEADS_MAX: usize = 2;
/// The shortest prefix that any provider caches; what is shorter tells nothing.
const HEAD_TOKENS_MIN: u64 = 512;

/// Ends of tools and system, learned from what was read where the conversation behind them was
/// not: by an agent's first request, after a rebuild, after a pause.
#[derive(Debug)]
pub(super) struct Heads {
    ends: Vec<Vec<u64>>,
    groups: Vec<u32>,
    parents: Vec<Option<usize>>,
}

impl Heads {
    /// Learns from the agents of a project; each comes with the number of its session.
    pub(super) fn of(agents: &[(usize, &Agent)]) -> Heads {
        let groups = groups(agents);
        let own: Vec<_> = agents.iter().map(|(_, agent)| observed(agent)).collect();
        let mut ends: Vec<Vec<u64>> = own.iter().map(most_frequent).collect();
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

    /// Returns the ends in an agent's prompts, ascending.
    pub(super) fn ends(&self, number: usize) -> &[u64] {
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

/// Returns the reads of an agent that end where its conversation begins, with their frequency.
fn observed(agent: &Agent) -> BTreeMap<u64, u32> {
    let mut seen = BTreeMap::new();
    let Some(first) = agent.requests.first() else { return seen };
    let cached = |prompt: u64, uncached: u64| prompt - uncached;
    let limit = cached(first.usage.prompt().get(), first.usage.uncached.get());
    let mut before: Option<(u64, &str)> = None;
    for request in &agent.requests {
        let read = request.usage.cache_read.get();
        let is_start = before.is_none() && agent.continues.is_none();
        let is_rebuilt = request.expected == Expected::Compaction;
        // Twice: a single partial read may as well end at an entry of the conversation.
        let is_partial = before.is_some_and(|(cached, model)| {
            model == &*request.model && read.saturating_mul(2) < cached
        });
        let tells = is_start || is_rebuilt || is_partial;
        if tells && read >= HEAD_TOKENS_MIN && read < limit {
            *seen.entry(read).or_default() += 1 + u32::from(is_start || is_rebuilt);
        }
        let prompt = request.usage.prompt().get();
        before = Some((cached(prompt, request.usage.uncached.get()), &request.model));
    }
    seen
}

fn most_frequent(seen: &BTreeMap<u64, u32>) -> Vec<u64> {
    let mut ends: Vec<(u32, u64)> =
        seen.iter().filter(|(_, count)| **count > 1).map(|(end, count)| (*count, *end)).collect();
    ends.sort_unstable_by(|a, b| b.cmp(a));
    ends.truncate(HEADS_MAX);
    let mut ends: Vec<u64> = ends.into_iter().map(|(_, end)| end).collect();
    ends.sort_unstable();
    ends
}

/// Takes the ends of an agent that shows none from its siblings of the same kind and model.
fn of_siblings(
    agents: &[(usize, &Agent)],
    groups: &[u32],
    own: &[BTreeMap<u64, u32>],
    number: usize,
) -> Vec<u64> {
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
