//! The rank of this process, which every error names.

use std::sync::OnceLock;

static WORLD_RANK: OnceLock<u32> = OnceLock::new();

/// Sets the rank of this process. If ranks are threads of one process, only the first is set.
pub(super) fn set_world_rank(world_rank: u32) {
    let _first_one = WORLD_RANK.set(world_rank);
}

/// Returns the world rank of this process, once it is set.
#[must_use]
pub fn world_rank() -> Option<u32> {
    WORLD_RANK.get().copied()
}
