//! The future event list: a winner tree with one leaf for each slot.
//!
//! Each slot (an agent, the launcher) has at most one pending event, so scheduling again moves it
//! and cancelling is in place. Popping and scheduling cost one walk from a leaf to the root over a
//! fixed shape: no allocation, no branch that depends on the data (des.md, section 2).
//!
//! Order: by time, then by class, then first scheduled first (semantics X3). Tests compare the
//! list with a sorted map on random operations.

use crate::units::SimTime;

const SLOT_BITS: u32 = 20;
const SEQUENCE_BITS: u32 = 36;
const EMPTY: u128 = u128::MAX;

/// Pending events by slot, earliest first.
#[derive(Clone, Debug)]
pub struct FutureEventList {
    /// A binary tree in an array: the root at 1, the leaf of slot `s` at `leaves + s`.
    keys: Vec<u128>,
    leaves: usize,
    sequence: u64,
    /// The slot taken last, whose leaf still holds the old key: most often it schedules again at
    /// once, and then one walk to the root is enough.
    taken: Option<usize>,
}

impl FutureEventList {
    /// The most slots a list can have.
    pub const SLOTS_MAX: usize = 1 << SLOT_BITS;

    /// Returns an empty list with room for `slots` slots.
    ///
    /// # Panics
    /// When `slots` is above [`FutureEventList::SLOTS_MAX`].
    pub fn new(slots: usize) -> FutureEventList {
        assert!(slots <= FutureEventList::SLOTS_MAX, "slots must be within the list's limit");
        let leaves = slots.next_power_of_two().max(2);
        FutureEventList { keys: vec![EMPTY; 2 * leaves], leaves, sequence: 0, taken: None }
    }

    /// Makes room for `slots` slots; what is pending stays.
    ///
    /// # Panics
    /// When `slots` is above [`FutureEventList::SLOTS_MAX`].
    pub fn reserve(&mut self, slots: usize) {
        assert!(slots <= FutureEventList::SLOTS_MAX, "slots must be within the list's limit");
        if slots <= self.leaves {
            return;
        }
        let leaves = slots.next_power_of_two();
        let mut keys = vec![EMPTY; 2 * leaves];
        keys[leaves..leaves + self.leaves].copy_from_slice(&self.keys[self.leaves..]);
        for index in (1..leaves).rev() {
            keys[index] = keys[2 * index].min(keys[2 * index + 1]);
        }
        (self.keys, self.leaves) = (keys, leaves);
    }

    /// Cancels everything and starts the sequence again.
    pub fn clear(&mut self) {
        self.keys.fill(EMPTY);
        self.sequence = 0;
        self.taken = None;
    }

    /// Schedules the event of `slot` at `time`; an event it had pending is moved.
    ///
    /// At one instant lower classes come first, and within a class what was scheduled first.
    pub fn schedule(&mut self, slot: usize, time: SimTime, class: u8) {
        let instant = (time.as_micros() as u64) ^ (1 << 63);
        let low = (u64::from(class) << (SEQUENCE_BITS + SLOT_BITS))
            | (self.sequence << SLOT_BITS)
            | slot as u64;
        self.sequence += 1;
        self.settle(slot);
        self.replace(slot, (u128::from(instant) << 64) | u128::from(low));
    }

    /// Cancels the event of `slot`, if it has one.
    pub fn cancel(&mut self, slot: usize) {
        self.settle(slot);
        self.replace(slot, EMPTY);
    }

    /// Forgets that `slot` was taken, since its leaf is about to be written, and clears the leaf
    /// of any other slot that was.
    fn settle(&mut self, slot: usize) {
        if let Some(taken) = self.taken.take()
            && taken != slot
        {
            self.replace(taken, EMPTY);
        }
    }

    /// Returns whether `slot` has an event pending.
    pub fn is_pending(&self, slot: usize) -> bool {
        self.taken != Some(slot) && self.keys[self.leaves + slot] != EMPTY
    }

    /// Takes the earliest event: its time and slot.
    pub fn pop_next(&mut self) -> Option<(SimTime, usize)> {
        if let Some(taken) = self.taken.take() {
            self.replace(taken, EMPTY);
        }
        let key = self.keys[1];
        if key == EMPTY {
            return None;
        }
        let slot = (key as u64 & ((1 << SLOT_BITS) - 1)) as usize;
        self.taken = Some(slot);
        let instant = ((key >> 64) as u64) ^ (1 << 63);
        Some((SimTime::from_micros(instant as i64), slot))
    }

    fn replace(&mut self, slot: usize, key: u128) {
        let mut index = self.leaves + slot;
        let mut winner = key;
        self.keys[index] = key;
        while index > 1 {
            winner = winner.min(self.keys[index ^ 1]);
            index >>= 1;
            self.keys[index] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn ties_go_by_class_then_by_order_of_scheduling() {
        let mut list = FutureEventList::new(4);
        let at = SimTime::from_micros(-5);
        list.schedule(3, at, 2);
        list.schedule(1, at, 1);
        list.schedule(0, at, 2);
        list.schedule(2, SimTime::from_micros(-6), 9);
        let order: Vec<usize> = std::iter::from_fn(|| list.pop_next()).map(|(_, s)| s).collect();
        assert_eq!(order, [2, 1, 3, 0]);
    }

    #[test]
    fn what_is_pending_stays_when_the_list_grows() {
        let mut list = FutureEventList::new(2);
        let at = |micros| SimTime::from_micros(micros);
        list.schedule(0, at(7), 0);
        list.schedule(1, at(3), 0);
        assert_eq!(list.pop_next(), Some((at(3), 1)));
        list.reserve(9);
        list.schedule(8, at(5), 0);
        assert!(!list.is_pending(1) && list.is_pending(0));
        let order: Vec<usize> = std::iter::from_fn(|| list.pop_next()).map(|(_, s)| s).collect();
        assert_eq!(order, [8, 0]);
    }

    #[test]
    fn agrees_with_a_sorted_map_on_random_operations() {
        let mut list = FutureEventList::new(13);
        let mut shadow: BTreeMap<(i64, u8, u64), usize> = BTreeMap::new();
        let mut state = 7u64;
        let mut draw = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
            (state >> 33) % bound
        };
        for sequence in 0..200_000u64 {
            let slot = draw(13) as usize;
            match draw(4) {
                0 | 1 => {
                    let (time, class) = (draw(50) as i64 - 25, draw(3) as u8);
                    shadow.retain(|_, other| *other != slot);
                    shadow.insert((time, class, sequence), slot);
                    list.schedule(slot, SimTime::from_micros(time), class);
                }
                2 => {
                    shadow.retain(|_, other| *other != slot);
                    list.cancel(slot);
                }
                _ => {
                    let expected = shadow.pop_first().map(|((time, ..), slot)| (time, slot));
                    let popped = list.pop_next().map(|(time, slot)| (time.as_micros(), slot));
                    assert_eq!(popped, expected);
                }
            }
            assert_eq!(list.is_pending(slot), shadow.values().any(|other| *other == slot));
        }
    }
}
