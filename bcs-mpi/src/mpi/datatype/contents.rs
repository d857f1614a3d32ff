//! The arguments that a type was made of (MPI 5.0, 5.1.13).

pub use super::combiner::{Combiner, Distribution, Order};
pub use super::handle::Contents;
use super::handle::{Datatype, DatatypeKind};
use crate::mpi::error::{ErrorClass, Operation, Result};

/// `MPI_Type_get_envelope`: how many arguments of each kind a type was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The call that made it.
    pub combiner: Combiner,
    /// Counts, lengths, and displacements in elements.
    pub integers: usize,
    /// Displacements and bounds in bytes.
    pub addresses: usize,
    /// Types.
    pub datatypes: usize,
}

impl Datatype {
    /// `MPI_Type_get_envelope`.
    #[must_use]
    pub fn envelope(&self) -> Envelope {
        match &self.0 {
            DatatypeKind::Predefined(_) => Envelope {
                combiner: Combiner::Named,
                integers: 0,
                addresses: 0,
                datatypes: 0,
            },
            DatatypeKind::Derived(derived) => {
                let contents = &derived.contents;
                Envelope {
                    combiner: contents.combiner,
                    integers: contents.integers.len(),
                    addresses: contents.addresses.len(),
                    datatypes: contents.datatypes.len(),
                }
            }
        }
    }

    /// `MPI_Type_get_contents`: returns the arguments that the type was made of.
    ///
    /// # Errors
    /// When the type is predefined.
    pub fn contents(&self) -> Result<&Contents> {
        match &self.0 {
            DatatypeKind::Derived(derived) => Ok(&derived.contents),
            DatatypeKind::Predefined(named) => {
                let operation = Operation::plain("MPI_Type_get_contents");
                Err(operation.error(ErrorClass::Type, format!("{} is predefined", named.element)))
            }
        }
    }
}
