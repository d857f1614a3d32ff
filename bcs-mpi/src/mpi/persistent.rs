//! Persistent requests (MPI 5.0, 3.9): the arguments of a call, to be started again and again.
//! Here are those of messages; those of collectives are [`super::persistent_collectives`].
//!
//! The NIC knows nothing of them: a start is a post like any other, whose arguments were checked
//! once. What a start has begun is an ordinary [`Request`], and whatever waits or tests takes it;
//! when that is over it is inactive, and may be started again.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::comm::checked_tag;
use super::error::{ErrorClass, Operation, Peer};
use super::persistent_collectives::Collective;
use super::point_to_point::Call;
use super::{Buffer, Comm, PROC_NULL, Request, Result};
use crate::bcs::SendMode;
use crate::recording::Primitive;

/// What a start posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Send,
    Synchronous,
    Ready,
    Buffered,
    Receive,
}

impl Kind {
    /// The name of the call that makes it, and its row in the MDS when it is over: that of the
    /// non-blocking call.
    fn call(self) -> (&'static str, Primitive) {
        match self {
            Self::Send => ("MPI_Send_init", Primitive::Isend),
            Self::Synchronous => ("MPI_Ssend_init", Primitive::Issend),
            Self::Ready => ("MPI_Rsend_init", Primitive::Irsend),
            Self::Buffered => ("MPI_Bsend_init", Primitive::Ibsend),
            Self::Receive => ("MPI_Recv_init", Primitive::Irecv),
        }
    }
}

/// A persistent request.
///
/// Dropping it does not stop what it has started: the buffer must stay until that is over, or the
/// process ends.
#[derive(Debug)]
pub struct Persistent {
    starts: Starts,
    started: Request,
}

/// What a start begins.
#[derive(Debug)]
enum Starts {
    Message(Message),
    Collective(Collective),
}

/// A message that can be started again and again.
#[derive(Debug)]
struct Message {
    comm: Comm,
    kind: Kind,
    data: Buffer,
    peer: i32,
    tag: i32,
}

impl Comm {
    fn persistent(&self, kind: Kind, data: Buffer, peer: i32, tag: i32) -> Result<Persistent> {
        let receives = kind == Kind::Receive;
        let operation = Operation {
            call: kind.call().0,
            bytes: data.bytes().map(|bytes| bytes as u64),
            peer: Some(if receives {
                Peer::From(peer)
            } else {
                Peer::To(peer)
            }),
            tag: Some(tag),
        };
        self.usable(operation)?;
        data.piece(operation)?;
        match (receives, peer) {
            (_, PROC_NULL) => {}
            (true, _) => _ = self.pattern(peer, tag, operation)?,
            (false, _) => {
                checked_tag(tag, operation)?;
                self.world_rank(peer, operation)?;
            }
        }
        let message = Message {
            comm: self.clone(),
            kind,
            data,
            peer,
            tag,
        };
        Ok(Persistent::of(Starts::Message(message)))
    }

    /// `MPI_Send_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn send_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Send, data, to, tag)
    }

    /// `MPI_Ssend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn ssend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Synchronous, data, to, tag)
    }

    /// `MPI_Rsend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn rsend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Ready, data, to, tag)
    }

    /// `MPI_Bsend_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn bsend_init(&self, data: Buffer, to: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Buffered, data, to, tag)
    }

    /// `MPI_Recv_init`.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn recv_init(&self, data: Buffer, from: i32, tag: i32) -> Result<Persistent> {
        self.persistent(Kind::Receive, data, from, tag)
    }
}

impl Message {
    /// # Safety
    /// As for the non-blocking call of its kind, until the request is done.
    unsafe fn post(&self) -> Result<Request> {
        let (_, primitive) = self.kind.call();
        let mode = match self.kind {
            Kind::Synchronous => SendMode::Synchronous,
            _ => SendMode::Standard,
        };
        let (comm, data, peer, tag) = (&self.comm, &self.data, self.peer, self.tag);
        let send = Call {
            name: "MPI_Start",
            primitive,
            mode,
        };
        match self.kind {
            // SAFETY: the caller's promise.
            Kind::Receive => unsafe { comm.post_recv((send.name, primitive), data, peer, tag) },
            // SAFETY: the caller's promise.
            Kind::Buffered => unsafe { comm.post_buffered(send, data, peer, tag) },
            // SAFETY: the caller's promise.
            _ => unsafe { comm.post_send(send, data, peer, tag) },
        }
    }
}

impl Persistent {
    fn of(starts: Starts) -> Self {
        Self {
            starts,
            started: Request::inactive(),
        }
    }

    pub(super) fn collective(collective: Collective) -> Self {
        Self::of(Starts::Collective(collective))
    }

    /// The name of the call that made it.
    fn init(&self) -> &'static str {
        match &self.starts {
            Starts::Message(message) => message.kind.call().0,
            Starts::Collective(collective) => collective.init,
        }
    }

    /// `MPI_Start`.
    ///
    /// # Safety
    /// As for the non-blocking call of its kind, until [`started`](Self::started) is done.
    ///
    /// # Errors
    /// When it was started before and has not been waited for, and as the non-blocking call.
    pub unsafe fn start(&mut self) -> Result<()> {
        if self.started.is_active() {
            let (operation, call) = (Operation::plain("MPI_Start"), self.init());
            let reason = format!("the request of {call} is active: wait for it first");
            return Err(operation.error(ErrorClass::Request, reason));
        }
        self.started = match &self.starts {
            // SAFETY: the caller's promise.
            Starts::Message(message) => unsafe { message.post()? },
            // SAFETY: the caller's promise.
            Starts::Collective(collective) => unsafe { collective.post()? },
        };
        Ok(())
    }

    /// What the last start began: inactive before that, and when it has been waited for.
    pub fn started(&mut self) -> &mut Request {
        &mut self.started
    }
}

/// `MPI_Startall`. Those before one that cannot be started are.
///
/// # Safety
/// As for [`Persistent::start`].
///
/// # Errors
/// As [`Persistent::start`].
pub unsafe fn startall(requests: &mut [Persistent]) -> Result<()> {
    for request in requests {
        // SAFETY: the caller's promise.
        unsafe { request.start()? };
    }
    Ok(())
}
