//! The predefined elements of a type, in the order of its type map.

use super::handle::{Datatype, DatatypeKind};
use super::predefined::PredefinedType;
use crate::mpi::error::Result;

impl Datatype {
    /// Calls `visit` for each run of predefined elements in `copies` elements of this type, with
    /// the predefined type and the length of the run.
    ///
    /// # Errors
    /// As `visit`.
    pub(in crate::mpi) fn runs(
        &self,
        copies: u64,
        visit: &mut impl FnMut(&PredefinedType, u64) -> Result<()>,
    ) -> Result<()> {
        let derived = match &self.0 {
            DatatypeKind::Predefined(named) => return visit(named, copies),
            DatatypeKind::Derived(derived) => derived,
        };
        // After this check, each turn passes at least a byte of the data.
        if copies == 0 || derived.bounds.size == 0 {
            return Ok(());
        }
        let (turns, copies) = match derived.parts.len() {
            1 => (1, copies),
            _ => (copies, 1),
        };
        for _ in 0..turns {
            for part in &derived.parts {
                if part.datatype.bounds().size > 0 {
                    // This is at most the number of the data's bytes, which fits 64 bits.
                    part.datatype
                        .runs(copies * part.count * part.length, visit)?;
                }
            }
        }
        Ok(())
    }
}
