//! Outputs of which a transcript holds only the count that was known when the response began.
//!
//! Most clients before 2.1.60 wrote each block of a response with the usage of its beginning, and
//! no final one (`stop_reason` stays null). The output on the bill is then too small. How much is
//! missing is bounded by what came after: the output is part of the next prompt, so it cannot be
//! longer than what that one had grown by.

use crate::cache::Expected;
use crate::pricing::Usage;
use crate::transcript::account::cost_of;
use crate::transcript::chain::BYTES_PER_TOKEN;
use crate::transcript::rates::Rates;
use crate::transcript::{Agent, Session};
use crate::units::{Money, SimTime, Tokens};

/// Outputs that are known to be too small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnknownOutput {
    /// Number of requests.
    pub requests: u64,
    /// Their output as recorded, and so as billed.
    pub recorded: Tokens,
    /// What is missing, going by the bytes of what was said.
    pub likely_missing: Tokens,
    /// What that would cost besides.
    pub likely_missing_cost: Money,
    /// What is missing at most, going by the next prompt; where there is none, as likely.
    pub most_missing: Tokens,
    /// What that would cost besides.
    pub most_missing_cost: Money,
}

impl UnknownOutput {
    pub(super) fn plus(self, other: &UnknownOutput) -> UnknownOutput {
        UnknownOutput {
            requests: self.requests + other.requests,
            recorded: self.recorded + other.recorded,
            likely_missing: self.likely_missing + other.likely_missing,
            likely_missing_cost: self.likely_missing_cost + other.likely_missing_cost,
            most_missing: self.most_missing + other.most_missing,
            most_missing_cost: self.most_missing_cost + other.most_missing_cost,
        }
    }
}

/// Finds the unknown outputs of a session.
pub(super) fn unknown_outputs(
    session: &Session,
    rates: &mut Rates<'_>,
    covers: impl Fn(SimTime) -> bool,
) -> UnknownOutput {
    let mut sum = UnknownOutput::default();
    for agent in &session.agents {
        for (number, request) in agent.requests.iter().enumerate() {
            if request.is_output_final || !covers(request.start) {
                continue;
            }
            let recorded = request.usage.output;
            let said = Tokens::new(request.output_bytes / BYTES_PER_TOKEN).saturating_sub(recorded);
            let most = growth(agent, number).map(|growth| growth.saturating_sub(recorded));
            let most = most.unwrap_or(said);
            let likely = said.min(most);
            let mut cost = |tokens: Tokens| {
                let usage = Usage { output: tokens, ..Usage::default() };
                cost_of(rates, request, &usage).unwrap_or(Money::ZERO)
            };
            let one = UnknownOutput {
                requests: 1,
                recorded,
                likely_missing: likely,
                likely_missing_cost: cost(likely),
                most_missing: most,
                most_missing_cost: cost(most),
            };
            sum = sum.plus(&one);
        }
    }
    sum
}

/// Returns by how much the next prompt is longer; `None` where it does not go on from this one.
fn growth(agent: &Agent, number: usize) -> Option<Tokens> {
    let next = agent.requests.get(number + 1)?;
    let (now, then) = (agent.requests[number].usage.prompt(), next.usage.prompt());
    (next.expected == Expected::Nothing && then >= now).then(|| then - now)
}
