//! Datatypes (MPI 5.0, chapter 5): which bytes at which distances form an element.
//!
//! | module | is |
//! |---|---|
//! | `handle` | a datatype |
//! | [`constructors`](Datatype::vector), [`arrays`](Datatype::subarray) | how types are made of types |
//! | [`contents`] | the arguments that a type was made of, and by which `combiner` |
//! | `bounds`, `hull` | size, extent and bounds of a type map, without the map |
//! | `compile`, `pairs` | what a commit makes of a type: a [`DataLayout`](bcs_core::layout::DataLayout) |
//! | `predefined` | predefined types, and how wide they are in `external32` |
//! | `runs` | the predefined elements of a type, one after the other |
//! | `basic_types` | the basic types of elements, as a signature and in words |
//! | `signature` | a number that stands for a sequence of basic types |
//! | `prefix_signatures` | the same for the first bytes of elements, in the check bits of a message |
//! | `elements` | the number of basic elements in a number of bytes |
//!
//! A predefined type is a number; a derived one is a handle that is counted. Each user of a type
//! (another type, a request) holds a handle, so `MPI_Type_free` only gives up one.
//!
//! Counts, displacements and bounds are 64 bits wide (`MPI_Count`), which includes those of the
//! older bindings. A constructor refuses a type whose size or bounds do not fit, so later
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
