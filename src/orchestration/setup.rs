//! How agents are set up: start-up contexts by where in the tree they stand.

use crate::cache::{RoleTtl, Ttl};
use crate::orchestration::AgentKind;
use crate::orchestration::plan::PlanInput;
use crate::units::Tokens;
use crate::workload::Startup;

/// The setups of children.
#[derive(Clone, Debug)]
pub(super) struct Setups {
    list: [Setup; Setups::COUNT],
}

/// How one sort of child is set up.
#[derive(Clone, Debug)]
struct Setup {
    kind: AgentKind,
    startup: Startup,
    /// Number of the plan's model.
    model: usize,
}

/// What a setup is for.
#[derive(Clone, Copy, Debug)]
struct Purpose {
    kind: AgentKind,
    in_background: bool,
    /// Whether children below it would be too deep, so that it lacks the tool to launch some.
    is_leaf: bool,
}

impl Setups {
    pub(super) const COUNT: usize = 4;
    /// Children of the main session.
    pub(super) const FIRST: usize = 0;
    /// Children of children.
    pub(super) const NESTED: usize = 1;
    /// Children of children at the depth limit.
    pub(super) const LEAF: usize = 2;

    /// Children of the main session that come back in the background.
    pub(super) const RESUMED: usize = 3;

    pub(super) fn new(input: &PlanInput<'_>, ttl: RoleTtl) -> Setups {
        let (fanout, nested) = (input.fanout, input.nested);
        let is_leaf = input.limits.depth == Some(1);
        let first = Purpose { kind: fanout.agent, in_background: fanout.background, is_leaf };
        let in_background = nested.background.unwrap_or(fanout.background);
        let below = Purpose { kind: nested.agent, in_background, is_leaf: false };
        let leaf = Purpose { is_leaf: true, ..below };
        let resumed = Purpose { in_background: true, ..first };
        Setups {
            list: [first, below, leaf, resumed].map(|purpose| Setup::new(input, ttl, purpose)),
        }
    }

    pub(super) fn kind(&self, setup: usize) -> AgentKind {
        self.list[setup].kind
    }

    pub(super) fn startup(&self, setup: usize) -> &Startup {
        &self.list[setup].startup
    }

    pub(super) fn model(&self, setup: usize) -> usize {
        self.list[setup].model
    }

    /// Returns the first setup with the same start-up context.
    pub(super) fn shared(&self, setup: usize) -> usize {
        let same = |other: &Setup| {
            other.startup == self.list[setup].startup && other.model == self.list[setup].model
        };
        self.list.iter().position(same).unwrap_or(setup)
    }
}

impl Setup {
    fn new(input: &PlanInput<'_>, ttl: RoleTtl, purpose: Purpose) -> Setup {
        let kind = purpose.kind;
        let mut startup = of_kind(input, kind).clone();
        // A fork runs on the parent's model and with its tools (semantics D3).
        let model = usize::from(has_own_tools(kind));
        if has_own_tools(kind) {
            if purpose.in_background {
                withhold(&mut startup.tools, startup.background_withholds);
                withhold(&mut startup.listing, startup.background_withholds_listing);
            }
            if purpose.is_leaf {
                withhold(&mut startup.tools, startup.depth_withholds);
                startup.notes.agents = Tokens::ZERO;
            }
            if ttl.tail == Ttl::OneHour {
                withhold(&mut startup.tools, startup.one_hour_withholds);
            }
        }
        Setup { kind, startup, model }
    }
}

/// Returns the start-up context of the main session.
pub(super) fn main_startup(input: &PlanInput<'_>, ttl: RoleTtl) -> Startup {
    let mut startup = input.startup.main.clone();
    if input.fanout.agent == AgentKind::Fork {
        withhold(&mut startup.tools, startup.fork_withholds);
    }
    if ttl.tail == Ttl::OneHour {
        withhold(&mut startup.tools, startup.one_hour_withholds);
    }
    startup
}

fn of_kind<'a>(input: &PlanInput<'a>, kind: AgentKind) -> &'a Startup {
    match kind {
        AgentKind::Fresh => &input.startup.fresh,
        AgentKind::Explore => &input.startup.explore,
        AgentKind::Plan => &input.startup.plan,
        AgentKind::Workflow => &input.startup.workflow,
        AgentKind::Fork | AgentKind::Inline => &input.startup.main,
    }
}

fn has_own_tools(kind: AgentKind) -> bool {
    !matches!(kind, AgentKind::Fork | AgentKind::Inline)
}

fn withhold(from: &mut Tokens, withheld: Tokens) {
    *from = from.saturating_sub(withheld);
}
