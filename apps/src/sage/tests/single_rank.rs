//! A job of one rank, which allocates nothing.

use std::convert::Infallible;

use crate::MessagePassing;

pub(crate) struct SingleRankJob;

type Result<T = ()> = std::result::Result<T, Infallible>;

const NOBODY: &str = "there is nobody to exchange messages with";

impl MessagePassing for SingleRankJob {
    type Error = Infallible;
    type Request = Infallible;

    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn send(&self, _: &[f64], _: usize, _: i32) -> Result {
        unreachable!("{NOBODY}")
    }

    fn recv(&self, _: &mut [f64], _: usize, _: i32) -> Result {
        unreachable!("{NOBODY}")
    }

    fn isend(&self, _: Vec<f64>, _: usize, _: i32) -> Result<Infallible> {
        unreachable!("{NOBODY}")
    }

    fn irecv(&self, _: Vec<f64>, _: usize, _: i32) -> Result<Infallible> {
        unreachable!("{NOBODY}")
    }

    fn wait(&self, request: Infallible) -> Result<Vec<f64>> {
        match request {}
    }

    fn barrier(&self) -> Result {
        Ok(())
    }

    fn bcast(&self, _: &mut [f64], _: usize) -> Result {
        Ok(())
    }

    fn allreduce_max(&self, _: &mut [f64]) -> Result {
        Ok(())
    }

    fn allreduce_sum(&self, _: &mut [f64]) -> Result {
        Ok(())
    }

    fn allreduce_sum_i64(&self, _: &mut [i64]) -> Result {
        Ok(())
    }

    fn probe(&self, _: usize, _: i32) -> Result<usize> {
        unreachable!("{NOBODY}")
    }

    fn allgather(&self, data: &[f64], result: &mut [f64]) -> Result {
        result.copy_from_slice(data);
        Ok(())
    }

    fn alltoall(&self, data: &[f64], result: &mut [f64]) -> Result {
        result.copy_from_slice(data);
        Ok(())
    }
}
