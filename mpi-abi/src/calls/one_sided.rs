//! Operations on windows (MPI 5.0, 12.3).

use super::calls;
use super::requests::{checked, hand_out};
use crate::answer::{Outcome, error, run_on_window};
use crate::c::*;
use crate::combining::accumulate_op;
use crate::objects::{Number, RequestKind, buffer, datatype};
use crate::windows::WindowEntry;
use bcs_mpi::mpi::window::{AccumulateOp, TargetData};
use bcs_mpi::mpi::{Buffer, Datatype, ErrorClass, Request, Result};
use std::ffi::{c_int, c_void};

/// The data of a target, with the datatype that it refers to.
struct TargetArguments {
    displacement: MPI_Aint,
    count: usize,
    datatype: Datatype,
}

impl TargetArguments {
    fn new(
        rank: c_int,
        displacement: MPI_Aint,
        count: impl Number,
        of: MPI_Datatype,
    ) -> Result<Self> {
        let count = count.wide();
        let Ok(elements) = usize::try_from(count) else {
            let reason = format!("the count at the target is {count}");
            return Err(error(ErrorClass::Count, reason));
        };
        // Without a target there need be no datatype.
        let datatype = match (rank, of) {
            (MPI_PROC_NULL, MPI_DATATYPE_NULL) => Datatype::BYTE,
            _ => datatype(of)?,
        };
        Ok(Self {
            displacement,
            count: elements,
            datatype,
        })
    }

    fn data(&self) -> TargetData<'_> {
        TargetData {
            displacement: self.displacement as i64,
            count: self.count,
            datatype: &self.datatype,
        }
    }
}

/// Returns the data of the origin. Without a target, or with `MPI_NO_OP`, they are not used.
fn origin(
    address: *const c_void,
    count: impl Number,
    of: MPI_Datatype,
    is_used: bool,
) -> Result<Buffer> {
    match is_used {
        true => buffer(address, count, of),
        false => Ok(Buffer::EMPTY),
    }
}

/// Starts an operation on a window, and returns its request.
fn requested(
    win: MPI_Win,
    request: *mut MPI_Request,
    start: impl FnOnce(&WindowEntry) -> Result<Request>,
) -> Outcome {
    let started = run_on_window(win, |entry| {
        checked(request)?;
        start(entry)
    })?;
    hand_out((MPI_COMM_SELF, RequestKind::Collective), request, started)
}

calls! {
    fn PMPI_Put | PMPI_Put_c(origin_addr: *const c_void, origin_count: N, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: N, target_datatype: MPI_Datatype, win: MPI_Win) {
        run_on_window(win, |entry| {
            let target = TargetArguments::new(target_rank, target_disp, target_count, target_datatype)?;
            let from = origin(origin_addr, origin_count, origin_datatype, target_rank != MPI_PROC_NULL)?;
            entry.window.put(&from, target_rank, target.data())
        })
    }

    fn PMPI_Get | PMPI_Get_c(origin_addr: *mut c_void, origin_count: N, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: N, target_datatype: MPI_Datatype, win: MPI_Win) {
        run_on_window(win, |entry| {
            let target = TargetArguments::new(target_rank, target_disp, target_count, target_datatype)?;
            let into = origin(origin_addr, origin_count, origin_datatype, target_rank != MPI_PROC_NULL)?;
            entry.window.get(&into, target_rank, target.data())
        })
    }

    fn PMPI_Accumulate | PMPI_Accumulate_c(origin_addr: *const c_void, origin_count: N, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: N, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win) {
        run_on_window(win, |entry| {
            let op = accumulate_op(op, origin_datatype)?;
            let target = TargetArguments::new(target_rank, target_disp, target_count, target_datatype)?;
            let is_used = target_rank != MPI_PROC_NULL && op != AccumulateOp::NoOp;
            let from = origin(origin_addr, origin_count, origin_datatype, is_used)?;
            entry.window.accumulate(&from, target_rank, target.data(), op)
        })
    }

    fn PMPI_Get_accumulate | PMPI_Get_accumulate_c(origin_addr: *const c_void, origin_count: N, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: N, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: N, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win) {
        run_on_window(win, |entry| {
            let op = accumulate_op(op, target_datatype)?;
            let target = TargetArguments::new(target_rank, target_disp, target_count, target_datatype)?;
            let is_there = target_rank != MPI_PROC_NULL;
            let from = origin(origin_addr, origin_count, origin_datatype, is_there && op != AccumulateOp::NoOp)?;
            let result = origin(result_addr, result_count, result_datatype, is_there)?;
            entry.window.get_accumulate(&from, &result, target_rank, target.data(), op)
        })
    }

    fn PMPI_Fetch_and_op(origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win) {
        run_on_window(win, |entry| {
            let op = accumulate_op(op, datatype)?;
            let is_there = target_rank != MPI_PROC_NULL;
            let from = origin(origin_addr, 1, datatype, is_there && op != AccumulateOp::NoOp)?;
            let result = buffer(result_addr, 1, datatype)?;
            entry.window.fetch_and_op(&from, &result, target_rank, target_disp as i64, op)
        })
    }

    fn PMPI_Compare_and_swap(origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win) {
        run_on_window(win, |entry| {
            let (new, compare) = (buffer(origin_addr, 1, datatype)?, buffer(compare_addr, 1, datatype)?);
            let result = buffer(result_addr, 1, datatype)?;
            entry.window.compare_and_swap((&new, &compare), &result, target_rank, target_disp as i64)
        })
    }

    fn PMPI_Rput | PMPI_Rput_c(origin_addr: *const c_void, origin_count: N, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: N, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request) {
        requested(win, request, |entry| {
            let target = TargetArguments::new(target_rank, target_disp, target_count, target_datatype)?;
            let from = origin(origin_addr, origin_count, origin_datatype, target_rank != MPI_PROC_NULL)?;
            entry.window.rput(&from, target_rank, target.data())
        })
    }

    fn PMPI_Rget | PMPI_Rget_c(origin_addr: *mut c_void, origin_count: N, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: N, target_datatype: MPI_Datatype, win: MPI_Win, request: *mut MPI_Request) {
        requested(win, request, |entry| {
            let target = TargetArguments::new(target_rank, target_disp, target_count, target_datatype)?;
            let into = origin(origin_addr, origin_count, origin_datatype, target_rank != MPI_PROC_NULL)?;
            entry.window.rget(&into, target_rank, target.data())
        })
    }

    fn PMPI_Raccumulate | PMPI_Raccumulate_c(origin_addr: *const c_void, origin_count: N, origin_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: N, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request) {
        requested(win, request, |entry| {
            let op = accumulate_op(op, origin_datatype)?;
            let target = TargetArguments::new(target_rank, target_disp, target_count, target_datatype)?;
            let is_used = target_rank != MPI_PROC_NULL && op != AccumulateOp::NoOp;
            let from = origin(origin_addr, origin_count, origin_datatype, is_used)?;
            entry.window.raccumulate(&from, target_rank, target.data(), op)
        })
    }

    fn PMPI_Rget_accumulate | PMPI_Rget_accumulate_c(origin_addr: *const c_void, origin_count: N, origin_datatype: MPI_Datatype, result_addr: *mut c_void, result_count: N, result_datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, target_count: N, target_datatype: MPI_Datatype, op: MPI_Op, win: MPI_Win, request: *mut MPI_Request) {
        requested(win, request, |entry| {
            let op = accumulate_op(op, target_datatype)?;
            let target = TargetArguments::new(target_rank, target_disp, target_count, target_datatype)?;
            let is_there = target_rank != MPI_PROC_NULL;
            let from = origin(origin_addr, origin_count, origin_datatype, is_there && op != AccumulateOp::NoOp)?;
            let result = origin(result_addr, result_count, result_datatype, is_there)?;
            entry.window.rget_accumulate(&from, &result, target_rank, target.data(), op)
        })
    }
}
