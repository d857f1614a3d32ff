//! How an origin looks for races of its operation ([`races`](super::races)).

use super::checked_operation::CheckedOperation;
use super::control_block::Change;
use super::epoch_state;
use super::operands::pieces;
use super::queue_lock::LockKind;
use super::races::{
    Access, AccessEpoch, AccessKind, LogCopy, RaceDetector, Relation, UNDER_SHARED_LOCK, added_at,
    entry_at,
};
use super::state::{Window, WindowState};
use crate::bcs::DataView;
use crate::call_site;
use crate::checked::{BufferAccess, JobChecks, MOST_TEXT_BYTES, UsedMemory};
use crate::mpi::checked_windows::AccessedMemory;
use crate::mpi::error::{Error, ErrorClass, Operation, Result};
use crate::recording::Site;
use crate::transport::one_sided::OneSidedKind;
use bcs_core::lockstep;
use bcs_core::one_sided::UpdateKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl AccessedMemory for WindowState {
    fn look_for_races(self: Arc<Self>, memory: &UsedMemory, operation: &Operation) -> Result<()> {
        if self.freed.load(Ordering::Relaxed) {
            return Ok(());
        }
        Window(self).look_for_races_with(memory, operation)
    }
}

/// The pieces of an operation that are compared. Further ones are not.
const MOST_PIECES: usize = 16;

impl Window {
    /// Enters the target of an operation. In a checked job it also looks for races.
    #[inline]
    pub(super) fn admit(&self, checked: &CheckedOperation, is_requested: bool) -> Result<()> {
        self.enter(checked.target, checked.operation)?;
        match (&self.0.races, self.process().checked()) {
            (Some(races), Some(checks)) => {
                self.claim_buffers(races, checked, is_requested)?;
                if self.0.epochs.look().locks_follow_fence {
                    self.0.epochs.lock().operates_between_fences = true;
                }
                self.look_for_races((races, checks), checked, is_requested)
            }
            _ => Ok(()),
        }
    }

    /// Records a call by which other ranks may know how far this one has come.
    pub(super) fn release_accesses(&self) {
        if let Some(checks) = self.process().checked() {
            checks.order.release();
        }
    }

    /// Records that this rank is about to post an exposure epoch.
    pub(super) fn expose_accesses(&self) {
        self.release_accesses();
        if let Some(races) = &self.0.races {
            races.log.expose();
        }
    }

    /// Claims the buffers of an operation at its origin. They are in use until the program has
    /// waited for the operation.
    #[cold]
    fn claim_buffers(
        &self,
        races: &RaceDetector,
        checked: &CheckedOperation,
        is_requested: bool,
    ) -> Result<()> {
        // The library's own copies are no buffers of the program.
        let is_copied = match checked.kind {
            OneSidedKind::Update(update) => update.kind == UpdateKind::CompareAndSwap,
            OneSidedKind::Put | OneSidedKind::Get => false,
        };
        if checked.gapped.is_some() {
            return Ok(());
        }
        let mut used = vec![UsedMemory::writes(checked.result.clone(), 0)];
        if !is_copied {
            used.push(UsedMemory::reads(checked.origin.clone(), 0));
        }
        let site = call_site::current().unwrap_or(Site::here());
        let claims = self.0.comm.claim(&checked.operation, used, site, true)?;
        if !is_requested {
            races.keep(checked.target, claims);
        }
        Ok(())
    }

    /// Looks for accesses of others to the memory of this rank that is the buffer of a call.
    ///
    /// # Errors
    /// When nothing orders such an access and the call.
    pub(super) fn look_for_races_with(
        &self,
        memory: &UsedMemory,
        operation: &Operation,
    ) -> Result<()> {
        let (Some(races), Some(checks)) = (&self.0.races, self.process().checked()) else {
            return Ok(());
        };
        let me = self.me();
        let own = self.own_ranges();
        let (epoch, completions) = self.local_epoch((races, checks), *operation)?;
        let text = checks.texts.of(operation.call, call_site::current());
        let whole = Access {
            origin: u32::try_from(me).expect("ranks have 32 bits"),
            kind: match memory.access {
                BufferAccess::Reads => AccessKind::Load,
                BufferAccess::Writes => AccessKind::Store,
            },
            start: 0,
            len: 0,
            epoch,
            completions,
            is_requested: false,
            text: (
                text.as_ptr().expose_provenance() as u64,
                u32::try_from(text.len()).expect("texts are short"),
            ),
        };
        let mut left = MOST_PIECES;
        let nothing = [&DataView::EMPTY; 2];
        let compared = pieces(&memory.view, nothing, |address, len, _| {
            for &(base, size) in &own {
                let start = base.max(address);
                let end = base
                    .saturating_add(size)
                    .min(address.saturating_add(len as u64));
                if start >= end || left == 0 {
                    continue;
                }
                left -= 1;
                let piece = Access {
                    start,
                    len: end - start,
                    ..whole
                };
                self.compare(&piece, text, me, *operation)?;
            }
            Ok(())
        });
        compared.unwrap_or(Ok(()))
    }

    /// Returns where the memory of this rank in the window is: addresses and lengths.
    fn own_ranges(&self) -> Vec<(u64, u64)> {
        let part = self.part(self.me());
        let attached = lockstep::lock(&self.0.attached);
        let whole = (part.base, part.size);
        attached.iter().copied().chain([whole]).collect()
    }

    /// Returns the epoch in which this rank accesses its own memory, and whether it holds a shared
    /// lock there, as [`Access::completions`] tells it.
    fn local_epoch(
        &self,
        (races, checks): (&RaceDetector, &JobChecks),
        operation: Operation,
    ) -> Result<(AccessEpoch, u64)> {
        let me = self.me();
        let lock = |is_exclusive| AccessEpoch::Lock {
            generation: races.generation.count(),
            releases: checks.order.releases(),
            is_exclusive,
        };
        let epochs = self.0.epochs.look();
        let epoch = match &epochs.access {
            epoch_state::Access::None => Some((lock(false), 0)),
            epoch_state::Access::Locks(locks) => Some(match locks.get(&me).map(|held| held.kind) {
                None => (lock(false), 0),
                Some(LockKind::Shared) => (lock(false), UNDER_SHARED_LOCK),
                Some(LockKind::Exclusive) => (lock(true), 0),
            }),
            epoch_state::Access::All(_) => Some((lock(false), UNDER_SHARED_LOCK)),
            epoch_state::Access::Started(_) | epoch_state::Access::Fence { .. } => None,
        };
        drop(epochs);
        match epoch {
            Some(found) => Ok(found),
            None => Ok((self.epoch_at((races, checks), me, operation)?, 0)),
        }
    }

    #[cold]
    fn look_for_races(
        &self,
        (races, checks): (&RaceDetector, &JobChecks),
        checked: &CheckedOperation,
        is_requested: bool,
    ) -> Result<()> {
        let kind = match checked.kind {
            OneSidedKind::Get => AccessKind::Get,
            OneSidedKind::Put => AccessKind::Put,
            OneSidedKind::Update(update) => {
                // Others may wait for an update to know that earlier operations are complete.
                if races.has_completed.swap(false, Ordering::Relaxed) {
                    checks.order.release();
                }
                update.into()
            }
        };
        let (target, operation) = (checked.target, checked.operation);
        let text = checks.texts.of(operation.call, call_site::current());
        let whole = Access {
            origin: u32::try_from(self.me()).expect("ranks have 32 bits"),
            kind,
            start: checked.data.address(),
            len: checked.data.len() as u64,
            epoch: self.epoch_at((races, checks), target, operation)?,
            completions: races.completions[target].load(Ordering::Relaxed),
            is_requested,
            text: (
                text.as_ptr().expose_provenance() as u64,
                u32::try_from(text.len()).expect("texts are short"),
            ),
        };
        let nothing = [&DataView::EMPTY; 2];
        let mut left = MOST_PIECES;
        let compared = pieces(&checked.data, nothing, |address, len, _| {
            if left == 0 || len == 0 {
                return Ok(());
            }
            left -= 1;
            let piece = Access {
                start: address,
                len: len as u64,
                ..whole
            };
            self.compare(&piece, text, target, operation)
        });
        compared.unwrap_or(Ok(()))
    }

    /// Returns the epoch in which this rank accesses a target now.
    fn epoch_at(
        &self,
        (races, checks): (&RaceDetector, &JobChecks),
        target: usize,
        operation: Operation,
    ) -> Result<AccessEpoch> {
        let generation = races.generation.count();
        let lock = |is_exclusive| AccessEpoch::Lock {
            generation,
            releases: checks.order.releases(),
            is_exclusive,
        };
        let epochs = self.0.epochs.look();
        let epoch = match &epochs.access {
            epoch_state::Access::Started(_) => None,
            epoch_state::Access::Locks(locks) => {
                let held = locks.get(&target);
                Some(lock(
                    held.is_some_and(|held| held.kind == LockKind::Exclusive),
                ))
            }
            epoch_state::Access::All(_) => Some(lock(false)),
            epoch_state::Access::Fence { .. } | epoch_state::Access::None => {
                Some(AccessEpoch::Fence { generation })
            }
        };
        drop(epochs);
        if let Some(epoch) = epoch {
            return Ok(epoch);
        }
        let mut log = LogCopy::new();
        self.get_words(target, self.part(target).log, log.words(), operation)?;
        Ok(AccessEpoch::Started {
            exposure: log.exposures(),
        })
    }

    /// Adds an access to the log of the target, and compares it with the others there.
    fn compare(
        &self,
        access: &Access,
        text: &str,
        target: usize,
        operation: Operation,
    ) -> Result<()> {
        let log = self.part(target).log;
        let number =
            self.change_word_at((target, added_at(log)), Change::Add(1), false, operation)?;
        self.put_words(
            target,
            entry_at(log, number),
            &access.encode(number),
            operation,
        )?;
        let mut copy = LogCopy::new();
        self.get_words(target, log, copy.words(), operation)?;
        for other in copy.others(number) {
            let origin = usize::try_from(other.origin).ok();
            let Some(origin) = origin.filter(|&origin| origin < self.ranks()) else {
                continue;
            };
            let is_race = match access.relation(&other) {
                Relation::Fine => false,
                Relation::Race => true,
                Relation::RaceUnlessReleased(releases) => {
                    let mut now = [0];
                    self.get_words(origin, self.part(origin).releases, &mut now, operation)?;
                    now == [releases]
                }
            };
            if is_race {
                return Err(self.race((access, text), (&other, origin), target, operation));
            }
        }
        Ok(())
    }

    fn race(
        &self,
        (access, text): (&Access, &str),
        (other, origin): (&Access, usize),
        target: usize,
        operation: Operation,
    ) -> Box<Error> {
        let base = match self.part(target).size {
            0 => 0, // Displacements in a dynamic window are addresses.
            _ => self.part(target).base,
        };
        let bytes = |it: &Access| {
            let first = it.start.wrapping_sub(base);
            format!("bytes {first} to {}", first.wrapping_add(it.len - 1))
        };
        let reason = format!(
            "{text} {} {} of rank {target} in {}, and {} of rank {origin} {} {}: nothing orders \
             the two (MPI 5.0, 12.7)",
            access.kind.verb(),
            bytes(access),
            self.title(),
            self.text_of(other, origin, operation),
            other.kind.verb(),
            bytes(other),
        );
        operation.error(ErrorClass::RmaConflict, reason)
    }

    /// Reads the text of an access out of the memory of its origin.
    fn text_of(&self, access: &Access, origin: usize, operation: Operation) -> String {
        let (address, len) = access.text;
        let len = usize::try_from(len).unwrap_or(0).min(MOST_TEXT_BYTES);
        let mut text = vec![0; len];
        match self.get_bytes(origin, address, &mut text, operation) {
            Ok(()) => String::from_utf8_lossy(&text).into_owned(),
            Err(_) => "a call".to_owned(),
        }
    }
}
