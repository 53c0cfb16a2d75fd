//! The small system notes that the client appends after results (C20, C23).

use crate::cache::BlockKind;
use crate::orchestration::system::{MAIN, System};

/// What an agent's notes depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NoteState {
    /// Whether it has had its first note.
    has_any: bool,
    /// Whether its history was summarized since its last note.
    after_compaction: bool,
    /// Results since its last text.
    silent: u32,
}

impl NoteState {
    /// The agent has written a text.
    pub(super) fn spoke(&mut self) {
        self.silent = 0;
    }

    /// The agent's history has been replaced by a summary.
    pub(super) fn compacted(&mut self) {
        self.after_compaction = true;
    }
}

impl System {
    /// Lets the note that follows results enter with them, as one block.
    pub(super) fn add_note(&mut self, slot: usize) {
        let agent = &mut self.agents[slot];
        let setup = self.plan.setups.startup(agent.setup);
        let notes = if slot == MAIN { &self.plan.main.notes } else { &setup.notes };
        let state = &mut agent.notes;
        let mut note = if state.has_any { notes.each } else { notes.first + notes.agents };
        if state.after_compaction {
            note += notes.after_compaction;
        }
        state.silent += 1;
        if notes.reminder_every > 0 && state.silent.is_multiple_of(notes.reminder_every) {
            note += notes.reminder;
        }
        state.has_any = true;
        state.after_compaction = false;
        agent.add(note, BlockKind::System);
    }
}
