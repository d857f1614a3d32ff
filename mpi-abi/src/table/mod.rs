//! The tables of objects behind handles.
//!
//! A handle has a generation, a kind and an index. Its Fortran form (`MPI_Comm_toint`) is the index
//! alone, above the numbers of the predefined handles: 4096 and more.
//!
//! | file | is |
//! |---|---|
//! | `slots.rs` | objects and their generations |
//! | `shared.rs` | a table of objects that all threads use |
//! | `shards.rs` | a table of objects that mostly the same thread makes and removes: requests |

mod shards;
mod shared;
mod slots;

pub use shards::{OpenTable, Shards};
pub use shared::Table;

/// The first index. Predefined handles are below.
pub const FIRST: usize = 4096;

const KIND: u32 = 32;
const GENERATION: u32 = 40;

/// Makes a handle of a kind.
pub const fn handle(kind: u8, index: usize, generation: u32) -> usize {
    let generation = (generation & 0x00ff_ffff) as usize;
    (generation << GENERATION) | ((kind as usize) << KIND) | (index + FIRST)
}

/// Returns the index and the generation in a handle of this kind, which may be invalid.
#[inline]
pub fn parts(kind: u8, handle: usize) -> Option<(usize, u32)> {
    let index = (handle & 0xffff_ffff).checked_sub(FIRST)?;
    let alleged = handle >> KIND & 0xff;
    let generation = u32::try_from(handle >> GENERATION).ok()?;
    (alleged == usize::from(kind)).then_some((index, generation))
}

/// Returns the Fortran form of a valid handle.
fn to_integer(handle: usize) -> Option<i32> {
    i32::try_from(handle & 0xffff_ffff).ok()
}

/// Returns the index of a Fortran form, or, as an error, the predefined handle.
fn of_integer(integer: i32) -> Option<Result<usize, usize>> {
    let number = usize::try_from(integer).ok()?;
    Some(number.checked_sub(FIRST).ok_or(number))
}
