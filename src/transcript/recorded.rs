//! A project made ready for replays: its prompts are put together once.

use crate::cache::{CachePolicy, PromptCache, Split};
use crate::ledger::Role;
use crate::pricing::PriceBook;
use crate::transcript::chain::{Evidence, Prompt};
use crate::transcript::walk::{Walk, split_of};
use crate::transcript::{Agent, Request, Session};
use crate::units::Tokens;

/// One request that can be replayed.
#[derive(Clone, Debug)]
pub(super) struct RecordedStep<'a> {
    pub(super) agent: usize,
    pub(super) request: &'a Request,
    pub(super) prompt: Prompt,
    /// The shortest prefix that is cached.
    pub(super) minimum: Tokens,
    /// What the provider made of it.
    pub(super) split: Split,
    /// What it read although more lived.
    pub(super) at_most: Option<Tokens>,
}

/// The requests of a project with their prompts.
#[derive(Debug)]
pub(super) struct Recorded<'a> {
    pub(super) agents: Vec<(usize, &'a Agent)>,
    pub(super) sessions: Vec<&'a Session>,
    pub(super) steps: Vec<RecordedStep<'a>>,
    pub(super) cache: PromptCache,
    pub(super) book: &'a PriceBook,
}

impl<'a> Recorded<'a> {
    /// Puts the prompts of the sessions of one project together.
    pub(super) fn of(
        sessions: &[&'a Session],
        book: &'a PriceBook,
        policy: &CachePolicy,
        evidence: Evidence,
    ) -> Recorded<'a> {
        let mut walk = Walk::new(sessions, book, policy, evidence);
        let mut steps = Vec::new();
        for step in walk.steps() {
            let taken = walk.take(step, |taken, _| {
                let split = split_of(&step.request.usage);
                RecordedStep {
                    agent: step.agent,
                    request: step.request,
                    prompt: taken.prompt.clone(),
                    minimum: taken.minimum,
                    at_most: (taken.predicted.split.read > split.read).then_some(split.read),
                    split,
                }
            });
            steps.push(taken);
        }
        Recorded {
            agents: walk.agents,
            sessions: sessions.to_vec(),
            steps,
            cache: walk.cache,
            book,
        }
    }

    pub(super) fn role(&self, agent: usize) -> Role {
        self.agents[agent].1.role
    }
}
