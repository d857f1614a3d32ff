//! How far a member is in a collective, what it thinks of it, and whether it listens.

use super::record::{CollInfo, LISTENING, OUTCOME, RecordMemory, STEP, VERDICT};
use crate::sync::{Ordering, full_fence};

/// A step is below this: its word has the number of the collective above it.
pub(super) const STEPS_BITS: u32 = 8;

/// Steps of later collectives are greater, also when numbers wrap.
fn step_word(number: u64, step: u8) -> u64 {
    number << STEPS_BITS | u64::from(step)
}

impl<R: RecordMemory> CollInfo<R> {
    /// Owner: has come so far in a collective that it has entered.
    pub fn advance(&self, number: u64, step: u8) {
        // STEP: what was done up to here is visible, and what was read may be written.
        self.word(STEP)
            .store(step_word(number, step), Ordering::Release);
    }

    /// How far the owner is in a collective that it has entered and the caller has not finished; 0 is
    /// the beginning.
    #[must_use]
    pub fn step(&self, number: u64) -> u8 {
        self.of_this(STEP, number)
    }

    /// Owner, before the step that tells it: what came of a collective.
    pub fn publish_outcome(&self, outcome: [u64; 2]) {
        self.word(OUTCOME).store(outcome[0], Ordering::Relaxed);
        self.word(OUTCOME + 1).store(outcome[1], Ordering::Relaxed);
    }

    /// What came of a collective of which the owner has come to the step that tells it, and which the
    /// caller has not finished.
    #[must_use]
    pub fn outcome(&self) -> [u64; 2] {
        [OUTCOME, OUTCOME + 1].map(|word| self.word(word).load(Ordering::Relaxed))
    }

    /// Owner: what it thinks of a collective that it has entered. It stays while steps go on.
    pub fn publish_verdict(&self, number: u64, verdict: u8) {
        // STEP
        self.word(VERDICT)
            .store(step_word(number, verdict), Ordering::Release);
    }

    /// What the owner thinks of a collective; 0 if that is not known yet.
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

    /// Owner: from now on it is told when this phase of this collective is over. It has to look once
    /// more.
    pub fn listen(&self, number: u64, phase: u8) {
        self.word(LISTENING)
            .store(step_word(number, phase), Ordering::Relaxed);
        full_fence(); // LISTEN
    }

    /// Owner: whether nobody has told it yet.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.word(LISTENING).load(Ordering::Relaxed) != 0
    }

    /// Owner: it looks by itself again.
    pub fn stop_listening(&self) {
        self.word(LISTENING).store(0, Ordering::Relaxed);
    }

    /// Between what a member has published and its look at who listens.
    pub fn fence_before_listeners() {
        full_fence(); // LISTEN
    }

    /// Whether the owner waits to be told of this phase.
    #[must_use]
    pub fn listens_for(&self, number: u64, phase: u8) -> bool {
        self.word(LISTENING).load(Ordering::Relaxed) == step_word(number, phase)
    }

    /// Whether the owner waits to be told that this phase is over. It is the caller who tells it.
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
