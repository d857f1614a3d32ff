//! The location of a message's data, as a descriptor holds it.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The location of a message's data in its rank's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The address where the data begin. With a layout, its offsets are counted from here.
    pub address: u64,
    /// The address of the layout's words, if the data are not contiguous.
    pub layout: Option<NonZeroU64>,
    /// Bytes of a piece on average, from which the NIC estimates the cost of moving them; 0 without
    /// a layout. A rank that exaggerates it only slows down its own job.
    pub grain: u32,
}

impl Location {
    /// Returns the location of contiguous bytes.
    #[must_use]
    pub fn contiguous(address: u64) -> Self {
        Self {
            address,
            layout: None,
            grain: 0,
        }
    }

    /// Decodes three words of a descriptor.
    #[must_use]
    pub fn from_words(address: u64, layout: u64, grain: u64) -> Self {
        let layout = NonZeroU64::new(layout);
        let grain = u32::try_from(grain.max(1)).unwrap_or(u32::MAX);
        Self {
            address,
            layout,
            grain: layout.map_or(0, |_| grain),
        }
    }

    /// Returns the second word of a descriptor.
    #[must_use]
    pub fn layout_word(self) -> u64 {
        self.layout.map_or(0, NonZeroU64::get)
    }

    /// Returns whether this many bytes may lie at these addresses, as far as the words show.
    pub(crate) fn may_have(self, len: u64) -> bool {
        self.layout.is_some() || self.address.checked_add(len).is_some()
    }
}
