//! Contexts in which this rank takes part in collectives.

use crate::transport::TransportSet;
use crate::transport::smartmap::GroupId;
use bcs_core::limits::{ARRIVAL_HINTS_PER_CONTEXT, MAX_CONTEXTS};
use bcs_core::wait_state::{
    CalledCollective, CommunicatorLabel, CommunicatorProgress, EnteredCollective, MemberRange,
    MessageCollective, extend_call_digest,
};

/// Which members of a context do collectives in each other's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Locality<G = GroupId> {
    /// All: they are on this rank's node, and no NIC knows the context.
    OneNode(G),
    /// Those on this rank's node. There are others on other nodes.
    SeveralNodes(G),
    /// None: each posts to its NIC by itself.
    #[default]
    Apart,
}

impl<G> Locality<G> {
    /// Returns the group of the members on this rank's node that do.
    pub(crate) fn group(self) -> Option<G> {
        match self {
            Self::OneNode(group) | Self::SeveralNodes(group) => Some(group),
            Self::Apart => None,
        }
    }
}

/// A context in which this rank takes part in collectives.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// The number of the next collective.
    pub(crate) sequence: u64,
    /// Whether the library has made it for itself, and keeps it to the end.
    pub(crate) stays: bool,
    /// Members on this rank's node, and all of them.
    pub(crate) local: u32,
    pub(crate) size: u32,
    /// The arrivals in each lane when the context was opened.
    pub(crate) base: [u32; ARRIVAL_HINTS_PER_CONTEXT],
    /// The number of the next collective that is made of messages ([`Schedule`](super::Schedule)).
    pub(crate) schedules: u32,
    /// Collectives of both kinds that this rank has entered.
    pub(crate) entered: u32,
    /// The digest of the calls that it has made there ([`extend_call_digest`]).
    pub(crate) called: u32,
    /// The digest without the last of them.
    pub(crate) called_before: u32,
    /// The fingerprint of the members, for [`EnteredCollective`].
    pub(crate) group: u32,
    /// The members, to report why this rank waits.
    pub(crate) members: MemberRange,
    /// How users know it.
    pub(crate) title: Option<CommunicatorLabel>,
    pub(crate) locality: Locality,
}

impl Context {
    /// Returns the tag of the next collective that is made of messages. Numbers wrap around: a tag
    /// comes again after 2^31 later ones, of which far fewer can be under way.
    pub(crate) fn next_tag(&mut self) -> i32 {
        let number = self.schedules;
        self.schedules = number.wrapping_add(1);
        (number & i32::MAX.cast_unsigned()).cast_signed()
    }

    /// Returns the transports by which messages of the members may come.
    pub(crate) fn transports(&self) -> TransportSet {
        TransportSet {
            local: self.local > 0,
            remote: self.size > self.local,
        }
    }

    /// Records that this rank enters a collective.
    pub(crate) fn enter(&mut self, context: u32, called: CalledCollective) -> EnteredCollective {
        let number = self.entered;
        self.entered = number.wrapping_add(1);
        self.called_before = self.called;
        self.called = extend_call_digest(self.called, called);
        EnteredCollective {
            context,
            group: self.group,
            number,
            called,
        }
    }

    /// Records that the collective that this rank has just entered, with a wrong argument, stands
    /// for this one.
    pub(crate) fn stands_for(&mut self, exchange: MessageCollective) {
        let called = CalledCollective::Messages(exchange, None);
        self.called = extend_call_digest(self.called_before, called);
    }

    /// Returns what this rank reports of it when it sleeps.
    pub(crate) fn told(&self, context: u32) -> CommunicatorProgress {
        CommunicatorProgress {
            context,
            group: self.group,
            entered: self.entered,
            call_digest: self.called,
            members: self.members,
        }
    }

    /// Returns how many arrivals the lane of the next collective has when the node's last rank
    /// arrives.
    pub(crate) fn due(&self) -> u32 {
        let lanes = ARRIVAL_HINTS_PER_CONTEXT as u64;
        let round = (self.sequence / lanes + 1) * u64::from(self.local);
        let base = u64::from(self.base[usize::try_from(self.sequence % lanes).expect("small")]);
        bcs_core::request::low(base + round) // The counters wrap around, too.
    }
}

/// The contexts in which this rank takes part in collectives, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Contexts(Vec<Option<Context>>);

impl Contexts {
    pub(crate) fn get(&self, context: u32) -> Option<&Context> {
        self.0.get(context as usize)?.as_ref()
    }

    /// Returns the ids of the known contexts.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        let known = (0..).zip(&self.0);
        known.filter_map(|(id, context)| context.as_ref().map(|_| id))
    }

    pub(crate) fn get_mut(&mut self, context: u32) -> Option<&mut Context> {
        self.0.get_mut(context as usize)?.as_mut()
    }

    pub(crate) fn insert(&mut self, id: u32, context: Context) {
        let id = id as usize;
        assert!(id < MAX_CONTEXTS, "{id} is an id of contexts");
        if id >= self.0.len() {
            self.0.resize_with(id + 1, || None);
        }
        self.0[id] = Some(context);
    }

    pub(crate) fn remove(&mut self, context: u32) -> Option<Context> {
        self.0.get_mut(context as usize)?.take()
    }
}
