//! `MPI_Get_elements` (MPI 5.0, 5.1.11): how many basic elements so many bytes are.

use super::handle::{Datatype, DatatypeKind};

impl Datatype {
    /// How many basic elements a message of so many bytes of this type has; `None`
    /// (`MPI_UNDEFINED`) if it ends within one, or has bytes though the type has none.
    pub(in crate::mpi) fn elements_in(&self, bytes: u64) -> Option<u64> {
        let bounds = self.bounds();
        if bounds.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let whole = (bytes / bounds.size).checked_mul(bounds.entries)?;
        whole.checked_add(self.elements_of_part(bytes % bounds.size)?)
    }

    /// The same for less than one element of this type.
    fn elements_of_part(&self, mut bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        let derived = match &self.0 {
            DatatypeKind::Derived(derived) => derived,
            // The value of a pair came, and its place did not.
            DatatypeKind::Predefined(named) => {
                let value = named.element.pair().map(|pair| pair.value.size() as u64);
                return (value == Some(bytes)).then_some(1);
            }
        };
        let mut elements = 0;
        for part in &derived.parts {
            let of = part.datatype.bounds();
            // No more than the bytes of the type, which fit 64 bits.
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
