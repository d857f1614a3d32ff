//! Messages (MPI 5.0, chapter 3).

use super::calls;
use super::requests::{hand_out, make_persistent, start_message};
use super::statuses::{of_error, status_of, tell};
use crate::answer::{Outcome, comm_of, error};
use crate::c::*;
use crate::objects::{MESSAGES, Number, RequestKind, buffer, datatype, put};
use crate::state;
use bcs_mpi::mpi::{Buffer, Comm, Error, ErrorClass, Message, Status};
use std::ffi::{c_int, c_void};

/// Returns the buffer of a message. A message to or from MPI_PROC_NULL may have no datatype.
#[inline(always)]
fn data(
    address: *const c_void,
    count: impl Number,
    of: MPI_Datatype,
    peer: c_int,
) -> Result<Buffer, Box<Error>> {
    if peer == MPI_PROC_NULL && of == MPI_DATATYPE_NULL {
        return Ok(Buffer::EMPTY);
    }
    buffer(address, count, of)
}

/// Checks the number of partitions of a message.
fn parts(partitions: c_int) -> Result<usize, Box<Error>> {
    usize::try_from(partitions).map_err(|_| {
        error(
            ErrorClass::Arg,
            format!("there are {partitions} partitions"),
        )
    })
}

/// Runs a receive and stores its status, even if it fails.
#[inline]
fn received(
    on: MPI_Comm,
    place: *mut MPI_Status,
    receive: impl FnOnce(&Comm) -> Result<Status, Box<Error>>,
) -> Outcome {
    comm_of(on)?.run(|comm| match receive(comm) {
        Ok(status) => {
            tell(place, status);
            Ok(())
        }
        Err(error) => {
            if error.came.is_some() {
                tell(place, of_error(&error));
            }
            Err(error)
        }
    })
}

/// Receives the message of a handle. Puts the message back if the call fails.
fn with_message<T>(
    handle: *mut MPI_Message,
    receive: impl FnOnce(&mut Message) -> Result<T, Box<Error>>,
) -> Outcome<(MPI_Comm, T)> {
    state::process()?;
    if handle.is_null() {
        return Err(error(ErrorClass::Arg, "the message is at address 0").into());
    }
    // SAFETY: the caller's promise.
    let number = unsafe { *handle };
    if number == MPI_MESSAGE_NO_PROC {
        let mut message = comm_of(MPI_COMM_SELF)?.run(|comm| comm.mprobe(MPI_PROC_NULL, 0))?;
        let received = comm_of(MPI_COMM_SELF)?.run(|_| receive(&mut message))?;
        unsafe { *handle = MPI_MESSAGE_NULL };
        return Ok((MPI_COMM_SELF, received));
    }
    let Some((on, mut message)) = MESSAGES.remove(number.0) else {
        let reason = format!("{:#x} is no message", number.0);
        return Err(error(ErrorClass::Request, reason).into());
    };
    let comm = comm_of(on)?;
    match comm.run(|_| receive(&mut message)) {
        Ok(received) => {
            unsafe { *handle = MPI_MESSAGE_NULL };
            Ok((on, received))
        }
        Err(fault) => {
            // The message gets a new handle, because the old one is stale.
            unsafe { *handle = MPI_Message(MESSAGES.insert((on, message))) };
            Err(fault)
        }
    }
}

fn handle_of(on: MPI_Comm, message: Message) -> MPI_Message {
    match message.status().source {
        MPI_PROC_NULL => MPI_MESSAGE_NO_PROC,
        _ => MPI_Message(MESSAGES.insert((on, message))),
    }
}

calls! {
    fn PMPI_Send | PMPI_Send_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) {
        comm_of(comm)?.run(|comm| comm.send(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Ssend | PMPI_Ssend_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) {
        comm_of(comm)?.run(|comm| comm.ssend(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Rsend | PMPI_Rsend_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) {
        comm_of(comm)?.run(|comm| comm.rsend(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Bsend | PMPI_Bsend_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) {
        comm_of(comm)?.run(|comm| comm.bsend(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Recv | PMPI_Recv_c(buf: *mut c_void, count: N, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) {
        received(comm, status, |comm| comm.recv(data(buf, count, datatype, source)?, source, tag))
    }

    fn PMPI_Isend | PMPI_Isend_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        start_message(comm, request, |comm| comm.isend(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Issend | PMPI_Issend_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        start_message(comm, request, |comm| comm.issend(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Irsend | PMPI_Irsend_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        start_message(comm, request, |comm| comm.irsend(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Ibsend | PMPI_Ibsend_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        start_message(comm, request, |comm| comm.ibsend(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Irecv | PMPI_Irecv_c(buf: *mut c_void, count: N, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        start_message(comm, request, |comm| comm.irecv(data(buf, count, datatype, source)?, source, tag))
    }

    fn PMPI_Send_init | PMPI_Send_init_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        make_persistent(comm, request, |comm| comm.send_init(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Psend_init(buf: *const c_void, partitions: c_int, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, _info: MPI_Info, request: *mut MPI_Request) {
        make_persistent(comm, request, |comm| {
            comm.psend_init(parts(partitions)?, &data(buf, count, datatype, dest)?, dest, tag)
        })
    }

    fn PMPI_Precv_init(buf: *mut c_void, partitions: c_int, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, _info: MPI_Info, request: *mut MPI_Request) {
        make_persistent(comm, request, |comm| {
            comm.precv_init(parts(partitions)?, &data(buf, count, datatype, dest)?, dest, tag)
        })
    }

    fn PMPI_Ssend_init | PMPI_Ssend_init_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        make_persistent(comm, request, |comm| comm.ssend_init(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Rsend_init | PMPI_Rsend_init_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        make_persistent(comm, request, |comm| comm.rsend_init(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Bsend_init | PMPI_Bsend_init_c(buf: *const c_void, count: N, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        make_persistent(comm, request, |comm| comm.bsend_init(data(buf, count, datatype, dest)?, dest, tag))
    }

    fn PMPI_Recv_init | PMPI_Recv_init_c(buf: *mut c_void, count: N, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        make_persistent(comm, request, |comm| comm.recv_init(data(buf, count, datatype, source)?, source, tag))
    }

    fn PMPI_Sendrecv | PMPI_Sendrecv_c(sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int, recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype, source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status) {
        received(comm, status, |comm| {
            let out = data(sendbuf, sendcount, sendtype, dest)?;
            let into = data(recvbuf, recvcount, recvtype, source)?;
            comm.sendrecv((out, dest, sendtag), (into, source, recvtag))
        })
    }

    fn PMPI_Sendrecv_replace | PMPI_Sendrecv_replace_c(buf: *mut c_void, count: N, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status) {
        let came = comm_of(comm)?.run(|comm| {
            comm.sendrecv_replace(buffer(buf, count, datatype)?, (dest, sendtag), (source, recvtag))
        })?;
        tell(status, came);
        Ok(())
    }

    fn PMPI_Isendrecv | PMPI_Isendrecv_c(sendbuf: *const c_void, sendcount: N, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int, recvbuf: *mut c_void, recvcount: N, recvtype: MPI_Datatype, source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        start_message(comm, request, |comm| {
            let out = data(sendbuf, sendcount, sendtype, dest)?;
            let into = data(recvbuf, recvcount, recvtype, source)?;
            comm.isendrecv((out, dest, sendtag), (into, source, recvtag))
        })
    }

    fn PMPI_Isendrecv_replace | PMPI_Isendrecv_replace_c(buf: *mut c_void, count: N, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request) {
        start_message(comm, request, |comm| {
            comm.isendrecv_replace(buffer(buf, count, datatype)?, (dest, sendtag), (source, recvtag))
        })
    }

    fn PMPI_Probe(source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) {
        let came = comm_of(comm)?.run(|comm| comm.probe(source, tag))?;
        tell(status, came);
        Ok(())
    }

    fn PMPI_Iprobe(source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, status: *mut MPI_Status) {
        let came = comm_of(comm)?.run(|comm| comm.iprobe(source, tag))?;
        put(flag, c_int::from(came.is_some()))?;
        came.into_iter().for_each(|came| tell(status, came));
        Ok(())
    }

    fn PMPI_Mprobe(source: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: *mut MPI_Status) {
        let found = comm_of(comm)?.run(|comm| comm.mprobe(source, tag))?;
        tell(status, found.status());
        Ok(put(message, handle_of(comm, found))?)
    }

    fn PMPI_Improbe(source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, message: *mut MPI_Message, status: *mut MPI_Status) {
        let found = comm_of(comm)?.run(|comm| comm.improbe(source, tag))?;
        put(flag, c_int::from(found.is_some()))?;
        if let Some(found) = found {
            tell(status, found.status());
            put(message, handle_of(comm, found))?;
        }
        Ok(())
    }

    fn PMPI_Mrecv | PMPI_Mrecv_c(buf: *mut c_void, count: N, datatype: MPI_Datatype, message: *mut MPI_Message, status: *mut MPI_Status) {
        let (_, came) = with_message(message, |message| message.recv(buffer(buf, count, datatype)?))?;
        tell(status, came);
        Ok(())
    }

    fn PMPI_Imrecv | PMPI_Imrecv_c(buf: *mut c_void, count: N, datatype: MPI_Datatype, message: *mut MPI_Message, request: *mut MPI_Request) {
        let (on, started) = with_message(message, |message| message.irecv(buffer(buf, count, datatype)?))?;
        hand_out((on, RequestKind::Message), request, started)
    }

    fn PMPI_Get_count | PMPI_Get_count_c(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut N) {
        let status = status_of(status)?;
        let elements = status.count(&crate::objects::datatype(datatype)?);
        let elements = elements.and_then(|elements| N::try_from(elements).ok());
        Ok(put(count, elements.unwrap_or(N::from(MPI_UNDEFINED)))?)
    }

    fn PMPI_Get_elements | PMPI_Get_elements_c(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut N) {
        let status = status_of(status)?;
        let elements = status.elements(&crate::objects::datatype(datatype)?);
        let elements = elements.and_then(|elements| N::try_from(elements).ok());
        Ok(put(count, elements.unwrap_or(N::from(MPI_UNDEFINED)))?)
    }

    fn PMPI_Get_elements_x(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count) {
        let status = status_of(status)?;
        let elements = status.elements(&crate::objects::datatype(datatype)?);
        let elements = elements.and_then(|elements| MPI_Count::try_from(elements).ok());
        Ok(put(count, elements.unwrap_or(MPI_Count::from(MPI_UNDEFINED)))?)
    }
}

/// Returns the bytes of a number of basic elements of a datatype, for a status that the program
/// makes.
///
/// # Errors
/// If the count is negative, or the bytes cannot be counted.
pub(super) fn bytes_of(of: MPI_Datatype, count: i64) -> Result<u64, Box<Error>> {
    let datatype = datatype(of)?;
    let size = datatype.size() as u64;
    let within = |bytes: u64| Status { bytes, ..NOTHING }.elements(&datatype);
    let each = within(size).unwrap_or(0);
    let bytes = u64::try_from(count).ok().and_then(|count| {
        let (whole, rest) = (
            count.checked_div(each).unwrap_or(0),
            count.checked_rem(each).unwrap_or(0),
        );
        let part = match size.checked_mul(rest)?.checked_div(each).unwrap_or(0) {
            alike if within(alike) == Some(rest) => alike,
            // Elements have several sizes: find the bytes that the first of them take.
            _ => (0..size).find(|bytes| within(*bytes) == Some(rest))?,
        };
        whole.checked_mul(size)?.checked_add(part)
    });
    bytes.ok_or_else(|| {
        let reason = format!("{count} elements cannot be counted in bytes");
        error(ErrorClass::Count, reason)
    })
}

/// The status without a message.
pub(super) const NOTHING: Status = Status::EMPTY;
