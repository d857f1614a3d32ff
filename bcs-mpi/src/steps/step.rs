//! Steps: what a rank does with memory of its own between the messages of a collective.

use super::Fold;
use crate::data::{ByteRange, DataView, LONG_BYTES, copy};

/// What a rank does with memory of its own.
#[derive(Clone, Debug)]
pub(crate) enum LocalStep {
    /// Copies a piece to the start of another.
    Copy { from: DataView, to: DataView },
    /// `accumulator = accumulator OP operand`, of elements side by side; a function of the program's writes both.
    Combine {
        fold: Fold,
        accumulator: ByteRange,
        operand: ByteRange,
    },
}

/// Receives that are under way at the same time, and what follows when all have come.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// From whom (a world rank), and where to.
    pub(crate) receives: Vec<(u32, DataView)>,
    pub(crate) then: Vec<LocalStep>,
}

impl Round {
    /// Receives that nothing follows.
    pub(crate) fn of(receives: Vec<(u32, DataView)>) -> Self {
        Self {
            receives,
            then: Vec::new(),
        }
    }

    /// Steps without receives.
    pub(crate) fn steps(then: Vec<LocalStep>) -> Self {
        Self {
            receives: Vec::new(),
            then,
        }
    }
}

impl LocalStep {
    /// Whether it calls a function of the program's.
    pub(crate) fn calls(&self) -> bool {
        matches!(
            self,
            Self::Combine {
                fold: Fold::Function(_),
                ..
            }
        )
    }

    /// Whether it is not done under the endpoint's lock.
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
