//! Errors: what failed in which call, with which arguments.

use super::constants::{ANY_SOURCE, ANY_TAG};
pub use super::error_class::ErrorClass;
use super::this_rank;
use bcs_core::request::RequestFailure;
use std::fmt;

/// An error. `Display` and `Debug` both print the sentence, so that a `main` that returns the error
/// prints a readable message.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", whose(*.rank), self.of_itself())]
pub struct Error {
    /// The world rank of the caller, once its process is a rank.
    pub rank: Option<u32>,
    /// The class.
    pub class: ErrorClass,
    /// The call and its arguments.
    pub operation: Operation,
    /// The reason.
    pub reason: String,
    /// The code that a function of the program returned, if it is the program's own and no class.
    pub code: Option<i32>,
    /// The message that had come, if there was one: its receive did not give it in a
    /// [`Status`](super::Status).
    pub came: Option<FailedReceive>,
    /// Whether it is an error of a collective whose waiting ranks were notified.
    pub told: bool,
    /// Whether members of a communicator did not call the same. The program is wrong then, whatever
    /// it does about the error.
    pub disagreement: bool,
}

/// Returns "rank 3 ", if the error names a rank.
fn whose(rank: Option<u32>) -> String {
    rank.map_or_else(String::new, |rank| format!("rank {rank} "))
}

/// A message that came and did not fit its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedReceive {
    /// Its sender's rank in the communicator.
    pub source: i32,
    /// Its tag.
    pub tag: i32,
    /// The bytes of it that are in the buffer.
    pub bytes: u64,
}

impl Error {
    /// Returns the sentence without the rank, for text that already names the rank.
    #[must_use]
    pub fn of_itself(&self) -> String {
        format!("failed to {}: {}", self.operation, self.reason)
    }

    /// Returns the error code (9.4): the class, unless the error has another code.
    #[must_use]
    pub fn code(&self) -> i32 {
        self.code.unwrap_or_else(|| self.class.code())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:?})", self.class)
    }
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Box<Error>>;

/// A call as messages name it: "`MPI_Recv` 16 bytes from rank 3 with tag 7".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The call's name in the standard.
    pub call: &'static str,
    /// The length of its buffer, if it has one.
    pub bytes: Option<u64>,
    /// Its peer or root, if it has one.
    pub peer: Option<Peer>,
    /// Its tag, if it has one.
    pub tag: Option<i32>,
}

/// The peer of a call, as a rank of its communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The receiver of a send.
    To(i32),
    /// The sender that a receive or probe names.
    From(i32),
    /// The root of a collective.
    Root(i32),
}

impl Operation {
    /// Returns a call without arguments worth a mention.
    #[must_use]
    pub fn plain(call: &'static str) -> Self {
        Self {
            call,
            bytes: None,
            peer: None,
            tag: None,
        }
    }

    /// Returns a message of this many bytes, if they can be counted, to or from a peer.
    #[inline(always)]
    pub(crate) fn message(call: &'static str, bytes: Option<usize>, peer: Peer, tag: i32) -> Self {
        Self {
            call,
            bytes: bytes.map(|bytes| bytes as u64),
            peer: Some(peer),
            tag: Some(tag),
        }
    }

    /// Returns an error of this call.
    #[cold]
    pub(crate) fn error(self, class: ErrorClass, reason: impl Into<String>) -> Box<Error> {
        Box::new(Error {
            rank: this_rank::world_rank(),
            class,
            operation: self,
            reason: reason.into(),
            code: None,
            came: None,
            told: false,
            disagreement: false,
        })
    }

    /// Returns the error that a NIC reported for this call; `len` is the length of the message.
    pub(crate) fn failure(self, failure: RequestFailure, len: u64) -> Box<Error> {
        let (class, reason) = match failure {
            RequestFailure::Truncated => {
                let reason = format!("message truncated: {len} bytes arrived");
                return self.error(ErrorClass::Truncate, reason);
            }
            RequestFailure::BadAddress => (
                ErrorClass::Buffer,
                "the buffer is not in this rank's memory",
            ),
            RequestFailure::SenderMemory => (
                ErrorClass::Buffer,
                "the sender's buffer is not in its memory",
            ),
            RequestFailure::MemberMemory => (
                ErrorClass::Buffer,
                "the buffer of another rank is not in its memory",
            ),
            RequestFailure::TargetMemory => (
                ErrorClass::RmaRange,
                "the target has no such memory, or it cannot be reached",
            ),
            RequestFailure::PeerGone => (ErrorClass::ProcAborted, "a rank that it needs is gone"),
            RequestFailure::TableFull => (
                ErrorClass::Other,
                "the NICs have no room for another communicator: free some first",
            ),
            RequestFailure::Mismatch | RequestFailure::EarlierMismatch => (
                ErrorClass::Other,
                "the ranks of the communicator did not call the same",
            ),
            RequestFailure::BadDescriptor | RequestFailure::None | RequestFailure::Cancelled => {
                (ErrorClass::Intern, "the NIC did not understand the library")
            }
        };
        self.error(class, reason)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.call)?;
        match self.bytes {
            Some(1) => f.write_str(" 1 byte")?,
            Some(bytes) => write!(f, " {bytes} bytes")?,
            None => {}
        }
        match self.peer {
            Some(Peer::To(rank)) => write!(f, " to rank {rank}")?,
            Some(Peer::From(ANY_SOURCE)) => f.write_str(" from any rank")?,
            Some(Peer::From(rank)) => write!(f, " from rank {rank}")?,
            Some(Peer::Root(rank)) => write!(f, " with root {rank}")?,
            None => {}
        }
        match self.tag {
            Some(ANY_TAG) => f.write_str(" with any tag"),
            Some(tag) => write!(f, " with tag {tag}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_call_peer_and_tag() {
        let operation = Operation {
            call: "MPI_Recv",
            bytes: Some(16),
            peer: Some(Peer::From(3)),
            tag: Some(7),
        };
        let mut error = operation.failure(RequestFailure::Truncated, 64);
        error.rank = None;
        assert_eq!(
            error.to_string(),
            "failed to MPI_Recv 16 bytes from rank 3 with tag 7: message truncated: 64 bytes arrived"
        );
        error.rank = Some(12);
        assert!(
            error
                .to_string()
                .starts_with("rank 12 failed to MPI_Recv 16 bytes")
        );
        let any = Operation {
            peer: Some(Peer::From(ANY_SOURCE)),
            tag: Some(ANY_TAG),
            ..operation
        };
        assert_eq!(
            any.to_string(),
            "MPI_Recv 16 bytes from any rank with any tag"
        );
        let root = Operation {
            peer: Some(Peer::Root(2)),
            ..Operation::plain("MPI_Bcast")
        };
        assert_eq!(root.to_string(), "MPI_Bcast with root 2");
        assert_eq!(ErrorClass::InStatus.code(), 19);
    }
}
