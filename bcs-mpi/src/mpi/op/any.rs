//! Operations of either kind, and their operands.

use super::user::UserOp;
use crate::bcs::Fold;
use crate::mpi::error::{ErrorClass, Operation, Result};
use crate::mpi::{Buffer, Comm};
use bcs_core::reduction::{Datatype, Op};

/// An operation (`MPI_Op`): predefined, or the program's own.
#[derive(Clone, Debug)]
pub enum AnyOp {
    /// `MPI_SUM` and the other predefined operations.
    Predefined(Op),
    /// An operation that `MPI_Op_create` made.
    User(UserOp),
}

impl From<Op> for AnyOp {
    fn from(op: Op) -> Self {
        Self::Predefined(op)
    }
}

impl From<UserOp> for AnyOp {
    fn from(op: UserOp) -> Self {
        Self::User(op)
    }
}

impl From<&UserOp> for AnyOp {
    fn from(op: &UserOp) -> Self {
        Self::User(op.clone())
    }
}

impl AnyOp {
    /// `MPI_Op_commutative`: returns whether it is commutative.
    #[must_use]
    pub fn commutative(&self) -> bool {
        match self {
            Self::Predefined(_) => true,
            Self::User(op) => op.commute,
        }
    }

    /// `MPI_Op_free`: gives up a handle. Reductions in progress keep the operation.
    ///
    /// # Errors
    /// When the operation is predefined: those are never freed.
    pub fn free(self) -> Result<()> {
        match self {
            Self::Predefined(op) => {
                let operation = Operation::plain("MPI_Op_free");
                let reason = format!("{op} is a predefined operation");
                Err(operation.error(ErrorClass::Op, reason))
            }
            Self::User(_) => Ok(()),
        }
    }

    /// Returns how elements of `data` are combined.
    pub(in crate::mpi) fn fold(
        &self,
        comm: &Comm,
        data: &Buffer,
        operation: Operation,
    ) -> Result<Fold> {
        match self {
            Self::Predefined(op) => Ok(Fold::Arithmetic(*op, reducible(*op, data, operation)?)),
            Self::User(op) => op.fold(comm.process(), data, operation),
        }
    }
}

/// Returns the elementary datatype of the data to reduce, if the operation is defined on it.
pub(super) fn reducible(op: Op, data: &Buffer, operation: Operation) -> Result<Datatype> {
    let Some(datatype) = data.datatype().operand_element() else {
        let reason = "predefined operations are defined on predefined datatypes only";
        return Err(operation.error(ErrorClass::Type, reason));
    };
    if !op.allowed(datatype) {
        let reason = format!("{op} is not defined on {datatype} (MPI 5.0, 6.9.2)");
        return Err(operation.error(ErrorClass::Op, reason));
    }
    Ok(datatype)
}

/// Checks that input and output of a reduction have one datatype.
pub(in crate::mpi) fn one_datatype(
    input: &Buffer,
    output: &Buffer,
    operation: Operation,
) -> Result<()> {
    let (one, other) = (input.datatype(), output.datatype());
    // A section of an array and contiguous data differ in their places alone.
    let is_section = one.elementary().is_none() || other.elementary().is_none();
    let element = one.operand_element().filter(|_| is_section);
    let same_elements = element.is_some() && element == other.operand_element();
    if one != other && !same_elements {
        let reason = "input and output are of different datatypes";
        return Err(operation.error(ErrorClass::Type, reason));
    }
    Ok(())
}
