//! The connection to a rank (`bcs_core::job::handshake`), at the node manager's end.

use bcs_core::job::handshake::{FromRank, NodeManagerReply};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair, sockopt,
};
use rustix::process::Pid;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The node manager's end of the socket of one rank.
#[derive(Debug)]
pub(crate) struct RankConnection {
    socket: OwnedFd,
}

/// The result of a read from a rank.
#[derive(Debug)]
pub(crate) enum RankReadOutcome {
    /// Nothing for now.
    Nothing,
    /// All processes that had the rank's end are gone.
    Gone,
    /// A message, the id of its sender from the kernel, and the descriptor that came along.
    Message(FromRank, Pid, Option<OwnedFd>),
    /// An invalid message, and why.
    Malformed(String),
}

impl RankConnection {
    /// Opens a connection. Returns it, and the rank's end of the socket.
    pub(crate) fn open() -> Result<(Self, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, rank_end) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // Before the rank exists: the kernel adds the sender's id to messages from here on.
        sockopt::set_socket_passcred(&socket, true)?;
        Ok((Self { socket }, rank_end))
    }

    /// Takes a connection of a rank that another launcher has started. The listening socket has
    /// made the kernel add the sender's id to all messages.
    pub(crate) fn accepted(socket: OwnedFd) -> Self {
        Self { socket }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Receives a message, if there is one.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> RankReadOutcome {
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1), ScmCredentials(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            let mut parts = [IoSliceMut::new(buffer)];
            match recvmsg(&self.socket, &mut parts, &mut control, flags) {
                Err(Errno::INTR) => {}
                received => break received,
            }
        };
        let received = match received {
            Ok(received) => received,
            Err(Errno::AGAIN) => return RankReadOutcome::Nothing,
            Err(_) => return RankReadOutcome::Gone,
        };
        let (mut pid, mut descriptor) = (None, None);
        for message in control.drain() {
            match message {
                RecvAncillaryMessage::ScmCredentials(credentials) => pid = Some(credentials.pid),
                RecvAncillaryMessage::ScmRights(mut rights) => descriptor = rights.next(),
                _ => {}
            }
        }
        if received.bytes == 0 {
            return RankReadOutcome::Gone;
        }
        if received.flags.contains(ReturnFlags::TRUNC) {
            return RankReadOutcome::Malformed(format!(
                "a message of more than {} bytes",
                buffer.len()
            ));
        }
        // The kernel has closed the descriptors that did not fit.
        if received.flags.contains(ReturnFlags::CTRUNC) {
            return RankReadOutcome::Malformed("more descriptors than one".into());
        }
        match (FromRank::decode(&buffer[..received.bytes]), pid) {
            (Ok(message), Some(pid)) => RankReadOutcome::Message(message, pid, descriptor),
            (Err(error), _) => {
                RankReadOutcome::Malformed(format!("a message that is none ({error})"))
            }
            (_, None) => RankReadOutcome::Malformed("a message without a sender".into()),
        }
    }

    /// Answers, with file descriptors. A rank that is gone meanwhile needs no answer.
    pub(crate) fn answer(
        &self,
        answer: &NodeManagerReply,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), Errno> {
        let bytes = postcard::to_stdvec(answer).expect("our messages can be encoded");
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() {
            assert!(
                control.push(SendAncillaryMessage::ScmRights(fds)),
                "four descriptors fit"
            );
        }
        // A rank that takes its answers has room for the next one, so this need not block.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut control, flags) {
            Ok(_) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}
