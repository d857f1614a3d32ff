//! The arithmetic of a reduction: shared by all code that folds.

use bcs_core::job::Settings;
use bcs_core::reduction::arithmetic::{ArithmeticPath, CombineError, combine};
use bcs_core::reduction::{Datatype, Op};

/// The operation of a reduction, its datatype, and how to compute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arithmetic {
    op: Op,
    datatype: Datatype,
    /// Affects only the time; the bits are the same.
    path: ArithmeticPath,
}

impl Arithmetic {
    /// Creates the arithmetic of a reduction of these bytes.
    pub(super) fn new(op: Op, datatype: Datatype, bytes: u64, settings: &Settings) -> Self {
        let elements = bytes / datatype.size() as u64;
        let path = if elements <= u64::from(settings.soft_reduce_elements) {
            ArithmeticPath::Soft
        } else {
            ArithmeticPath::Host
        };
        Self { op, datatype, path }
    }

    /// Computes `partial = partial OP bytes`.
    pub(super) fn combine(self, partial: &mut [u8], bytes: &[u8]) -> Result<(), CombineError> {
        combine(self.op, self.datatype, self.path, partial, bytes)
    }
}
