//! The world of a job over the MPI that a run has chosen.
//!
//! A program that is large and calls rarely, as our applications do, is compiled once for this type
//! and not once for each MPI: a branch in each call costs nothing beside the call, and the other
//! copy would cost a fifth of the time to build the `bcs` command.

use super::{AbiError, AbiRequest, World};
use crate::MessagePassing;
use bcs_mpi::{Communicator, OwnedRequest};

/// The world of a job, over one of two MPIs.
#[derive(Debug)]
pub enum ChosenWorld<'a> {
    /// The world of our MPI.
    Bcs(&'a Communicator),
    /// The world of a library.
    Abi(&'a World),
}

/// An error of the MPI that was chosen.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum ChosenError {
    /// An error of our MPI.
    Bcs(#[from] Box<bcs_mpi::Error>),
    /// An error of a library.
    Abi(#[from] AbiError),
}

/// A non-blocking operation of the MPI that was chosen.
#[derive(Debug)]
pub enum ChosenRequest {
    /// A request of our MPI.
    Bcs(OwnedRequest<f64>),
    /// A request of a library.
    Abi(AbiRequest),
}

/// Calls the MPI that was chosen.
macro_rules! on_chosen {
    ($world:ident, $mpi:ident => $call:expr) => {
        match $world {
            Self::Bcs($mpi) => Ok($call?),
            Self::Abi($mpi) => Ok($call?),
        }
    };
}

impl ChosenRequest {
    fn into_bcs(self) -> OwnedRequest<f64> {
        match self {
            Self::Bcs(request) => request,
            Self::Abi(_) => unreachable!("a world waits for requests of its own"),
        }
    }

    fn into_abi(self) -> AbiRequest {
        match self {
            Self::Abi(request) => request,
            Self::Bcs(_) => unreachable!("a world waits for requests of its own"),
        }
    }
}

impl MessagePassing for ChosenWorld<'_> {
    type Error = ChosenError;
    type Request = ChosenRequest;

    fn rank(&self) -> usize {
        match self {
            Self::Bcs(mpi) => mpi.rank(),
            Self::Abi(mpi) => mpi.rank(),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Bcs(mpi) => mpi.size(),
            Self::Abi(mpi) => mpi.size(),
        }
    }

    fn send(&self, data: &[f64], destination: usize, tag: i32) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => mpi.send(data, destination, tag))
    }

    fn recv(&self, data: &mut [f64], source: usize, tag: i32) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => MessagePassing::recv(*mpi, data, source, tag))
    }

    fn isend(
        &self,
        data: Vec<f64>,
        destination: usize,
        tag: i32,
    ) -> Result<ChosenRequest, ChosenError> {
        Ok(match self {
            Self::Bcs(mpi) => {
                ChosenRequest::Bcs(MessagePassing::isend(*mpi, data, destination, tag)?)
            }
            Self::Abi(mpi) => ChosenRequest::Abi(mpi.isend(data, destination, tag)?),
        })
    }

    fn irecv(&self, data: Vec<f64>, source: usize, tag: i32) -> Result<ChosenRequest, ChosenError> {
        Ok(match self {
            Self::Bcs(mpi) => ChosenRequest::Bcs(MessagePassing::irecv(*mpi, data, source, tag)?),
            Self::Abi(mpi) => ChosenRequest::Abi(mpi.irecv(data, source, tag)?),
        })
    }

    fn wait(&self, request: ChosenRequest) -> Result<Vec<f64>, ChosenError> {
        Ok(match self {
            Self::Bcs(mpi) => MessagePassing::wait(*mpi, request.into_bcs())?,
            Self::Abi(mpi) => mpi.wait(request.into_abi())?,
        })
    }

    fn wait_all(
        &self,
        requests: &mut Vec<ChosenRequest>,
        buffers: &mut Vec<Vec<f64>>,
    ) -> Result<(), ChosenError> {
        let requests = std::mem::take(requests).into_iter();
        match self {
            Self::Bcs(mpi) => {
                let mut requests = requests.map(ChosenRequest::into_bcs).collect();
                Ok(MessagePassing::wait_all(*mpi, &mut requests, buffers)?)
            }
            Self::Abi(mpi) => {
                let mut requests = requests.map(ChosenRequest::into_abi).collect();
                Ok(mpi.wait_all(&mut requests, buffers)?)
            }
        }
    }

    fn barrier(&self) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => mpi.barrier())
    }

    fn bcast(&self, data: &mut [f64], root: usize) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => mpi.bcast(data, root))
    }

    fn allreduce_max(&self, data: &mut [f64]) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => mpi.allreduce_max(data))
    }

    fn allreduce_sum(&self, data: &mut [f64]) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => mpi.allreduce_sum(data))
    }

    fn allreduce_sum_i64(&self, data: &mut [i64]) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => mpi.allreduce_sum_i64(data))
    }

    fn probe(&self, source: usize, tag: i32) -> Result<usize, ChosenError> {
        on_chosen!(self, mpi => MessagePassing::probe(*mpi, source, tag))
    }

    fn allgather(&self, data: &[f64], result: &mut [f64]) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => mpi.allgather(data, result))
    }

    fn alltoall(&self, data: &[f64], result: &mut [f64]) -> Result<(), ChosenError> {
        on_chosen!(self, mpi => mpi.alltoall(data, result))
    }
}
