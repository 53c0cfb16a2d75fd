//! The requests of a project in the order of time, each with its prompt, what the provider made of
//! it and why.

use std::rc::Rc;

use crate::cache::{Accounting, CachePolicy, CacheRequest, PromptCache, Segment, Split};
use crate::pricing::{ModelRates, PriceBook, Usage};
use crate::transcript::chain::{Chains, Evidence, Prompt};
use crate::transcript::rates::Rates;
use crate::transcript::request::usual_first_token;
use crate::transcript::{Agent, Request, Session};
use crate::units::{SimTime, Tokens};

/// One request in the order of a project.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    /// Number of its agent.
    pub(super) agent: usize,
    pub(super) request: &'a Request,
}

/// What is known of a request when it has been taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken<'t, 'a> {
    pub(super) step: Step<'a>,
    pub(super) prompt: &'t Prompt,
    /// Prices, or why there are none.
    pub(super) rates: &'t Result<Rc<ModelRates>, Rc<str>>,
    /// The shortest prefix that is cached.
    pub(super) minimum: Tokens,
    /// What the provider made of the prompt.
    pub(super) accounting: &'t Accounting,
    /// Why what was processed was processed.
    pub(super) segments: &'t [Segment],
    /// What the rules would have made of it.
    pub(super) predicted: &'t Accounting,
}

/// A project while its requests are taken.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    /// Its agents, each with the number of its session.
    pub(super) agents: Vec<(usize, &'a Agent)>,
    pub(super) cache: PromptCache,
    pub(super) rates: Rates<'a>,
    chains: Chains,
    minimum: Option<Tokens>,
}

impl<'a> Walk<'a> {
    /// Prepares the sessions of one project.
    pub(super) fn new(
        sessions: &[&'a Session],
        book: &'a PriceBook,
        policy: &CachePolicy,
        evidence: Evidence,
    ) -> Walk<'a> {
        let numbered = sessions.iter().enumerate();
        let agents: Vec<(usize, &Agent)> = numbered
            .flat_map(|(of, session)| session.agents.iter().map(move |agent| (of, agent)))
            .collect();
        Walk {
            chains: Chains::new(&agents, evidence),
            cache: PromptCache::new(policy),
            rates: Rates::new(book),
            minimum: policy.minimum,
            agents,
        }
    }

    /// Returns all requests by their starts.
    pub(super) fn steps(&self) -> Vec<Step<'a>> {
        let mut steps: Vec<Step<'a>> = Vec::new();
        for (agent, (_, of)) in self.agents.iter().enumerate() {
            steps.extend(of.requests.iter().map(|request| Step { agent, request }));
        }
        steps.sort_by_key(|step| step.request.start);
        steps
    }

    /// Takes a request: `see` is shown what came of it.
    pub(super) fn take<T>(
        &mut self,
        step: Step<'a>,
        see: impl FnOnce(&Taken<'_, 'a>, &mut Rates<'a>) -> T,
    ) -> T {
        let Step { agent: number, request } = step;
        let rates = self.rates.of_request(request);
        let known = rates.as_ref().map_or(Tokens::ZERO, |rates| rates.minimum_cacheable);
        let minimum = self.minimum.unwrap_or(known);
        let of = (number, self.agents[number].1);
        let prompt = self.chains.prompt(&mut self.cache, of, request, minimum);
        if let Some((at, when)) = prompt.placed {
            self.cache.place(at, when);
        }
        // What was written was long enough, whatever the book says.
        let is_written = !(request.usage.cache_write_5m + request.usage.cache_write_1h).is_zero();
        let minimum = if is_written { Tokens::ZERO } else { minimum };
        let asked = CacheRequest {
            prompt: prompt.at,
            breakpoints: &prompt.marks,
            start: request.start,
            ready: request.ready,
            minimum,
            early_miss: false,
            last: prompt.last,
            inherited: prompt.inherited,
            expected: request.expected,
        };
        let predicted = self.cache.lookup(&asked);
        let accounting = self.cache.explain(&asked, &split_of(&request.usage));
        let taken = Taken {
            step,
            prompt: &prompt,
            rates: &rates,
            minimum,
            accounting: &accounting,
            segments: self.cache.segments(),
            predicted: &predicted,
        };
        let seen = see(&taken, &mut self.rates);
        self.cache.commit(&asked, &accounting, first_token(request), request.end);
        seen
    }
}

/// Estimates when a response began: as usual for its size, at the latest with its first block.
pub(super) fn first_token(request: &Request) -> SimTime {
    (request.start + usual_first_token(&request.usage)).min(request.first_block)
}

/// Returns the parts of a prompt as recorded.
pub(super) fn split_of(usage: &Usage) -> Split {
    Split {
        read: usage.cache_read,
        write_1h: usage.cache_write_1h,
        write_5m: usage.cache_write_5m,
        uncached: usage.uncached,
    }
}
