//! The memory that a rank shares with others.

use bcs_core::memory::NicMemory;
use bcs_core::smartmap::RankArea;
use bcs_core::wake::MachinePage;

/// The memory that a rank shares with others.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    /// With its NIC.
    pub(crate) nic: NicMemory,
    /// With the ranks of its node, if messages between them do not go through the NIC.
    pub(crate) rank_area: Option<RankArea>,
    /// With all ranks and NICs on its machine.
    pub(crate) page: MachinePage,
}

impl SharedMemory {
    /// Makes the shared memory of a rank. If it has a rank area, its bell is there.
    #[must_use]
    pub fn new(nic: NicMemory, desk: Option<RankArea>, page: MachinePage) -> Self {
        let nic = match &desk {
            Some(desk) => nic
                .with_bell(desk.bell())
                .with_update_lock(desk.update_lock()),
            None => nic,
        };
        Self {
            nic,
            rank_area: desk,
            page,
        }
    }

    /// Returns the memory that the rank shares with its NIC.
    #[must_use]
    pub fn nic(&self) -> &NicMemory {
        &self.nic
    }
}
