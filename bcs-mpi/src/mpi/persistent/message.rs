//! A message that can be started again and again (MPI 5.0, 3.9).

use crate::mpi::comm::checked_tag;
use crate::mpi::error::{Operation, Peer, Result};
use crate::mpi::point_to_point::MessageCall;
use crate::mpi::{Buffer, Comm, PROC_NULL, Request};
use crate::recording::{CallStart, Primitive, RecordedOperation, Site};

/// The call that a start posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartedCall {
    Send,
    Synchronous,
    Ready,
    Buffered,
    Receive,
}

impl StartedCall {
    /// Returns the name of the call that makes it, and its row in the MDS, which is that of the
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

/// A message that can be started again and again.
#[derive(Debug)]
pub(super) struct MessageTemplate {
    comm: Comm,
    kind: StartedCall,
    data: Buffer,
    peer: i32,
    tag: i32,
}

impl MessageTemplate {
    /// Checks the arguments, and returns the message.
    pub(super) fn new(
        comm: &Comm,
        kind: StartedCall,
        data: Buffer,
        peer: i32,
        tag: i32,
    ) -> Result<Self> {
        let receives = kind == StartedCall::Receive;
        let whom = if receives {
            Peer::From(peer)
        } else {
            Peer::To(peer)
        };
        let operation = Operation::message(kind.call().0, data.bytes(), whom, tag);
        comm.usable(&operation)?;
        data.piece(&operation)?;
        match (receives, peer) {
            (_, PROC_NULL) => {}
            (true, _) => _ = comm.pattern(peer, tag, &operation)?,
            (false, _) => {
                checked_tag(tag, &operation)?;
                comm.world_rank(peer, &operation)?;
            }
        }
        Ok(Self {
            comm: comm.clone(),
            kind,
            data,
            peer,
            tag,
        })
    }

    /// Returns the name of the call that made it.
    pub(super) fn init(&self) -> &'static str {
        self.kind.call().0
    }

    pub(super) fn comm(&self) -> &Comm {
        &self.comm
    }

    /// Begins the message for a start at this place. It is recorded as the non-blocking call.
    pub(super) fn post(&self, begun: CallStart, site: Site) -> Result<Request> {
        let (_, primitive) = self.kind.call();
        let told = RecordedOperation::started(begun.of(primitive), primitive);
        let (comm, data, peer, tag) = (&self.comm, &self.data, self.peer, self.tag);
        let call = match self.kind {
            StartedCall::Synchronous => MessageCall::synchronous("MPI_Start", primitive),
            _ => MessageCall::standard("MPI_Start", primitive),
        };
        match self.kind {
            StartedCall::Receive => comm.post_recv_at(call, told, data, (peer, tag), site),
            StartedCall::Buffered => comm.post_buffered(call, told, data, peer, tag, site),
            _ => comm.post_send_at(call, told, (data, data), (peer, tag), site),
        }
    }
}
