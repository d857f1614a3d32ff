//! The benchmark's view of our own MPI.
#![expect(
    unsafe_code,
    reason = "a window of receives has one buffer, which references cannot say"
)]

use super::Error;
use crate::{BytePassing, MessageWindow};
use bcs_mpi::mpi::request::waitall;
use bcs_mpi::mpi::{Buffer, Datatype, Request};
use bcs_mpi::{Communicator, Op, Source, Tag};

impl BytePassing for Communicator {
    fn send_bytes(&self, data: &[u8], to: usize, tag: i32) -> Result<(), Error> {
        self.send(data, to, tag)
    }

    fn recv_bytes(&self, data: &mut [u8], from: usize, tag: i32) -> Result<(), Error> {
        self.recv(data, Source::Rank(from), Tag::Is(tag))
            .map(|_| ())
    }

    fn sendrecv_bytes(
        &self,
        (out, to): (&[u8], usize),
        (into, from): (&mut [u8], usize),
        tag: i32,
    ) -> Result<(), Error> {
        let into = (into, Source::Rank(from), Tag::Is(tag));
        self.sendrecv((out, to, tag), into).map(|_| ())
    }

    fn exchange_bytes(
        &self,
        out: &[u8],
        into: &mut [u8],
        peer: usize,
        tag: i32,
    ) -> Result<(), Error> {
        let mut requests = Requests::new(2);
        let into = bytes(into.as_mut_ptr(), into.len());
        let receive = self.untyped().irecv(into, as_rank(peer), tag);
        requests.add(receive)?;
        // SAFETY: the buffer outlives the operation, and nothing else uses it meanwhile.
        let out = unsafe { Buffer::read_only(out.as_ptr(), out.len(), Datatype::BYTE) };
        let send = self.untyped().isend(out, as_rank(peer), tag);
        requests.add(send)?;
        requests.finish()
    }

    fn send_window(
        &self,
        data: &[u8],
        window: MessageWindow,
        to: usize,
        tag: i32,
    ) -> Result<(), Error> {
        let mut requests = Requests::new(window.count);
        for message in 0..window.count {
            let data = &data[window.place(message)];
            // SAFETY: the buffer outlives the operation, and nothing else uses it meanwhile.
            let data = unsafe { Buffer::read_only(data.as_ptr(), data.len(), Datatype::BYTE) };
            let send = self.untyped().isend(data, as_rank(to), tag);
            requests.add(send)?;
        }
        requests.finish()
    }

    fn recv_window(
        &self,
        data: &mut [u8],
        window: MessageWindow,
        from: usize,
        tag: i32,
    ) -> Result<(), Error> {
        assert!(
            window.extent() <= data.len(),
            "the window lies in the slice"
        );
        let mut requests = Requests::new(window.count);
        let start = data.as_mut_ptr();
        for message in 0..window.count {
            let place = window.place(message);
            let into = bytes(start.wrapping_add(place.start), place.len());
            let receive = self.untyped().irecv(into, as_rank(from), tag);
            requests.add(receive)?;
        }
        requests.finish()
    }

    fn bcast_bytes(&self, data: &mut [u8], root: usize) -> Result<(), Error> {
        self.bcast(data, root)
    }

    fn reduce_sum(&self, data: &[f64], result: &mut [f64], root: usize) -> Result<(), Error> {
        self.reduce(data, result, Op::Sum, root)
    }

    fn allreduce_sum_into(&self, data: &[f64], result: &mut [f64]) -> Result<(), Error> {
        self.allreduce(data, result, Op::Sum)
    }

    fn alltoall_bytes(&self, data: &[u8], result: &mut [u8]) -> Result<(), Error> {
        self.alltoall(data, result)
    }
}

fn as_rank(rank: usize) -> i32 {
    i32::try_from(rank).expect("ranks of a communicator are those of MPI")
}

fn bytes(start: *mut u8, len: usize) -> Buffer {
    // SAFETY: the buffer outlives the operation, and nothing else uses it meanwhile.
    unsafe { Buffer::new(start, len, Datatype::BYTE) }
}

/// Requests that are complete before this is dropped: the borrow of their buffers lasts longer.
struct Requests(Vec<Request>);

impl Requests {
    fn new(count: usize) -> Requests {
        Requests(Vec::with_capacity(count))
    }

    fn add(&mut self, request: Result<Request, Error>) -> Result<(), Error> {
        self.0.push(request?);
        Ok(())
    }

    fn finish(mut self) -> Result<(), Error> {
        waitall(&mut std::mem::take(&mut self.0))
            .into_iter()
            .try_for_each(|end| end.map(|_| ()))
    }
}

impl Drop for Requests {
    /// After a failure: cancels receives that no rank will match, and waits for sends.
    fn drop(&mut self) {
        if !self.0.is_empty() {
            self.0.iter().for_each(Request::cancel);
            let _the_failure_is_told = waitall(&mut self.0);
        }
    }
}
