//! Operations of reductions (MPI 5.0, 6.9.5 to 6.9.7).

use super::calls;
use super::collectives::apart;
use crate::answer::{Outcome, error};
use crate::c::*;
use crate::combining::{ProgramOp, UserFunction, op_on};
use crate::objects::{OPS, buffer, list_mut, predefined_op, put};
use crate::state;
use bcs_mpi::mpi::{ErrorClass, reduce_local};
use std::ffi::{c_int, c_void};

/// Makes an operation of a function of the program.
///
/// # Errors
/// Before `MPI_Init`, or if there is no place for the handle.
pub fn insert_operation(function: UserFunction, commute: c_int, op: *mut MPI_Op) -> Outcome {
    state::process()?;
    put(op, MPI_OP_NULL)?;
    let made = ProgramOp::new(function, commute != 0);
    Ok(put(op, MPI_Op(OPS.insert(made)))?)
}

calls! {
    fn PMPI_Op_create | PMPI_Op_create_c(user_fn: F, commute: c_int, op: *mut MPI_Op) {
        state::process()?;
        let Some(function) = user_fn else {
            let reason = "the function of the operation is at address 0";
            return Err(error(ErrorClass::Arg, reason).into());
        };
        insert_operation(UserFunction::from(function), commute, op)
    }

    fn PMPI_Op_free(op: *mut MPI_Op) {
        state::process()?;
        let place = &mut list_mut(op, 1)?[0];
        // This reports an invalid handle.
        crate::objects::op(*place)?;
        if predefined_op(*place).is_some() || OPS.remove(place.0).is_none() {
            let reason = format!("{:#x} is a predefined operation", place.0);
            return Err(error(ErrorClass::Op, reason).into());
        }
        *place = MPI_OP_NULL;
        Ok(())
    }

    fn PMPI_Op_commutative(op: MPI_Op, commute: *mut c_int) {
        state::process()?;
        // Operations of windows are operations, too, though not of reductions.
        let commutative = match op {
            MPI_REPLACE | MPI_NO_OP => false,
            op => crate::objects::op(op)?.commutative(),
        };
        Ok(put(commute, c_int::from(commutative))?)
    }

    fn PMPI_Reduce_local | PMPI_Reduce_local_c(inbuf: *const c_void, inoutbuf: *mut c_void, count: N, datatype: MPI_Datatype, op: MPI_Op) {
        state::process()?;
        apart(inbuf, inoutbuf, count)?;
        let input = buffer(inbuf, count, datatype)?.as_contribution();
        Ok(reduce_local(input, buffer(inoutbuf, count, datatype)?, op_on(op, datatype)?)?)
    }
}
