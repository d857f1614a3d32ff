//! What a reduction computes, and how: one for all who fold.

use bcs_core::job::Settings;
use bcs_core::reduction::arithmetic::{ArithmeticPath, CombineError, combine};
use bcs_core::reduction::{Datatype, Op};

/// What a reduction computes, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arithmetic {
    op: Op,
    datatype: Datatype,
    /// A question of time only, the bits are the same.
    path: ArithmeticPath,
}

impl Arithmetic {
    /// That of a reduction of so many bytes.
    pub(super) fn new(op: Op, datatype: Datatype, bytes: u64, settings: &Settings) -> Self {
        let elements = bytes / datatype.size() as u64;
        let path = if elements <= u64::from(settings.soft_reduce_elements) {
            ArithmeticPath::Soft
        } else {
            ArithmeticPath::Host
        };
        Self { op, datatype, path }
    }

    /// `partial = partial OP bytes`.
    pub(super) fn combine(self, partial: &mut [u8], bytes: &[u8]) -> Result<(), CombineError> {
        combine(self.op, self.datatype, self.path, partial, bytes)
    }
}
