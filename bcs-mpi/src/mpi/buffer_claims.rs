//! The buffers of a pending operation, in a checked job (MPI 5.0, 3.7.2, 4.2 and 6.12).

use super::error::{ErrorClass, Operation, Result};
use super::{Comm, Process};
use crate::bcs::{DataView, DataViews};
use crate::call_site;
use crate::checked::{
    BufferAccess, BufferConflict, PendingBuffers, StagedBuffers, UseKey, UsedMemory, UsingCall,
    describe_site,
};
use crate::foreign;
use crate::recording::Site;
use bcs_core::lockstep;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The buffers that an operation has until the program learns that it is complete.
#[derive(Debug)]
pub(super) struct BufferClaims {
    process: Arc<Process>,
    operation: Operation,
    /// Where it was started.
    site: Site,
    /// The uses of memory, each with its part if the message has parts.
    uses: Mutex<Vec<(usize, UseKey)>>,
    /// The memory that a collective receives into.
    staged: Mutex<StagedBuffers>,
}

impl Drop for BufferClaims {
    fn drop(&mut self) {
        self.release(|_| true);
    }
}

impl BufferClaims {
    pub(super) fn none_of(process: &Arc<Process>, operation: Operation, site: Site) -> Arc<Self> {
        Arc::new(Self {
            process: process.clone(),
            operation,
            site,
            uses: Mutex::default(),
            staged: Mutex::default(),
        })
    }

    /// Returns where the operation was started.
    pub(super) fn site(&self) -> Site {
        self.site
    }

    pub(super) fn process(&self) -> &Arc<Process> {
        &self.process
    }

    fn pending(&self) -> Option<&PendingBuffers> {
        self.process.checked().map(|checked| &checked.buffers)
    }

    /// Adds the memory of a part. If it `keeps` what the memory holds, the program must not change
    /// it.
    ///
    /// # Errors
    /// When a pending operation forbids this use of the memory.
    pub(super) fn add(
        &self,
        part: usize,
        memory: UsedMemory,
        call: UsingCall,
        keeps: bool,
    ) -> Result<()> {
        let Some(pending) = self.pending() else {
            return Ok(());
        };
        let conflict = pending.conflict(&memory);
        let reason = conflict.map(|conflict| explain_conflict(&memory, call, &conflict));
        if let Some(reason) = reason {
            return Err(self.operation.error(ErrorClass::Buffer, reason));
        }
        let added = pending.add(memory, call, keeps);
        let mut uses = lockstep::lock(&self.uses);
        uses.extend(added.map(|key| (part, key)));
        Ok(())
    }

    /// Gives back the memory of some parts.
    pub(super) fn release(&self, gives_back: impl Fn(usize) -> bool) {
        let Some(pending) = self.pending() else {
            return;
        };
        lockstep::lock(&self.uses).retain(|&(part, key)| {
            let goes = gives_back(part);
            if goes {
                pending.remove(key);
            }
            !goes
        });
    }

    /// Records what the buffer of a receive holds, whose message `has_come` or not.
    pub(super) fn watch_received(&self, has_come: bool) {
        if let Some(pending) = self.pending() {
            for &(_, key) in lockstep::lock(&self.uses).iter() {
                pending.watch_received(key, has_come);
            }
        }
    }

    /// Records it again, before the program learns whether the message has come.
    #[cold]
    pub(super) fn look_at_received(&self) {
        if let Some(pending) = self.pending() {
            for &(_, key) in lockstep::lock(&self.uses).iter() {
                pending.look_at_received(key);
            }
        }
    }

    /// Returns what a collective that does not block uses in place of a receive buffer.
    #[cold]
    pub(super) fn stage(&self, buffer: DataView, element: usize) -> DataView {
        lockstep::lock(&self.staged).stage(buffer, element)
    }

    /// Does the same for its first `count` blocks.
    #[cold]
    pub(super) fn stage_blocks(
        &self,
        blocks: DataViews,
        count: usize,
        element: usize,
    ) -> DataViews {
        lockstep::lock(&self.staged).stage_blocks(blocks, count, element)
    }

    /// Gives back the memory of a complete operation.
    ///
    /// # Errors
    /// When the program has written a buffer before.
    pub(super) fn settle(&self) -> Result<()> {
        let Some(pending) = self.pending() else {
            return Ok(());
        };
        let uses = lockstep::lock(&self.uses);
        let changed = uses.iter().find_map(|&(_, key)| pending.changed(key));
        drop(uses);
        self.release(|_| true);
        let call = UsingCall {
            name: self.operation.call,
            site: self.site,
        };
        let written = lockstep::lock(&self.staged).deliver();
        let written = written.map(|found| (BufferAccess::Writes, call, found.bytes, found.element));
        match changed.or(written) {
            None => Ok(()),
            Some((access, call, bytes, element)) => {
                let reason = explain_change(access, call, &bytes, element);
                Err(self.operation.error(ErrorClass::Buffer, reason))
            }
        }
    }
}

/// "the call at a.c:8 receives into 8 bytes (from element 2 on) that ..."
fn explain_conflict(memory: &UsedMemory, call: UsingCall, conflict: &BufferConflict) -> String {
    let action = |access| match access {
        BufferAccess::Reads => "sends from",
        BufferAccess::Writes => "receives into",
    };
    let (own, other) = conflict.overlap.first;
    let (here, there) = (describe_site(call.site), describe_site(conflict.call.site));
    let (bytes, other_call) = (conflict.overlap.bytes, conflict.call.name);
    let s = if bytes == 1 { "" } else { "s" };
    format!(
        "the call{here} {} {bytes} byte{s}, from {} of its buffer on, that the pending {other_call}{there} {}, from {} of \
         its buffer on: complete that operation first",
        action(memory.access),
        place(own, memory.element),
        action(conflict.access),
        place(other, conflict.element),
    )
}

fn explain_change(
    access: BufferAccess,
    call: UsingCall,
    bytes: &Range<usize>,
    element: usize,
) -> String {
    let (uses, advice) = match access {
        BufferAccess::Reads => ("sends from", "complete a send before you write its buffer"),
        BufferAccess::Writes => (
            "receives into",
            "complete a receive before you use its buffer",
        ),
    };
    let until = call_site::current().map_or_else(String::new, describe_site);
    format!(
        "the program has written the buffer that {}{} {uses} before the call{until} completed it: the first change is in {}; \
         {advice}",
        call.name,
        describe_site(call.site),
        places(bytes, element),
    )
}

/// "element 3 (byte 24)"
fn place(byte: usize, element: usize) -> String {
    match byte.checked_div(element) {
        None => format!("byte {byte}"),
        Some(element) => format!("element {element} (byte {byte})"),
    }
}

/// "element 3 (byte 24)", or "elements 512 to 1023 (bytes 4096 to 8191)"
fn places(bytes: &Range<usize>, element: usize) -> String {
    let last = bytes.end.saturating_sub(1).max(bytes.start);
    let elements = (bytes.start.checked_div(element), last.checked_div(element));
    match elements {
        (Some(first), Some(end)) if first < end => {
            format!(
                "elements {first} to {end} (bytes {} to {last})",
                bytes.start
            )
        }
        _ if element == 0 && bytes.start < last => format!("bytes {} to {last}", bytes.start),
        _ => place(bytes.start, element),
    }
}

/// Returns the memory of all blocks, for a function that makes a use of each.
pub(super) fn each_block(
    blocks: &DataViews,
    count: usize,
    used: impl Fn(DataView) -> UsedMemory,
) -> Vec<UsedMemory> {
    (0..count).map(|place| used(blocks.of(place))).collect()
}

impl Process {
    /// Returns whether the memory that a call uses [must be checked](Comm::check_use): an operation
    /// is pending, or there is a window.
    #[inline]
    pub(super) fn must_check_use(&self) -> bool {
        self.checked()
            .is_some_and(|checked| !checked.buffers.is_empty() || !self.checked_windows.is_empty())
    }
}

impl Comm {
    /// Claims the memory of an operation that this call begins.
    ///
    /// # Errors
    /// When a pending operation forbids this use of the memory.
    #[cold]
    #[inline(never)]
    pub(super) fn claim(
        &self,
        operation: &Operation,
        used: Vec<UsedMemory>,
        site: Site,
        keeps: bool,
    ) -> Result<Arc<BufferClaims>> {
        let site = foreign::site(site);
        let claims = BufferClaims::none_of(self.process(), *operation, site);
        let call = UsingCall {
            name: operation.call,
            site,
        };
        for memory in &used {
            self.check_use(operation, memory, site)?;
        }
        // Buffers of one call are not compared with each other: some may be the same.
        let pending = self.process().checked().map(|checked| &checked.buffers);
        let added = used.into_iter().filter_map(|memory| {
            let key = pending?.add(memory, call, keeps)?;
            Some((0, key))
        });
        lockstep::lock(&claims.uses).extend(added);
        Ok(claims)
    }

    /// Checks that no pending operation forbids this call to use memory.
    ///
    /// # Errors
    /// When one does.
    #[cold]
    #[inline(never)]
    pub(super) fn check_use(
        &self,
        operation: &Operation,
        memory: &UsedMemory,
        site: Site,
    ) -> Result<()> {
        let process = self.process();
        let checked = process.checked();
        let conflict = checked.and_then(|checked| checked.buffers.conflict(memory));
        let Some(conflict) = conflict else {
            return process.checked_windows.look_for_races(memory, operation);
        };
        let call = UsingCall {
            name: operation.call,
            site,
        };
        let reason = explain_conflict(memory, call, &conflict);
        Err(operation.error(ErrorClass::Buffer, reason))
    }
}
