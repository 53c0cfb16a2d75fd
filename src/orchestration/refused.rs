//! What becomes of tasks whose launch was refused (semantics D5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::system::{MAIN, System};
use crate::orchestration::team::TaskId;
use crate::units::SimTime;

/// What becomes of a task of the main session whose launch was refused (semantics D5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// It is not done.
    Dropped,
    /// The main session does it itself, after what its other calls brought at once.
    Inline,
    /// The main session launches it again: one for each completion that it is told of.
    Relaunch,
}

impl System {
    /// Keeps the refused tasks of the newest message, if anything can become of them.
    pub(super) fn keep_refused(&mut self, number: usize, count: u32) {
        let team = &mut self.teams[number];
        if team.owner == MAIN && self.plan.refused != Refused::Dropped {
            let first = team.message.len() - count as usize;
            team.refused.extend(&team.message[first..]);
        } else {
            self.record.launches.dropped += count;
        }
    }

    /// Counts the tasks of which nothing became after all: no completion came, or main stopped.
    pub(super) fn count_left_refused(&mut self) {
        let left = self.teams[..self.teams_used].iter().map(|team| team.refused.len() as u32);
        self.record.launches.dropped += left.sum::<u32>();
    }

    /// Counts a completion of which the main session is told: it may launch a refused task again.
    pub(super) fn credit_completion(&mut self, number: usize) {
        self.teams[number].credits += 1;
    }

    /// Returns how many refused tasks the main session launches again now.
    pub(super) fn relaunches_possible(&self) -> u32 {
        let Some(team) = self.agents[MAIN].team.map(|team| &self.teams[team]) else {
            return 0;
        };
        if self.plan.refused != Refused::Relaunch || team.batch.started < team.batch.calls {
            return 0;
        }
        team.credits.min(team.refused.len() as u32)
    }

    /// Begins the next refused task in the main session itself, if it is to do one.
    pub(super) fn begins_refused_task(&mut self, now: SimTime) -> bool {
        let number = self.team_of(MAIN);
        if self.plan.refused != Refused::Inline {
            return false;
        }
        let Some(index) = self.teams[number].refused.pop_front() else {
            return false;
        };
        self.begin_task(MAIN, TaskId { index, ..TaskId::default() });
        self.schedule(MAIN, now, Event::RequestStart, EventClass::Start);
        true
    }
}
