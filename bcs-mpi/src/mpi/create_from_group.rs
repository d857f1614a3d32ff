//! Communicators of ranks that have no communicator in common (MPI 5.0, 7.4.2 and 7.6.2): of a
//! group, or of two.
//!
//! These ranks are ranks of one job, so they share the world's context. Their messages travel there
//! with [`SESSION_MESSAGES`] added. The tag stands for the string that all give. Two strings with
//! the same tag are rare, one pair in 2^31, and do harm only if threads of the same ranks give both
//! at the same time.
//!
//! The ranks of a group agree as in [`create_group`](super::create_group). Those of two groups
//! agree as when communicators become an intercommunicator.

use super::create_group::{AgreementGroup, agree_on_id, agreement};
use super::error::{ErrorClass, Operation};
use super::objects::context_ids::SESSION_MESSAGES;
use super::objects::members::Members;
use super::objects::properties::ObjectProperties;
use super::point_to_point::MessageCall;
use super::{Comm, ErrorHandler, Group, Info, Process, Result, UNDEFINED};
use crate::call_site;
use crate::recording::{CallTiming, Primitive, Site};
use bcs_core::fingerprint::fingerprint;
use std::sync::Arc;

const CALL: MessageCall =
    MessageCall::standard("MPI_Comm_create_from_group", Primitive::CommCreate);
const BETWEEN: MessageCall = MessageCall::standard(
    "MPI_Intercomm_create_from_groups",
    Primitive::IntercommCreate,
);

/// Returns the tag that stands for a string in messages.
fn tag_of(text: &[u8]) -> i32 {
    let words = text.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let print = fingerprint(std::iter::once(text.len() as u64).chain(words));
    i32::try_from(print >> 33).expect("it has 31 bits")
}

impl Process {
    /// `MPI_Comm_create_from_group`: the members of a group make a communicator. All give the same
    /// group and text. Concurrent calls of several threads have different texts. The communicator
    /// has this error handler, and these hints.
    ///
    /// # Errors
    /// When this rank is not in the group, there are not enough context ids, or the NIC reports a
    /// failure.
    #[track_caller]
    pub fn create_from_group(
        self: &Arc<Self>,
        group: &Group,
        text: &[u8],
        info: &Info,
        handler: ErrorHandler,
    ) -> Result<Comm> {
        self.from_group(CALL, group, text, info, handler)
    }

    #[track_caller]
    fn from_group(
        self: &Arc<Self>,
        call: MessageCall,
        group: &Group,
        text: &[u8],
        info: &Info,
        handler: ErrorHandler,
    ) -> Result<Comm> {
        let operation = Operation::plain(call.name);
        self.alive(&operation)?;
        let me = group.rank().and_then(|rank| usize::try_from(rank).ok());
        let Some(me) = me else {
            let reason = format!(
                "rank {} of the world is not in the group",
                self.world_rank()
            );
            return Err(operation.error(ErrorClass::Group, reason));
        };
        let members = || Members::new(group.members().to_vec(), me);
        let _at = call_site::enter(Site::here());
        let world = self.world();
        let made = world.record_call((call.primitive, CallTiming::Waits), &operation, |_| {
            if group.members().len() == 1 {
                return self.single(
                    members(),
                    None,
                    Arc::new(ObjectProperties::named("")),
                    operation,
                );
            }
            self.reap_closed();
            let held = self.held_contexts();
            let mut sorted = group.members().to_vec();
            sorted.sort_unstable();
            let family = self.pair_family(&sorted);
            let (comm, tag) = (
                world.for_messages(SESSION_MESSAGES, members(), &family),
                tag_of(text),
            );
            let circle = AgreementGroup { call, comm, tag };
            let or = |words: &mut [u64]| circle.allreduce_or(words);
            let agreement = agreement(SESSION_MESSAGES, tag);
            let id = agree_on_id(or, agreement, &family, held, operation)?;
            let comm = world.child_from(&family, (members(), None), Some(id), None, operation);
            world.keep_if_all_succeeded(comm, Some(id), operation, or)
        })?;
        made.set_error_handler(handler)?;
        made.set_info(info);
        if let Some(buffer) = group.session() {
            _ = made.0.properties.session_buffer.set(buffer.clone());
        }
        Ok(made)
    }

    /// `MPI_Intercomm_create_from_groups`: the members of two groups make an intercommunicator.
    /// Each leader, a rank of its group, knows the other group and the rank of its leader there.
    ///
    /// # Errors
    /// When this rank is not in its group, there is no such leader, or the groups have a member in
    /// common; and as [`create_from_group`](Self::create_from_group).
    #[track_caller]
    pub fn intercomm_create_from_groups(
        self: &Arc<Self>,
        (local, leader): (&Group, i32),
        (remote, remote_leader): (&Group, i32),
        text: &[u8],
        info: &Info,
        handler: ErrorHandler,
    ) -> Result<Comm> {
        let comm = self.from_group(BETWEEN, local, text, info, handler.clone())?;
        // The call below finds an invalid leader, and notifies all of this group.
        let other = usize::try_from(remote_leader).ok();
        let other = other.and_then(|place| remote.members().get(place));
        let other = other.and_then(|&other| i32::try_from(other).ok());
        let world = self.world();
        let all = world.0.group.clone();
        let peer = world.for_messages(SESSION_MESSAGES, all, &world.0.family);
        let (other, tag) = (other.unwrap_or(UNDEFINED), tag_of(text));
        let made = comm.intercomm_create(leader, Some(&peer), other, tag)?;
        made.set_error_handler(handler)?;
        made.set_info(info);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_tags_of_their_own() {
        let texts: [&[u8]; 6] = [
            b"",
            b"a",
            b"a\0",
            b"b",
            b"org.mpi-forum.1",
            b"org.mpi-forum.2",
        ];
        let mut tags: Vec<i32> = texts.iter().map(|text| tag_of(text)).collect();
        assert!(tags.iter().all(|tag| *tag >= 0));
        tags.sort_unstable();
        tags.dedup();
        assert_eq!(tags.len(), texts.len());
    }
}
