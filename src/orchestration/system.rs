//! The loop: which handler an event goes to. What happens is in the handlers.

use crate::cache::{BlockKind, CacheKey, PrefixId, PromptCache};
use crate::des::{FutureEventList, RandomStream, WorkStation};
use crate::ledger::{Bill, RunLog};
use crate::orchestration::agent::{Activity, Agent, Base};
use crate::orchestration::draws::{Draws, Purpose};
use crate::orchestration::event::{Event, EventClass};
use crate::orchestration::log::{EventLog, Happening};
use crate::orchestration::outcome::{AgentBill, Outcome, RunRecord};
use crate::orchestration::plan::{Plan, Setups};
use crate::orchestration::provider::{Buckets, station};
use crate::orchestration::recorder::Recorder;
use crate::orchestration::team::Team;
use crate::units::{Money, SimTime, Tokens};
use crate::workload::Startup;

/// The main session's number; children follow in order of launch.
pub(super) const MAIN: usize = 0;

/// The slots of the future event list: one that starts children, one at which tool work ends
/// on a machine of few cores, then those of the agents.
pub(super) const LAUNCHER: usize = 0;
pub(super) const STATION: usize = 1;
const FIRST_AGENT: usize = 2;

/// Runs replications of one plan, one after another, in memory that it keeps.
///
/// A replication is a function of the plan, the seed and its number (semantics X1).
#[derive(Clone, Debug)]
pub struct System {
    pub(super) plan: Plan,
    pub(super) cache: PromptCache,
    pub(super) events: FutureEventList,
    pub(super) agents: Vec<Agent>,
    /// Teams of the agents that delegate, of which the first `teams_used` are in use.
    pub(super) teams: Vec<Team>,
    pub(super) teams_used: usize,
    /// Children running, whoever launched them.
    pub(super) running: u32,
    /// Turns of the main session, each with its own draws.
    pub(super) turns: u64,
    /// Children that the main session messages with its next response.
    pub(super) to_message: Vec<usize>,
    /// Start-up contexts of the setups, as far as they are in use.
    pub(super) bases: [Option<Base>; Setups::COUNT],
    /// Rate limits of the main session's model class and of the children's.
    pub(super) limits: [Buckets; 2],
    /// Where tool work contends, if it does.
    pub(super) station: Option<WorkStation>,
    pub(super) bill: Bill,
    pub(super) record: RunRecord,
    /// Keeps the log, if one is asked for.
    pub(super) recorder: Option<Box<Recorder>>,
    pub(super) first_start: SimTime,
    pub(super) last_end: SimTime,
    pub(super) draws: Draws,
    seed: u64,
}

impl System {
    /// Returns a system that has not run yet.
    pub fn new(plan: Plan, seed: u64) -> System {
        let agents = plan.tasks as usize + 1;
        System {
            cache: PromptCache::new(&plan.cache),
            events: FutureEventList::new(agents + FIRST_AGENT),
            agents: (0..agents).map(|_| Agent::new()).collect(),
            teams: Vec::new(),
            teams_used: 0,
            running: 0,
            turns: 0,
            to_message: Vec::new(),
            bases: [None; Setups::COUNT],
            limits: [Buckets::new(&plan.provider), Buckets::new(&plan.provider)],
            station: station(&plan.machine),
            bill: Bill::default(),
            record: RunRecord::default(),
            recorder: None,
            first_start: SimTime::NEVER,
            last_end: SimTime::BEGINNING,
            draws: Draws::new(seed, 0),
            seed,
            plan,
        }
    }

    /// Runs one replication; its results can be read until the next one.
    pub fn run(&mut self, replication: u64) {
        self.run_on(Draws::new(self.seed, replication));
    }

    /// Runs one replication on these random numbers.
    pub fn run_on(&mut self, draws: Draws) {
        self.reset(draws);
        self.begin();
        while let Some((now, slot)) = self.events.pop_next() {
            let slot = match slot {
                LAUNCHER => {
                    self.on_launch(now);
                    continue;
                }
                STATION => {
                    self.on_station(now);
                    continue;
                }
                slot => slot - FIRST_AGENT,
            };
            match self.agents[slot].event {
                Event::ResponseEnd => self.on_response_end(slot, now),
                Event::RequestStart => self.on_request_start(slot, now),
                Event::Retry => self.attempt(slot, now),
                Event::KeepAlive => self.on_keep_alive(slot, now),
            }
        }
        self.record.makespan = self.last_end.since(self.first_start);
        self.count_left_refused();
        self.check_laws();
    }

    /// Runs one replication and keeps a record of each request and each failed attempt.
    pub fn run_logged(&mut self, replication: u64) -> RunLog {
        self.run_with_recorder(replication).run
    }

    /// Runs one replication and keeps a log of all that happens.
    pub fn run_told(&mut self, replication: u64) -> EventLog {
        let mut log = self.run_with_recorder(replication);
        log.end = self.last_end;
        log.complete();
        log
    }

    fn run_with_recorder(&mut self, replication: u64) -> EventLog {
        self.recorder = Some(Box::default());
        self.run(replication);
        self.recorder.take().map(|recorder| recorder.log).unwrap_or_default()
    }

    /// Returns what the last replication cost.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }

    /// Returns how the last replication went.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Returns what `main` and each child of the last replication cost, in order of launch.
    pub fn agent_bills(&self) -> impl Iterator<Item = &AgentBill> {
        let count = self.record.launches.started as usize + 1;
        self.agents[..count].iter().map(|agent| &agent.bill)
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the cache, to read the prompts that records name.
    pub fn cache(&self) -> &PromptCache {
        &self.cache
    }

    fn reset(&mut self, draws: Draws) {
        let used = self.record.launches.started as usize + 1;
        for agent in &mut self.agents[..used] {
            agent.reset();
        }
        self.draws = draws;
        self.cache.clear();
        self.events.clear();
        self.teams_used = 0;
        self.running = 0;
        self.turns = 0;
        self.to_message.clear();
        self.bases = [None; Setups::COUNT];
        self.limits = [Buckets::new(&self.plan.provider), Buckets::new(&self.plan.provider)];
        if let Some(station) = &mut self.station {
            station.clear();
        }
        self.bill = Bill::default();
        self.record = RunRecord::default();
        self.first_start = SimTime::NEVER;
        self.last_end = SimTime::BEGINNING;
    }

    /// The laws every replication keeps; a breach is a bug of ours.
    fn check_laws(&self) {
        let bill = &self.bill;
        assert_eq!(bill.items.iter().copied().sum::<Money>(), bill.total, "items");
        assert_eq!(bill.roles.iter().copied().sum::<Money>(), bill.total, "roles");
        assert_eq!(bill.causes.iter().copied().sum::<Money>(), bill.total, "causes");
        let launches = &self.record.launches;
        assert_eq!(
            launches.attempted,
            launches.started
                + launches.refused_concurrency
                + launches.refused_depth
                + launches.refused_other,
            "every call is started or refused"
        );
        assert_eq!(
            launches.started,
            launches.completed + launches.failed,
            "every child ends in exactly one outcome"
        );
    }

    /// Makes room for an agent; what has grown is kept for later replications.
    pub(super) fn make_room(&mut self, slot: usize) {
        if slot >= self.agents.len() {
            self.agents.push(Agent::new());
            self.events.reserve(slot + 1 + FIRST_AGENT);
        }
    }

    /// The random stream of an entity for one purpose.
    pub(super) fn stream(&self, entity: u64, purpose: Purpose) -> RandomStream {
        self.draws.stream(entity, purpose)
    }

    pub(super) fn schedule(&mut self, slot: usize, time: SimTime, event: Event, class: EventClass) {
        self.agents[slot].event = event;
        self.events.schedule(slot + FIRST_AGENT, time, class as u8);
    }

    /// Appends a block; empty blocks do not exist.
    pub(super) fn append(
        &mut self,
        at: PrefixId,
        tokens: Tokens,
        kind: BlockKind,
        startup: bool,
    ) -> PrefixId {
        if tokens.is_zero() { at } else { self.cache.tree_mut().append(at, tokens, kind, startup) }
    }

    /// Appends tools, identity, system and project of a start-up context.
    pub(super) fn append_base(&mut self, model: usize, startup: &Startup) -> Base {
        let key = CacheKey {
            model: if self.plan.same_model { 0 } else { model as u32 },
            ..CacheKey::default()
        };
        let root = self.cache.tree_mut().root(key);
        let tools = self.append(root, startup.tools, BlockKind::Tool, true);
        let identity = self.append(tools, startup.identity, BlockKind::System, true);
        let system = self.append(identity, startup.system, BlockKind::System, true);
        // The breakpoint stands after the first system block there is (C1).
        let identity = if startup.identity.is_zero() { system } else { identity };
        let project = self.append(system, startup.project, BlockKind::UserText, true);
        Base { root, tools, identity, system, project }
    }

    fn on_request_start(&mut self, slot: usize, now: SimTime) {
        if self.takes_notices(slot) {
            self.gather_notices(slot, now);
        }
        if self.needs_compaction(slot) {
            self.compact(slot, now);
        } else {
            self.proceed(slot, now);
        }
    }

    /// Sends what the agent is about to send.
    pub(super) fn proceed(&mut self, slot: usize, now: SimTime) {
        if !self.fits(slot) {
            self.stop(slot, now, Outcome::PromptTooLong);
            return;
        }
        match self.agents[slot].activity {
            Activity::Iterate => self.send_iteration(slot, now),
            Activity::Turn(turn) => self.send_turn(turn, now),
            Activity::Idle | Activity::Compact(_) | Activity::CompactIteration => {
                unreachable!("an agent that starts a request has one to send")
            }
        }
    }

    fn on_response_end(&mut self, slot: usize, now: SimTime) {
        match self.agents[slot].activity {
            Activity::Iterate => self.end_iteration(slot, now),
            Activity::Turn(turn) => self.end_turn(turn, now),
            Activity::Compact(turn) => {
                self.rebuild_after_compaction(slot, now);
                self.agents[slot].activity = Activity::Turn(turn);
                self.proceed(slot, now);
            }
            Activity::CompactIteration => {
                self.rebuild_after_compaction(slot, now);
                self.agents[slot].activity = Activity::Iterate;
                self.proceed(slot, now);
            }
            Activity::Idle => unreachable!("an idle agent has no response in flight"),
        }
    }

    /// Ends an agent that cannot go on; what it has spent stays spent.
    pub(super) fn stop(&mut self, slot: usize, now: SimTime, outcome: Outcome) {
        self.record.outcome = outcome;
        self.note(slot, now, Happening::AgentEnded { outcome });
        self.agents[slot].activity = Activity::Idle;
        self.agents[slot].is_over = true;
        if slot != MAIN {
            self.record.launches.failed += 1;
            self.record.launches.dropped += u32::from(self.agents[slot].messages == 0);
            self.agents[slot].has_failed = true;
            self.agents[slot].report = Tokens::ZERO;
            self.child_ended(slot, now);
        }
    }
}
