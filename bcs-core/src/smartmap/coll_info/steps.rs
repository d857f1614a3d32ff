//! A member's progress in a collective, its verdict, and whether it listens.

use super::record::{CollInfo, LISTENING, OUTCOME, RecordMemory, STEP, VERDICT};
use crate::sync::{Ordering, full_fence};

/// Steps are below 2 to this power. The word holds the number of the collective above the step.
pub(super) const STEPS_BITS: u32 = 8;

/// Returns the word of a step. Steps of later collectives are greater, also when numbers wrap.
fn step_word(number: u64, step: u8) -> u64 {
    number << STEPS_BITS | u64::from(step)
}

impl<R: RecordMemory> CollInfo<R> {
    /// Owner: publishes its step in a collective that it has entered.
    pub fn advance(&self, number: u64, step: u8) {
        // STEP: all writes up to here are visible, and the data that were read may be overwritten.
        self.word(STEP)
            .store(step_word(number, step), Ordering::Release);
    }

    /// Returns the owner's step in a collective that it has entered and the caller has not
    /// finished; 0 is the beginning.
    #[must_use]
    pub fn step(&self, number: u64) -> u8 {
        self.of_this(STEP, number)
    }

    /// Owner, before the step that publishes it: writes the outcome of a collective.
    pub fn publish_outcome(&self, outcome: [u64; 2]) {
        self.word(OUTCOME).store(outcome[0], Ordering::Relaxed);
        self.word(OUTCOME + 1).store(outcome[1], Ordering::Relaxed);
    }

    /// Returns the outcome of a collective. The owner has come to the step that publishes it, and
    /// the caller has not finished the collective.
    #[must_use]
    pub fn outcome(&self) -> [u64; 2] {
        [OUTCOME, OUTCOME + 1].map(|word| self.word(word).load(Ordering::Relaxed))
    }

    /// Owner: publishes its verdict on a collective that it has entered. It stays while steps go
    /// on.
    pub fn publish_verdict(&self, number: u64, verdict: u8) {
        // STEP
        self.word(VERDICT)
            .store(step_word(number, verdict), Ordering::Release);
    }

    /// Returns the owner's verdict on a collective; 0 if that is not known yet.
    #[must_use]
    pub fn verdict(&self, number: u64) -> u8 {
        self.of_this(VERDICT, number)
    }

    fn of_this(&self, word: usize, number: u64) -> u8 {
        // STEP
        let step = self.word(word).load(Ordering::Acquire);
        let here = step >> STEPS_BITS == step_word(number, 0) >> STEPS_BITS;
        if here { step.to_le_bytes()[0] } else { 0 }
    }

    /// Owner: requests a notification at the end of this phase of this collective. It has to poll
    /// once more.
    pub fn listen(&self, number: u64, phase: u8) {
        self.word(LISTENING)
            .store(step_word(number, phase), Ordering::Relaxed);
        full_fence(); // LISTEN
    }

    /// Owner: returns whether it has not been notified yet.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.word(LISTENING).load(Ordering::Relaxed) != 0
    }

    /// Owner: polls by itself again.
    pub fn stop_listening(&self) {
        self.word(LISTENING).store(0, Ordering::Relaxed);
    }

    /// Passes the fence between a member's stores and its check for listeners.
    pub fn fence_before_listeners() {
        full_fence(); // LISTEN
    }

    /// Returns whether the owner listens for this phase.
    #[must_use]
    pub fn listens_for(&self, number: u64, phase: u8) -> bool {
        self.word(LISTENING).load(Ordering::Relaxed) == step_word(number, phase)
    }

    /// Takes the owner's word, if it listens for the end of this phase. Then the caller has to
    /// notify it.
    #[must_use]
    pub fn take_listener(&self, number: u64, phase: u8) -> bool {
        let listens = step_word(number, phase);
        let word = self.word(LISTENING);
        word.load(Ordering::Relaxed) == listens
            && word
                .compare_exchange(listens, 0, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
