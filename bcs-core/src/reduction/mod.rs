//! What a reduction computes, to the bit: of which [datatypes](Datatype), by which [operation](Op), and
//! [how](arithmetic).

pub mod arithmetic;
mod datatype;
mod op;

pub use datatype::{Datatype, DatatypeClass, LocationPair};
pub use op::Op;
