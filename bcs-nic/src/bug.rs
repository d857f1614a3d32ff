//! Planted bugs: switches that make a NIC thread misbehave, so that the simulator's checkers can
//! be shown to notice (DESIGN section 10). Only the simulator can set them.

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
}

impl PlantedBug {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::DropDescriptor,
        Self::ReorderMatch,
        Self::LoseCompareAndWrite,
        Self::ExceedBudget,
        Self::ReleaseEarly,
        Self::SkipChunk,
    ];
}
