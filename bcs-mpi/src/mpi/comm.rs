//! Communicators: a group of ranks and a context (MPI 5.0, 7.2).

pub use super::constants::MAX_OBJECT_NAME;
use super::constants::{ANY_SOURCE, ANY_TAG, TAG_UB};
use super::error::{Error, ErrorClass, FailedReceive, Operation, Peer, Result};
use super::group::as_rank;
use super::info::{DEFAULT_MEMORY_KINDS, Info, MEMORY_KINDS};
pub use super::objects::handles::Comm;
use super::objects::members::Peers;
use super::objects::single_contexts::is_made_for_one;
use super::{Comparison, Group, Process, Status};
use crate::call_site;
use crate::recording::Site;
use bcs_core::descriptor::CollectiveKind;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestFailure;
use bcs_core::wait_state::{self, CalledCollective, CommunicatorLabel, ConflictingCall};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Comm {
    /// `MPI_Comm_rank`: returns this rank's number.
    #[must_use]
    pub fn rank(&self) -> i32 {
        as_rank(self.0.group.me)
    }

    /// `MPI_Comm_size`: returns the number of ranks; for an intercommunicator, that of the local
    /// group.
    #[must_use]
    pub fn size(&self) -> i32 {
        as_rank(self.members().len())
    }

    /// Returns the world ranks of the members, in order; for an intercommunicator, those of the
    /// local group.
    #[must_use]
    pub fn members(&self) -> &[u32] {
        &self.0.group.peers.members
    }

    /// `MPI_Comm_group`: returns the group; for an intercommunicator, the local group.
    #[must_use]
    pub fn group(&self) -> Group {
        self.group_of(self.members().to_vec())
    }

    /// Returns a group of these world ranks, as this process sees it.
    pub(super) fn group_of(&self, members: Vec<u32>) -> Group {
        let group = Group::new(members, self.0.process.world_rank());
        match self.0.properties.session_buffer.get() {
            Some(buffer) => group.of_session(buffer),
            None => group,
        }
    }

    /// `MPI_Comm_compare`. An intercommunicator and an intracommunicator are unequal. For two
    /// intercommunicators, the less equal groups count.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        // A process is in one communicator of a context at a time.
        if self.0.context == other.0.context {
            return Comparison::Identical;
        }
        let local = self.group().compare(&other.group());
        let remote = match (&self.0.remote, &other.0.remote) {
            (None, None) => local,
            (Some(_), Some(_)) => {
                let group = |comm: &Self| comm.group_of(comm.peers().members.clone());
                group(self).compare(&group(other))
            }
            _ => Comparison::Unequal,
        };
        match (local, remote) {
            (Comparison::Identical, Comparison::Identical) => Comparison::Congruent,
            (Comparison::Unequal, _) | (_, Comparison::Unequal) => Comparison::Unequal,
            _ => Comparison::Similar,
        }
    }

    /// `MPI_Comm_get_name`: returns the name, which may be empty.
    #[must_use]
    pub fn name(&self) -> String {
        self.0.properties.name().clone()
    }

    /// `MPI_Comm_set_name`, for this process. A longer name is cut after the last whole character
    /// within [`MAX_OBJECT_NAME`] bytes.
    pub fn set_name(&self, name: &str) {
        let end = name.floor_char_boundary(MAX_OBJECT_NAME);
        name[..end].clone_into(&mut self.0.properties.name());
        let title = CommunicatorLabel::named(self.0.context, &name[..end]);
        self.process().endpoint().bcs_entitle(title);
    }

    /// Records, for ranks that wait in this communicator, which call has made it from which other
    /// one.
    pub(super) fn is_made_by(&self, call: &str, of: &Self, site: Site) {
        let of = match of.name() {
            name if name.is_empty() => "another one".to_owned(),
            name => name,
        };
        let title =
            CommunicatorLabel::made(self.0.context, call, &of, call_site::to_published(site));
        self.process().endpoint().bcs_entitle(title);
    }

    /// `MPI_Comm_get_info`: returns a new object with the communicator's hints, and the hint that
    /// has a default. This library uses no other key, but keeps what was set.
    #[must_use]
    pub fn info(&self) -> Info {
        let info = self.0.properties.info().dup();
        // A hint of the program does not change which kinds of memory there are.
        let set = info.set(MEMORY_KINDS, DEFAULT_MEMORY_KINDS);
        debug_assert!(set.is_ok(), "key and value are short");
        info
    }

    /// `MPI_Comm_set_info`: sets hints.
    pub fn set_info(&self, info: &Info) {
        *self.0.properties.info() = info.dup();
    }

    /// Returns the process that this handle belongs to.
    #[must_use]
    pub fn process(&self) -> &Arc<Process> {
        &self.0.process
    }

    /// Returns whether the program has made it for this rank alone. No other rank knows of it.
    #[must_use]
    pub fn is_made_for_one(&self) -> bool {
        is_made_for_one(self.0.context)
    }

    /// Returns whether this rank is the only member. Collectives need no communication then.
    pub(super) fn is_single(&self) -> bool {
        self.all_members().len() == 1
    }

    /// Returns the ranks that messages go to and come from: the members, or those of the remote
    /// group.
    pub(super) fn peers(&self) -> &Peers {
        let remote = self.0.remote.as_ref();
        remote.map_or(&self.0.group.peers, |remote| &remote.peers)
    }

    /// Checks that the library is initialised and the communicator not freed.
    #[inline]
    pub(super) fn usable(&self, operation: &Operation) -> Result<()> {
        self.0.process.alive(operation)?;
        if self.0.freed.load(Ordering::Relaxed) {
            return Err(operation.error(ErrorClass::Comm, "the communicator was freed"));
        }
        Ok(())
    }

    /// Returns the world rank of a rank of this communicator.
    #[inline(always)]
    pub(super) fn world_rank(&self, rank: i32, operation: &Operation) -> Result<u32> {
        let member = usize::try_from(rank)
            .ok()
            .and_then(|rank| self.peers().members.get(rank));
        member
            .copied()
            .ok_or_else(|| self.no_such_rank(rank, operation))
    }

    #[cold]
    fn no_such_rank(&self, rank: i32, operation: &Operation) -> Box<Error> {
        let class = match operation.peer {
            Some(Peer::Root(_)) => ErrorClass::Root,
            _ => ErrorClass::Rank,
        };
        let whose = match self.0.remote {
            Some(_) => "the remote group",
            None => "the communicator",
        };
        let last = self.peers().members.len() - 1;
        let reason = format!("{whose} has no rank {rank}, but 0 to {last}");
        operation.error(class, reason)
    }

    /// Returns what a receive from this source with this tag matches; both may be wildcards.
    #[inline(always)]
    pub(super) fn pattern(&self, source: i32, tag: i32, operation: &Operation) -> Result<Pattern> {
        let source = match source {
            ANY_SOURCE => None,
            rank => Some(self.world_rank(rank, operation)?),
        };
        let tag = match tag {
            ANY_TAG => None,
            tag => Some(checked_tag(tag, operation)?),
        };
        Ok(Pattern {
            context: self.0.context,
            source,
            tag,
        })
    }

    /// Returns the error of a collective that failed.
    pub(super) fn collective_failure(
        &self,
        outcome: &crate::bcs::RequestOutcome,
        operation: Operation,
    ) -> Box<Error> {
        let class = match outcome.failure {
            RequestFailure::Truncated => ErrorClass::Truncate,
            _ => ErrorClass::Count,
        };
        match (outcome.expected, outcome.failure) {
            (Some(_), RequestFailure::SenderMemory) => {
                self.missing_memory(outcome.source, operation)
            }
            (_, RequestFailure::MemberMemory) => {
                let rank = u32::try_from(outcome.len).unwrap_or(u32::MAX);
                self.missing_memory(rank, operation)
            }
            (Some(expected), RequestFailure::Truncated | RequestFailure::Mismatch) => {
                let (rank, len) = (self.peers().place(outcome.source), outcome.len);
                let reason = format!("rank {rank} sent {len} bytes, and {expected} were expected");
                operation.error(class, reason)
            }
            (None, failure @ (RequestFailure::Mismatch | RequestFailure::EarlierMismatch)) => {
                let earlier = failure == RequestFailure::EarlierMismatch;
                let reason = match ConflictingCall::unpack(outcome.len) {
                    Some(ConflictingCall {
                        rank,
                        called:
                            CalledCollective::Nic {
                                kind: CollectiveKind::Invalid(call),
                                ..
                            },
                    }) => return self.invalid_elsewhere(rank, call, operation),
                    Some(objection) => self.objection(&objection, earlier),
                    None => "another rank called something else".to_owned(),
                };
                let mut error = operation.error(ErrorClass::Other, reason);
                error.disagreement = true;
                error
            }
            _ => operation.failure(outcome.failure, outcome.len),
        }
    }

    /// Returns the error for memory that a world rank named and that does not exist.
    fn missing_memory(&self, rank: u32, operation: Operation) -> Box<Error> {
        if rank == self.members()[self.0.group.me] {
            return operation.failure(RequestFailure::BadAddress, 0);
        }
        let members = &self.peers().members;
        let reason = match members.iter().position(|&member| member == rank) {
            Some(place) => format!("the buffer of rank {place} is not in its memory"),
            None => format!("the buffer of rank {rank} of the world is not in its memory"),
        };
        operation.error(ErrorClass::Buffer, reason)
    }

    /// Describes what another rank called instead, in ranks of this communicator; for an
    /// intercommunicator in ranks of the world, because its groups have no common numbering.
    fn objection(&self, objection: &ConflictingCall, earlier: bool) -> String {
        let (members, numbers) = match self.0.remote {
            Some(_) => (&[][..], " (in ranks of the world)"),
            None => (self.members(), ""),
        };
        let place = |rank: u32| {
            let place = members.iter().position(|&member| member == rank);
            // A number that is not a member's comes from a rank that posted invalid data.
            place.map_or(rank, |place| u32::try_from(place).expect("MAX_RANKS fits"))
        };
        let called = match objection.called {
            CalledCollective::Nic { kind, bytes } => {
                let kind = match kind {
                    CollectiveKind::Broadcast { root } => {
                        let root = place(root);
                        CollectiveKind::Broadcast { root }
                    }
                    CollectiveKind::Reduce { root, op, datatype } => CollectiveKind::Reduce {
                        root: root.map(place),
                        op,
                        datatype,
                    },
                    kind => kind,
                };
                CalledCollective::Nic { kind, bytes }
            }
            CalledCollective::Messages(exchange, root) => {
                CalledCollective::Messages(exchange, root.map(place))
            }
        };
        let rank = place(objection.rank);
        let (when, is) = match earlier {
            true => (" in an earlier collective", "was"),
            false => ("", "is"),
        };
        format!(
            "the ranks of the communicator did not call the same{when}{numbers}: rank {rank} {is} at {called}"
        )
    }

    /// Returns the status of a completed receive or probe.
    #[inline(always)]
    pub(super) fn status(
        &self,
        outcome: &crate::bcs::RequestOutcome,
        operation: &Operation,
    ) -> Result<Status> {
        match outcome.failure {
            RequestFailure::None => Ok(self.status_of(outcome)),
            _ => self.status_of_failure(outcome, operation),
        }
    }

    /// Returns the same for an operation that has not failed.
    #[inline(always)]
    pub(super) fn status_of(&self, outcome: &crate::bcs::RequestOutcome) -> Status {
        Status {
            source: self.peers().place(outcome.source),
            tag: outcome.tag,
            bytes: outcome.len,
            cancelled: false,
        }
    }

    #[cold]
    fn status_of_failure(
        &self,
        outcome: &crate::bcs::RequestOutcome,
        operation: &Operation,
    ) -> Result<Status> {
        match outcome.failure {
            RequestFailure::Cancelled => Ok(Status {
                cancelled: true,
                ..Status::EMPTY
            }),
            RequestFailure::SenderMemory => Err(self.missing_memory(outcome.source, *operation)),
            RequestFailure::Truncated => {
                self.process().note_truncation(wait_state::MessagePeer {
                    context: self.0.context,
                    rank: Some(outcome.source),
                    tag: Some(outcome.tag),
                });
                let mut error = operation.failure(RequestFailure::Truncated, outcome.len);
                error.came = Some(FailedReceive {
                    source: self.peers().place(outcome.source),
                    tag: outcome.tag,
                    bytes: operation.bytes.unwrap_or(0),
                });
                Err(error)
            }
            failure => Err(operation.failure(failure, outcome.len)),
        }
    }
}

/// Checks that a message may have this tag.
#[inline]
pub(super) fn checked_tag(tag: i32, operation: &Operation) -> Result<i32> {
    if tag < 0 {
        return Err(operation.error(
            ErrorClass::Tag,
            format!("tags are 0 to {TAG_UB}, not {tag}"),
        ));
    }
    Ok(tag)
}

/// Returns the error for a call that found all request slots in use.
pub(super) fn exhausted(
    operation: &Operation,
) -> impl FnOnce(crate::bcs::TooManyRequests) -> Box<Error> {
    |error| operation.error(ErrorClass::Other, error.to_string())
}
