//! The buffers of operations that are not complete.
//!
//! Until an operation is complete, nobody may write the memory that it sends from, and nobody may
//! use the memory that it receives into (MPI 5.0, 3.7.2). The library cannot see every access of
//! the program. It sees the buffers of the program's other calls, and compares them with those of
//! all pending operations. It also keeps what a send buffer holds when the send is posted, and
//! compares that when the program learns that the send is complete. It keeps what a short receive
//! buffer holds, too: only the message may change that.
//!
//! Two sends may share memory. Derived types are compared block by block, so interleaved columns
//! of a matrix do not overlap.

use super::received_bytes::ReceivedBytes;
use super::sent_bytes::SentBytes;
use crate::data::DataView;
use crate::recording::Site;
use bcs_core::lockstep;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The use that an operation makes of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferAccess {
    /// It sends from there.
    Reads,
    /// It receives into it.
    Writes,
}

/// Memory that an operation uses.
#[derive(Clone, Debug)]
pub(crate) struct UsedMemory {
    pub(crate) access: BufferAccess,
    pub(crate) view: DataView,
    /// Bytes of one element of its datatype; 0 if elements differ.
    pub(crate) element: usize,
}

/// A call that uses memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsingCall {
    pub(crate) name: &'static str,
    pub(crate) site: Site,
}

/// Memory that a new call uses against the rules, and the pending operation that has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferConflict {
    pub(crate) call: UsingCall,
    pub(crate) access: BufferAccess,
    pub(crate) overlap: Overlap,
    /// Bytes of an element of the pending operation.
    pub(crate) element: usize,
}

/// The bytes that two data views have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overlap {
    /// The first of them, as offsets in the data of either.
    pub(crate) first: (usize, usize),
    pub(crate) bytes: u64,
}

/// A use of memory in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UseKey {
    /// The lowest address.
    low: u64,
    number: u64,
}

#[derive(Debug)]
struct PendingUse {
    end: u64,
    memory: UsedMemory,
    call: UsingCall,
    sent: Option<SentBytes>,
    received: Option<ReceivedBytes>,
}

/// The memory that the pending operations of this rank use.
#[derive(Debug, Default)]
pub(crate) struct PendingBuffers {
    table: Mutex<PendingTable>,
    /// Whether the table has a use. Most calls find none, and need no lock then.
    is_used: AtomicBool,
}

#[derive(Debug, Default)]
struct PendingTable {
    uses: BTreeMap<UseKey, PendingUse>,
    /// No use spans more bytes. A search begins this far below its first byte.
    longest: u64,
    next: u64,
}

impl UsedMemory {
    pub(crate) fn reads(view: DataView, element: usize) -> Self {
        let access = BufferAccess::Reads;
        Self {
            access,
            view,
            element,
        }
    }

    pub(crate) fn writes(view: DataView, element: usize) -> Self {
        let access = BufferAccess::Writes;
        Self {
            access,
            view,
            element,
        }
    }
}

impl PendingBuffers {
    /// Returns whether no operation is pending. Another thread may just add one: then nothing
    /// orders its call and the caller's.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_used.load(Ordering::Relaxed)
    }

    /// Returns the first pending operation that forbids a call to use this memory.
    pub(crate) fn conflict(&self, new: &UsedMemory) -> Option<BufferConflict> {
        let span = span(&new.view)?;
        let table = lockstep::lock(&self.table);
        let first = UseKey {
            low: span.start.saturating_sub(table.longest),
            number: 0,
        };
        let last = UseKey {
            low: span.end,
            number: 0,
        };
        let mut near = table.uses.range(first..last);
        near.find_map(|(_, pending)| {
            let both_read = [new.access, pending.memory.access] == [BufferAccess::Reads; 2];
            if both_read || pending.end <= span.start {
                return None;
            }
            Some(BufferConflict {
                call: pending.call,
                access: pending.memory.access,
                overlap: overlap(&new.view, &pending.memory.view)?,
                element: pending.memory.element,
            })
        })
    }

    /// Adds a use of memory. If it `keeps` what a send buffer holds, that can be
    /// [compared](Self::changed) later. Returns `None` if the operation has no data.
    pub(crate) fn add(&self, memory: UsedMemory, call: UsingCall, keeps: bool) -> Option<UseKey> {
        let span = span(&memory.view)?;
        let keeps = keeps && memory.access == BufferAccess::Reads;
        let sent = keeps.then(|| SentBytes::of(&memory.view, &span)).flatten();
        let mut table = lockstep::lock(&self.table);
        table.longest = table.longest.max(span.end - span.start);
        table.next += 1;
        let key = UseKey {
            low: span.start,
            number: table.next,
        };
        let pending = PendingUse {
            end: span.end,
            memory,
            call,
            sent,
            received: None,
        };
        table.uses.insert(key, pending);
        self.is_used.store(true, Ordering::Relaxed);
        Some(key)
    }

    /// Removes a use of memory.
    pub(crate) fn remove(&self, key: UseKey) {
        let mut table = lockstep::lock(&self.table);
        table.uses.remove(&key);
        if table.uses.is_empty() {
            table.longest = 0;
            self.is_used.store(false, Ordering::Relaxed);
        }
    }

    /// Records what a receive buffer holds. If the message `has_come`, the buffer must not change
    /// any more. Otherwise only the message may change it.
    pub(crate) fn watch_received(&self, key: UseKey, has_come: bool) {
        let mut table = lockstep::lock(&self.table);
        if let Some(pending) = table.uses.get_mut(&key)
            && pending.memory.access == BufferAccess::Writes
        {
            let span = key.low..pending.end;
            let view = &pending.memory.view;
            pending.received = match has_come {
                true => ReceivedBytes::delivered(view, &span),
                false => ReceivedBytes::posted(view, &span),
            };
        }
    }

    /// Records what a watched receive buffer holds, before the program learns whether the message
    /// has come.
    pub(crate) fn look_at_received(&self, key: UseKey) {
        let mut table = lockstep::lock(&self.table);
        if let Some(pending) = table.uses.get_mut(&key)
            && let Some(received) = &mut pending.received
        {
            received.look(&pending.memory.view, &(key.low..pending.end));
        }
    }

    /// Returns where a buffer has changed although it must not: the access of the call that has it,
    /// that call, the range of bytes of the message, and the bytes of an element.
    pub(crate) fn changed(
        &self,
        key: UseKey,
    ) -> Option<(BufferAccess, UsingCall, Range<usize>, usize)> {
        let table = lockstep::lock(&self.table);
        let pending = table.uses.get(&key)?;
        let (view, span) = (&pending.memory.view, key.low..pending.end);
        let changed = match (&pending.sent, &pending.received) {
            (Some(sent), _) => sent.changed(view, &span),
            (None, Some(received)) => received.written(view, &span),
            (None, None) => None,
        };
        let memory = &pending.memory;
        Some((memory.access, pending.call, changed?, memory.element))
    }
}

/// Returns the addresses from the first byte of a data view to the last; `None` if it has no data.
pub(super) fn span(view: &DataView) -> Option<Range<u64>> {
    if view.is_empty() {
        return None;
    }
    let (low, bytes) = match view.layout() {
        None => (0, view.len() as u64),
        Some(layout) => layout.span(view.len() as u64)?,
    };
    let start = view.address().checked_add_signed(low)?;
    Some(start..start.checked_add(bytes)?)
}

/// A block of a data view.
#[derive(Clone, Copy)]
struct PlacedBlock {
    start: u64,
    end: u64,
    /// Where its first byte is in the message.
    offset: usize,
}

/// Returns the blocks of a data view that reach into these addresses, in the order of addresses.
fn blocks(view: &DataView, window: &Range<u64>) -> Vec<PlacedBlock> {
    let Some(layout) = view.layout() else {
        let (start, len) = (view.address(), view.len() as u64);
        let end = start.saturating_add(len);
        return vec![PlacedBlock {
            start,
            end,
            offset: 0,
        }];
    };
    let (mut found, mut offset) = (Vec::new(), 0);
    for strip in layout.pieces(0, view.len() as u64) {
        for place in strip.offsets() {
            let start = view.address().wrapping_add_signed(place);
            let end = start.saturating_add(strip.block);
            if start < window.end && end > window.start {
                found.push(PlacedBlock { start, end, offset });
            }
            offset += usize::try_from(strip.block).unwrap_or(usize::MAX);
        }
    }
    found.sort_unstable_by_key(|block| block.start);
    found
}

/// Returns the bytes that two data views have in common; `None` if there are none.
fn overlap(one: &DataView, other: &DataView) -> Option<Overlap> {
    let (first, second) = (span(one)?, span(other)?);
    let window = first.start.max(second.start)..first.end.min(second.end);
    if window.is_empty() {
        return None;
    }
    let (ones, others) = (blocks(one, &window), blocks(other, &window));
    let (mut at, mut found) = (0, None::<Overlap>);
    for block in &ones {
        while others.get(at).is_some_and(|other| other.end <= block.start) {
            at += 1;
        }
        let touched = others[at..].iter();
        for other in touched.take_while(|other| other.start < block.end) {
            let start = block.start.max(other.start);
            let bytes = block.end.min(other.end).saturating_sub(start);
            let within = |it: &PlacedBlock| {
                it.offset + usize::try_from(start - it.start).unwrap_or(usize::MAX)
            };
            let first = (within(block), within(other));
            let known = found.get_or_insert(Overlap { first, bytes: 0 });
            known.bytes += bytes;
        }
    }
    found.filter(|found| found.bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::layout::LayoutBuilder;
    use std::sync::Arc;

    fn plain(address: u64, len: usize) -> DataView {
        view(address, len, None)
    }

    /// Returns blocks of 8 bytes at equal distances.
    fn column(address: u64, count: u64, stride: i64) -> DataView {
        let builder = LayoutBuilder::block(0, 8).repeat(count, stride).unwrap();
        let len = usize::try_from(count * 8).unwrap();
        let layout = builder.finish(stride * count.cast_signed());
        view(address, len, Some(Arc::new(layout)))
    }

    #[expect(unsafe_code, reason = "data are named by address")]
    fn view(
        address: u64,
        len: usize,
        layout: Option<Arc<bcs_core::layout::DataLayout>>,
    ) -> DataView {
        // SAFETY: nobody reads or writes the memory.
        unsafe { DataView::new(address, len, layout) }
    }

    fn call() -> UsingCall {
        let site = Site::here();
        UsingCall {
            name: "MPI_Irecv",
            site,
        }
    }

    #[test]
    fn bytes_in_common_are_found_with_their_places() {
        let common = |first, bytes| Some(Overlap { first, bytes });
        assert_eq!(overlap(&plain(100, 16), &plain(116, 16)), None);
        assert_eq!(
            overlap(&plain(100, 16), &plain(112, 16)),
            common((12, 0), 4)
        );
        assert_eq!(overlap(&plain(112, 4), &plain(100, 50)), common((0, 12), 4));
        let column = |from: u64| column(from, 4, 32);
        assert_eq!(overlap(&column(1000), &column(1008)), None);
        assert_eq!(overlap(&column(1000), &column(1032)), common((8, 0), 24));
        assert_eq!(overlap(&column(1000), &plain(1008, 24)), None);
        assert_eq!(
            overlap(&plain(1008, 96), &column(1000)),
            common((24, 8), 24)
        );
    }

    #[test]
    fn only_a_write_is_a_conflict_and_only_while_it_is_pending() {
        let pending = PendingBuffers::default();
        let add = |memory| pending.add(memory, call(), false).unwrap();
        let sent = add(UsedMemory::reads(plain(100, 1000), 8));
        let received = add(UsedMemory::writes(plain(1200, 8), 8));
        let told = |memory: &UsedMemory| pending.conflict(memory).map(|it| it.access);
        assert_eq!(told(&UsedMemory::reads(plain(900, 16), 8)), None);
        assert_eq!(
            told(&UsedMemory::writes(plain(1092, 200), 8)),
            Some(BufferAccess::Reads)
        );
        assert_eq!(
            told(&UsedMemory::reads(plain(1100, 101), 8)),
            Some(BufferAccess::Writes)
        );
        assert_eq!(told(&UsedMemory::writes(plain(1100, 100), 8)), None);
        pending.remove(received);
        pending.remove(sent);
        assert_eq!(told(&UsedMemory::writes(plain(100, 2000), 8)), None);
    }
}
