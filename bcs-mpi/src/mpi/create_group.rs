//! `MPI_Comm_create_group` (MPI 5.0, 7.4.2): a part of a communicator makes a new one without the
//! other ranks.
//!
//! So collectives in the parent's context cannot be used: the members of the group have only
//! messages. These travel in a context of their own, the parent's with [`GROUP_MESSAGES`] added,
//! with the tag of the call. So no receive of the program sees them, and the tags tell apart the
//! concurrent calls of several threads, as the standard requires.
//!
//! The first member of the group collects the words of the others, combines them, and sends the
//! result to all. Such a reduction takes two messages, one after the other, whatever the size of
//! the group. An agreement is three of them: which ids are unavailable, whether all could reserve
//! the id that all choose then, and whether all could open the context.
//!
//! Ranks that have no communicator in common do the same in the world's context
//! ([`create_from_group`](super::create_from_group)).
#![expect(
    unsafe_code,
    reason = "messages and contexts name their data by address"
)]

use super::comm::checked_tag;
use super::create::{ATTEMPTS, no_id};
use super::error::Operation;
use super::objects::context_ids::{
    CommFamily, ContextIdSet, GROUP_MESSAGES, HeldContextIds, choose,
};
use super::objects::group_families::GroupFamilies;
use super::objects::handles::CommState;
use super::objects::invalid_calls::InvalidCalls;
use super::objects::members::Members;
use super::objects::properties::ObjectProperties;
use super::point_to_point::MessageCall;
use super::{Buffer, Comm, Group, Process, Request, Result};
use crate::call_site;
use crate::recording::{CallTiming, Primitive, RecordedOperation, Site};
use bcs_core::reduction::Datatype;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, OnceLock};

/// The call's name and its row in the MDS.
const CALL: MessageCall = MessageCall::standard("MPI_Comm_create_group", Primitive::CommCreate);

/// The members of a group that agree, and the tag of their messages.
pub(super) struct AgreementGroup {
    pub(super) call: MessageCall,
    pub(super) comm: Comm,
    pub(super) tag: i32,
}

impl AgreementGroup {
    /// Sends a message to a rank of the group.
    ///
    /// # Safety
    /// The words are not written until the request is done.
    unsafe fn send(&self, words: &[u64], to: i32) -> Result<Request> {
        // SAFETY: the caller's promise.
        let data = unsafe { Buffer::read_only(words.as_ptr(), words.len(), Datatype::Uint64) };
        self.comm
            .post_send(self.call, RecordedOperation::NOT, &data, to, self.tag)
    }

    /// Receives a message from a rank of the group.
    ///
    /// # Safety
    /// The words are not used otherwise until the request is done.
    unsafe fn receive(&self, words: &mut [u64], from: i32) -> Result<Request> {
        // SAFETY: the caller's promise.
        let data = unsafe { Buffer::new(words.as_mut_ptr(), words.len(), Datatype::Uint64) };
        self.comm
            .post_recv(self.call, RecordedOperation::NOT, &data, from, self.tag)
    }

    /// In a group of two: sends words to the other member, and receives its words.
    pub(super) fn swap(&self, mine: &[u64], others: &mut [u64]) -> Result<()> {
        let other = 1 - self.comm.rank();
        // SAFETY: the words are borrowed until the receive is done, at the end of this function.
        let received = unsafe { self.receive(others, other) };
        // SAFETY: the words are borrowed until the send is done, in the next line.
        let sent = unsafe { self.send(mine, other) };
        settle([received, sent])
    }

    /// Receives words from a rank, or from any. Returns the rank.
    pub(super) fn receive_words(&self, words: &mut [u64], from: i32) -> Result<i32> {
        // SAFETY: the words are borrowed until the receive is done, in the next line.
        let received = unsafe { self.receive(words, from) };
        Ok(received?.wait_unrecorded()?.source)
    }

    /// In a group of two: sends words to the other member.
    pub(super) fn send_to_other(&self, words: &[u64]) -> Result<()> {
        // SAFETY: the words are borrowed until the send is done, in the next line.
        let sent = unsafe { self.send(words, 1 - self.comm.rank()) };
        settle([sent])
    }

    /// Computes the bitwise or of all members' words.
    pub(super) fn allreduce_or(&self, words: &mut [u64]) -> Result<()> {
        if self.comm.rank() != 0 {
            // SAFETY: the words are borrowed until the send is done, in the next line.
            let sent = unsafe { self.send(words, 0) };
            settle([sent])?;
            // SAFETY: the words are borrowed until the receive is done, in the next line.
            let received = unsafe { self.receive(words, 0) };
            return settle([received]);
        }
        let mut said = vec![vec![0; words.len()]; self.comm.members().len() - 1];
        let receives: Vec<_> = (1..)
            .zip(&mut said)
            // SAFETY: the lists live until the receives are done, in the next line.
            .map(|(from, words)| unsafe { self.receive(words, from) })
            .collect();
        settle(receives)?;
        for said in said {
            words
                .iter_mut()
                .zip(said)
                .for_each(|(word, said)| *word |= said);
        }
        let sends: Vec<_> = (1..self.comm.size())
            // SAFETY: the words are borrowed until the sends are done, in the next line.
            .map(|to| unsafe { self.send(words, to) })
            .collect();
        settle(sends)
    }
}

/// Agrees on an id, which this rank then has reserved. `allreduce_or` makes the bitwise or of all
/// members' words. The number `agreement` differs from that of any other agreement that threads of
/// these members make at the same time.
pub(super) fn agree_on_id(
    or: impl Fn(&mut [u64]) -> Result<()>,
    agreement: u64,
    family: &CommFamily,
    held: &HeldContextIds,
    operation: Operation,
) -> Result<u32> {
    for attempt in 0..ATTEMPTS {
        let said = family.contribute();
        let mut words = said.unavailable.words().to_vec();
        words.push(agreement);
        or(&mut words)?;
        let agreement = words.pop().expect("it was pushed");
        let unavailable = ContextIdSet::from_words(&words);
        family.apply_agreement(&unavailable, &said);
        let Some(ids) = choose(&unavailable, 1, agreement, attempt) else {
            break;
        };
        let reserved = held.reserve(ids[0]);
        let mut failed = [u64::from(!reserved)];
        or(&mut failed)?;
        if failed == [0] {
            return Ok(ids[0]);
        }
        if reserved {
            held.release(ids[0]);
        }
    }
    Err(no_id(operation))
}

/// Returns a number that tells an agreement from those of other threads of its members. It consists
/// of the communicator that the call is made with, and the tag.
pub(super) fn agreement(context: u32, tag: i32) -> u64 {
    u64::from(context) << 32 | u64::from(tag.cast_unsigned())
}

/// Waits for all requests. Returns the error of the first that failed or could not be posted.
fn settle(requests: impl IntoIterator<Item = Result<Request>>) -> Result<()> {
    let mut outcome = Ok(());
    for request in requests {
        let done = request.and_then(|mut request| request.wait_unrecorded());
        outcome = outcome.and(done.map(|_| ()));
    }
    outcome
}

impl Comm {
    /// `MPI_Comm_create_group`: the members of a group that is a part of this communicator make a
    /// new one. Only they call it, all with the same group and tag. Concurrent calls of several
    /// threads have different tags. The tag is independent of those of messages. A rank that is not
    /// in the group gets none, and need not call it.
    ///
    /// # Errors
    /// When this is an intercommunicator, the group has a rank that is no member here, the tag is
    /// negative, there are not enough context ids, or the NIC reports a failure.
    #[track_caller]
    pub fn create_group(&self, group: &Group, tag: i32) -> Result<Option<Self>> {
        let operation = Operation {
            tag: Some(tag),
            ..Operation::plain(CALL.name)
        };
        self.usable_within(&operation)?;
        checked_tag(tag, &operation)?;
        self.places_of(group, operation)?;
        let me = group.rank().and_then(|rank| usize::try_from(rank).ok());
        let Some(me) = me else {
            return Ok(None);
        };
        let process = self.process().clone();
        let make = |_| {
            let members = || Members::new(group.members().to_vec(), me);
            if group.members().len() == 1 {
                let kept = Arc::new(self.0.properties.inherited());
                return process.single(members(), None, kept, operation);
            }
            process.reap_closed();
            let held = process.held_contexts();
            let families = &self.0.group_families;
            let family = families.of(group.members(), held, &self.0.family);
            let comm = self.for_messages(GROUP_MESSAGES, members(), &family);
            let circle = AgreementGroup {
                call: CALL,
                comm,
                tag,
            };
            let agreement = agreement(self.0.context, tag);
            let or = |words: &mut [u64]| circle.allreduce_or(words);
            let id = agree_on_id(or, agreement, &family, held, operation)?;
            let sides = (members(), None);
            let comm = self.child_from(&family, sides, Some(id), None, operation);
            self.keep_if_all_succeeded(comm, Some(id), operation, or)
        };
        let _at = call_site::enter(Site::here());
        self.record_call((CALL.primitive, CallTiming::Waits), &operation, make)
            .map(Some)
    }

    /// Returns a communicator of a group for messages only. No NIC has to know its context, which
    /// is this one with an offset added.
    pub(super) fn for_messages(
        &self,
        added: u32,
        group: Members,
        family: &Arc<CommFamily>,
    ) -> Self {
        let context = self.0.context | added;
        self.process().messages_only(context, group, family.clone())
    }
}

impl Process {
    /// Returns a communicator of a group for messages only, with a context that no NIC has to know.
    pub(super) fn messages_only(
        self: &Arc<Self>,
        context: u32,
        group: Members,
        family: Arc<CommFamily>,
    ) -> Comm {
        Comm(Arc::new(CommState {
            process: self.clone(),
            context,
            group,
            remote: None,
            family,
            origin: None,
            freed: AtomicBool::new(false),
            properties: Arc::new(ObjectProperties::named("")),
            topology: None,
            has_local_members: OnceLock::new(),
            group_families: GroupFamilies::default(),
            duplications: AtomicU32::new(0),
            invalid: InvalidCalls::default(),
        }))
    }
}
