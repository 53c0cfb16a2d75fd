//! Small worlds: a policy, a palette of few blocks, and a list of requests of a few agents.
//!
//! A world is plain data, so that it can be drawn, printed and made smaller. Each choice is a
//! small number that indexes a table; the tables crowd around the edges of the rules.

use forkcast::cache::{
    BlockKind, CacheKey, CachePolicy, ColdWrites, Expected, RefreshShorter, Ttl, TtlClock,
};
use forkcast::units::{SimDuration, SimTime};

use super::naive::{Answer, Ask, Block, Previous};
use super::pair::Pair;
use super::random::SplitMix;

const SECOND: i64 = 1_000_000;
/// Times between starts, in microseconds.
const GAPS: [i64; 24] = [
    0,
    0,
    0,
    0,
    0,
    1,
    SECOND - 1,
    SECOND,
    SECOND + 1,
    2 * SECOND,
    60 * SECOND,
    150 * SECOND,
    240 * SECOND,
    299 * SECOND,
    300 * SECOND - 1,
    300 * SECOND,
    300 * SECOND + 1,
    301 * SECOND,
    1_800 * SECOND,
    3_300 * SECOND,
    3_599 * SECOND,
    3_600 * SECOND - 1,
    3_600 * SECOND,
    3_600 * SECOND + 1,
];
/// Times to first token, in microseconds.
const FIRST_TOKENS: [i64; 8] =
    [0, 1, SECOND, SECOND, SECOND + 1, 2 * SECOND, 300 * SECOND, 350 * SECOND];
/// Times from the first token to the end of the response, in microseconds.
const STREAMS: [i64; 6] = [0, 0, 1, SECOND, 60 * SECOND, 300 * SECOND];
/// Times for which a rate limit held a request, in microseconds.
const WAITS: [i64; 8] = [0, 0, 0, 0, 1, 60 * SECOND, 300 * SECOND, 400 * SECOND];
const SLACKS: [i64; 6] = [0, 0, 0, 1, SECOND, 30 * SECOND];
const SIZES: [u64; 9] = [0, 1, 1, 7, 100, 500, 1_000, 2_000, 30_000];
const MINIMA: [u64; 7] = [0, 0, 1, 100, 512, 1_024, 4_096];
const LOOKBACKS: [u32; 9] = [1, 2, 3, 5, 20, 20, 20, 20, 1_000];
/// Kinds of the blocks of a palette, by identity; messages follow the system prompt.
const KINDS: [BlockKind; 12] = [
    BlockKind::Tool,
    BlockKind::Tool,
    BlockKind::System,
    BlockKind::System,
    BlockKind::UserText,
    BlockKind::AssistantText,
    BlockKind::ToolUse,
    BlockKind::ToolUse,
    BlockKind::ToolResult,
    BlockKind::ToolResult,
    BlockKind::UserText,
    BlockKind::AssistantText,
];
/// Numbers of marks.
const MARKS: [u8; 16] = [0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4];
const AGENTS: usize = 4;
const BLOCKS_MAX: usize = 32;

/// A policy, a palette and requests.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) policy: [u8; 7],
    /// Size by block.
    pub(crate) sizes: [u8; KINDS.len()],
    /// Which blocks are start-up, a bit each.
    pub(crate) startup: u16,
    /// Minimum by model.
    pub(crate) minima: [u8; 2],
    pub(crate) steps: Vec<Step>,
}

/// One request, as choices.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) agent: u8,
    pub(crate) gap: u8,
    /// What happens to the agent's prompt before it appends.
    pub(crate) edit: u8,
    pub(crate) edit_at: u8,
    /// Blocks to append: identity and how many.
    pub(crate) append: Vec<(u8, u8)>,
    /// Places of the marks, counted from the end of the prompt.
    pub(crate) marks: Vec<u8>,
    /// How many of the marks, from the first, are for one hour.
    pub(crate) long: u8,
    pub(crate) first_token: u8,
    pub(crate) stream: u8,
    pub(crate) wait: u8,
    /// Rare things: early miss, expected rebuild, another key.
    pub(crate) rare: u8,
}

#[derive(Default)]
struct Agent {
    key: CacheKey,
    prompt: Vec<Block>,
    last: Option<Previous>,
    inherited: u64,
}

fn pick<T: Copy>(table: &[T], choice: u8) -> T {
    table[usize::from(choice) % table.len()]
}

impl World {
    /// Draws a world.
    pub(crate) fn draw(random: &mut SplitMix) -> World {
        let mut byte = |below: u64| random.below(below) as u8;
        let policy = std::array::from_fn(|_| byte(252));
        let sizes = std::array::from_fn(|_| byte(252));
        let minima = [byte(252), byte(252)];
        let startup = u16::from(byte(256)) | u16::from(byte(16)) << 8;
        let count = 3 + byte(14);
        let steps = (0..count)
            .map(|_| Step {
                agent: byte(AGENTS as u64),
                gap: if byte(2) == 0 { byte(10) } else { byte(240) },
                edit: byte(16),
                edit_at: byte(64),
                append: (0..byte(6)).map(|_| (byte(12), 1 + byte(5))).collect(),
                marks: (0..MARKS[usize::from(byte(16))])
                    .map(|_| if byte(2) == 0 { 0 } else { byte(BLOCKS_MAX as u64) })
                    .collect(),
                long: byte(5),
                first_token: byte(240),
                stream: byte(240),
                wait: byte(240),
                rare: byte(80),
            })
            .collect();
        World { policy, sizes, startup, minima, steps }
    }

    fn policy(&self) -> CachePolicy {
        let [lookback, collapse, cold, clock, refresh, shorter, slack] = self.policy;
        CachePolicy {
            lookback: pick(&LOOKBACKS, lookback),
            collapse_tool_runs: !collapse.is_multiple_of(4),
            concurrent_cold_writes: pick(&[ColdWrites::Each, ColdWrites::First], cold),
            ttl_clock: pick(&[TtlClock::RequestStart, TtlClock::ResponseEnd], clock),
            refresh_on_read: !refresh.is_multiple_of(4),
            refresh_shorter: pick(
                &[RefreshShorter::Breakpoints, RefreshShorter::All, RefreshShorter::None],
                shorter,
            ),
            expiry_slack: SimDuration::from_micros(pick(&SLACKS, slack)),
            ..CachePolicy::default()
        }
    }

    fn block(&self, id: u8) -> Block {
        let index = usize::from(id) % KINDS.len();
        Block {
            id: index as u16,
            tokens: pick(&SIZES, self.sizes[index]),
            kind: KINDS[index],
            startup: self.startup >> index & 1 == 1,
        }
    }

    /// Lets both caches live through the world; returns all answers.
    ///
    /// # Errors
    /// With the request and both answers, where they differ.
    pub(crate) fn run(&self) -> Result<Vec<Answer>, String> {
        let mut answers = Vec::new();
        let mut pair = Pair::new(&self.policy());
        let mut agents: [Agent; AGENTS] = std::array::from_fn(|_| Agent::default());
        let mut now = SimTime::ZERO;
        for (number, step) in self.steps.iter().enumerate() {
            now = now + SimDuration::from_micros(pick(&GAPS, step.gap));
            let number_of_agent = usize::from(step.agent) % AGENTS;
            self.edit(step, number_of_agent, &mut agents);
            let agent = &mut agents[number_of_agent];
            let ask = self.ask(step, agent, now);
            let begins = now + SimDuration::from_micros(pick(&FIRST_TOKENS, step.first_token));
            let ends = begins + SimDuration::from_micros(pick(&STREAMS, step.stream));
            let answer = pair
                .send(&ask, begins, ends)
                .map_err(|differ| format!("request {number} at {now}: {ask:?}\n{differ}"))?;
            let (key, prompt) = (ask.key, ask.prompt);
            agent.last = Some(Previous { key, prompt, cached: answer.cached });
            answers.push(answer);
        }
        Ok(answers)
    }

    /// Changes an agent's prompt: append only, cut and append, take over another's, start again.
    fn edit(&self, step: &Step, number: usize, agents: &mut [Agent; AGENTS]) {
        let at = usize::from(step.edit_at);
        match step.edit % 16 {
            0..=8 => {}
            9..=11 => {
                let keep = at % (agents[number].prompt.len() + 1);
                agents[number].prompt.truncate(keep);
            }
            12 | 13 => {
                let (key, prompt) = (agents[at % AGENTS].key, agents[at % AGENTS].prompt.clone());
                let inherited = prompt.iter().map(|block| block.tokens).sum();
                agents[number] = Agent { key, prompt, last: None, inherited };
            }
            14 => agents[number] = Agent::default(),
            _ => agents[number].prompt.clear(),
        }
        let agent = &mut agents[number];
        if agent.prompt.is_empty() {
            let head = [0, 1, 2, 3].into_iter().filter(|id| at >> id & 1 == 1);
            agent.prompt.extend(head.map(|id| self.block(id)));
        }
        for (id, count) in &step.append {
            // After the head come messages and system notes.
            let block = self.block((*id).max(2));
            agent.prompt.extend(std::iter::repeat_n(block, usize::from(*count)));
        }
        agent.prompt.truncate(BLOCKS_MAX);
        if agent.prompt.is_empty() {
            agent.prompt.push(self.block(4));
        }
    }

    fn ask(&self, step: &Step, agent: &mut Agent, start: SimTime) -> Ask {
        match step.rare {
            1 => agent.key.model ^= 1,
            2 => agent.key.effort ^= 1,
            3 if agent.last.is_none() => agent.key.scope ^= 1,
            _ => {}
        }
        let blocks = agent.prompt.len();
        let mut places: Vec<usize> =
            step.marks.iter().take(4).map(|back| blocks - usize::from(*back) % blocks).collect();
        places.sort_unstable();
        places.dedup();
        let long = usize::from(step.long);
        let ttl = |index| if index < long { Ttl::OneHour } else { Ttl::FiveMinutes };
        let waited = SimDuration::from_micros(pick(&WAITS, step.wait));
        Ask {
            key: agent.key,
            prompt: agent.prompt.clone(),
            marks: places.into_iter().enumerate().map(|(index, at)| (at, ttl(index))).collect(),
            start,
            ready: SimTime::from_micros(start.as_micros() - waited.as_micros()),
            minimum: pick(&MINIMA, self.minima[agent.key.model as usize]),
            early_miss: (4..7).contains(&step.rare),
            last: agent.last.clone(),
            inherited: agent.inherited,
            expected: match step.rare {
                8 => Expected::Compaction,
                9 => Expected::ClearedToolResults,
                _ => Expected::Nothing,
            },
        }
    }

    /// Leaves out whatever is not needed for the disagreement.
    pub(crate) fn shrunk(mut self) -> World {
        loop {
            let smaller = self.smaller().into_iter().find(|world| world.run().is_err());
            match smaller {
                Some(world) => self = world,
                None => return self,
            }
        }
    }

    fn smaller(&self) -> Vec<World> {
        let mut worlds = Vec::new();
        for index in 0..self.steps.len() {
            let mut world = self.clone();
            world.steps.remove(index);
            worlds.push(world);
            let simpler: [fn(&mut Step); 6] = [
                |step| step.append.truncate(step.append.len().saturating_sub(1)),
                |step| step.marks.truncate(step.marks.len().saturating_sub(1)),
                |step| step.rare = 63,
                |step| step.wait = 0,
                |step| step.stream = 0,
                |step| step.append.iter_mut().for_each(|(_, count)| *count = 1),
            ];
            for change in simpler {
                let mut world = self.clone();
                change(&mut world.steps[index]);
                if format!("{:?}", world.steps) != format!("{:?}", self.steps) {
                    worlds.push(world);
                }
            }
        }
        worlds
    }
}
