//! A heap that lies in the rank's slot, where the ranks of its node can read and write it.
//!
//! ```
//! #[global_allocator]
//! static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;
//! # fn main() { drop(vec![1, 2, 3]); }
//! ```
//!
//! The heap is mimalloc with the slot (`bcs_core::memory::slot`) as the only memory it may use. The
//! first allocation, before `main`, makes the slot if the variable `BCS_SLOT` names a place;
//! [`slot`] returns the result. In a process that is no rank, or for which there is no slot, the
//! heap is an ordinary one: the C library's. The same holds where the crate `heap-preload` is the
//! process's `malloc`: the preloaded heap then lies in the slot (`setup` explains why).
//!
//! | module | is |
//! |---|---|
//! | [`heap`] | the functions that an allocator has, for [`SlotHeap`] and for a preloaded one |
//! | `setup` | the first allocation |
//! | `gate` | keeps threads out of the allocator while a fork copies the heap |
//! | `thread_turnstile` | turnstiles: a thread's entry through the gate |
//! | `elf_note` | the note in the program's file about its heap |
//! | [`fork`] | gives a child a private copy |
//! | [`remapping`] | changes that a program makes to the pages of its heap by itself |
//! | [`system_call`], `signals` | system calls as the kernel has them; blocking the signals of a thread |
//! | `committed` | which parts of the slot are in use, for core dumps |
//! | `ordinary_heap` | the heap of processes without a slot |
//! | `large` | large blocks: huge pages, and giving memory back |
//! | `purging`, `seconds` | giving back the memory of all other blocks; the clock of its delays |
//! | `fatal` | the end of a process whose heap cannot go on |
//!
//! This crate knows nothing of MPI.

mod committed;
mod elf_note;
mod fatal;
pub mod fork;
mod gate;
pub mod heap;
mod large;
mod lock;
mod ordinary_heap;
mod purging;
pub mod remapping;
mod seconds;
mod setup;
mod signals;
mod slot_heap;
pub mod system_call;
mod thread_turnstile;

pub use slot_heap::SlotHeap;

use bcs_core::memory::OwnSlot;
use bcs_core::memory::slot::SlotError;

/// Returns the slot that this process's heap lies in (its descriptor, address and length), or the
/// reason why it lies in none. Returns `None` in a process that was not to have one.
#[must_use]
pub fn slot() -> Option<Result<&'static OwnSlot, SlotError>> {
    bcs_core::memory::slot::own()
}

/// Returns how far into the slot the heap has ever reached, in bytes; 0 without a slot.
#[must_use]
pub fn high_water() -> usize {
    committed::high_water()
}
