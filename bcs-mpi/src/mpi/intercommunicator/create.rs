//! `MPI_Intercomm_create` (MPI 5.0, 7.6.2): two communicators become one of two groups.
//!
//! The leaders, who have a communicator in common, exchange the lists of their groups, and then all
//! ranks agree on a context id. Each group makes a reduction of its own, the leaders exchange the
//! results by messages, and each leader sends the result to its group. They do so three times, as
//! in an agreement of any group: which ids are unavailable, whether all could reserve the id that
//! all choose, and whether all have opened the context.
//!
//! The leaders' messages travel in the peer communicator's context with [`LEADER_MESSAGES`] added,
//! with the tag of the call. So no receive of the program sees them.
//!
//! Ids are chosen by a *family* ([`context_ids`](crate::mpi::objects::context_ids)) of the members
//! of both groups. The process keeps the most recent families: two groups that meet again and again
//! find the ids that they have given back.

use crate::call_site;
use crate::mpi::comm::checked_tag;
use crate::mpi::create_group::{AgreementGroup, agree_on_id, agreement};
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::objects::context_ids::LEADER_MESSAGES;
use crate::mpi::objects::members::{Members, RemoteGroup};
use crate::mpi::point_to_point::MessageCall;
use crate::mpi::{Comm, Result};
use crate::recording::{CallTiming, Primitive, Site};
use std::collections::HashSet;

const CALL: MessageCall = MessageCall::standard("MPI_Intercomm_create", Primitive::IntercommCreate);

/// The context of the leaders' messages.
struct Leaders<'a> {
    call: MessageCall,
    peer: Option<&'a Comm>,
    remote_leader: i32,
    tag: i32,
}

impl Leaders<'_> {
    /// Returns the group of this rank, which is the leader of its group, and the other leader.
    fn circle(&self, local: &Comm, operation: Operation) -> Result<AgreementGroup> {
        let Some(peer) = self.peer else {
            let reason = "the local leader has to give a peer communicator";
            return Err(operation.error(ErrorClass::Comm, reason));
        };
        peer.usable(&operation)?;
        checked_tag(self.tag, &operation)?;
        let (me, other) = (
            peer.process().world_rank(),
            peer.world_rank(self.remote_leader, &operation)?,
        );
        if local.members().contains(&other) {
            let reason = format!(
                "the groups have a member in common: the remote leader, which is {other} in the \
                 world, is in the local group"
            );
            return Err(operation.error(ErrorClass::Comm, reason));
        }
        let pair = vec![me.min(other), me.max(other)];
        let pair = Members::new(pair, usize::from(me > other));
        Ok(AgreementGroup {
            call: self.call,
            comm: peer.for_messages(LEADER_MESSAGES, pair, &peer.0.family),
            tag: self.tag,
        })
    }

    /// Returns the pair of leaders, and the world ranks of the other leader's group.
    fn meet(&self, local: &Comm, operation: Operation) -> Result<(AgreementGroup, Vec<u32>)> {
        let circle = self.circle(local, operation)?;
        let own: Vec<u64> = local.members().iter().map(|&rank| rank.into()).collect();
        let mut count = [0];
        circle.swap(&[own.len() as u64], &mut count)?;
        // Data from another rank is checked before it is used.
        let ranks = local.process().placement().capacity();
        let count = usize::try_from(count[0]).ok();
        let Some(count) = count.filter(|count| (1..=ranks).contains(count)) else {
            let reason = format!("the other group claims to be more than {ranks} ranks, or none");
            return Err(operation.error(ErrorClass::Intern, reason));
        };
        let mut words = vec![0; count];
        circle.swap(&own, &mut words)?;
        let members = words.iter().map(|&word| u32::try_from(word).ok());
        let members: Option<Vec<u32>> = members.collect();
        let exist = |members: &Vec<u32>| members.iter().all(|&rank| (rank as usize) < ranks);
        let Some(members) = members.filter(exist) else {
            let reason = "the other group claims to have ranks that the world has not";
            return Err(operation.error(ErrorClass::Intern, reason));
        };
        let here: HashSet<u32> = local.members().iter().copied().collect();
        if let Some(both) = members.iter().find(|member| here.contains(member)) {
            let reason =
                format!("the groups have a member in common: {both} in the world is in both");
            return Err(operation.error(ErrorClass::Comm, reason));
        }
        Ok((circle, members))
    }
}

/// A group that agrees with another one.
struct AgreeingGroup<'a> {
    local: &'a Comm,
    leader: i32,
    /// At the leader: the pair of leaders.
    circle: Option<AgreementGroup>,
    operation: Operation,
}

impl<'a> AgreeingGroup<'a> {
    /// Returns this side, and the world ranks of the other one. All ranks of a group have the same
    /// outcome.
    fn meet(
        local: &'a Comm,
        leader: i32,
        leaders: &Leaders<'_>,
        operation: Operation,
    ) -> Result<(Self, Vec<u32>)> {
        let is_leader = local.rank() == leader;
        let met = is_leader.then(|| leaders.meet(local, operation));
        let mut verdict = match &met {
            Some(Err(error)) => [u64::from(error.class.code().unsigned_abs()), 0],
            Some(Ok((_, members))) => [0, members.len() as u64],
            None => [0; 2],
        };
        local.share(&mut verdict, leader, operation)?;
        let met = met.transpose()?;
        if verdict[0] != 0 {
            let class = i32::try_from(verdict[0])
                .ok()
                .and_then(ErrorClass::from_code);
            let class = class.unwrap_or(ErrorClass::Other);
            let reason = format!(
                "the leader of the local group, rank {leader}, has found {}: see its error",
                class.text()
            );
            return Err(operation.error(class, reason));
        }
        let (circle, members) = met.unzip();
        let mut words = match members {
            Some(members) => members.into_iter().map(u64::from).collect(),
            None => vec![0; usize::try_from(verdict[1]).expect("the leader has as many")],
        };
        local.share(&mut words, leader, operation)?;
        let members = words
            .into_iter()
            .map(|word| u32::try_from(word).expect("the leader of this group has checked them"));
        let members = members.collect();
        let side = Self {
            local,
            leader,
            circle,
            operation,
        };
        Ok((side, members))
    }

    /// Computes the bitwise or of all words of both groups.
    fn allreduce_or(&self, words: &mut [u64]) -> Result<()> {
        self.local.allreduce_or(words, self.operation)?;
        if let Some(circle) = &self.circle {
            circle.allreduce_or(words)?;
        }
        self.local.share(words, self.leader, self.operation)
    }
}

impl Comm {
    /// `MPI_Intercomm_create`: this communicator, which is the local group, and that of the remote
    /// leader become an intercommunicator. All members of both call it. The local leader is a rank
    /// here. Only the leaders need a `peer`, a communicator that both are in, where each names the
    /// other one's rank. The tag keeps apart the concurrent calls of threads with the same peer.
    ///
    /// # Errors
    /// When this is an intercommunicator, there is no such leader, the tag is negative, the groups
    /// have a member in common, there are not enough context ids, or the NIC reports a failure. An
    /// error that a leader finds is reported to all of its group, with the same class. The other
    /// group waits for ever if its leader was not found, because its identity is unknown.
    #[track_caller]
    pub fn intercomm_create(
        &self,
        local_leader: i32,
        peer: Option<&Self>,
        remote_leader: i32,
        tag: i32,
    ) -> Result<Self> {
        let operation = Operation {
            tag: Some(tag),
            ..Operation::plain(CALL.name)
        };
        self.usable_within(&operation)?;
        self.world_rank(local_leader, &operation)?;
        let site = Site::here();
        let _at = call_site::enter(site);
        self.record_call((CALL.primitive, CallTiming::Waits), &operation, |_| {
            let leaders = Leaders {
                call: CALL,
                peer,
                remote_leader,
                tag,
            };
            self.join_groups(local_leader, &leaders, operation, site)
        })
    }

    /// Makes an intercommunicator with a group of the job that may have no communicator in common
    /// with this one. The leader of each group knows the other one's number in the job, and the
    /// tag.
    pub(in crate::mpi) fn unite(
        &self,
        leader: i32,
        other: Option<(u32, i32)>,
        call: MessageCall,
        operation: Operation,
        site: Site,
    ) -> Result<Self> {
        let pair = other.map(|(other, _)| self.process().pair(other));
        let place = |pair: &Self| 1 - pair.rank();
        let leaders = Leaders {
            call,
            peer: pair.as_ref(),
            remote_leader: pair.as_ref().map_or(0, place),
            tag: other.map_or(0, |(_, tag)| tag),
        };
        self.join_groups(leader, &leaders, operation, site)
    }

    fn join_groups(
        &self,
        leader: i32,
        leaders: &Leaders<'_>,
        operation: Operation,
        site: Site,
    ) -> Result<Self> {
        let process = self.process().clone();
        let (side, members) = AgreeingGroup::meet(self, leader, leaders, operation)?;
        // Both groups must know the order; any order will do.
        let local_is_first = self.members().iter().min() < members.iter().min();
        let remote = RemoteGroup::new(self.members(), members, local_is_first);
        let mut sorted = remote.all.clone();
        sorted.sort_unstable();
        process.reap_closed();
        let (family, held) = (process.pair_family(&sorted), process.held_contexts());
        // The tag matters at the leaders only.
        let context = self.0.context;
        let agreement = side
            .circle
            .as_ref()
            .map(|_| agreement(context, leaders.tag));
        let or = |words: &mut [u64]| side.allreduce_or(words);
        let agreement = agreement.unwrap_or(0);
        let id = agree_on_id(or, agreement, &family, held, operation)?;
        let sides = (self.0.group.clone(), Some(remote));
        let comm = self.child_from(&family, sides, Some(id), None, operation);
        let made = self.keep_if_all_succeeded(comm, Some(id), operation, or)?;
        made.is_made_by(leaders.call.name, self, site);
        Ok(made)
    }
}
