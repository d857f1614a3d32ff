//! The slots of ranks as the NICs of this process have mapped them: a NIC reads and writes the
//! memory of a rank there by plain loads and stores.
//!
//! A NIC maps a rank's slot when it first moves bytes in it, and the mapping stays. It maps the
//! first 4 GiB of the slot, or the first 8 for data that lies behind, and so on: a process that
//! serves a thousand ranks has not the addresses for all of a thousand slots. A mapping takes
//! address space, and page tables for what was touched. The node manager that has received the rank
//! publishes whose slot it is, and in which descriptor, after it has checked what the rank gave it
//! ([`slot::check`]).
//!
//! A rank names an address and a length, and neither is trusted. All of it must lie in the rank's
//! slot; then it is somewhere in a file of memory whose length nobody can change. **What a rank may
//! do to that file, and why it harms nobody but itself:**
//!
//! - *It truncates the file*, which is SIGBUS here. A memfd is sealed against that, and so is the
//!   set of its seals. A file in the job's folder for slots, which has huge pages, cannot be
//!   sealed. There the rank ends its node manager, and the job with it, as it could by a signal,
//!   for both are the same user's. It does not happen by mistake: the file has no name, and its
//!   descriptor is the heap's.
//! - *It punches holes into it* (`MADV_REMOVE`, `fallocate`), or names memory that it has never
//!   touched. A NIC that reads there reads zeros, and the kernel gives it the page, as it would
//!   give it to the rank. That takes memory, as any page of the rank's does. The kernel refuses
//!   such a page by SIGBUS where it promises no more memory than there is (overcommit 2). There
//!   NICs map nothing, and the kernel copies, and fails where it must. (A rank's heap makes no slot
//!   there, either.) The job's folder has no limit of its own. A rank that makes its slot in
//!   another `tmpfs`, which is full, ends itself and its node manager by that. The file takes no
//!   reserve of huge pages: those are of another kind of file system, which the check refuses.
//! - *It takes its own access to the pages away, or the pages, or maps others there* (`mprotect`,
//!   `munmap`, `mmap`). That changes its own address space, and this one goes on seeing the file. A
//!   rank's heap notes such ranges in the slot's [table](bcs_core::memory::slot::remapped). There
//!   the kernel copies, which sees what the rank sees. A rank that does it past its heap, or writes
//!   the table, has bytes of its own file read or written, and finds in its messages what it has in
//!   its slot. The same holds for pages about which it has itself asked (`userfaultfd`).
//! - *It dies*, in the middle of a copy or before. The file lives as long as it is mapped here, and
//!   belongs to no other rank afterwards. A copy that is under way runs to its end, in memory that
//!   no process reads any more. Unlike a process id, a mapping cannot pass to another process.
//! - *It writes there meanwhile*. Then the bytes are invalid, but they are its own, or those that
//!   it is sent. No reference to them is held, and no decision depends on them, but for layouts,
//!   which are copied out first.
//! - *It gives another rank's slot for its own*. It can only be a slot of its own node, for it gets
//!   no others. Then it sends what it could read anyway.
//!
//! There is no handler of SIGBUS. Its remaining causes, memory that fails and swap that cannot be
//! read, kill the ranks of the machine, too.

use super::descriptor_location::DescriptorLocation;
use bcs_core::limits::{LEAST_WINDOW_BYTES, MAX_WINDOWS_BYTES};
use bcs_core::memory::slot::{self, SLOT_BYTES, Slot, SlotWindow, TableWindow};
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many lengths a window may have: each twice as long as the one before, the last a whole slot.
const LENGTHS: usize = (SLOT_BYTES / LEAST_WINDOW_BYTES).ilog2() as usize + 1;

/// Where a rank's slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotLocation {
    pub(super) slot: Slot,
    pub(super) deposit: DescriptorLocation,
}

/// The windows of this process onto the slot of one rank.
#[derive(Debug, Default)]
pub(super) struct SlotWindows {
    lodging: OnceLock<Option<SlotLocation>>,
    /// The windows by their length. `None` where it could not be mapped: then the kernel has to
    /// copy.
    windows: [OnceLock<Option<SlotWindow>>; LENGTHS],
    /// The ranges where the rank has mapped other memory. `None` where this cannot be read: then
    /// the kernel has to copy, too.
    table: OnceLock<Option<TableWindow>>,
}

impl SlotWindows {
    /// Returns where memory of the rank is in this process, by the address and length that the rank
    /// names. It is valid for reads and writes as long as `self`. Returns `None` if not all of it
    /// lies in a slot that can be mapped, or the rank has mapped something else over some of it.
    /// `lodging` is called once, after the rank has been received.
    #[inline]
    pub(super) fn resolve(
        &self,
        lodging: impl FnOnce() -> Option<SlotLocation>,
        address: u64,
        len: usize,
    ) -> Option<NonNull<u8>> {
        let lodging = self.lodging.get_or_init(lodging).as_ref()?;
        let address = usize::try_from(address).ok()?;
        if !lodging.slot.contains(address, len) {
            return None;
        }
        let offset = address - lodging.slot.base();
        let table = self.table.get_or_init(|| open_table(lodging)).as_ref()?;
        if table.ranges().overlaps(offset, len) {
            return None;
        }
        let nth = nth_length(offset + len);
        let window = self.windows[nth].get_or_init(|| open(lodging, LEAST_WINDOW_BYTES << nth));
        window.as_ref()?.at(offset, len)
    }
}

/// Returns the index of the least length that has that many bytes.
fn nth_length(bytes: usize) -> usize {
    let least = bytes.div_ceil(LEAST_WINDOW_BYTES).max(1);
    least.next_power_of_two().ilog2() as usize
}

#[cold]
fn open(lodging: &SlotLocation, bytes: usize) -> Option<SlotWindow> {
    /// Bytes of address space that windows have taken.
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    if is_overcommit_strict() {
        return None;
    }
    let more = |taken| Some(taken + bytes).filter(|&taken| taken <= MAX_WINDOWS_BYTES);
    let order = Ordering::Relaxed; // The counter guards no other memory.
    TAKEN.fetch_update(order, order, more).ok()?;
    SlotWindow::map(file_of(lodging)?, bytes).ok()
}

#[cold]
fn open_table(lodging: &SlotLocation) -> Option<TableWindow> {
    if is_overcommit_strict() {
        return None;
    }
    TableWindow::map(file_of(lodging)?).ok()
}

fn file_of(lodging: &SlotLocation) -> Option<OwnedFd> {
    let file = lodging.deposit.open().ok()?;
    // The node manager has checked it. Here a bad file would kill this process.
    slot::check(&file).ok()?;
    Some(file)
}

/// Returns whether the kernel promises no more memory than there is.
fn is_overcommit_strict() -> bool {
    static STRICT: OnceLock<bool> = OnceLock::new();
    *STRICT.get_or_init(|| {
        let mode = std::fs::read_to_string("/proc/sys/vm/overcommit_memory");
        mode.map_or(true, |mode| mode.trim() == "2")
    })
}

const _: () = {
    assert!(LEAST_WINDOW_BYTES << (LENGTHS - 1) == SLOT_BYTES);
    assert!(MAX_WINDOWS_BYTES >= SLOT_BYTES);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_the_shortest_that_has_the_bytes() {
        let least = LEAST_WINDOW_BYTES;
        assert_eq!(LENGTHS, 8);
        for (bytes, nth) in [
            (0, 0),
            (1, 0),
            (least, 0),
            (least + 1, 1),
            (2 * least, 1),
            (2 * least + 1, 2),
            (SLOT_BYTES - 1, LENGTHS - 1),
            (SLOT_BYTES, LENGTHS - 1),
        ] {
            assert_eq!(nth_length(bytes), nth, "{bytes:#x}");
            assert!(least << nth >= bytes);
        }
    }
}
