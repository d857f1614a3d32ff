//! Datatypes (MPI 5.0, chapter 5): which bytes at which distances are an element.
//!
//! | module | is |
//! |---|---|
//! | `handle` | a datatype |
//! | [`constructors`](Datatype::vector), [`arrays`](Datatype::subarray) | how types are made of types |
//! | [`contents`] | how a type says what it was made of, by which `combiner` |
//! | `bounds`, `hull` | size, extent and bounds of a type map, without the map |
//! | `compile`, `pairs` | what a commit makes of a type: a [`Layout`](bcs_core::layout::Layout) |
//! | `named` | predefined types, and how wide they are in `external32` |
//! | `runs` | the predefined elements of a type, one after the other |
//! | `basic_types` | which basic types elements are, and in words |
//! | `signature` | what stands for the basic types of so many elements |
//! | `beginnings` | the same of so many bytes, in the bits of a mark |
//! | `elements` | how many basic elements so many bytes are |
//!
//! A predefined type is a number; a derived one is a handle that is counted. Whatever uses a type
//! (another type, a request) holds it, so `MPI_Type_free` is no more than giving up a handle.
//!
//! Counts, displacements and bounds are 64 bits wide (`MPI_Count`), which includes those of the
//! older bindings. A type whose size or bounds do not fit is refused when it is made, so later
//! arithmetic on them cannot overflow.

mod arrays;
mod basic_types;
mod bounds;
mod combiner;
mod compile;
mod constructors;
pub mod contents;
mod elements;
mod handle;
mod hull;
mod pairs;
mod predefined;
mod prefix_signatures;
mod runs;
mod signature;
#[cfg(test)]
mod tests;

pub use combiner::{Combiner, Distribution, Order};
pub use contents::Envelope;
pub use handle::Datatype;
pub(super) use predefined::{External32Form, PredefinedType};
pub(super) use signature::PrefixSignature;
