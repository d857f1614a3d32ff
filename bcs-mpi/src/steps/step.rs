//! Steps: what a rank does in its own memory between the messages of a collective.

use super::Fold;
use crate::data::{ByteRange, DataView, LONG_BYTES, copy};

/// A step in a rank's own memory.
#[derive(Clone, Debug)]
pub(crate) enum LocalStep {
    /// Copies a data view to the start of another.
    Copy { from: DataView, to: DataView },
    /// `accumulator = accumulator OP operand`, of contiguous elements. A function of the program
    /// writes both.
    Combine {
        fold: Fold,
        accumulator: ByteRange,
        operand: ByteRange,
    },
}

/// Receives that are under way at the same time, and the steps after them.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// The sender (a world rank) and the destination of each.
    pub(crate) receives: Vec<(u32, DataView)>,
    pub(crate) then: Vec<LocalStep>,
}

impl Round {
    /// Returns a round of receives without steps.
    pub(crate) fn of(receives: Vec<(u32, DataView)>) -> Self {
        Self {
            receives,
            then: Vec::new(),
        }
    }

    /// Returns a round of steps without receives.
    pub(crate) fn steps(then: Vec<LocalStep>) -> Self {
        Self {
            receives: Vec::new(),
            then,
        }
    }
}

impl LocalStep {
    /// Returns whether the step calls a function of the program.
    pub(crate) fn calls(&self) -> bool {
        matches!(
            self,
            Self::Combine {
                fold: Fold::Function(_),
                ..
            }
        )
    }

    /// Returns whether the step has to run without the endpoint's lock.
    pub(crate) fn takes_long(&self) -> bool {
        let len = match self {
            Self::Copy { from, .. } => from.len(),
            Self::Combine { operand, .. } => operand.len(),
        };
        self.calls() || len > LONG_BYTES
    }

    pub(crate) fn run(self) {
        match self {
            Self::Copy { from, to } => copy(&from, &to),
            Self::Combine {
                fold,
                accumulator,
                operand,
            } => fold.run(accumulator, operand),
        }
    }
}
