//! How a rank changes, reads and writes words of other ranks that only the library uses. Each call
//! waits until that is done.
#![expect(unsafe_code, reason = "operands and results are named by address")]

use super::control_block::{Change, WORD_BYTES};
use super::state::Window;
use crate::bcs::{Blocking, DataView};
use crate::mpi::error::{Operation, Result};
use crate::transport::one_sided::{OneSided, OneSidedKind};
use bcs_core::one_sided::{Update, UpdateKind};
use bcs_core::reduction::{Datatype, Op};

/// Returns the bytes at an address of this rank.
///
/// # Safety
/// They stay until the operation is done, and are not used before.
unsafe fn bytes(address: usize, len: usize) -> DataView {
    // SAFETY: the caller's promise.
    unsafe { DataView::new(address as u64, len, None) }
}

impl Window {
    /// Changes the word at an address of a rank. Returns its previous contents.
    pub(super) fn change_word_at(
        &self,
        (rank, address): (usize, u64),
        change: Change,
        wakes_target: bool,
        operation: Operation,
    ) -> Result<u64> {
        let (kind, operand, operands) = match change {
            Change::Store(value) | Change::Swap(value) => (UpdateKind::Replace, [value, 0], 1),
            Change::Add(value) => (UpdateKind::Reduce(Op::Sum), [value, 0], 1),
            Change::CompareAndSwap { compare, new } => {
                (UpdateKind::CompareAndSwap, [compare, new], 2)
            }
        };
        let fetches = !matches!(change, Change::Store(_));
        let mut found = [0u64];
        let words = |address: usize, count: usize| {
            // SAFETY: they are this function's, which ends when the operation is done.
            unsafe { bytes(address, count * size_of::<u64>()) }
        };
        let update = Update {
            kind,
            datatype: Datatype::Uint64,
            fetches,
        };
        let one_sided = OneSided {
            target: self.world_rank(rank),
            address,
            len: WORD_BYTES,
            kind: OneSidedKind::Update(update),
            origin: words(operand.as_ptr().expose_provenance(), operands),
            result: words(found.as_mut_ptr().expose_provenance(), usize::from(fetches)),
            wakes_target,
        };
        self.do_one_sided(&one_sided, rank, operation)?;
        Ok(found[0])
    }

    /// Writes words at an address of a rank.
    pub(super) fn put_words(
        &self,
        rank: usize,
        address: u64,
        words: &[u64],
        operation: Operation,
    ) -> Result<()> {
        let one_sided = OneSided {
            target: self.world_rank(rank),
            address,
            len: size_of_val(words) as u64,
            kind: OneSidedKind::Put,
            // SAFETY: they are borrowed until the operation is done.
            origin: unsafe { bytes(words.as_ptr().expose_provenance(), size_of_val(words)) },
            result: DataView::EMPTY,
            wakes_target: false,
        };
        self.do_one_sided(&one_sided, rank, operation)
    }

    /// Reads words at an address of a rank.
    pub(super) fn get_words(
        &self,
        rank: usize,
        address: u64,
        words: &mut [u64],
        operation: Operation,
    ) -> Result<()> {
        // SAFETY: all bytes of words are words, and these are borrowed.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), size_of_val(words))
        };
        self.get_bytes(rank, address, bytes, operation)
    }

    /// Reads bytes at an address of a rank.
    pub(super) fn get_bytes(
        &self,
        rank: usize,
        address: u64,
        into: &mut [u8],
        operation: Operation,
    ) -> Result<()> {
        let one_sided = OneSided {
            target: self.world_rank(rank),
            address,
            len: into.len() as u64,
            kind: OneSidedKind::Get,
            origin: DataView::EMPTY,
            // SAFETY: they are borrowed until the operation is done.
            result: unsafe { bytes(into.as_mut_ptr().expose_provenance(), into.len()) },
            wakes_target: false,
        };
        self.do_one_sided(&one_sided, rank, operation)
    }

    fn do_one_sided(&self, one_sided: &OneSided, rank: usize, operation: Operation) -> Result<()> {
        let endpoint = self.process().endpoint();
        let posted = endpoint.bcs_one_sided(self.direct(), one_sided);
        let posted = posted.map_err(|why| self.refusal(why, rank, operation))?;
        if !posted.is_complete() {
            let outcome = endpoint.bcs_test(Blocking::Yes, posted);
            let outcome = outcome.expect("it was waited for");
            self.check_outcome(&outcome, rank, operation)?;
        }
        Ok(())
    }
}
