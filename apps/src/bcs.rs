//! The programs over our own MPI.

mod byte_passing;

use crate::MessagePassing;
use bcs_mpi::{Communicator, Op, OwnedRequest, Source, Tag, Universe};
use std::ffi::OsString;
use std::process::ExitCode;

/// The error of a failed call.
type Error = Box<bcs_mpi::Error>;

impl MessagePassing for Communicator {
    type Error = Error;
    type Request = OwnedRequest<f64>;

    fn rank(&self) -> usize {
        self.rank()
    }

    fn size(&self) -> usize {
        self.size()
    }

    fn send(&self, data: &[f64], destination: usize, tag: i32) -> Result<(), Error> {
        self.send(data, destination, tag)
    }

    fn recv(&self, data: &mut [f64], source: usize, tag: i32) -> Result<(), Error> {
        self.recv(data, Source::Rank(source), Tag::Is(tag))
            .map(|_| ())
    }

    fn isend(&self, data: Vec<f64>, destination: usize, tag: i32) -> Result<Self::Request, Error> {
        self.isend_owned(data, destination, tag)
    }

    fn irecv(&self, data: Vec<f64>, source: usize, tag: i32) -> Result<Self::Request, Error> {
        self.irecv_owned(data, Source::Rank(source), Tag::Is(tag))
    }

    fn wait(&self, request: Self::Request) -> Result<Vec<f64>, Error> {
        request.wait().map(|(data, _)| data)
    }

    fn wait_all(
        &self,
        requests: &mut Vec<Self::Request>,
        buffers: &mut Vec<Vec<f64>>,
    ) -> Result<(), Error> {
        let done = OwnedRequest::wait_all(std::mem::take(requests))?;
        buffers.extend(done.into_iter().map(|(data, _)| data));
        Ok(())
    }

    fn barrier(&self) -> Result<(), Error> {
        self.barrier()
    }

    fn bcast(&self, data: &mut [f64], root: usize) -> Result<(), Error> {
        self.bcast(data, root)
    }

    fn allreduce_max(&self, data: &mut [f64]) -> Result<(), Error> {
        self.allreduce_in_place(data, Op::Max)
    }

    fn allreduce_sum(&self, data: &mut [f64]) -> Result<(), Error> {
        self.allreduce_in_place(data, Op::Sum)
    }

    fn allreduce_sum_i64(&self, data: &mut [i64]) -> Result<(), Error> {
        self.allreduce_in_place(data, Op::Sum)
    }

    fn probe(&self, source: usize, tag: i32) -> Result<usize, Error> {
        let status = self.probe(Source::Rank(source), Tag::Is(tag))?;
        Ok(status.bytes / size_of::<f64>())
    }

    fn allgather(&self, data: &[f64], result: &mut [f64]) -> Result<(), Error> {
        self.allgather(data, result)
    }

    fn alltoall(&self, data: &[f64], result: &mut [f64]) -> Result<(), Error> {
        self.alltoall(data, result)
    }
}

/// Runs a program as a rank of a job, or alone: from MPI_Init to MPI_Finalize.
pub fn run(
    name: &str,
    program: impl FnOnce(&Communicator, &[String]) -> ExitCode,
    arguments: Vec<OsString>,
) -> ExitCode {
    let failed = |what: &str, error: Error| {
        eprintln!("{name}: failed to {what}: {error}");
        ExitCode::from(crate::usage::FAILURE)
    };
    let universe = match Universe::init() {
        Ok(universe) => universe,
        Err(error) => return failed("start MPI", error),
    };
    let arguments: Vec<String> = arguments
        .into_iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let code = program(universe.world(), &arguments);
    match universe.finalize() {
        Ok(()) => code,
        Err(error) => failed("finish MPI", error),
    }
}
