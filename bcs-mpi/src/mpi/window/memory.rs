//! Memory that a window allocates.
#![expect(
    unsafe_code,
    reason = "memory that several ranks use has no owner in Rust"
)]

use std::alloc::{Layout, alloc_zeroed, dealloc};

/// The size of a cache line, and of a page: memory of a page or more begins on one.
const LINE: usize = 64;
const PAGE: usize = 4096;

/// Memory of a window, in the rank's heap and thereby in its slot, if it has one.
#[derive(Debug)]
pub(super) struct WindowMemory {
    address: usize,
    layout: Layout,
}

impl WindowMemory {
    /// Allocates at least one byte. Returns `None` if there is no memory.
    pub(super) fn allocate(bytes: usize) -> Option<Self> {
        let align = if bytes >= PAGE { PAGE } else { LINE };
        let layout = Layout::from_size_align(bytes.max(1), align).ok()?;
        // SAFETY: the layout has at least one byte.
        let memory = unsafe { alloc_zeroed(layout) };
        let address = memory.expose_provenance();
        (address != 0).then_some(Self { address, layout })
    }

    pub(super) fn address(&self) -> u64 {
        self.address as u64
    }
}

impl Drop for WindowMemory {
    fn drop(&mut self) {
        let memory = std::ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: it was allocated with this layout. The window's ranks have agreed that nobody
        // uses it any more, or the window is dropped with its process.
        unsafe { dealloc(memory, self.layout) };
    }
}
