//! The data of messages: where they lie, and how they are copied.
//!
//! | file | is |
//! |---|---|
//! | `piece.rs` | memory as messages name it, and what is promised of it |
//! | `stretches.rs`, `copying.rs` | where the blocks of a piece are; copies out of pieces, into them and between them |
//! | `bytes.rs`, `words.rs` | the program's memory: the only places that touch it; the latter as words |
//! | `packing.rs` | memory for small pieces side by side |
//! | `scratch.rs` | memory that a collective has of its own |
//! | `own_memory.rs` | whether what a program named is there |

mod block_spans;
mod bytes;
mod copying;
mod data_view;
pub(crate) mod own_memory;
mod packing;
mod scratch;
mod words;

pub(crate) use bytes::start;
pub(crate) use copying::{
    copy, copy_alike, fill, gather, gather_words, look_at, scatter, scatter_from, scatter_words,
};
pub use data_view::{ByteRange, DataView, DataViews, Row};
pub(crate) use packing::{LOCAL_SMALL_PIECE_BYTES, PackBuffer, PackBufferPool, SMALL_PIECE_BYTES};
pub(crate) use scratch::Scratch;
pub(crate) use words::InlineWords;

/// Longer copies are made without the endpoint's lock: they take some 7 us out of caches and 20 out of memory, and to
/// wake a thread that sleeps behind it takes 5 to 10. (To take an errand and bring it back is half a microsecond.)
pub(crate) const LONG_BYTES: usize = 256 * 1024;
