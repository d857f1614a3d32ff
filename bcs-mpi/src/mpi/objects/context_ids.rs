//! Which context ids are free.
//!
//! A message is matched by its context id and sender, and a NIC knows a communicator by its id and
//! first member. So any number of live communicators may use an id, as long as no two of them have
//! a member in common.
//!
//! The members of a parent agree on the ids of its children by the bitwise or of the ids that each
//! of them *holds*. An id must not be used again before *all* members of its last communicator have
//! closed it. Otherwise an open would meet the old context at some NIC and wait for a rank that may
//! have no reason to close it soon. But a rank knows only when it has closed a context itself.
//! Therefore:
//!
//! - A rank holds the ids of its live communicators (until its NIC has closed their contexts), and
//!   goes on holding the ids that it has *given back*.
//! - An id that it has given back is recorded with the *family* that chose the id: the
//!   communicators of one group, which are the parent and all communicators made of it with the
//!   same members. In an agreement of that family, and in no other, the id counts as not held.
//! - If such an agreement finds that no member of the family holds the id, all members of its last
//!   communicator, who are members of the family, have closed it. Then it is free, and no longer
//!   held.
//! - When a family ends, its given-back ids pass to the family that it came from: its group
//!   contains this one's, so the same reasoning holds. Until all members have done this, some of
//!   them hold the id as given back to another family, which errs on the safe side.
//!
//! - The members of a group may agree without the rest of the parent ([`create_group`]). Then a
//!   family of exactly these members chooses. It comes from the parent's family and is kept with
//!   it, so that the same group finds the ids that it has given back.
//!
//! - Two groups that become an intercommunicator agree in a family of all their members, which
//!   comes from the world's and is kept with the process ([`intercommunicator`]).
//!
//! Threads of a rank may agree for several communicators at the same time (`MPI_THREAD_MULTIPLE`),
//! in any order, and other ranks in another order. So no agreement may wait for another. Each
//! chooses as if it were alone, every member then *reserves* the id of its child, and the members
//! tell each other whether all could. If not, another agreement was faster at some member: all
//! members release their reservations and begin again, from another place. No thread waits while it
//! blocks others.
//!
//! Groups without a common member choose independently and may choose the same id. Siblings get
//! different ids as long as there are enough. The search starts at a place that depends on the
//! parent, so that cousins seldom meet. This matters for the hints by which arrivals at a
//! collective are counted on a node ([`arrive`](bcs_core::wake::MachinePage::arrive)): they go by
//! the id alone, and are less exact if two communicators share it.
//!
//! Communicators of one rank take no part in this: they have numbers above all ids, which each rank
//! chooses for itself ([`single_contexts`](super::single_contexts)).
//!
//! [`create_group`]: crate::mpi::create_group
//! [`intercommunicator`]: crate::mpi::intercommunicator

use crate::bcs::COLLECTIVE_MESSAGES;
use bcs_core::fingerprint::mix64;
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::lockstep;
use bcs_core::wait_state::LIBRARY_MESSAGES;
use std::sync::{Arc, Mutex, MutexGuard};

/// The offset that is added to a communicator's context for the messages of groups that agree.
pub(in crate::mpi) const GROUP_MESSAGES: u32 = 1 << 30;

/// The offset for the messages of two leaders in a communicator
/// ([`intercomm_create`](crate::mpi::Comm::intercomm_create)).
pub(in crate::mpi) const LEADER_MESSAGES: u32 = 1 << 29;

/// The offset for the parts of partitioned messages ([`partitioned`](crate::mpi::persistent)).
/// Contexts of communicators are below it.
pub(in crate::mpi) const PART_MESSAGES: u32 = 1 << 28;

/// The offset for the offers of partitioned messages.
pub(in crate::mpi) const PART_OFFERS: u32 = PART_MESSAGES | LEADER_MESSAGES;

/// The offset for members that duplicate a communicator without blocking
/// ([`idup`](crate::mpi::Comm::idup)).
pub(in crate::mpi) const DUPLICATION_MESSAGES: u32 = LEADER_MESSAGES | GROUP_MESSAGES;

/// The offset in the world's context for ranks that make a communicator without having one in
/// common ([`create_from_group`](crate::mpi::Process::create_from_group)).
pub(in crate::mpi) const SESSION_MESSAGES: u32 = PART_MESSAGES | GROUP_MESSAGES;

const _: () = assert!(MAX_CONTEXTS < PART_MESSAGES as usize && PART_MESSAGES < LEADER_MESSAGES);
const _: () = assert!(LEADER_MESSAGES < GROUP_MESSAGES && GROUP_MESSAGES < COLLECTIVE_MESSAGES);
const _: () = assert!(
    PART_MESSAGES | LEADER_MESSAGES | GROUP_MESSAGES | COLLECTIVE_MESSAGES == LIBRARY_MESSAGES
);

/// The search for a free id begins among at least this number of ids ([`choose`]).
const LEAST_LOW_IDS: usize = 64;

/// The number of words in a set of ids.
const WORDS: usize = MAX_CONTEXTS / 64;

/// A set of ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mpi) struct ContextIdSet([u64; WORDS]);

impl ContextIdSet {
    const NONE: Self = Self([0; WORDS]);

    fn only(id: u32) -> Self {
        let mut ids = Self::NONE;
        ids.insert(id);
        ids
    }

    pub(in crate::mpi) fn from_words(words: &[u64]) -> Self {
        Self(std::array::from_fn(|index| words[index]))
    }

    pub(in crate::mpi) fn words(&self) -> &[u64] {
        &self.0
    }

    fn insert(&mut self, id: u32) {
        self.0[id as usize / 64] |= 1 << (id % 64);
    }

    fn contains(&self, id: u32) -> bool {
        self.0[id as usize / 64] & 1 << (id % 64) != 0
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn join(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }

    fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|index| self.0[index] & !other.0[index]))
    }
}

fn lock(ids: &Mutex<ContextIdSet>) -> MutexGuard<'_, ContextIdSet> {
    lockstep::lock(ids)
}

/// The ids that a rank holds.
#[derive(Debug)]
pub(in crate::mpi) struct HeldContextIds(Mutex<HeldIds>);

#[derive(Debug)]
struct HeldIds {
    ids: ContextIdSet,
    /// How many ids were ever reserved.
    reserved: u64,
}

/// A rank's words in an agreement, and how many ids it had reserved before.
#[derive(Debug)]
pub(in crate::mpi) struct IdContribution {
    pub(in crate::mpi) unavailable: ContextIdSet,
    reserved: u64,
}

impl HeldContextIds {
    /// Returns the ids that are held at first: the world's.
    pub(in crate::mpi) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(HeldIds {
            ids: ContextIdSet::only(0),
            reserved: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, HeldIds> {
        lockstep::lock(&self.0)
    }

    /// Reserves this id for a communicator that this rank will be a member of. Returns whether that
    /// is possible: another thread may have reserved the id since this rank contributed its ids.
    pub(in crate::mpi) fn reserve(&self, id: u32) -> bool {
        let mut held = self.lock();
        if held.ids.contains(id) {
            return false;
        }
        held.ids.insert(id);
        held.reserved += 1;
        true
    }

    /// Releases a reservation: no context was opened.
    pub(in crate::mpi) fn release(&self, id: u32) {
        let mut held = self.lock();
        held.ids = held.ids.without(&ContextIdSet::only(id));
    }
}

/// The communicators of one group that stem from each other, as one of its members sees them.
#[derive(Debug)]
pub(in crate::mpi) struct CommFamily {
    held: Arc<HeldContextIds>,
    /// The size of its group.
    members: usize,
    given_back: Mutex<ContextIdSet>,
    parent: Option<Arc<CommFamily>>,
}

impl CommFamily {
    pub(in crate::mpi) fn new(
        held: Arc<HeldContextIds>,
        members: usize,
        parent: Option<Arc<Self>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            held,
            members,
            given_back: Mutex::new(ContextIdSet::NONE),
            parent,
        })
    }

    /// Returns whether a part of its group with this number of ranks is the whole group.
    pub(in crate::mpi) fn is_of(&self, members: usize) -> bool {
        self.members == members
    }

    /// Returns this rank's contribution to an agreement of this family.
    pub(in crate::mpi) fn contribute(&self) -> IdContribution {
        let held = self.held.lock();
        IdContribution {
            unavailable: held.ids.without(&lock(&self.given_back)),
            reserved: held.reserved,
        }
    }

    /// Frees the ids that an agreement of all members has found free.
    ///
    /// The agreement is outdated if this rank has reserved ids since: an id that is given back now
    /// may be given back for the second time. Then nothing is freed yet; a later agreement will do
    /// it.
    pub(in crate::mpi) fn apply_agreement(
        &self,
        unavailable: &ContextIdSet,
        said: &IdContribution,
    ) {
        let mut held = self.held.lock();
        if held.reserved != said.reserved {
            return;
        }
        let mut given_back = lock(&self.given_back);
        let free = given_back.without(unavailable);
        *given_back = given_back.without(&free);
        held.ids = held.ids.without(&free);
    }

    /// Gives back an id that this family chose: this rank's NIC has closed its context.
    pub(in crate::mpi) fn give_back(&self, id: u32) {
        lock(&self.given_back).insert(id);
    }
}

impl Drop for CommFamily {
    fn drop(&mut self) {
        if let Some(parent) = &self.parent {
            lock(&parent.given_back).join(&lock(&self.given_back));
        }
    }
}

/// Chooses ids for the children of a communicator: different ones as long as there are enough.
/// Returns `None` if no id is free. All members choose the same.
///
/// Low ids come first: each id that a node has ever used has memory there (64 KiB for each rank, as
/// far as it is touched). Otherwise a program that makes and frees communicators all the time would
/// use all of them.
///
/// The search starts at a place that depends on the `agreement`, a number that is the same at all
/// members, and on the attempt. Concurrent agreements of two threads have different numbers. If
/// both searched in the same places, each would reserve at the members that it reaches first,
/// neither would get all members, and both would repeat this from place to place.
pub(in crate::mpi) fn choose(
    unavailable: &ContextIdSet,
    children: usize,
    agreement: u64,
    attempt: u32,
) -> Option<Vec<u32>> {
    let low = low_ids(unavailable.count().saturating_add(children), attempt);
    let start = mix64(mix64(agreement) ^ u64::from(attempt)) % low as u64;
    let start = usize::try_from(start).expect("it is below MAX_CONTEXTS");
    let places = (0..low).map(|offset| (start + offset) % low);
    let free: Vec<u32> = places
        .chain(low..MAX_CONTEXTS)
        .map(|id| u32::try_from(id).expect("ids are below MAX_CONTEXTS"))
        .filter(|&id| !unavailable.contains(id))
        .take(children)
        .collect();
    if free.is_empty() && children > 0 {
        return None;
    }
    Some(free.iter().copied().cycle().take(children).collect())
}

/// Returns the id below which the search starts. Half of the ids below it are free, and with each
/// attempt of two agreements that hinder each other there is more space.
fn low_ids(wanted: usize, attempt: u32) -> usize {
    let more = LEAST_LOW_IDS << attempt.min(WORDS.ilog2());
    wanted.saturating_mul(2).clamp(more, MAX_CONTEXTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(count: usize) -> Vec<(Arc<HeldContextIds>, Arc<CommFamily>)> {
        (0..count)
            .map(|_| {
                let held = HeldContextIds::new();
                (held.clone(), CommFamily::new(held, count, None))
            })
            .collect()
    }

    fn agree<'a>(families: impl IntoIterator<Item = &'a Arc<CommFamily>> + Clone) -> ContextIdSet {
        let mut unavailable = ContextIdSet::NONE;
        let said: Vec<_> = families
            .clone()
            .into_iter()
            .map(|family| family.contribute())
            .collect();
        said.iter()
            .for_each(|said| unavailable.join(&said.unavailable));
        families
            .into_iter()
            .zip(&said)
            .for_each(|(family, said)| family.apply_agreement(&unavailable, said));
        unavailable
    }

    #[test]
    fn siblings_get_different_ids_while_there_are_enough() {
        let ids = choose(&ContextIdSet::only(0), 2_047, 0, 0).unwrap();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(1..2_048));
        let ids = choose(&ContextIdSet::only(0), 3_000, 7, 3).unwrap();
        assert!(ids.len() == 3_000 && !ids.contains(&0));
        assert_eq!(choose(&ContextIdSet([u64::MAX; WORDS]), 1, 0, 0), None);
    }

    #[test]
    fn a_program_that_makes_and_frees_communicators_uses_low_ids() {
        let mut unavailable = ContextIdSet::only(0);
        for agreement in 0..10_000 {
            let id = choose(&unavailable, 1, agreement, 0).unwrap()[0];
            assert!(id < 64, "{id}");
        }
        (0..1_000).for_each(|id| unavailable.insert(id));
        assert!(choose(&unavailable, 1, 3, 0).unwrap()[0] >= 1_000);
    }

    #[test]
    fn agreements_of_two_threads_do_not_look_in_the_same_places() {
        let one = |agreement, attempt| choose(&ContextIdSet::only(0), 1, agreement, attempt);
        for tags in 0..1_000_u64 {
            let together = (0..16).filter(|&attempt| one(tags, attempt) == one(tags + 1, attempt));
            assert!(together.count() < 3, "tags {tags} and {}", tags + 1);
        }
    }

    #[test]
    fn an_id_is_free_when_all_members_have_given_it_back() {
        let ranks = members(2);
        let world = || ranks.iter().map(|(_, family)| family);
        ranks.iter().for_each(|(held, _)| assert!(held.reserve(5)));
        ranks[0].1.give_back(5);
        let all: Vec<_> = world().cloned().collect();
        assert!(agree(&all).contains(5));
        // A part of the world that has closed the id cannot use it either, because the other member
        // has not closed it.
        let part = CommFamily::new(ranks[0].0.clone(), 1, Some(ranks[0].1.clone()));
        assert!(agree(&[part]).contains(5));
        ranks[1].1.give_back(5);
        assert!(!agree(&all).contains(5));
        let part = CommFamily::new(ranks[0].0.clone(), 1, Some(ranks[0].1.clone()));
        assert!(!agree(&[part]).contains(5), "now it is anybody's");
    }

    #[test]
    fn what_another_agreement_has_taken_meanwhile_cannot_be_reserved_or_freed() {
        let ranks = members(1);
        let (held, family) = &ranks[0];
        let said = family.contribute();
        let unavailable = said.unavailable.clone();
        // Another thread takes the id, and its communicator is made and freed.
        assert!(held.reserve(7));
        assert!(!held.reserve(7));
        family.give_back(7);
        family.apply_agreement(&unavailable, &said);
        assert!(!held.reserve(7), "what was said is out of date");
        agree([family]);
        assert!(held.reserve(7));
        held.release(7);
        assert!(held.reserve(7));
    }

    #[test]
    fn what_was_given_back_to_a_family_passes_to_its_parent() {
        let ranks = members(1);
        let (held, world) = &ranks[0];
        let part = CommFamily::new(held.clone(), 1, Some(world.clone()));
        assert!(held.reserve(9));
        part.give_back(9);
        assert!(agree([world]).contains(9));
        drop(part);
        assert!(!agree([world]).contains(9));
    }
}
