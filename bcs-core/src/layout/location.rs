//! Where the data of a message are, as a descriptor says it.

use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Where the data of a message are in its rank's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Where they begin; with a layout, what its offsets are counted from.
    pub address: u64,
    /// Where the words of the layout are, if they do not lie side by side.
    pub layout: Option<NonZeroU64>,
    /// Bytes of a piece on average, by which the NIC reckons what moving them costs; 0 without a
    /// layout. A rank that says more than there are holds up its own job.
    pub grain: u32,
}

impl Location {
    /// Bytes side by side.
    #[must_use]
    pub fn contiguous(address: u64) -> Self {
        Self {
            address,
            layout: None,
            grain: 0,
        }
    }

    /// From three words of a descriptor.
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

    /// The second word of a descriptor.
    #[must_use]
    pub fn layout_word(self) -> u64 {
        self.layout.map_or(0, NonZeroU64::get)
    }

    /// Whether these are addresses of so many bytes, as far as that can be told from the words.
    pub(crate) fn may_have(self, len: u64) -> bool {
        self.layout.is_some() || self.address.checked_add(len).is_some()
    }
}
