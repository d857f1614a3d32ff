//! The benchmark's view of our own MPI.
#![expect(
    unsafe_code,
    reason = "a window of receives has one buffer, which references cannot say"
)]

use super::Error;
use crate::BytePassing;
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
        let mut window = Window::new(2);
        let into = bytes(into.as_mut_ptr(), into.len());
        // SAFETY: the slice is borrowed exclusively, and the window is done before this returns.
        let receive = unsafe { self.untyped().irecv(into, as_rank(peer), tag) };
        window.add(receive)?;
        let out = Buffer::read_only(out.as_ptr(), out.len(), Datatype::BYTE);
        // SAFETY: the slice is borrowed, and the window is done before this returns.
        let send = unsafe { self.untyped().isend(out, as_rank(peer), tag) };
        window.add(send)?;
        window.finish()
    }

    fn send_window(&self, data: &[u8], count: usize, to: usize, tag: i32) -> Result<(), Error> {
        let mut window = Window::new(count);
        for _ in 0..count {
            let data = Buffer::read_only(data.as_ptr(), data.len(), Datatype::BYTE);
            // SAFETY: the slice is borrowed, and the window is done before this returns.
            let send = unsafe { self.untyped().isend(data, as_rank(to), tag) };
            window.add(send)?;
        }
        window.finish()
    }

    fn recv_window(
        &self,
        data: &mut [u8],
        count: usize,
        from: usize,
        tag: i32,
    ) -> Result<(), Error> {
        let mut window = Window::new(count);
        let (start, len) = (data.as_mut_ptr(), data.len());
        for _ in 0..count {
            // SAFETY: the slice is borrowed exclusively, nothing here looks at it, and the window
            // is done before this returns. Those that write it all write the same bytes.
            let receive = unsafe { self.untyped().irecv(bytes(start, len), as_rank(from), tag) };
            window.add(receive)?;
        }
        window.finish()
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
    Buffer::new(start, len, Datatype::BYTE)
}

/// Requests that are all done before it is gone: what they use is borrowed for longer.
struct Window(Vec<Request>);

impl Window {
    fn new(count: usize) -> Window {
        Window(Vec::with_capacity(count))
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

impl Drop for Window {
    /// After a failure: receives that nobody serves are called off, sends are waited for.
    fn drop(&mut self) {
        if !self.0.is_empty() {
            self.0.iter().for_each(Request::cancel);
            let _the_failure_is_told = waitall(&mut self.0);
        }
    }
}
