//! The data of messages: where they lie, and how they are copied.
//!
//! | file | is |
//! |---|---|
//! | `data_view.rs` | memory as messages name it, and the promise that goes with it |
//! | `block_spans.rs`, `copying.rs` | where the blocks of a data view are; copies out of data views, into them and between them |
//! | `bytes.rs`, `words.rs` | the program's memory: the only places that touch it; the latter as words |
//! | `packing.rs` | contiguous memory for data in small pieces |
//! | `scratch.rs` | scratch memory of a collective |
//! | `own_memory.rs` | whether memory that a program named is mapped |

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
pub use data_view::{ByteRange, DataView, DataViews, EvenBlocks};
pub(crate) use packing::{LOCAL_SMALL_PIECE_BYTES, PackBuffer, PackBufferPool, SMALL_PIECE_BYTES};
pub(crate) use scratch::Scratch;
pub(crate) use words::InlineWords;

/// Longer copies are made without the endpoint's lock: they take some 7 us out of caches and 20 out
/// of memory, and to wake a thread that sleeps behind the lock takes 5 to 10. (To take a deferred
/// copy and return it takes half a microsecond.)
pub(crate) const LONG_BYTES: usize = 256 * 1024;
