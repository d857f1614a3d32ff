//! `MPI_Get_elements` (MPI 5.0, 5.1.11): the number of basic elements in a number of bytes.

use super::handle::{Datatype, DatatypeKind};

impl Datatype {
    /// Returns how many basic elements of this type a message of `bytes` bytes has; `None`
    /// (`MPI_UNDEFINED`) if it ends within an element, or if it has bytes and the type has none.
    pub(in crate::mpi) fn elements_in(&self, bytes: u64) -> Option<u64> {
        let bounds = self.bounds();
        if bounds.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let whole = (bytes / bounds.size).checked_mul(bounds.entries)?;
        whole.checked_add(self.elements_of_part(bytes % bounds.size)?)
    }

    /// Returns the same for less than one element of this type.
    fn elements_of_part(&self, mut bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        let derived = match &self.0 {
            DatatypeKind::Derived(derived) => derived,
            // The value of a pair has come, but not its place.
            DatatypeKind::Predefined(named) => {
                let value = named.element.pair().map(|pair| pair.value.size() as u64);
                return (value == Some(bytes)).then_some(1);
            }
        };
        let mut elements = 0;
        for part in &derived.parts {
            let of = part.datatype.bounds();
            // This is at most the number of the type's bytes, which fits 64 bits.
            let copies = part.count * part.length;
            let all = copies * of.size;
            if bytes < all {
                return Some(elements + part.datatype.elements_in(bytes)?);
            }
            elements += copies * of.entries;
            bytes -= all;
        }
        (bytes == 0).then_some(elements)
    }
}
