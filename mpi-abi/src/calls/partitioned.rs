//! Partitioned communication (MPI 5.0, chapter 4). Its init functions are with those of other
//! messages.

use super::calls;
use super::taken_requests::{comm_or_self, no_request};
use crate::answer::{Outcome, error};
use crate::c::*;
use crate::objects::{REQUESTS, RequestContent, list, put};
use crate::state;
use bcs_mpi::mpi::{ErrorClass, PartitionedMessage, Result};
use std::ffi::c_int;

/// Checks the number of a partition.
fn number(partition: c_int) -> Result<usize> {
    usize::try_from(partition)
        .map_err(|_| error(ErrorClass::Arg, format!("the partition is {partition}")))
}

/// Runs a function on a partitioned message, without the table's lock. Errors belong to its
/// communicator.
fn with_parts<T>(
    handle: MPI_Request,
    call: impl FnOnce(&PartitionedMessage) -> Result<T>,
) -> Outcome<T> {
    state::process()?;
    let found = REQUESTS.with_mut(handle.0, |entry| {
        let parts = match &entry.what {
            RequestContent::Persistent(persistent) => persistent.partitioned(),
            RequestContent::Once(_) | RequestContent::Taken | RequestContent::Freed => None,
        };
        (entry.on, parts)
    });
    let (on, parts) = found.ok_or_else(|| no_request(handle))?;
    comm_or_self(on)?.run(|_| match parts {
        Some(parts) => call(&parts),
        None => Err(error(ErrorClass::Request, "the request has no partitions")),
    })
}

/// Marks partitions as ready. In a list longer than the number of partitions one is invalid or
/// occurs twice, so the rest need not be read.
fn ready(handle: MPI_Request, partitions: impl Iterator<Item = c_int>) -> Outcome {
    with_parts(handle, |message| {
        let parts = partitions.take(message.parts() + 1).map(number);
        message.ready(&parts.collect::<Result<Vec<usize>>>()?)
    })
}

calls! {
    fn PMPI_Pready(partition: c_int, request: MPI_Request) {
        ready(request, std::iter::once(partition))
    }

    fn PMPI_Pready_range(partition_low: c_int, partition_high: c_int, request: MPI_Request) {
        ready(request, partition_low..=partition_high)
    }

    fn PMPI_Pready_list(length: c_int, array_of_partitions: *const c_int, request: MPI_Request) {
        ready(request, list(array_of_partitions, length)?.iter().copied())
    }

    fn PMPI_Parrived(request: MPI_Request, partition: c_int, flag: *mut c_int) {
        put(flag, 0)?;
        if request == MPI_REQUEST_NULL {
            state::process()?;
            return Ok(put(flag, 1)?);
        }
        let arrived = with_parts(request, |message| message.arrived(number(partition)?))?;
        Ok(put(flag, c_int::from(arrived))?)
    }
}
