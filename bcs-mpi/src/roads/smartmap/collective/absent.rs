//! Collectives that go on without the endpoint's lock.
//!
//! One that goes over long data, or calls functions of the program's, is an [`errand`](crate::roads::smartmap::errand).
//! Its communicator goes away with the thread that runs it, which has the queue for itself; what is posted
//! meanwhile waits here. Whoever runs it looks for the others of the communicator some times, and *listens* the
//! last time, as every call does that will not look again by itself: then it is due again when there are news.

use super::course::Course;
use super::group::{Group, Member};
use super::machine::Ended;
use super::queue::{Posted, Queue};
use super::{Collectives, GroupId, Order, Spare, Surroundings, looks};
use crate::roads::Outcome;
use crate::roads::smartmap::requests::{Id, State};
use crate::roads::smartmap::shared::Copier;
use crate::roads::smartmap::{Errand, SmartMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A communicator.
#[derive(Debug)]
pub(super) enum Communicator {
    Here(Queue),
    Away(Away),
}

/// Makes a collective of a communicator that is away, when it is back.
type Make = Box<dyn FnOnce(&Group, u32, &mut Spare) -> Posted + Send>;

/// What is known of a communicator while it is away.
pub(super) struct Away {
    members: Arc<[Member]>,
    /// What it has gone away with.
    requests: Vec<Id>,
    /// What was posted since.
    posted: Vec<(Id, Make)>,
    closed: bool,
}

impl fmt::Debug for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Away")
            .field("requests", &self.requests)
            .field("posted", &self.posted.len())
            .finish_non_exhaustive()
    }
}

/// A communicator that is away, with the thread that goes on with its collectives.
#[derive(Debug)]
pub(crate) struct Absent {
    group: GroupId,
    queue: Queue,
    spare: Spare,
    course: Course,
    copier: Copier,
    /// The world rank at place 0.
    first: u32,
    /// How often it looks.
    looks: u32,
    listens: bool,
    ended: Vec<(Id, Ended)>,
}

impl Absent {
    /// To what it belongs.
    pub(crate) fn first(&self) -> Option<Id> {
        self.queue.requests().next()
    }

    /// Goes on as far as it can. No lock is held.
    pub(crate) fn run(&mut self) {
        let Copier {
            node,
            page,
            road,
            place,
        } = &self.copier;
        let around = Surroundings {
            node,
            page,
            road,
            course: &self.course,
            first: self.first,
        };
        let ended = &mut self.ended;
        for look in 1..=self.looks {
            let listens = self.listens && look == self.looks;
            // Before the look: what comes later makes it due again.
            let news = node.news(*place).load(Ordering::Acquire);
            let done = |request, what| ended.push((request, what));
            self.queue
                .advance(around, &mut self.spare, (listens, true), done);
            self.queue.listened = listens.then_some(news);
            if !ended.is_empty() {
                // Whatever comes next has not listened.
                self.queue.listened = None;
                return;
            }
        }
    }
}

impl Communicator {
    pub(super) fn here(&self) -> Option<&Queue> {
        match self {
            Self::Here(queue) => Some(queue),
            Self::Away(_) => None,
        }
    }

    pub(super) fn here_mut(&mut self) -> Option<&mut Queue> {
        match self {
            Self::Here(queue) => Some(queue),
            Self::Away(_) => None,
        }
    }

    pub(super) fn members(&self) -> &[Member] {
        match self {
            Self::Here(queue) => queue.group.members(),
            Self::Away(away) => &away.members,
        }
    }

    /// What was posted and is not over.
    pub(super) fn requests(&self) -> Vec<Id> {
        match self {
            Self::Here(queue) => queue.requests().collect(),
            Self::Away(away) => {
                let posted = away.posted.iter().map(|(request, _)| *request);
                away.requests.iter().copied().chain(posted).collect()
            }
        }
    }

    pub(super) fn post(
        &mut self,
        request: Id,
        first: u32,
        spare: &mut Spare,
        make: impl FnOnce(&Group, u32, &mut Spare) -> Posted + Send + 'static,
    ) {
        match self {
            Self::Here(queue) => {
                let posted = make(&queue.group, first, spare);
                queue.post(request, posted);
            }
            Self::Away(away) => away.posted.push((request, Box::new(make))),
        }
    }
}

impl Spare {
    /// Takes over what is larger there.
    fn join(&mut self, other: Self) {
        let all = [
            (&mut self.partial, other.partial),
            (&mut self.chunks, other.chunks),
            (&mut self.room, other.room),
        ];
        for (mine, other) in all {
            if mine.capacity() < other.capacity() {
                *mine = other;
            }
        }
    }
}

impl Collectives {
    /// The first collective of a communicator, if it is a long one.
    fn long(&self, group: usize) -> Option<&Queue> {
        let queue = self.groups[group].as_ref()?.here()?;
        queue.is_long().then_some(queue)
    }

    /// Long collectives that have to look again, unless they have listened and heard nothing since.
    fn due(&self, news: u64) -> impl Iterator<Item = (usize, &Queue)> {
        let long = self
            .busy
            .iter()
            .filter_map(|&group| Some((group, self.long(group)?)));
        long.filter(move |(_, queue)| queue.listened != Some(news))
    }
}

impl SmartMap {
    #[inline]
    pub(in crate::roads::smartmap) fn has_due_collectives(&self) -> bool {
        !self.collectives.busy.is_empty() && {
            let news = self.node.news(self.place).load(Ordering::Acquire);
            self.collectives.due(news).next().is_some()
        }
    }

    /// A long collective that has to look again, if its request `is_mine`. A rank that does not look again by
    /// itself `listens`.
    pub(in crate::roads::smartmap) fn take_due_collective(
        &mut self,
        is_mine: impl Fn(Id) -> bool,
        listens: bool,
    ) -> Option<Absent> {
        let news = self.node.news(self.place).load(Ordering::Acquire);
        let mine = |queue: &Queue| queue.requests().next().is_none_or(&is_mine);
        let mut due = self.collectives.due(news);
        let (group, _) = due.find(|(_, queue)| mine(queue))?;
        drop(due);
        self.take_away(group, (1, listens))
    }

    /// The first collective of a communicator, if it is a long one: to be looked at some times.
    pub(crate) fn take_long(&mut self, group: GroupId) -> Option<Errand> {
        self.collectives.long(group.0)?;
        let looks = looks(&self.page);
        let absent = self.take_away(group.0, (looks, false))?;
        Some(Errand::Collective(Box::new(absent)))
    }

    fn take_away(&mut self, group: usize, (looks, listens): (u32, bool)) -> Option<Absent> {
        let copier = self.copier();
        let Collectives {
            groups,
            spare,
            course,
            ..
        } = &mut self.collectives;
        let communicator = groups[group].as_mut()?;
        let queue = communicator.here()?;
        let away = Communicator::Away(Away {
            members: queue.group.shared_members(),
            requests: queue.requests().collect(),
            posted: Vec::new(),
            closed: false,
        });
        let Communicator::Here(queue) = std::mem::replace(communicator, away) else {
            unreachable!("it is here");
        };
        Some(Absent {
            group: GroupId(group),
            queue,
            spare: std::mem::take(spare),
            course: course.clone(),
            copier,
            first: self.first,
            looks,
            listens,
            ended: Vec::new(),
        })
    }

    /// A communicator is back.
    pub(in crate::roads::smartmap) fn returned(&mut self, absent: Absent) {
        let Absent {
            group,
            mut queue,
            spare,
            course,
            ended,
            ..
        } = absent;
        self.collectives.spare.join(spare);
        self.collectives.course = course;
        let Some(Communicator::Away(away)) = self.collectives.groups[group.0].take() else {
            unreachable!("its place is kept");
        };
        for (request, make) in away.posted {
            let posted = make(&queue.group, self.first, &mut self.collectives.spare);
            queue.post(request, posted);
        }
        for (request, ended) in ended {
            let failure = ended.err();
            let outcome = failure.map_or_else(Outcome::default, |failure| *failure);
            self.requests.set(request, State::Done(outcome));
        }
        if let Some((number, part, (for_node, spoilt_by))) = queue.take_order() {
            self.collectives.orders.push_back(Order {
                group,
                number,
                part,
                for_node,
                spoilt_by,
            });
        }
        if let Some(place) = queue.group.suspect() {
            self.rubbish(place, "is in a collective that there is not");
        }
        if queue.is_empty() || away.closed {
            self.collectives.busy.retain(|&busy| busy != group.0);
        }
        if !away.closed {
            self.collectives.groups[group.0] = Some(Communicator::Here(queue));
        }
    }

    /// Whether a communicator is not away.
    pub(crate) fn is_here(&self, group: GroupId) -> bool {
        let communicator = self.collectives.groups[group.0].as_ref();
        communicator.is_some_and(|it| it.here().is_some())
    }
}

impl Away {
    /// This rank uses the communicator no more.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }
}
