//! What handles stand for.
//!
//! A handle has a generation, a kind and an index. The Fortran form of it (`MPI_Comm_toint`) is the index alone, beyond
//! the numbers of the predefined ones: 4096 and more.
//!
//! | file | is |
//! |---|---|
//! | `slots.rs` | objects and their generations |
//! | `shared.rs` | a table of objects that all threads look at |
//! | `shards.rs` | one of objects that a thread makes, and mostly itself uses up: requests |

mod shards;
mod shared;
mod slots;

pub use shards::{OpenTable, Shards};
pub use shared::Table;

/// Predefined handles are below.
pub const FIRST: usize = 4096;

const KIND: u32 = 32;
const GENERATION: u32 = 40;

/// A handle of a kind.
pub const fn handle(kind: u8, index: usize, generation: u32) -> usize {
    let generation = (generation & 0x00ff_ffff) as usize;
    (generation << GENERATION) | ((kind as usize) << KIND) | (index + FIRST)
}

/// The index that a handle of this kind alleges, and its generation.
#[inline]
pub fn parts(kind: u8, handle: usize) -> Option<(usize, u32)> {
    let index = (handle & 0xffff_ffff).checked_sub(FIRST)?;
    let alleged = handle >> KIND & 0xff;
    let generation = u32::try_from(handle >> GENERATION).ok()?;
    (alleged == usize::from(kind)).then_some((index, generation))
}

/// The Fortran form of a handle that stands for something.
fn to_integer(handle: usize) -> Option<i32> {
    i32::try_from(handle & 0xffff_ffff).ok()
}

/// The index of a Fortran form; of a predefined one the handle.
fn of_integer(integer: i32) -> Option<Result<usize, usize>> {
    let number = usize::try_from(integer).ok()?;
    Some(number.checked_sub(FIRST).ok_or(number))
}
