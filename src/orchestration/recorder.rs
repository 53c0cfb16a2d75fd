//! Keeping the log of a replication. Nothing here acts unless a log is asked for.

use std::collections::BTreeMap;

use crate::cache::{
    Accounting, BREAKPOINTS_MAX, Breakpoint, CacheRequest, PrefixId, RefreshShorter,
};
use crate::ledger::{AttemptRecord, RequestRecord, Role};
use crate::orchestration::agent::{Activity, Turn};
use crate::orchestration::log::{EventLog, Happening, LogEntry, RequestPurpose};
use crate::orchestration::request::{Outgoing, Times};
use crate::orchestration::system::System;
use crate::units::{Money, SimTime};

/// A log, and when each entry that it knows expires.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    pub(super) log: EventLog,
    expires: BTreeMap<PrefixId, SimTime>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<'a> {
    pub(super) request: &'a CacheRequest<'a>,
    pub(super) accounting: &'a Accounting,
    /// Which of its breakpoints it writes.
    pub(super) writes: [bool; BREAKPOINTS_MAX],
    pub(super) times: Times,
    pub(super) cost: Money,
    /// Whether it was paid before the run.
    pub(super) is_paid: bool,
}

impl System {
    /// Notes what happens to an agent.
    pub(super) fn note(&mut self, slot: usize, at: SimTime, happening: Happening) {
        if let Some(recorder) = &mut self.recorder {
            recorder.log.happenings.push(LogEntry { at, agent: slot as u32, happening });
        }
    }

    /// Notes a failed attempt; `retry_at` is `None` where the client gives up.
    pub(super) fn note_attempt(
        &mut self,
        slot: usize,
        start: SimTime,
        status: u16,
        retry_at: Option<SimTime>,
    ) {
        let attempt = self.agents[slot].failures;
        self.note(slot, start, Happening::AttemptFailed { status, attempt, retry_at });
        if let Some(recorder) = &mut self.recorder {
            let agent = slot as u32;
            recorder.log.run.attempts.push(AttemptRecord { agent, start, attempt, status });
        }
    }

    /// Returns which breakpoints a request is about to write, if anybody wants to know.
    pub(super) fn writes(
        &self,
        request: &CacheRequest<'_>,
        accounting: &Accounting,
    ) -> [bool; BREAKPOINTS_MAX] {
        let mut writes = [false; BREAKPOINTS_MAX];
        if self.recorder.is_some() {
            for (write, breakpoint) in writes.iter_mut().zip(request.breakpoints) {
                *write = self.cache.will_write(request, accounting, breakpoint.at);
            }
        }
        writes
    }

    /// Records a request that has been sent and whose entries have been written.
    pub(super) fn record_request(&mut self, slot: usize, out: &Outgoing, sent: &Sent<'_>) {
        let purpose = self.purpose(slot, out, sent.is_paid);
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        let accounting = sent.accounting;
        let request = recorder.log.run.requests.len();
        recorder.log.run.requests.push(RequestRecord {
            agent: slot as u32,
            role: out.role,
            model: out.model,
            is_paid: sent.is_paid,
            start: sent.times.start,
            first_token: sent.times.first_token,
            end: sent.times.end,
            prompt: out.prompt,
            breakpoints: sent.request.breakpoints.to_vec(),
            split: accounting.split,
            segments: self.cache.segments().to_vec(),
            is_miss: accounting.is_miss,
            is_expected_rebuild: accounting.is_expected_rebuild,
            output: out.output,
            cost: sent.cost,
        });
        self.note(slot, sent.times.start, Happening::RequestStarted { request, purpose });
        self.note_entries(slot, sent);
    }

    fn purpose(&self, slot: usize, out: &Outgoing, is_paid: bool) -> RequestPurpose {
        if is_paid {
            return RequestPurpose::Earlier;
        }
        match out.role {
            Role::Compaction => RequestPurpose::Compaction,
            Role::KeepAlive => RequestPurpose::KeepAlive,
            Role::Prewarm => RequestPurpose::Prewarm,
            Role::Main | Role::Subagent | Role::Teammate => {
                let agent = &self.agents[slot];
                let number = agent.iteration + 1;
                match agent.activity {
                    Activity::Turn(Turn::Prompt) => RequestPurpose::Prompt,
                    Activity::Turn(Turn::Receipts) => RequestPurpose::Receipts,
                    Activity::Turn(Turn::Notices) => RequestPurpose::Notices,
                    Activity::Turn(Turn::Results) => RequestPurpose::Results,
                    Activity::Iterate if number <= agent.rediscovery => {
                        RequestPurpose::Rediscovery { number, of: agent.rediscovery }
                    }
                    Activity::Iterate => RequestPurpose::Iteration {
                        number: number - agent.rediscovery,
                        of: agent.iterations - agent.rediscovery,
                    },
                    Activity::Idle | Activity::Compact(_) | Activity::CompactIteration => {
                        unreachable!("these send summaries and minimal requests only")
                    }
                }
            }
        }
    }

    /// Notes which entries a request has written and refreshed.
    fn note_entries(&mut self, slot: usize, sent: &Sent<'_>) {
        for (breakpoint, is_written) in sent.request.breakpoints.iter().zip(sent.writes) {
            if is_written {
                self.note_entry(slot, sent.times.start, *breakpoint);
            }
        }
        let Some(hit) = sent.accounting.hit else {
            return;
        };
        let mut read = vec![hit];
        if self.plan.cache.refresh_shorter == RefreshShorter::All {
            let tree = self.cache.tree();
            read.extend(std::iter::successors(tree.parent(hit), |at| tree.parent(*at)));
        } else {
            let below = sent.request.breakpoints.iter().map(|breakpoint| breakpoint.at);
            read.extend(below.zip(sent.writes).filter(|(_, written)| !written).map(|(at, _)| at));
        }
        for at in read {
            self.note_refresh(slot, sent.times.start, at);
        }
    }

    fn note_entry(&mut self, slot: usize, at: SimTime, breakpoint: Breakpoint) {
        let (entry, tokens) = (breakpoint.at, self.cache.tree().tokens(breakpoint.at));
        let (Some(recorder), Some(expires)) = (&mut self.recorder, self.cache.expires_at(entry))
        else {
            return;
        };
        recorder.expires.insert(entry, expires);
        self.note(
            slot,
            at,
            Happening::EntryWritten { entry, tokens, ttl: breakpoint.ttl, expires },
        );
    }

    fn note_refresh(&mut self, slot: usize, at: SimTime, entry: PrefixId) {
        let tokens = self.cache.tree().tokens(entry);
        let (Some(recorder), Some(expires)) = (&mut self.recorder, self.cache.expires_at(entry))
        else {
            return;
        };
        if recorder.expires.insert(entry, expires) != Some(expires) {
            self.note(slot, at, Happening::EntryRefreshed { entry, tokens, expires });
        }
    }
}
