//! Messages to children that have reported: the `[resume]` table, and how it acts (S2, C15).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cache::BlockKind;
use crate::orchestration::agent::{Activity, Turn};
use crate::orchestration::draws::Purpose;
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::log::Happening;
use crate::orchestration::plan::Setups;
use crate::orchestration::system::{MAIN, System};
use crate::units::{SimTime, Tokens};
use crate::workload::{Count, Distribution};

/// What the main session does with children that have reported: it sends them a message, and they
/// go on in the background with all their history (C15).
///
/// A child that goes on takes a slot of the product's limit without being refused. Explore and Plan
/// children, and those of a workflow, cannot be resumed.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Resume {
    /// Messages to each child, each after its newest report; at most 1,000.
    pub messages: u32,
    /// Requests of a child for each message, the report included; rounded, at least 1.
    pub iterations: Distribution<Count>,
    /// The tool call with a message, in tokens.
    pub call: Tokens,
    /// Its receipt, in tokens.
    pub receipt: Tokens,
    /// The message in the child's prompt, in tokens.
    pub message: Tokens,
    /// Which tools a child comes back with.
    pub tools: ResumedTools,
}

impl Default for Resume {
    fn default() -> Resume {
        Resume {
            messages: 0,
            iterations: Distribution::constant(1.0),
            call: Tokens::ZERO,
            receipt: Tokens::ZERO,
            message: Tokens::ZERO,
            tools: ResumedTools::Kept,
        }
    }
}

/// Which tools a resumed child comes back with (C15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumedTools {
    /// Those that it had: it reads its old entry, if that lives (2.1.332).
    Kept,
    /// Those of a background child: one from the foreground shares nothing with its own past, and
    /// its whole context is written again (2.1.260).
    Background,
}

impl System {
    /// Notes that the report of a child enters the main session's prompt with its next request,
    /// after which it may send the child a message.
    pub(super) fn told_of(&mut self, owner: usize, child: usize) {
        if owner == MAIN && self.agents[child].messages < self.plan.resume.messages {
            self.to_message.push(child);
        }
    }

    /// Returns the tokens of the calls with which the main session messages children now.
    pub(super) fn message_calls(&self) -> Option<Tokens> {
        let count = self.to_message.len() as u64;
        (count > 0).then(|| Tokens::new(self.plan.resume.call.get() * count))
    }

    /// Sends the messages: children go on at once, receipts come back.
    pub(super) fn send_messages(&mut self, now: SimTime) {
        let (call, receipt) = (self.plan.resume.call, self.plan.resume.receipt);
        let children = std::mem::take(&mut self.to_message);
        for _ in &children {
            self.agents[MAIN].add(call, BlockKind::ToolUse);
        }
        for child in &children {
            self.agents[MAIN].add(receipt, BlockKind::ToolResult);
            self.resume(*child, now);
        }
        self.to_message = children;
        self.to_message.clear();
        self.add_note(MAIN);
        self.start_turn(Turn::Receipts, now);
    }

    /// Lets a child go on with all its history: its report and the message come to it.
    fn resume(&mut self, slot: usize, now: SimTime) {
        self.note(slot, now, Happening::Resumed);
        let number = self.team_of(MAIN);
        self.teams[number].running += 1;
        self.running += 1;
        let agent = &mut self.agents[slot];
        if agent.has_failed {
            self.record.launches.failed -= 1;
        } else {
            self.record.launches.completed -= 1;
        }
        let at = u64::from(agent.messages);
        agent.messages += 1;
        (agent.is_over, agent.has_failed, agent.in_background) = (false, false, true);
        agent.batch = 0;
        let said = agent.output;
        agent.add(said, BlockKind::AssistantText);
        agent.add(self.plan.resume.message, BlockKind::UserText);
        let streams = agent.streams;
        let iterations = streams.purpose(Purpose::ResumedIterations as u64);
        let iterations = self.plan.resume_iterations.sample_count_at_least_one(iterations, at);
        let report = streams.purpose(Purpose::ResumedReport as u64);
        agent.report = self.plan.work.report.sample_tokens(report, at);
        agent.iteration += 1;
        agent.iterations += iterations;
        agent.activity = Activity::Iterate;
        if self.plan.resume.tools == ResumedTools::Background {
            self.set_up_again(slot, Setups::RESUMED);
        }
        self.schedule(slot, now, Event::RequestStart, EventClass::Start);
    }
}
