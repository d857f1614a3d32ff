//! One-sided operations within a node: the origin does them itself, at once.
//!
//! A put is a store and a get is a load, in the target's slot or by the kernel. An update takes one
//! of two ways ([`bcs_core::one_sided`]). All who may update an element choose the way by the same
//! facts: whether its bytes lie in the target's slot, and whether the processor updates it in one
//! step.
#![expect(unsafe_code, reason = "ranks use each other's memory")]

use super::peer_memory::{FetchError, PeerMemory};
use super::state::SmartMap;
use crate::data::{self, DataView};
use crate::transport::one_sided::{OneSided, OneSidedKind, OneSidedRefusal};
use bcs_core::job::NodeRanks;
use bcs_core::job::{NicThreadId, NodeId};
use bcs_core::layout::Location;
use bcs_core::memory::UpdateLock;
use bcs_core::one_sided::{Update, UpdateKind};
use bcs_core::smartmap::NodeMemory;
use bcs_core::wake::machine_page::BellId;
use bcs_core::wake::{MachinePage, waiting};
use std::ptr::NonNull;

/// The most bytes of an update that are computed at once: all elements up to this length, and else
/// portions of the second one. Every element's size divides both.
const FEW_BYTES: usize = 64;
const MANY_BYTES: usize = 4096;

/// The access of a rank to the memory of the ranks of its node.
#[derive(Clone, Debug)]
pub(crate) struct LocalOneSided {
    node: NodeMemory,
    page: MachinePage,
    peer_memory: PeerMemory,
    /// This rank's place on its node.
    place: usize,
    /// The ranks of this node.
    ranks: NodeRanks,
    /// The node, whose NIC updates the memory of its ranks, too.
    nic: NodeId,
}

/// The update lock of a rank, held by this one.
struct HeldUpdateLock<'a> {
    access: &'a LocalOneSided,
    lock: Option<UpdateLock<'a>>,
}

impl Drop for HeldUpdateLock<'_> {
    fn drop(&mut self) {
        if self.lock.take().is_some_and(UpdateLock::give_back) {
            let bell = BellId::for_nic_thread(self.access.nic, NicThreadId::BufferReceiver);
            self.access.page.ring(bell);
        }
    }
}

impl SmartMap {
    /// Returns the access to the memory of the ranks of this node.
    pub(crate) fn one_sided_access(&self, nic: NodeId) -> LocalOneSided {
        LocalOneSided {
            nic,
            node: self.node.clone(),
            page: self.page.clone(),
            peer_memory: self.peer_memory.clone(),
            place: self.place,
            ranks: self.ranks,
        }
    }
}

impl LocalOneSided {
    /// Executes an operation, including its result. Returns `None` if the target is not on this
    /// node, or this rank cannot reach its memory by itself.
    pub(crate) fn execute(&self, operation: &OneSided) -> Option<Result<(), OneSidedRefusal>> {
        let place = self.place_of(operation.target)?;
        let done = match operation.kind {
            _ if operation.len == 0 => Ok(()),
            OneSidedKind::Put => self.put(place, operation),
            OneSidedKind::Get => self.get(place, operation),
            OneSidedKind::Update(update) if operation.len <= FEW_BYTES as u64 => {
                self.update::<FEW_BYTES>(place, operation, update)
            }
            OneSidedKind::Update(update) => self.update::<MANY_BYTES>(place, operation, update),
        };
        match done {
            Ok(()) => {
                if operation.wakes_target {
                    self.node.count_event(place);
                    self.page.wake(self.node.bell(place));
                }
                Some(Ok(()))
            }
            Err(FetchError::Closed) => None,
            Err(FetchError::Fault) => Some(Err(OneSidedRefusal::Memory)),
        }
    }

    /// Returns whether bytes of a rank lie in its slot, which is mapped here.
    pub(crate) fn is_in_slot(&self, target: u32, address: u64, len: usize) -> bool {
        let place = self.place_of(target);
        place.is_some_and(|place| self.peer_memory.resolve(place, address, len).is_some())
    }

    /// Returns whether bytes of a rank are mapped at the same address here.
    pub(crate) fn maps(&self, target: u32, address: u64, len: usize) -> bool {
        let place = self.place_of(target);
        place.is_some_and(|place| self.mapped(place, address, len).is_some())
    }

    fn place_of(&self, rank: u32) -> Option<usize> {
        let place = self.ranks.place_of(rank)?;
        (place < self.node.ranks()).then_some(place)
    }

    /// Returns where the memory of a rank is mapped here, if it lies in its slot or is this rank's.
    #[inline]
    fn mapped(&self, place: usize, address: u64, len: usize) -> Option<NonNull<u8>> {
        let in_slot = self.peer_memory.resolve(place, address, len);
        in_slot.or_else(|| {
            let own = NonNull::new(data::start(address));
            own.filter(|_| place == self.place)
        })
    }

    fn put(&self, place: usize, operation: &OneSided) -> Result<(), FetchError> {
        let (address, len) = (operation.address, usize_of(operation.len));
        if self.mapped(place, address, len).is_some() {
            // SAFETY: the bytes are mapped at this address, and the target has promised by its
            // window that origins may write them.
            let target = unsafe { DataView::new(address, len, None) };
            data::copy(&operation.origin, &target);
            return Ok(());
        }
        self.write(place, &operation.origin, address)
    }

    fn get(&self, place: usize, operation: &OneSided) -> Result<(), FetchError> {
        let (address, len) = (operation.address, usize_of(operation.len));
        if self.mapped(place, address, len).is_some() {
            // SAFETY: as in `put`: the bytes are mapped, and may be read.
            let target = unsafe { DataView::new(address, len, None) };
            data::copy(&target, &operation.result);
            return Ok(());
        }
        let from = Location::contiguous(address);
        let (node, result) = (&self.node, &operation.result);
        self.peer_memory.fetch(node, place, from, result, 0..len)
    }

    /// Writes to memory that is not mapped here.
    fn write(&self, place: usize, from: &DataView, address: u64) -> Result<(), FetchError> {
        let mut outcome = Ok(());
        data::look_at::<MANY_BYTES>(from, 0..from.len(), |offset, bytes| {
            let into = address.wrapping_add(offset as u64);
            outcome = outcome.and_then(|()| self.write_bytes(place, bytes, into));
        });
        outcome
    }

    fn write_bytes(&self, place: usize, bytes: &[u8], into: u64) -> Result<(), FetchError> {
        self.peer_memory.write_to(&self.node, place, bytes, into)
    }

    /// Updates elements in portions of `N` bytes.
    fn update<const N: usize>(
        &self,
        place: usize,
        operation: &OneSided,
        update: Update,
    ) -> Result<(), FetchError> {
        let (address, len) = (operation.address, usize_of(operation.len));
        let in_slot = self.peer_memory.resolve(place, address, len);
        let in_slot = in_slot.filter(|_| update.is_atomic(address));
        // Several elements at once are one step towards each other, too, as long as they are few:
        // programs replace and read small structures so, although the standard says nothing of it.
        let is_several = len > update.datatype.size() && len <= N;
        let _lock = in_slot.filter(|_| is_several).map(|_| self.lock(place));
        // A compare-and-swap has two operands of one element.
        let mut operand = [[0; N]; 2];
        let operand = operand.as_flattened_mut();
        let mut old = [0; N];
        for at in (0..len).step_by(N) {
            let part = N.min(len - at);
            let wanted = usize_of(update.operand_len(part as u64));
            if update.kind != UpdateKind::NoOp {
                data::gather(&operation.origin, at, &mut operand[..wanted]);
            }
            let fetched = if update.fetches { part } else { 0 };
            let (operand, old) = (&operand[..wanted], &mut old[..fetched]);
            match in_slot {
                Some(start) => {
                    let first =
                        NonNull::new(start.as_ptr().wrapping_add(at)).expect("it is mapped");
                    // SAFETY: all bytes from the start on are mapped, as long as the slots live,
                    // and other ranks access them in the same way.
                    unsafe { update.apply_atomically(first, part, operand, old) };
                }
                None => {
                    let at = address.wrapping_add(at as u64);
                    self.update_locked::<N>((place, at, part), update, operand, old)?;
                }
            }
            if update.fetches {
                data::scatter(&operation.result, at, old);
            }
        }
        Ok(())
    }

    /// Takes the update lock of a rank.
    fn lock(&self, place: usize) -> HeldUpdateLock<'_> {
        let pause = || waiting::give_way(&self.page);
        HeldUpdateLock {
            access: self,
            lock: Some(self.node.update_lock(place, pause)),
        }
    }

    #[cfg(test)]
    pub(crate) fn hold_updates(&self, target: u32, held: impl FnOnce(), then: impl FnOnce()) {
        let guard = self.lock(self.place_of(target).expect("the target is on this node"));
        held();
        let lock = guard.lock.as_ref().expect("it is held");
        while !lock.is_asked_for() {
            std::thread::yield_now();
        }
        then();
        drop(guard);
    }

    /// Updates at most `N` bytes under the target's lock.
    fn update_locked<const N: usize>(
        &self,
        (place, address, len): (usize, u64, usize),
        update: Update,
        operand: &[u8],
        old: &mut [u8],
    ) -> Result<(), FetchError> {
        let mut contents = [0; N];
        let contents = &mut contents[..len];
        let _lock = self.lock(place);
        if self.mapped(place, address, len).is_some() {
            // SAFETY: the bytes are mapped at this address, and belong to a window.
            let target = unsafe { DataView::new(address, len, None) };
            data::gather(&target, 0, contents);
            update.apply_to_copy(contents, operand, old);
            if update.kind != UpdateKind::NoOp {
                data::scatter(&target, 0, contents);
            }
            return Ok(());
        }
        self.peer_memory
            .read_from(&self.node, place, address, contents)?;
        update.apply_to_copy(contents, operand, old);
        match update.kind {
            UpdateKind::NoOp => Ok(()),
            _ => self.write_bytes(place, contents, address),
        }
    }
}

fn usize_of(len: u64) -> usize {
    usize::try_from(len).expect("lengths have 64 bits here")
}
