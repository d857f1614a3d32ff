//! Collectives within the node: the members do them in each other's memory (collectives paper).
//!
//! ```text
//!  post ──► Group: in the order of the posts, one at a time ──► Collective
//!             enter ── my record of coll info ──►     records of those whose data I need
//!                                                        │ do they call the same?
//!             up to 4 KiB: everybody who wants the result takes it from the records   ── done
//!             longer:      all judge, fold, copy from memory to memory, say so        ── done
//! ```
//!
//! A collective is a step machine, under the endpoint's lock if its steps are short: it
//! goes on whenever its rank calls anything, and says whether it is over. Blocking ones are the same
//! machines, looked at in a loop by the call before it waits as for any request.
//!
//! **Who needs nothing of the others goes on at once**, as the paper lets it: the root of a short broadcast, and
//! who gives its part of a short reduction to another. That ranks do not get too far apart is the affair of
//! *gates* ([`coll_info`](bcs_core::smartmap::coll_info)); that all are told who do not call the same, that of
//! [`agreement`]. In all others everybody waits until all have entered, as with the NICs.
//!
//! **Waking.** Who is not in such a loop *listens*. Whoever sees that a phase is over (that all have
//! entered, folded, copied) adds to the listeners' news and rings them; before that nobody is rung, so a
//! barrier of many ranks on few cores costs one wake-up each.
//!
//! | | file |
//! |---|---|
//! | members of a context, how far they are, who is told | [`group`] |
//! | what was posted, in order | [`queue`] |
//! | long ones, which go on without the endpoint's lock | [`absent`] |
//! | whether all have called the same | [`agreement`] |
//! | short ones, from the records alone | [`short`] |
//! | entering and agreeing in the others | [`machine`] |
//! | long ones: which memory can be reached | [`judging`] |
//! | how far members are in long ones | [`steps`] |
//! | what all are told of memory that is not there | [`blame`] |
//! | a long broadcast | [`broadcast`] |
//! | a long reduction | [`reduce`] |
//! | in which direction they go over the data | [`course`] |
//! | a node's part in a collective of several nodes | [`led`] |
//! | those in which each gives something else to each | [`exchange`] |
#![expect(unsafe_code, reason = "buffers are named by address")]

mod absent;
mod agreement;
mod blame;
mod broadcast;
mod course;
mod exchange;
mod group;
mod judging;
mod led;
#[cfg(test)]
mod led_tests;
mod machine;
mod queue;
mod reduce;
mod short;
#[cfg(test)]
mod stepping;
mod steps;
#[cfg(test)]
mod tests;

use super::requests::{Id, NoSlot, State};
use super::{Posted as Progress, Road, SmartMap};
use crate::data::LONG_BYTES;
use crate::plan::Part;
use crate::roads::{Blocking, Outcome};
pub(crate) use absent::Absent;
use absent::Communicator;
use bcs_core::job::Folding;
use bcs_core::smartmap::coll_info::{CollInfo, PAYLOAD_BYTES};
use bcs_core::smartmap::{MappedRecord, NodeMemory};
use bcs_core::wake::MachinePage;
use bcs_core::whereabouts::Entered;
use course::Course;
use exchange::Exchanging;
pub(crate) use exchange::{Exchange, Given, Gives, MAX_MEMBERS, Takes};
pub(crate) use group::Awaited;
use group::Group;
use led::Number;
pub(crate) use led::Order;
use machine::{Collective, Ended};
use queue::{Machine, Posted, Queue};
use short::Short;
use std::collections::VecDeque;

/// A member's record.
type Info = CollInfo<MappedRecord>;

/// A communicator, or its members on this node, as this rank knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupId(usize);

/// The communicators with members on this node.
#[derive(Debug, Default)]
pub(super) struct Collectives {
    groups: Vec<Option<Communicator>>,
    /// Those with collectives that are not over.
    busy: Vec<usize>,
    /// What this rank's NIC is to do.
    orders: VecDeque<Order>,
    spare: Spare,
    course: Course,
    /// The root folds long reductions alone.
    serial: bool,
}

impl Collectives {
    pub(super) fn is_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    pub(super) fn has_orders(&self) -> bool {
        !self.orders.is_empty()
    }
}

/// Memory that the next collective may use.
#[derive(Debug, Default)]
struct Spare {
    /// For partial results.
    partial: Vec<u8>,
    /// For chunks.
    chunks: Vec<u8>,
    /// For what a leader has folded.
    room: Vec<u8>,
    /// For what the last of many members folds for all.
    folded: Vec<u8>,
}

impl Spare {
    /// So many bytes at least, for chunks.
    fn chunks(&mut self, len: usize) -> &mut [u8] {
        if self.chunks.len() < len {
            self.chunks.resize(len, 0);
        }
        &mut self.chunks
    }
}

/// What collectives need of the rank.
#[derive(Clone, Copy, Debug)]
struct Surroundings<'a> {
    node: &'a NodeMemory,
    page: &'a MachinePage,
    road: &'a Road,
    course: &'a Course,
    /// The world rank at place 0.
    first: u32,
}

/// How often a rank looks at a collective before it does anything else. Where cores are short the others may
/// need this one first.
fn looks(page: &MachinePage) -> u32 {
    if page.cores_suffice() { 200 } else { 1 }
}

impl SmartMap {
    /// Opens a context, of which the members are these world ranks, if all are on this node. A `fresh`
    /// one has been used by nobody, and others may have used it already; otherwise no member may use it
    /// before all have opened it.
    pub(crate) fn open_group(
        &mut self,
        context: u32,
        members: impl Iterator<Item = u32>,
        fresh: bool,
    ) -> Option<GroupId> {
        let places: Option<Vec<usize>> = members.map(|rank| self.place_of(rank)).collect();
        self.open_places(context, places?, fresh)
    }

    /// The same with those of them that are on this node, if there are others beside this rank.
    pub(crate) fn open_part(
        &mut self,
        context: u32,
        members: impl Iterator<Item = u32>,
        fresh: bool,
    ) -> Option<GroupId> {
        let places: Vec<usize> = members.filter_map(|rank| self.place_of(rank)).collect();
        if places.len() < 2 {
            return None;
        }
        self.open_places(context, places, fresh)
    }

    fn open_places(&mut self, context: u32, places: Vec<usize>, fresh: bool) -> Option<GroupId> {
        let mut group = Group::open(&self.node, context, places, self.place, fresh)?;
        group.serial = self.collectives.serial;
        let groups = &mut self.collectives.groups;
        let free = groups.iter().position(Option::is_none);
        let index = free.unwrap_or(groups.len());
        if index == groups.len() {
            groups.push(None);
        }
        groups[index] = Some(Communicator::Here(Queue::new(group)));
        Some(GroupId(index))
    }

    /// Who folds long reductions on the communicators that are opened from now on: the same at all ranks.
    pub(crate) fn fold_by(&mut self, folding: Folding) {
        self.collectives.serial = folding == Folding::Serial;
    }

    /// This rank uses the communicator no more.
    pub(crate) fn close_group(&mut self, group: GroupId) {
        let communicator = &mut self.collectives.groups[group.0];
        if let Some(Communicator::Away(away)) = communicator {
            return away.close();
        }
        *communicator = None;
        self.collectives.busy.retain(|&busy| busy != group.0);
    }

    /// Posts this rank's part of a collective. The caller has it looked at.
    ///
    /// # Safety
    /// The memory that `part` names stays until the request is done: its input is initialised and nobody
    /// writes it, its output may be written and nobody else uses it.
    pub(crate) unsafe fn collective(
        &mut self,
        group: GroupId,
        part: Part,
        entered: Entered,
        blocking: Blocking,
    ) -> Result<Progress, NoSlot> {
        if part.bytes > PAYLOAD_BYTES {
            return self.post_collective(group, entered, blocking, move |_| Collective::new(part));
        }
        let first = self.first;
        self.post_collective(group, entered, blocking, move |group| {
            Short::new(part, group, first)
        })
    }

    /// Posts this rank's part of an exchange. The caller has it looked at.
    ///
    /// # Safety
    /// The memory that it names stays until the request is done: what is read is initialised and nobody
    /// writes it, what is written may be and nobody else uses it.
    pub(crate) unsafe fn exchange(
        &mut self,
        group: GroupId,
        exchange: Exchange,
        entered: Entered,
        blocking: Blocking,
    ) -> Result<Progress, NoSlot> {
        let first = self.first;
        self.post_collective(group, entered, blocking, move |group| {
            Exchanging::new(exchange, group, first)
        })
    }

    #[inline]
    fn post_collective<M: Machine>(
        &mut self,
        group: GroupId,
        entered: Entered,
        blocking: Blocking,
        make: impl FnOnce(&Group) -> M + Send + 'static,
    ) -> Result<Progress, NoSlot> {
        if self.requests.room() == 0 {
            return Err(NoSlot);
        }
        let Collectives {
            groups,
            busy,
            spare,
            course,
            ..
        } = &mut self.collectives;
        let communicator = groups[group.0].as_mut();
        let communicator = communicator.expect("a communicator is used until it is freed");
        let Some(queue) = communicator.here_mut() else {
            let request = self.requests.open(State::Collective(entered))?;
            self.post(group, request, move |group, _, _| make(group).into());
            return Ok(Progress::Request(request));
        };
        // When this rank has entered, it looks at once whether the others have: until its stamp is out, that
        // only takes their lines away from them.
        queue.group.prepare(1);
        let mut collective = make(&queue.group);
        if blocking == Blocking::Yes && queue.is_empty() && !collective.is_long() {
            let around = Surroundings {
                node: &self.node,
                page: &self.page,
                road: &self.road,
                course,
                first: self.first,
            };
            for _ in 0..looks(&self.page) {
                if let Some(ended) = queue.advance_unposted(&mut collective, around, spare) {
                    return self.over_at_once(ended);
                }
            }
        }
        let request = self.requests.open(State::Collective(entered))?;
        if queue.is_empty() {
            busy.push(group.0);
        }
        queue.post(request, collective.into());
        Ok(Progress::Request(request))
    }

    /// A collective is over before it was posted.
    #[inline(always)]
    fn over_at_once(&mut self, ended: Ended) -> Result<Progress, NoSlot> {
        let Err(failure) = ended else {
            return Ok(Progress::Complete);
        };
        let request = self.requests.open(State::Done(*failure))?;
        Ok(Progress::Request(request))
    }

    /// The same of a collective of several nodes, of which this group is a part. The caller has
    /// [orders](Self::take_order) posted, too.
    ///
    /// # Safety
    /// As for [`collective`](Self::collective).
    pub(crate) unsafe fn led_collective(
        &mut self,
        group: GroupId,
        part: Part,
        entered: Entered,
        sequence: u64,
    ) -> Result<Id, NoSlot> {
        let request = self.requests.open(State::Collective(entered))?;
        let context = entered.context;
        let number = Number { context, sequence };
        self.post(group, request, move |group, first, spare| {
            let room = &mut spare.room;
            Posted::Part(Collective::led((part, number), group, first, room))
        });
        Ok(request)
    }

    fn post(
        &mut self,
        group: GroupId,
        request: Id,
        new: impl FnOnce(&Group, u32, &mut Spare) -> Posted + Send + 'static,
    ) {
        let Collectives {
            groups,
            busy,
            spare,
            ..
        } = &mut self.collectives;
        let communicator = groups[group.0].as_mut();
        let communicator = communicator.expect("a communicator is used until it is freed");
        if communicator.here().is_some_and(Queue::is_empty) {
            busy.push(group.0);
        }
        communicator.post(request, self.first, spare, new);
    }

    /// What this rank's NIC is to do next.
    pub(crate) fn take_order(&mut self) -> Option<Order> {
        self.collectives.orders.pop_front()
    }

    /// It cannot be posted now.
    pub(crate) fn put_back(&mut self, order: Order) {
        self.collectives.orders.push_front(order);
    }

    /// What became of what this rank's NIC had to do for a group, which [is here](Self::is_here).
    pub(crate) fn answered(&mut self, group: GroupId, outcome: Outcome) {
        let communicator = self.collectives.groups[group.0].as_mut();
        let queue = communicator.and_then(Communicator::here_mut);
        queue
            .expect("a communicator is used until it is freed, and it is here")
            .answered(outcome);
    }

    /// Which member of a communicator a world rank is, which is one.
    pub(crate) fn member(&self, group: GroupId, rank: u32) -> usize {
        let communicator = self.collectives.groups[group.0].as_ref();
        let communicator = communicator.expect("a communicator is used until it is freed");
        if let Some(queue) = communicator.here() {
            return queue.group.place_of(rank, self.first);
        }
        let place = self.place_of(rank);
        let mut members = communicator.members().iter();
        let member = members.position(|member| Some(member.place) == place);
        member.expect("it is a member")
    }

    /// How many members a communicator has.
    pub(crate) fn members(&self, group: GroupId) -> usize {
        let communicator = self.collectives.groups[group.0].as_ref();
        communicator.map_or(0, |it| it.members().len())
    }

    /// Goes as far as it can with the collectives that are under way. A rank that does not look again by
    /// itself `listens`.
    pub(super) fn advance_collectives(&mut self, listens: bool) {
        if self.collectives.busy.is_empty() {
            return;
        }
        let Collectives {
            groups,
            busy,
            spare,
            orders,
            course,
            ..
        } = &mut self.collectives;
        let around = Surroundings {
            node: &self.node,
            page: &self.page,
            road: &self.road,
            course,
            first: self.first,
        };
        let requests = &mut self.requests;
        let mut suspect = None;
        busy.retain(|&group| {
            let communicator = groups[group].as_mut().expect("it is busy");
            let Some(queue) = communicator.here_mut() else {
                return true;
            };
            queue.advance(around, spare, (listens, false), |request, ended| {
                let failure = ended
                    .err()
                    .map_or_else(Outcome::default, |failure| *failure);
                requests.set(request, State::Done(failure));
            });
            if let Some((number, part, (for_node, spoilt_by))) = queue.take_order() {
                let group = GroupId(group);
                orders.push_back(Order {
                    group,
                    number,
                    part,
                    for_node,
                    spoilt_by,
                });
            }
            suspect = suspect.or(queue.group.suspect());
            !queue.is_empty()
        });
        if let Some(place) = suspect {
            self.rubbish(place, "is in a collective that there is not");
        }
    }

    /// Looks at a collective some times, without delay: mostly the others come at about the same time. Returns
    /// whether it is over.
    pub(crate) fn attend(&mut self, request: Id) -> bool {
        for _ in 0..looks(&self.page) {
            self.advance_collectives(false);
            if matches!(self.requests.state(request), Some(State::Done(_))) {
                return true;
            }
            if !self.collectives.orders.is_empty() {
                break; // that is for the caller to do
            }
        }
        false
    }

    /// What has to happen before a communicator's collectives go on.
    pub(crate) fn awaited(&self, group: GroupId) -> Option<Awaited> {
        let communicator = self.collectives.groups[group.0].as_ref();
        communicator?.here()?.awaited(self.first)
    }

    /// Whether nobody waits for this rank to go on with a message.
    pub(crate) fn owes_nothing(&self) -> bool {
        !self.holds() && !self.requests.waiting()
    }

    /// What this rank has entered by a request.
    pub(crate) fn entered_by(&mut self, request: Id) -> Option<Entered> {
        match self.requests.state(request) {
            Some(State::Collective(entered)) => Some(*entered),
            _ => None,
        }
    }

    /// The collectives that this rank has entered and not left.
    pub(crate) fn entered(&mut self) -> Vec<Entered> {
        let Collectives { groups, busy, .. } = &self.collectives;
        let busy = busy.iter().filter_map(|&group| groups[group].as_ref());
        let posted: Vec<Id> = busy.flat_map(Communicator::requests).collect();
        posted
            .into_iter()
            .filter_map(|request| self.entered_by(request))
            .collect()
    }
}

// What is found in the records is never long.
const _: () = assert!(PAYLOAD_BYTES <= LONG_BYTES);
