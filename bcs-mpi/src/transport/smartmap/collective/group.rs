//! The members of a context that are all on this node, and their progress.

use super::environment::CollectiveEnvironment;
use super::member::{Member, MemberRecord};
use super::phase::Phase;
use bcs_core::job::NodeRanks;
use bcs_core::limits::{LEAST_DIVIDED_BYTES, LEAST_DIVIDING_MEMBERS};
use bcs_core::smartmap::NodeMemory;
use bcs_core::smartmap::coll_info::{self, INLINE_BYTES, Presence, TallyRelease};
use bcs_core::wait_state::ConflictingCall;
use std::sync::Arc;

/// Up to this many members, each checks each. With more, each checks the tally ([`coll_info`]).
/// That costs an atomic operation, and the work that the last one does for all.
pub(super) const MAX_UNTALLIED_MEMBERS: usize = 16;

/// A communicator, or its members on this node, as this rank knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupId(pub(in crate::transport::smartmap) usize);

/// A communicator, as one of its members knows it.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct LocalGroup {
    /// The members, in the order of the communicator.
    pub(super) members: Arc<[Member]>,
    /// The member at each place of the node.
    at_places: Box<[u32]>,
    /// This rank among them.
    pub(super) me: usize,
    /// The number of the latest collective that this rank has entered.
    pub(super) number: u64,
    /// The digest of its call.
    digest: u64,
    /// The latest collective that all members are known to have entered.
    pub(super) together: u64,
    /// Up to this number the members' calls have been compared.
    pub(super) compared: u64,
    /// The mismatch of an earlier collective that this rank has yet to report.
    pub(super) objection: Option<ConflictingCall>,
    /// The gate at which this rank waits, or has waited.
    pub(super) gate: u64,
    /// Members before this one are as far as the phase needs.
    pub(super) seen: usize,
    /// The number and phase for which this rank has recorded that it listens.
    pub(super) listening: Option<(u64, Phase)>,
    /// Whether the kernel copies from all members to all, as they have found together.
    pub(super) open: bool,
    /// Whether the root folds long reductions alone.
    pub(in crate::transport::smartmap) serial: bool,
    /// The bytes of all contributions together from which on the members divide a short reduction
    /// to all, if they do. All members know the same.
    pub(in crate::transport::smartmap) least_divided: Option<usize>,
    /// Whether the tally shows which members have entered.
    pub(super) counted: bool,
    suspect: Option<usize>,
}

impl LocalGroup {
    pub(in crate::transport::smartmap) fn open(
        node: &NodeMemory,
        context: u32,
        places: Vec<usize>,
        own: usize,
        fresh: bool,
    ) -> Option<Self> {
        let me = places.iter().position(|&place| place == own)?;
        let mut at_places = vec![u32::MAX; node.ranks()].into_boxed_slice();
        for (member, &place) in (0..).zip(&places) {
            at_places[place] = member;
        }
        let member = |place| Member {
            place,
            info: node.coll_info(place, context),
        };
        let members: Arc<[Member]> = places.into_iter().map(member).collect();
        if !fresh {
            members[me].info.reset();
        }
        Some(Self {
            counted: members.len() > MAX_UNTALLIED_MEMBERS,
            members,
            at_places,
            me,
            number: 0,
            digest: 0,
            together: 0,
            compared: 0,
            objection: None,
            gate: 0,
            seen: 0,
            listening: None,
            open: false,
            serial: false,
            least_divided: None,
            suspect: None,
        })
    }

    /// Has the members divide the longer ones of the short reductions if each has a core, and if
    /// they are many. If they are few, to read all contributions takes less time than another
    /// synchronization.
    pub(in crate::transport::smartmap) fn divide(&mut self, has_cores: bool) {
        let divides = has_cores && self.members.len() >= LEAST_DIVIDING_MEMBERS;
        self.least_divided = divides.then_some(LEAST_DIVIDED_BYTES);
    }

    /// Returns whether the members divide a short reduction to all of this many bytes.
    #[inline]
    pub(super) fn divides(&self, bytes: usize) -> bool {
        let least = self.least_divided;
        bytes > INLINE_BYTES && least.is_some_and(|least| bytes * self.members.len() >= least)
    }

    /// Returns all members but this one, from the next one on, so that not all read the memory of
    /// the same one first.
    pub(super) fn others(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let (me, size) = (self.me, self.members.len());
        (1..size).map(move |step| (me + step) % size)
    }

    pub(super) fn own(&self) -> &MemberRecord {
        &self.members[self.me].info
    }

    /// Prepares the entry into the collective that comes this many after the current one.
    #[inline]
    pub(in crate::transport::smartmap) fn prepare(&self, after: u64) {
        self.own().prefetch_own(self.number.wrapping_add(after));
    }

    /// Enters the collective that has begun, with this call. Returns whether this rank has to
    /// [release](Self::release) the others: there are many, and it is the last.
    #[inline]
    pub(super) fn enter(&mut self, call: [u64; 2]) -> bool {
        self.digest = self.own().enter(self.number, call, self.digest);
        self.counted && self.tally().sign(self.number, self.members.len())
    }

    /// Returns the record of the first of many members, in which all sign.
    fn tally(&self) -> &MemberRecord {
        &self.members[0].info
    }

    /// Returns whether one member alone, the last to sign, notifies the others that a phase is
    /// over.
    pub(super) fn is_counted(&self) -> bool {
        self.counted
    }

    /// Notifies the others when all members have entered and this one is the last. `fold` puts the
    /// result that all want of their contributions into its record. It is called if they want the
    /// same.
    #[cold]
    pub(super) fn release(
        &mut self,
        around: CollectiveEnvironment<'_>,
        fold: impl FnOnce(&Self) -> bool,
    ) {
        let number = self.number;
        if !(0..self.members.len()).all(|member| self.has_entered(member, number)) {
            // They have signed, but not entered.
            self.suspect = self.suspect.or(Some(self.members[0].place));
            return;
        }
        let own = self.own();
        let same = |member: &Member| member.info.call(number) == own.call(number);
        let folded = self.members.iter().all(same) && fold(self);
        let release = TallyRelease {
            agreed: self.all_have_digest(number),
            folded_by: folded.then(|| u16::try_from(self.me).expect("members are few")),
        };
        self.tally().release(number, release);
        MemberRecord::fence_before_listeners();
        self.tell(around, Phase::Entered, None);
        if !release.agreed {
            self.tell(around, Phase::Told, None);
        }
        if coll_info::is_gate(number) {
            self.tell(around, Phase::Posted, None);
        }
    }

    /// Returns the record that holds the result of a collective that all have entered, if one
    /// member has folded it for all.
    pub(super) fn folded_by(&self) -> Option<&MemberRecord> {
        let member = self.tally().released(self.number).folded_by?;
        self.members
            .get(usize::from(member))
            .map(|member| &member.info)
    }

    /// Returns whether all members have made the same calls since the last gate before a number
    /// that all have entered.
    #[inline]
    pub(super) fn digests_agree(&self, number: u64) -> bool {
        if self.counted {
            return self.tally().released(number).agreed;
        }
        self.all_have_digest(number)
    }

    #[inline]
    fn all_have_digest(&self, number: u64) -> bool {
        let own = self.own().digest(number);
        let mut members = self.members.iter();
        members.all(|member| member.info.digest(number) == own)
    }

    /// Records that all have entered the current collective, and that other ranks or the NIC report
    /// a mismatch to this one.
    pub(super) fn settle(&mut self) {
        self.together = self.number;
        self.compared = self.number;
    }

    /// Returns up to which number the members' calls have been compared.
    pub(super) fn compared(&self) -> u64 {
        self.compared
    }

    /// Records that this rank compares the calls up to this number. Returns the number up to which
    /// they were compared before.
    pub(super) fn compare_to(&mut self, number: u64) -> u64 {
        std::mem::replace(&mut self.compared, number)
    }

    /// Records the mismatch of an earlier collective for this rank to report, unless it has one
    /// already.
    pub(super) fn object(&mut self, against: ConflictingCall) {
        self.objection = self.objection.or(Some(against));
    }

    /// Prefetches for a member that does not wait for this rank: if it has entered before, it is
    /// likely to be ahead.
    #[inline]
    pub(super) fn expect(&self, member: usize) {
        let info = &self.members[member].info;
        if info.presence(self.number) == Presence::Present {
            info.prefetch_next(self.number);
        }
    }

    /// Begins the next collective, or the next part of one.
    pub(super) fn next_number(&mut self) -> u64 {
        self.number = self.number.wrapping_add(1);
        self.seen = 0;
        self.number
    }

    /// Records that this rank has published its progress. From here on, the others are checked
    /// anew.
    pub(super) fn published(&mut self) {
        self.seen = 0;
        MemberRecord::fence_before_listeners();
    }

    /// Returns whether all the others are this far. Those that were are not checked again.
    pub(super) fn all(&mut self, is: impl Fn(&MemberRecord) -> bool) -> bool {
        self.all_members(|_, info| is(info))
    }

    /// Does the same, with their places among the members.
    pub(super) fn all_members(&mut self, is: impl Fn(usize, &MemberRecord) -> bool) -> bool {
        while let Some(member) = self.members.get(self.seen) {
            if self.seen != self.me && !is(self.seen, &member.info) {
                return false;
            }
            self.seen += 1;
        }
        true
    }

    /// Returns which member a root is, given its world rank. An invalid
    /// root is found before anything is posted.
    pub(in crate::transport::smartmap) fn member_of(&self, root: u32, ranks: NodeRanks) -> usize {
        self.find(root, ranks).expect("a root is a member")
    }

    /// Returns which member a world rank is.
    pub(super) fn find(&self, rank: u32, ranks: NodeRanks) -> Option<usize> {
        let found = self.at_places.get(ranks.place_of(rank)?).copied();
        let found = found.filter(|&member| (member as usize) < self.members.len());
        found.map(|member| member as usize)
    }

    /// Returns the world rank of a member.
    pub(super) fn rank_of(&self, member: usize, ranks: NodeRanks) -> u32 {
        ranks.rank_at(self.members[member].place)
    }

    /// Returns whether all members have entered the collective that this rank is in.
    #[inline]
    pub(super) fn all_are_there(&mut self) -> bool {
        let all = self.have_entered(self.number);
        if all {
            self.together = self.number;
        }
        all
    }

    #[inline]
    pub(super) fn have_entered(&mut self, number: u64) -> bool {
        if self.counted {
            let tally = self.tally().presence_of_all(number);
            return self.is_present(0, tally);
        }
        while self.seen < self.members.len() {
            if !self.has_entered(self.seen, number) {
                return false;
            }
            self.seen += 1;
        }
        true
    }

    /// Returns whether a member has entered the collective that this rank is in.
    #[inline]
    pub(super) fn is_there(&mut self, member: usize) -> bool {
        self.has_entered(member, self.number)
    }

    #[inline]
    fn has_entered(&mut self, member: usize, number: u64) -> bool {
        let presence = self.members[member].info.presence(number);
        self.is_present(member, presence)
    }

    #[inline]
    fn is_present(&mut self, member: usize, presence: Presence) -> bool {
        match presence {
            Presence::Present => true,
            Presence::Awaited => false,
            Presence::Rubbish => {
                self.suspect = Some(self.members[member].place);
                false
            }
        }
    }

    /// Records that the record of a member is invalid.
    pub(super) fn suspects(&mut self, member: usize) {
        self.suspect = Some(self.members[member].place);
    }

    /// Returns the place of a member whose record is invalid.
    pub(in crate::transport::smartmap) fn suspect(&self) -> Option<usize> {
        self.suspect
    }

    /// Returns whether all the others have come to this step.
    pub(super) fn have_all(&mut self, step: u8) -> bool {
        let number = self.number;
        self.all(|info| info.step(number) >= step)
    }

    /// Returns the first of the other members that is exactly at this step.
    pub(super) fn any_at(&self, step: u8) -> Option<usize> {
        let mut others = self.members.iter().enumerate();
        let is_at = |member: &Member| member.info.step(self.number) == step;
        let found = others.find(|&(place, member)| place != self.me && is_at(member));
        found.map(|(place, _)| place)
    }

    /// Checks all others anew in the phase that begins.
    pub(super) fn look_anew(&mut self) {
        self.seen = 0;
    }
}
