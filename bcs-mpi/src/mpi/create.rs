//! Making communicators out of communicators (MPI 5.0, 7.4).
//!
//! The members of the parent agree by one allreduce in its context. Each contributes its colour and
//! key in its own place, and the ids that are unavailable ([`context_ids`]). The bitwise or gives
//! all members the list of all colours and keys and of all unavailable ids. From it, all compute
//! the same groups and ids. A second allreduce tells whether all members could reserve their ids.
//!
//! Then each member makes the new context known to its NIC, and a third allreduce tells whether all
//! could, before any member uses it. If one could not, there is no new communicator anywhere: the
//! members that have opened its context close it, and the parent is as it was.
#![expect(
    unsafe_code,
    reason = "agrees by collectives, which name their buffers by address"
)]

use super::checks::CommonArguments;
use super::comm::exhausted;
use super::error::{ErrorClass, Operation};
use super::objects::context_ids::{CommFamily, ContextIdSet, choose};
use super::objects::group_families::GroupFamilies;
use super::objects::handles::CommState;
use super::objects::invalid_calls::InvalidCalls;
use super::objects::members::{LocalAndRemoteGroup, Members};
use super::objects::properties::ObjectProperties;
use super::request::{CompletionKind, Request};
use super::topology::Topology;
use super::{Comm, Group, Info, Op, Process, Result, UNDEFINED};
use crate::bcs::{self, Blocking, ByteRange};
use crate::call_site;
use crate::recording::{CallTiming, Primitive, RecordedOperation, Site};
use bcs_core::reduction::Datatype;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, OnceLock};

/// How often members start the agreement again because another agreement was faster. They choose
/// from different places, so a second attempt is rare unless hardly any id is left.
pub(super) const ATTEMPTS: u32 = 64;

/// Returns the error for the case that each id is in use at some member.
pub(super) fn no_id(operation: Operation) -> Box<super::Error> {
    let reason = "no context id is free for another communicator: free some first";
    operation.error(ErrorClass::Other, reason)
}

/// A child of a communicator: the members' places in their new order. (Those of an
/// intercommunicator are numbered as in [`Comm::all_members`].)
#[derive(Debug)]
pub(super) struct Child {
    pub(super) members: Vec<usize>,
}

/// Returns a member's colour and key as two words. A member without a colour has none.
fn encode(color: Option<u32>, key: i32) -> [u64; 2] {
    let color = color.map_or(0, |color| u64::from(color) + 1);
    [color, u64::from(key.wrapping_sub(i32::MIN).cast_unsigned())]
}

/// Returns the children in the order of their colours. Within a child, members are ordered by key,
/// then by their place in the parent.
fn children(words: &[u64]) -> Vec<Child> {
    let mut by_color: BTreeMap<u64, Vec<(u64, usize)>> = BTreeMap::new();
    for (place, pair) in words.chunks_exact(2).enumerate() {
        if pair[0] != 0 {
            by_color.entry(pair[0]).or_default().push((pair[1], place));
        }
    }
    let ordered = |mut members: Vec<(u64, usize)>| {
        members.sort_unstable();
        Child {
            members: members.into_iter().map(|(_, place)| place).collect(),
        }
    };
    by_color.into_values().map(ordered).collect()
}

/// Returns words as memory of a collective.
///
/// # Safety
/// The words are not used otherwise until it is over.
unsafe fn named(words: &mut [u64]) -> ByteRange {
    let address = words.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the caller's promise.
    unsafe { ByteRange::new(address, size_of_val(words)) }
}

impl Process {
    /// Makes another communicator of one rank.
    pub(super) fn single(
        self: &Arc<Self>,
        group: Members,
        topology: Option<Arc<Topology>>,
        kept: Arc<ObjectProperties<Comm>>,
        operation: Operation,
    ) -> Result<Comm> {
        let context = self.single_contexts.take();
        let context = context.ok_or_else(|| no_id(operation))?;
        Ok(self.of_one(context, group, topology, kept))
    }
}

impl Comm {
    /// `MPI_Comm_dup`. The duplicate has the same topology, and no name.
    ///
    /// # Errors
    /// When there are not enough context ids, or the NIC reports a failure.
    #[track_caller]
    pub fn dup(&self) -> Result<Self> {
        let duplicate = self.congruent("MPI_Comm_dup")?;
        self.copy_attributes(&duplicate)?;
        duplicate.set_info(&self.info());
        Ok(duplicate)
    }

    /// `MPI_Comm_dup_with_info`: makes a duplicate with other hints.
    ///
    /// # Errors
    /// As [`dup`](Self::dup).
    #[track_caller]
    pub fn dup_with_info(&self, info: &Info) -> Result<Self> {
        let duplicate = self.congruent("MPI_Comm_dup_with_info")?;
        self.copy_attributes(&duplicate)?;
        duplicate.set_info(info);
        Ok(duplicate)
    }

    /// Makes a communicator of the same members, with the same topology and without attributes.
    #[track_caller]
    pub(super) fn congruent(&self, call: &'static str) -> Result<Self> {
        let operation = Operation::plain(call);
        let site = Site::here();
        let _at = call_site::enter(site);
        if self.process().is_checked() {
            self.calls_alike(call, Blocking::Yes, None, CommonArguments::NOTHING, site)?;
        }
        self.record_call((Primitive::CommDup, CallTiming::Waits), &operation, |_| {
            self.usable(&operation)?;
            let (_, ids) = self.agree(&[], operation, |_| {
                let members = (0..self.all_members().len()).collect();
                vec![Child { members }]
            })?;
            let sides = (self.0.group.clone(), self.0.remote.clone());
            let id = ids.into_iter().next().flatten();
            let comm = self.child(sides, id, self.0.topology.clone(), operation);
            let made = self.keep_if_all_succeeded(comm, id, operation, |words| {
                self.allreduce_or(words, operation)
            })?;
            made.is_made_by(call, self, site);
            Ok(made)
        })
    }

    /// `MPI_Comm_split`: the members with the same colour make a new communicator, ordered by key
    /// and then by their rank here. A rank without a colour (`MPI_UNDEFINED`) gets none.
    ///
    /// On an intercommunicator, the ranks of both groups with one colour make a new one, each group
    /// in its order. A colour that only one group has makes none.
    ///
    /// # Errors
    /// As [`dup`](Self::dup).
    #[track_caller]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        let call = ("MPI_Comm_split", Primitive::CommSplit);
        self.split_for(call, color, key, None)
    }

    /// `MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED`: the members on one node, ordered by key.
    /// If `takes_part` is false (`MPI_UNDEFINED`), this rank gets none.
    ///
    /// # Errors
    /// As [`dup`](Self::dup).
    #[track_caller]
    pub fn split_by_node(&self, takes_part: bool, key: i32) -> Result<Option<Self>> {
        let node = self.process().endpoint().place().node;
        let color = takes_part.then_some(u32::from(node.0));
        self.split_for(
            ("MPI_Comm_split_type", Primitive::CommSplit),
            color,
            key,
            None,
        )
    }

    /// `MPI_Comm_create`: the members of a group that is a part of this communicator make a new
    /// one. All members of this communicator call it. Those that give the same group are in it, and
    /// different groups have no member in common.
    ///
    /// On an intercommunicator, all ranks of a group pass the part of it that is to be in the new
    /// one. If the part of either group is empty, no communicator is made.
    ///
    /// # Errors
    /// When the group has a rank that is not a member here, and as [`dup`](Self::dup).
    #[track_caller]
    pub fn create(&self, group: &Group) -> Result<Option<Self>> {
        let call = ("MPI_Comm_create", Primitive::CommCreate);
        let places = self.places_of(group, Operation::plain(call.0))?;
        let mut first = places.first().and_then(|&place| u32::try_from(place).ok());
        if self.is_inter() {
            first = first.map(|_| 0); // All members make one communicator.
        }
        let me = group.rank();
        self.split_for(call, first.filter(|_| me.is_some()), me.unwrap_or(0), None)
    }

    /// Returns the ranks here of the members of a group, which is a part of this communicator.
    pub(super) fn places_of(&self, group: &Group, operation: Operation) -> Result<Vec<i32>> {
        let places = group.translate_all(&self.group());
        if let Some(index) = places.iter().position(|&place| place == UNDEFINED) {
            let reason = format!(
                "rank {index} of the group, which is {} in the world, is not in the communicator",
                group.members()[index]
            );
            return Err(operation.error(ErrorClass::Group, reason));
        }
        Ok(places)
    }

    /// Splits, and gives this rank's part a topology.
    #[track_caller]
    pub(super) fn split_for(
        &self,
        (call, primitive): (&'static str, Primitive),
        color: Option<u32>,
        key: i32,
        topology: Option<Topology>,
    ) -> Result<Option<Self>> {
        let operation = Operation::plain(call);
        let topology = topology.map(Arc::new);
        let site = Site::here();
        let _at = call_site::enter(site);
        if self.process().is_checked() {
            self.calls_alike(call, Blocking::Yes, None, CommonArguments::NOTHING, site)?;
        }
        self.record_call((primitive, CallTiming::Waits), &operation, |_| {
            self.usable(&operation)?;
            let me = self.place_among_all();
            let mut words = vec![0; 2 * self.all_members().len()];
            words[2 * me..][..2].copy_from_slice(&encode(color, key));
            let (children, ids) = self.agree(&words, operation, |words| {
                let mut children = children(words);
                children.retain(|child| self.has_both_sides(&child.members));
                children
            })?;
            let mut children = children.iter().zip(ids);
            let mine = children.find(|(child, _)| child.members.contains(&me));
            let id = mine.as_ref().and_then(|(_, id)| *id);
            let comm = mine
                .map(|(child, id)| self.child(self.sides(&child.members), id, topology, operation));
            let comm = comm.transpose();
            let made = self.keep_if_all_succeeded(comm, id, operation, |words| {
                self.allreduce_or(words, operation)
            })?;
            if let Some(made) = &made {
                made.is_made_by(call, self, site);
            }
            Ok(made)
        })
    }

    /// Agrees on `words` and on the ids of the children. Children of one rank get no id. The id of
    /// this rank's child is then reserved.
    pub(super) fn agree(
        &self,
        words: &[u64],
        operation: Operation,
        children: impl Fn(&[u64]) -> Vec<Child>,
    ) -> Result<(Vec<Child>, Vec<Option<u32>>)> {
        self.process().reap_closed();
        let (family, held) = (&self.0.family, self.process().held_contexts());
        let parent = u64::from(self.0.context) << 32 | u64::from(self.all_members()[0]);
        for attempt in 0..ATTEMPTS {
            let said = family.contribute();
            let mut all = words.to_vec();
            all.extend(said.unavailable.words());
            self.allreduce_or(&mut all, operation)?;
            let unavailable = ContextIdSet::from_words(&all.split_off(words.len()));
            family.apply_agreement(&unavailable, &said);
            let children = children(&all);
            let larger = children
                .iter()
                .filter(|child| child.members.len() > 1)
                .count();
            let Some(ids) = choose(&unavailable, larger, parent, attempt) else {
                break;
            };
            let mut ids = ids.into_iter();
            let ids: Vec<_> = children
                .iter()
                .map(|child| (child.members.len() > 1).then(|| ids.next()).flatten())
                .collect();
            let me = self.place_among_all();
            let mine = children
                .iter()
                .zip(&ids)
                .find_map(|(child, &id)| id.filter(|_| child.members.contains(&me)));
            let reserved = mine.is_none_or(|id| held.reserve(id));
            let mut failed = [u64::from(!reserved)];
            self.allreduce_or(&mut failed, operation)?;
            if failed == [0] {
                return Ok((children, ids));
            }
            if let Some(id) = mine.filter(|_| reserved) {
                held.release(id);
            }
        }
        Err(no_id(operation))
    }

    /// Returns the bitwise or of all members' words.
    pub(super) fn allreduce_or(&self, words: &mut [u64], operation: Operation) -> Result<()> {
        if self.is_single() {
            return Ok(());
        }
        // SAFETY: the words are borrowed until the request is done, at the end of this function.
        let data = unsafe { named(words) };
        let endpoint = self.process().endpoint();
        let what = (Op::Bor, Datatype::Uint64);
        let (context, blocking) = (self.0.context, Blocking::Yes);
        let posted = endpoint.bcs_reduce(context, what, None, (data, data), blocking);
        self.finish(posted.map_err(exhausted(&operation))?, operation)
    }

    /// Gives all members of an intracommunicator the words of one member.
    pub(super) fn share(&self, words: &mut [u64], from: i32, operation: Operation) -> Result<()> {
        let root = self.world_rank(from, &operation)?;
        if self.is_single() {
            return Ok(());
        }
        // SAFETY: the words are borrowed until the request is done, at the end of this function.
        let data = unsafe { named(words) };
        let endpoint = self.process().endpoint();
        let (context, blocking) = (self.0.context, Blocking::Yes);
        let posted = endpoint.bcs_bcast(context, root, data, blocking);
        self.finish(posted.map_err(exhausted(&operation))?, operation)
    }

    fn finish(&self, request: bcs::Request, operation: Operation) -> Result<()> {
        Request::posted(
            request,
            CompletionKind::Nothing,
            self,
            &operation,
            RecordedOperation::NOT,
        )
        .wait_unrecorded()
        .map(|_| ())
    }

    /// Makes this rank's handle of a child.
    pub(super) fn child(
        &self,
        sides: LocalAndRemoteGroup,
        id: Option<u32>,
        topology: Option<Arc<Topology>>,
        operation: Operation,
    ) -> Result<Self> {
        self.child_from(&self.0.family, sides, id, topology, operation)
    }

    /// Makes the same of a child whose id a family of all its members has chosen.
    pub(super) fn child_from(
        &self,
        origin: &Arc<CommFamily>,
        (group, remote): LocalAndRemoteGroup,
        id: Option<u32>,
        topology: Option<Arc<Topology>>,
        operation: Operation,
    ) -> Result<Self> {
        let process = self.process();
        let Some(id) = id else {
            let kept = Arc::new(self.0.properties.inherited());
            return process.single(group, topology, kept, operation);
        };
        let endpoint = process.endpoint();
        let own = &group.peers.members;
        let members = remote.as_ref().map_or(own, |remote| &remote.all);
        // SAFETY: the members are borrowed until the request is done, in the next line.
        let posted = unsafe { endpoint.bcs_open(id, members) };
        self.finish(posted.map_err(exhausted(&operation))?, operation)?;
        let local = process.local_members(members);
        endpoint.bcs_opened(id, members, local);
        let kept = Arc::new(self.0.properties.inherited());
        Ok(self.opened(origin, (group, remote), id, topology, kept))
    }

    /// Makes a handle of a child whose context is open.
    pub(super) fn opened(
        &self,
        origin: &Arc<CommFamily>,
        (group, remote): LocalAndRemoteGroup,
        id: u32,
        topology: Option<Arc<Topology>>,
        kept: Arc<ObjectProperties<Self>>,
    ) -> Self {
        let process = self.process();
        let own = &group.peers.members;
        let members = remote.as_ref().map_or(own, |remote| &remote.all);
        let origin = origin.clone();
        let family = if origin.is_of(members.len()) {
            origin.clone()
        } else {
            let held = process.held_contexts().clone();
            CommFamily::new(held, members.len(), Some(origin.clone()))
        };
        Self(Arc::new(CommState {
            process: process.clone(),
            context: id,
            group,
            remote,
            family,
            origin: Some(origin),
            freed: AtomicBool::new(false),
            properties: kept,
            topology,
            has_local_members: OnceLock::new(),
            group_families: GroupFamilies::default(),
            duplications: AtomicU32::new(0),
            invalid: InvalidCalls::default(),
        }))
    }

    /// Returns what this rank has made with an id that it had reserved, if all ranks could make
    /// theirs. Else no rank has made anything. `allreduce_or` makes the bitwise or of all ranks'
    /// words.
    pub(super) fn keep_if_all_succeeded<T>(
        &self,
        made: Result<T>,
        id: Option<u32>,
        operation: Operation,
        or: impl FnOnce(&mut [u64]) -> Result<()>,
    ) -> Result<T> {
        let mut failed = [u64::from(made.is_err())];
        let agreed = or(&mut failed);
        if let (Err(_), Some(id)) = (&made, id) {
            // No NIC knows the context any more.
            self.process().held_contexts().release(id);
        }
        let made = made?;
        agreed?;
        if failed != [0] {
            let reason = "another rank could not make its part: see its error";
            return Err(operation.error(ErrorClass::Other, reason));
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_members_and_ties_go_by_rank() {
        let members = [
            (Some(7), 3),
            (None, 0),
            (Some(2), -5),
            (Some(7), -1),
            (Some(7), 3),
        ];
        let words: Vec<u64> = members
            .iter()
            .flat_map(|&(color, key)| encode(color, key))
            .collect();
        let children: Vec<Vec<usize>> = children(&words)
            .into_iter()
            .map(|child| child.members)
            .collect();
        assert_eq!(children, [vec![2], vec![3, 0, 4]]);
    }
}
