//! Buffers of buffered sends: the process's, those of communicators, and those of sessions (MPI
//! 5.0, 3.6).

use super::calls;
use super::requests::{checked, hand_out};
use crate::answer::{Outcome, comm_of, error, run_on_session};
use crate::c::*;
use crate::objects::{Number, RequestKind, place, put};
use crate::state;
use bcs_core::lockstep;
use bcs_mpi::mpi::{AttachedBuffer, ErrorClass, Result};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Mutex;

/// The owner of a buffer: the handle of a communicator or a session, or 0 for the process.
type Owner = usize;

const PROCESS: Owner = 0;

/// Addresses and lengths of the buffers that the program has attached: the core only counts their
/// bytes.
static ATTACHED: Mutex<BTreeMap<Owner, (usize, usize)>> = Mutex::new(BTreeMap::new());

fn attach(
    of: Owner,
    buffer: &AttachedBuffer,
    address: *mut c_void,
    size: impl Number,
) -> Result<()> {
    let size = size.wide();
    let Ok(bytes) = usize::try_from(size) else {
        return Err(error(
            ErrorClass::Arg,
            format!("the buffer has {size} bytes"),
        ));
    };
    if address.is_null() && bytes > 0 {
        let reason = format!("a buffer of {bytes} bytes is at address 0");
        return Err(error(ErrorClass::Arg, reason));
    }
    // The core copies messages to its own memory, so a buffer may be as large as memory.
    let (room, bytes) = match address.addr() {
        BUFFER_AUTOMATIC => (usize::MAX, 0),
        _ => (bytes, bytes),
    };
    let mut attached = lockstep::lock(&ATTACHED);
    buffer.attach(room)?;
    attached.insert(of, (address.expose_provenance(), bytes));
    Ok(())
}

fn detach<N>(of: Owner, buffer: &AttachedBuffer, address: *mut c_void, size: *mut N) -> Result<()>
where
    N: TryFrom<usize> + From<i32>,
{
    let address = place(address.cast::<*mut c_void>())?;
    let size = place(size)?;
    // No lock is held while the call waits.
    let Some((at, bytes)) = lockstep::lock(&ATTACHED).remove(&of) else {
        return Err(error(ErrorClass::Buffer, "no buffer is attached"));
    };
    buffer.detach()?;
    *address = with_exposed_provenance_mut(at);
    put(size, N::try_from(bytes).unwrap_or(N::from(MPI_UNDEFINED)))
}

/// Starts to wait until all messages in a buffer are sent.
fn flush(on: MPI_Comm, buffer: &AttachedBuffer, request: *mut MPI_Request) -> Outcome {
    let process = state::process()?;
    checked(request)?;
    hand_out(
        (on, RequestKind::Collective),
        request,
        buffer.iflush(process),
    )
}

calls! {
    fn PMPI_Buffer_attach | PMPI_Buffer_attach_c(buffer: *mut c_void, size: N) {
        Ok(attach(PROCESS, &state::process()?.buffer(), buffer, size)?)
    }

    fn PMPI_Buffer_detach | PMPI_Buffer_detach_c(buffer_addr: *mut c_void, size: *mut N) {
        Ok(detach(PROCESS, &state::process()?.buffer(), buffer_addr, size)?)
    }

    fn PMPI_Buffer_flush() {
        state::process()?.buffer().flush();
        Ok(())
    }

    fn PMPI_Buffer_iflush(request: *mut MPI_Request) {
        flush(MPI_COMM_SELF, &state::process()?.buffer(), request)
    }

    fn PMPI_Comm_attach_buffer | PMPI_Comm_attach_buffer_c(comm: MPI_Comm, buffer: *mut c_void, size: N) {
        comm_of(comm)?.run(|own| attach(comm.0, &own.buffer(), buffer, size))
    }

    fn PMPI_Comm_detach_buffer | PMPI_Comm_detach_buffer_c(comm: MPI_Comm, buffer_addr: *mut c_void, size: *mut N) {
        comm_of(comm)?.run(|own| detach(comm.0, &own.buffer(), buffer_addr, size))
    }

    fn PMPI_Comm_flush_buffer(comm: MPI_Comm) {
        comm_of(comm)?.run(|own| {
            own.buffer().flush();
            Ok(())
        })
    }

    fn PMPI_Comm_iflush_buffer(comm: MPI_Comm, request: *mut MPI_Request) {
        let buffer = comm_of(comm)?.run(|own| Ok(own.buffer()))?;
        flush(comm, &buffer, request)
    }

    fn PMPI_Session_attach_buffer | PMPI_Session_attach_buffer_c(session: MPI_Session, buffer: *mut c_void, size: N) {
        run_on_session(session, |own| attach(session.0, &own.buffer, buffer, size))
    }

    fn PMPI_Session_detach_buffer | PMPI_Session_detach_buffer_c(session: MPI_Session, buffer_addr: *mut c_void, size: *mut N) {
        run_on_session(session, |own| detach(session.0, &own.buffer, buffer_addr, size))
    }

    fn PMPI_Session_flush_buffer(session: MPI_Session) {
        run_on_session(session, |own| {
            own.buffer.flush();
            Ok(())
        })
    }

    fn PMPI_Session_iflush_buffer(session: MPI_Session, request: *mut MPI_Request) {
        let buffer = run_on_session(session, |own| Ok(own.buffer.clone()))?;
        flush(MPI_COMM_SELF, &buffer, request)
    }
}
