//! Planted bugs: switches that make a NIC thread misbehave, so that the simulator's checkers can
//! be shown to notice (docs/simulator.md). Only tests can set them.

use crate::mail::Mail;
use crate::threads::{Context, NicThread};
use bcs_core::job::NicThreadId;

/// A way to misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedBug {
    /// BS drops every 8th descriptor.
    DropDescriptor,
    /// BR lets the second envelope of a slice's block overtake the first.
    ReorderMatch,
    /// A Compare-And-Write reports success and writes nothing (planted in the network).
    LoseCompareAndWrite,
    /// BR schedules twice the budget.
    ExceedBudget,
    /// SR releases completions at once under the fixed strobe.
    ReleaseEarly,
    /// DH reports a chunk moved that it did not move.
    SkipChunk,
    /// This NIC thread panics as soon as it has something to do. No checker is meant for it: the OS
    /// thread must notice.
    Panic(NicThreadId),
}

impl PlantedBug {
    /// All that a checker is meant for.
    pub const ALL: [Self; 6] = [
        Self::DropDescriptor,
        Self::ReorderMatch,
        Self::LoseCompareAndWrite,
        Self::ExceedBudget,
        Self::ReleaseEarly,
        Self::SkipChunk,
    ];
}

/// A NIC thread that panics as soon as it has something to do.
#[derive(Debug)]
pub(crate) struct Panicking;

impl NicThread for Panicking {
    fn handle(&mut self, _mail: Mail, _context: &mut Context<'_>) {
        panic!("planted");
    }

    fn poll(&mut self, context: &mut Context<'_>) -> bool {
        assert!(context.port.signals() == 0, "planted");
        false
    }
}
