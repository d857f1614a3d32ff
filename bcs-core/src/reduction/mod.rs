//! The computation of reductions, to the bit: its [datatypes](Datatype), its [operations](Op), and
//! its [`arithmetic`].

pub mod arithmetic;
mod datatype;
mod op;

pub use datatype::{Datatype, DatatypeClass, LocationPair};
pub use op::Op;
