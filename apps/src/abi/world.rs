//! `MPI_COMM_WORLD` of a library with the standard ABI, as a program's view of an MPI.
#![expect(unsafe_code, reason = "calls functions of a foreign library")]

use super::library::{
    AbiError, AbiStatus, Handle, Library, double, in_place, int64, max, no_request, no_status, sum,
    world,
};
use crate::MessagePassing;
use libc::{c_int, c_void};
use std::marker::PhantomData;

/// All processes of a job of another implementation.
#[derive(Debug)]
pub struct World {
    library: Library,
    rank: usize,
    size: usize,
    /// `MPI_Init` provides a single thread: the value stays with the thread that called it.
    one_thread: PhantomData<*const ()>,
}

/// A non-blocking operation with its buffer. Dropping it waits for the operation.
#[derive(Debug)]
pub struct AbiRequest {
    library: Library,
    handle: Handle,
    data: Vec<f64>,
}

impl AbiRequest {
    fn wait(&mut self) -> Result<(), AbiError> {
        // SAFETY: a request of this library, or the null request, for which it returns at once.
        let code = unsafe { (self.library.wait)(&raw mut self.handle, no_status()) };
        self.library.check("MPI_Wait", code)
    }
}

impl Drop for AbiRequest {
    fn drop(&mut self) {
        if self.handle != no_request() {
            // The operation is abandoned after an error; a second error would add nothing.
            let _ = self.wait();
        }
    }
}

/// Converts a number of elements, or a rank, to the type that the functions take.
fn int(call: &'static str, count: usize) -> Result<c_int, AbiError> {
    c_int::try_from(count).map_err(|_| AbiError::TooMany { call, count })
}

impl World {
    /// Calls `MPI_Init`.
    ///
    /// # Errors
    /// The library reports an error.
    pub fn init(library: Library) -> Result<Self, AbiError> {
        library.start()?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a place for a number.
        let code = unsafe { (library.rank)(world(), &raw mut rank) };
        library.check("MPI_Comm_rank", code)?;
        // SAFETY: a place for a number.
        let code = unsafe { (library.size)(world(), &raw mut size) };
        library.check("MPI_Comm_size", code)?;
        let number = |call, number: c_int| {
            usize::try_from(number).map_err(|_| AbiError::Call {
                call,
                text: format!("it says {number}"),
            })
        };
        Ok(Self {
            library,
            rank: number("MPI_Comm_rank", rank)?,
            size: number("MPI_Comm_size", size)?,
            one_thread: PhantomData,
        })
    }

    /// Calls `MPI_Finalize`.
    ///
    /// # Errors
    /// The library reports an error.
    pub fn finalize(self) -> Result<(), AbiError> {
        // SAFETY: it is called once, and no MPI call follows it.
        let code = unsafe { (self.library.finalize)() };
        self.library.check("MPI_Finalize", code)
    }

    /// # Safety
    /// The elements are of that datatype.
    unsafe fn allreduce<T>(
        &self,
        data: &mut [T],
        datatype: Handle,
        op: Handle,
    ) -> Result<(), AbiError> {
        let call = "MPI_Allreduce";
        let (count, into) = (int(call, data.len())?, data.as_mut_ptr().cast());
        // SAFETY: a slice that is borrowed for the call; and the caller's promise.
        let code =
            unsafe { (self.library.allreduce)(in_place(), into, count, datatype, op, world()) };
        self.library.check(call, code)
    }
}

impl MessagePassing for World {
    type Error = AbiError;
    type Request = AbiRequest;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, data: &[f64], destination: usize, tag: i32) -> Result<(), AbiError> {
        let call = "MPI_Send";
        let (count, to) = (int(call, data.len())?, int(call, destination)?);
        let from: *const c_void = data.as_ptr().cast();
        // SAFETY: a slice that is borrowed for the call.
        let code = unsafe { (self.library.send)(from, count, double(), to, tag, world()) };
        self.library.check(call, code)
    }

    fn recv(&self, data: &mut [f64], source: usize, tag: i32) -> Result<(), AbiError> {
        let call = "MPI_Recv";
        let (count, from) = (int(call, data.len())?, int(call, source)?);
        let (into, status) = (data.as_mut_ptr().cast(), no_status());
        // SAFETY: a slice that is borrowed for the call.
        let code =
            unsafe { (self.library.recv)(into, count, double(), from, tag, world(), status) };
        self.library.check(call, code)
    }

    fn isend(&self, data: Vec<f64>, destination: usize, tag: i32) -> Result<AbiRequest, AbiError> {
        let call = "MPI_Isend";
        let (count, to) = (int(call, data.len())?, int(call, destination)?);
        let (mut handle, from) = (no_request(), data.as_ptr().cast());
        // SAFETY: the data live as long as the request, which is waited for before they are freed.
        let code = unsafe {
            (self.library.isend)(from, count, double(), to, tag, world(), &raw mut handle)
        };
        self.library.check(call, code)?;
        let library = self.library;
        Ok(AbiRequest {
            library,
            handle,
            data,
        })
    }

    fn irecv(&self, mut data: Vec<f64>, source: usize, tag: i32) -> Result<AbiRequest, AbiError> {
        let call = "MPI_Irecv";
        let (count, from) = (int(call, data.len())?, int(call, source)?);
        let (mut handle, into) = (no_request(), data.as_mut_ptr().cast());
        // SAFETY: as above; nothing else accesses the data meanwhile.
        let code = unsafe {
            (self.library.irecv)(into, count, double(), from, tag, world(), &raw mut handle)
        };
        self.library.check(call, code)?;
        let library = self.library;
        Ok(AbiRequest {
            library,
            handle,
            data,
        })
    }

    fn wait(&self, mut request: AbiRequest) -> Result<Vec<f64>, AbiError> {
        request.wait()?;
        Ok(std::mem::take(&mut request.data))
    }

    fn wait_all(
        &self,
        requests: &mut Vec<AbiRequest>,
        buffers: &mut Vec<Vec<f64>>,
    ) -> Result<(), AbiError> {
        let call = "MPI_Waitall";
        let count = int(call, requests.len())?;
        let mut handles: Vec<Handle> = requests.iter().map(|request| request.handle).collect();
        // SAFETY: requests of this library, or null requests, in a list that the call may change.
        let code = unsafe { (self.library.waitall)(count, handles.as_mut_ptr(), no_status()) };
        for (request, handle) in requests.iter_mut().zip(handles) {
            request.handle = handle;
        }
        self.library.check(call, code)?;
        let done = requests.drain(..);
        buffers.extend(done.map(|mut request| std::mem::take(&mut request.data)));
        Ok(())
    }

    fn barrier(&self) -> Result<(), AbiError> {
        // SAFETY: the communicator is predefined.
        let code = unsafe { (self.library.barrier)(world()) };
        self.library.check("MPI_Barrier", code)
    }

    fn bcast(&self, data: &mut [f64], root: usize) -> Result<(), AbiError> {
        let call = "MPI_Bcast";
        let (count, root) = (int(call, data.len())?, int(call, root)?);
        let into = data.as_mut_ptr().cast();
        // SAFETY: a slice that is borrowed for the call.
        let code = unsafe { (self.library.bcast)(into, count, double(), root, world()) };
        self.library.check(call, code)
    }

    fn allreduce_max(&self, data: &mut [f64]) -> Result<(), AbiError> {
        // SAFETY: doubles.
        unsafe { self.allreduce(data, double(), max()) }
    }

    fn allreduce_sum(&self, data: &mut [f64]) -> Result<(), AbiError> {
        // SAFETY: doubles.
        unsafe { self.allreduce(data, double(), sum()) }
    }

    fn allreduce_sum_i64(&self, data: &mut [i64]) -> Result<(), AbiError> {
        // SAFETY: integers of 64 bits.
        unsafe { self.allreduce(data, int64(), sum()) }
    }

    fn probe(&self, source: usize, tag: i32) -> Result<usize, AbiError> {
        let call = "MPI_Probe";
        let (mut status, mut count): (AbiStatus, c_int) = ([0; 8], 0);
        let place = (&raw mut status).cast();
        // SAFETY: a place for a status.
        let code = unsafe { (self.library.probe)(int(call, source)?, tag, world(), place) };
        self.library.check(call, code)?;
        let call = "MPI_Get_count";
        // SAFETY: the status that the library wrote, and a place for a number.
        let code = unsafe { (self.library.get_count)(place, double(), &raw mut count) };
        self.library.check(call, code)?;
        usize::try_from(count).map_err(|_| AbiError::Call {
            call,
            text: format!("it says {count}"),
        })
    }

    fn allgather(&self, data: &[f64], result: &mut [f64]) -> Result<(), AbiError> {
        let call = "MPI_Allgather";
        assert_eq!(
            data.len() * self.size,
            result.len(),
            "a place for everybody's"
        );
        let (count, into) = (int(call, data.len())?, result.as_mut_ptr().cast());
        let from = data.as_ptr().cast();
        // SAFETY: slices that are borrowed for the call, the second one with a block for each
        // process.
        let code = unsafe {
            (self.library.allgather)(from, count, double(), into, count, double(), world())
        };
        self.library.check(call, code)
    }

    fn alltoall(&self, data: &[f64], result: &mut [f64]) -> Result<(), AbiError> {
        let call = "MPI_Alltoall";
        assert!(
            data.len() == result.len() && data.len().is_multiple_of(self.size),
            "a block for each process"
        );
        let (count, into) = (
            int(call, data.len() / self.size)?,
            result.as_mut_ptr().cast(),
        );
        let from = data.as_ptr().cast();
        // SAFETY: slices that are borrowed for the call, both with a block for each process.
        let code = unsafe {
            (self.library.alltoall)(from, count, double(), into, count, double(), world())
        };
        self.library.check(call, code)
    }
}
