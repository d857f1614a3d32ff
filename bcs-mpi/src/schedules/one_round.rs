//! Collectives of one round, which become messages or an exchange of the members.

use super::blocks_by_leaders::{BlocksByLeaders, LeaderBlocks, MembersByNode};
use super::members::Members;
use super::plan::Plan;
use crate::data::{DataView, DataViews, Scratch};
use crate::steps::{LocalStep, Round};
use bcs_core::wait_state::{CalledCollective, MessageCollective};

/// A collective of one round: what a rank gives, what it takes, and its own block.
#[derive(Debug)]
pub(crate) struct OneRound {
    what: MessageCollective,
    root: Option<usize>,
    pub(crate) out: RoundBlocks,
    pub(crate) into: RoundBlocks,
    /// The source and the destination of its own block.
    pub(crate) own: Option<(DataView, DataView)>,
    /// The nodes of the members, if blocks of other nodes may go by leaders.
    pub(crate) nodes: Option<MembersByNode>,
    /// Memory that lasts as long as the collective.
    pub(crate) scratch: Scratch,
}

/// Data that are given to others or taken from them.
#[derive(Debug)]
pub(crate) enum RoundBlocks {
    Nothing,
    /// To or from one member.
    One(usize, DataView),
    /// The same to all others.
    Same(DataView),
    /// To or from each other member its own block.
    Each(DataViews),
}

impl RoundBlocks {
    /// Returns it as messages: world ranks and their data views.
    fn messages(&self, members: Members<'_>) -> Vec<(u32, DataView)> {
        match self {
            Self::Nothing => Vec::new(),
            Self::One(place, piece) => vec![(members.world[*place], piece.clone())],
            Self::Same(piece) => members.others(|_| piece.clone()),
            Self::Each(pieces) => members.others(|place| pieces.of(place)),
        }
    }

    /// Returns the length of the block for a member, if each has its own.
    pub(crate) fn len_of(&self, place: usize) -> usize {
        match self {
            Self::Nothing | Self::One(..) | Self::Same(_) => 0,
            Self::Each(pieces) => pieces.len_of(place),
        }
    }
}

impl OneRound {
    pub(crate) fn new(what: MessageCollective, root: Option<usize>) -> Self {
        Self {
            what,
            root,
            out: RoundBlocks::Nothing,
            into: RoundBlocks::Nothing,
            own: None,
            nodes: None,
            scratch: Scratch::default(),
        }
    }

    /// Returns the call of the rank, with the world rank of its root.
    pub(crate) fn called(&self, members: Members<'_>) -> CalledCollective {
        CalledCollective::Messages(self.what, self.root.map(|root| members.world[root]))
    }

    /// Returns whether each member gives the same to all that take from it.
    #[inline]
    pub(crate) fn gives_the_same(&self) -> bool {
        self.what.gives_the_same()
    }

    /// Returns the part that goes by the leaders of nodes, unless blocks go `one_by_one`.
    fn hierarchy(
        &mut self,
        members: Members<'_>,
        one_by_one: bool,
    ) -> Option<Box<BlocksByLeaders>> {
        let nodes = self.nodes.take()?;
        let all = |blocks: &DataViews| -> Vec<DataView> {
            let places = 0..members.world.len();
            places.map(|place| blocks.of(place)).collect()
        };
        let RoundBlocks::Each(into) = &self.into else {
            return None;
        };
        let each;
        let out = match &self.out {
            RoundBlocks::Each(out) => {
                each = all(out);
                LeaderBlocks::Each(&each)
            }
            RoundBlocks::Same(out) => LeaderBlocks::Same(out),
            RoundBlocks::Nothing | RoundBlocks::One(..) => return None,
        };
        let hierarchy = BlocksByLeaders::new(nodes, members, out, &all(into), one_by_one);
        Some(Box::new(hierarchy))
    }

    /// Converts it to messages. If `nodes` are given, blocks for other nodes go by leaders, unless
    /// they go `one_by_one`.
    pub(crate) fn plan(mut self, members: Members<'_>, one_by_one: bool) -> Plan {
        let called = self.called(members);
        let hierarchy = self.hierarchy(members, one_by_one);
        let mut sends = self.out.messages(members);
        let mut receives = self.into.messages(members);
        if let Some(hierarchy) = &hierarchy {
            // The other members whose blocks do not go by leaders. Both lists are in the order of
            // the others.
            let one_by_one = hierarchy.one_by_one();
            let size = members.world.len();
            let places = (1..size).map(|step| (members.me + step) % size);
            let keep: Vec<bool> = places.map(|place| one_by_one[place]).collect();
            for messages in [&mut sends, &mut receives] {
                let mut keep = keep.iter();
                messages.retain(|_| *keep.next().expect("one for each of the others"));
            }
        }
        let own = self.own.map(|(from, to)| LocalStep::Copy { from, to });
        Plan {
            called: Some(called),
            first: own.into_iter().collect(),
            sends,
            rounds: [Round::of(receives)].into(),
            hierarchy,
            scratch: self.scratch,
            ..Plan::default()
        }
    }
}
