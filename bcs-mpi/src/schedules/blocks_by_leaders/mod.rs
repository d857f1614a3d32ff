//! An all-to-all or allgather of short blocks on a communicator that spans nodes: one message for
//! each pair of nodes.
//!
//! ```text
//!  member ── local blocks ─► the others of its node (all-to-all)
//!         ── Gathered ─────► leader ── Crossing ──► the leader of each other node
//!         ◄──── Scattered ── leader ◄── Crossing ──
//! ```
//!
//! With a message for each pair of ranks, the NICs match, schedule and complete all of them. Here a
//! rank gives its *leader*, the first member of its node, all its blocks for other nodes at once.
//! Leaders exchange the blocks between their nodes, and give their members the blocks that have
//! come for them. Blocks of an all-to-all within the node go from rank to rank as usual, and so do
//! all long blocks (`collective/algorithm.rs`).
//!
//! In an allgather ([`LeaderBlocks::Same`]) a rank gives its leader one block. All nodes get the
//! same message, and so do all members of a node. It also holds the blocks of their own node, so
//! that a rank of an allgather of n members sends and receives one message and not n - 1.
//!
//! **A length that differs between ranks** must be an error at a receiver and not a hang. So these
//! messages are sent whatever the lengths are, each once, and begin with a *head* that holds the
//! length of the blocks. If all heads that leaders see hold the same short length, the exchange is
//! over. Otherwise all leaders see the difference, notify their members, and all ranks exchange
//! block by block. A rank whose blocks are long has begun with that already, without waiting for a
//! message.
//!
//! The messages have a tag of their own, so they are not mistaken for blocks.

mod leader_buffer;
mod nodes;

use super::members::Members;
use super::sends::Sends;
use crate::data::{self, DataView};
use crate::steps::Round;
use crate::transport::{Mux, RequestOutcome, TransportHandle};
use bcs_core::request::RequestFailure;
use leader_buffer::{HEAD, LeaderBuffer};

pub use nodes::MembersByNode;

/// The head of a rank that knows that not all blocks are equally long and short.
const BLOCK_BY_BLOCK: u64 = u64::MAX;

/// The blocks that this rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaderStage {
    /// Leader: its members' blocks for other nodes.
    Gathers,
    /// Leader: the other nodes' blocks for its own.
    Crosses,
    /// Member: the blocks that have come for it.
    Awaits,
    Over,
}

/// The blocks that a rank gives by its leader.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LeaderBlocks<'a> {
    /// To each member its own block (all-to-all).
    Each(&'a [DataView]),
    /// The same block to all (allgather).
    Same(&'a DataView),
}

/// A receive, and the buffer to which its message goes.
#[derive(Debug)]
struct PendingReceive {
    from: u32,
    room: usize,
    posted: Option<TransportHandle>,
}

/// The part of an all-to-all or allgather that goes by the leaders.
#[derive(Debug)]
pub(crate) struct BlocksByLeaders {
    nodes: MembersByNode,
    world: Vec<u32>,
    me: usize,
    /// The index of this rank's node.
    node: usize,
    /// Bytes of a block.
    block: usize,
    /// The destinations of blocks.
    into: Vec<DataView>,
    /// Each rank gives the same block to all.
    same: bool,
    /// The blocks of other nodes are already being exchanged block by block.
    direct: bool,
    context: u32,
    tag: i32,
    stage: LeaderStage,
    rooms: Vec<LeaderBuffer>,
    /// The buffers of the members' blocks, by their order on this node.
    gathered: Vec<usize>,
    /// The buffers of the nodes' blocks for this one, by their order; nothing for this one, unless
    /// all get the same.
    crossed: Vec<Option<usize>>,
    awaited: Vec<PendingReceive>,
    sends: Sends,
    failed: Option<RequestOutcome>,
    /// The blocks that have to be exchanged one by one after all.
    one_by_one: Option<BlockMessages>,
}

/// The messages to send and to receive.
pub(crate) type BlockMessages = (Vec<(u32, DataView)>, Round);

/// The progress of the exchange.
#[derive(Debug)]
pub(crate) enum LeaderProgress {
    /// It waits.
    Waits,
    /// It is over, or blocks have to be exchanged one by one: the messages to send and to receive.
    Over(Option<BlockMessages>),
}

impl BlocksByLeaders {
    /// Makes the part of a rank that contributes blocks `out` to other nodes. It copies them now,
    /// unless they go from rank to rank (`direct`).
    pub(crate) fn new(
        nodes: MembersByNode,
        Members { world, me, .. }: Members<'_>,
        out: LeaderBlocks<'_>,
        into: &[DataView],
        direct: bool,
    ) -> Self {
        let node = nodes.node_of(me);
        let block = into[me].len();
        let mut hierarchy = Self {
            node,
            world: world.to_vec(),
            me,
            block,
            into: into.to_vec(),
            same: matches!(out, LeaderBlocks::Same(_)),
            direct,
            context: 0,
            tag: 0,
            stage: LeaderStage::Awaits,
            rooms: Vec::new(),
            gathered: Vec::new(),
            crossed: vec![None; nodes.0.len()],
            awaited: Vec::new(),
            sends: Sends::default(),
            failed: None,
            one_by_one: None,
            nodes,
        };
        let mut own = LeaderBuffer::new(hierarchy.len_of(hierarchy.given()));
        own.set_head(hierarchy.head());
        match out {
            _ if hierarchy.direct => {}
            LeaderBlocks::Each(out) => {
                for (at, member) in hierarchy.givers().enumerate() {
                    let to = own.at(HEAD + at * block, block);
                    data::gather(&out[member], 0, to);
                }
            }
            LeaderBlocks::Same(out) => data::gather(out, 0, own.at(HEAD, block)),
        }
        hierarchy.rooms.push(own);
        if hierarchy.leader() == me {
            hierarchy.begin_to_lead();
        } else {
            let leader = hierarchy.world[hierarchy.leader()];
            let own = hierarchy.rooms[0].piece();
            hierarchy.sends.push(leader, own);
            let room = hierarchy.room(hierarchy.givers().count());
            hierarchy.expect(leader, room);
        }
        hierarchy
    }

    /// Sets the context and the tag with which its messages are matched.
    pub(crate) fn post(&mut self, context: u32, tag: i32) {
        (self.context, self.tag) = (context, tag);
    }

    /// Returns for each member whether its blocks are exchanged one by one from the beginning.
    pub(crate) fn one_by_one(&self) -> Vec<bool> {
        let mut one_by_one = vec![self.direct; self.world.len()];
        if !self.same {
            self.mine().iter().for_each(|&near| one_by_one[near] = true);
        }
        one_by_one
    }

    /// Returns how many requests it may have at a time.
    pub(crate) fn requests(&self) -> usize {
        2 * (self.nodes.0.len() + self.mine().len())
    }

    /// Leaks memory that may still be written or read, if it ends early.
    pub(crate) fn leak(&mut self) {
        let under_way = self.awaited.iter().any(|awaited| awaited.posted.is_some());
        if under_way || self.sends.any_under_way() {
            std::mem::forget(std::mem::take(&mut self.rooms));
        }
    }

    fn mine(&self) -> &[usize] {
        &self.nodes.0[self.node]
    }

    fn leader(&self) -> usize {
        self.mine()[0]
    }

    /// Returns the indices of the other nodes.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let mine = self.node;
        (0..self.nodes.0.len()).filter(move |&node| node != mine)
    }

    /// Returns the indices of the nodes whose blocks reach this one by leaders.
    fn giving_nodes(&self) -> impl Iterator<Item = usize> + use<> {
        let (mine, same) = (self.node, self.same);
        (0..self.nodes.0.len()).filter(move |&node| same || node != mine)
    }

    /// Returns the members whose blocks reach this rank by leaders, node by node. Blocks for it lie
    /// in this order, and so do its own if each is for one member.
    fn givers(&self) -> impl Iterator<Item = usize> {
        self.giving_nodes()
            .flat_map(|node| self.nodes.0[node].iter().copied())
    }

    /// Returns how many blocks this rank gives its leader.
    fn given(&self) -> usize {
        if self.same { 1 } else { self.givers().count() }
    }

    /// Returns the bytes of a message with this many blocks.
    fn len_of(&self, blocks: usize) -> usize {
        if self.direct {
            HEAD
        } else {
            HEAD + blocks * self.block
        }
    }

    fn head(&self) -> u64 {
        if self.direct {
            BLOCK_BY_BLOCK
        } else {
            self.block as u64
        }
    }

    fn room(&mut self, blocks: usize) -> usize {
        self.rooms.push(LeaderBuffer::new(self.len_of(blocks)));
        self.rooms.len() - 1
    }

    fn expect(&mut self, from: u32, room: usize) {
        self.awaited.push(PendingReceive {
            from,
            room,
            posted: None,
        });
    }

    fn begin_to_lead(&mut self) {
        self.stage = LeaderStage::Gathers;
        self.gathered.push(0);
        let given = self.given();
        for at in 1..self.mine().len() {
            let member = self.mine()[at];
            let room = self.room(given);
            self.gathered.push(room);
            self.expect(self.world[member], room);
        }
        for node in self.others() {
            // Blocks for all are in the message once.
            let takers = if self.same { 1 } else { self.mine().len() };
            let room = self.room(self.nodes.0[node].len() * takers);
            self.crossed[node] = Some(room);
        }
        if self.direct {
            self.answer_at_once();
        }
    }

    /// Leader: answers at once, since its own blocks are long and its answer depends on no other
    /// rank.
    fn answer_at_once(&mut self) {
        self.stage = LeaderStage::Over;
        let head = self.rooms[0].piece();
        for node in self.others() {
            let leader = self.world[self.nodes.0[node][0]];
            self.sends.push(leader, head.clone());
            let came = self.crossed[node].expect("there is a room for each");
            self.expect(leader, came);
        }
        for at in 1..self.mine().len() {
            let member = self.mine()[at];
            self.sends.push(self.world[member], head.clone());
        }
    }

    /// Goes as far as the completions allow. Sets `posted` if anything was posted.
    pub(crate) fn advance(&mut self, roads: &mut Mux, posted: &mut bool) -> LeaderProgress {
        loop {
            if !self.move_messages(roads, posted) {
                return LeaderProgress::Waits;
            }
            match self.stage {
                LeaderStage::Gathers => self.cross(),
                LeaderStage::Crosses => self.scatter(),
                LeaderStage::Awaits => self.take(),
                LeaderStage::Over => return LeaderProgress::Over(self.one_by_one.take()),
            }
        }
    }

    /// Returns whether its sends are over. Nothing of it waits for them.
    pub(crate) fn sends_are_over(&mut self, roads: &mut Mux) -> bool {
        while let Some(outcome) = self.sends.take(roads) {
            self.note(outcome);
        }
        self.sends.are_over()
    }

    /// Returns the first failure of its messages.
    pub(crate) fn failure(&mut self) -> Option<RequestOutcome> {
        self.failed.take()
    }

    fn note(&mut self, outcome: RequestOutcome) {
        // A message that is too long comes from a rank with other blocks. Its head is there.
        let fine = matches!(
            outcome.failure,
            RequestFailure::None | RequestFailure::Truncated
        );
        if !fine && self.failed.is_none() {
            self.failed = Some(outcome);
        }
    }

    /// Posts messages, and takes those that have come. Returns whether all awaited ones have.
    fn move_messages(&mut self, roads: &mut Mux, posted: &mut bool) -> bool {
        for awaited in self
            .awaited
            .iter_mut()
            .filter(|awaited| awaited.posted.is_none())
        {
            let from = (awaited.from, self.context, self.tag);
            let into = self.rooms[awaited.room].piece();
            let Ok(handle) = roads.receive_from(from, into) else {
                return false;
            };
            awaited.posted = Some(handle);
            *posted = true;
        }
        let on = (self.context, self.tag);
        if !self.sends.post(roads, on, posted) {
            return false;
        }
        while let Some(awaited) = self.awaited.last() {
            let handle = awaited.posted.expect("all are posted");
            let Some(outcome) = roads.take(handle) else {
                return false;
            };
            self.awaited.pop();
            self.note(outcome);
        }
        true
    }

    /// Leader: sends on the blocks for other nodes, when all members of the node have given them.
    fn cross(&mut self) {
        self.stage = LeaderStage::Crosses;
        let alike = |room: &usize| self.rooms[*room].head() == self.head();
        let head = if self.gathered.iter().all(alike) {
            self.head()
        } else {
            BLOCK_BY_BLOCK
        };
        if self.same {
            self.cross_same(head);
        } else {
            self.cross_each(head);
        }
        if head == BLOCK_BY_BLOCK {
            // The heads of the node's own members decide, whatever others send.
            self.rooms[0].set_head(BLOCK_BY_BLOCK);
        }
    }

    /// Leader: sends each other node the blocks for its members.
    fn cross_each(&mut self, head: u64) {
        let with_data = head != BLOCK_BY_BLOCK;
        let mut before = 0; // blocks of a member for earlier nodes
        for node in self.others() {
            let blocks = self.nodes.0[node].len();
            let mut room = self.headed(head, self.mine().len() * blocks);
            if with_data {
                let len = blocks * self.block;
                for (at, &gathered) in self.gathered.iter().enumerate() {
                    let from = self.rooms[gathered].look(HEAD + before * self.block, len);
                    room.at(HEAD + at * len, len).copy_from_slice(from);
                }
            }
            before += blocks;
            self.cross_to(node, room.piece());
            self.rooms.push(room);
        }
    }

    /// Leader: sends all other nodes the blocks of this one.
    fn cross_same(&mut self, head: u64) {
        let mut room = self.headed(head, self.mine().len());
        if head != BLOCK_BY_BLOCK {
            for (at, &gathered) in self.gathered.iter().enumerate() {
                let from = self.rooms[gathered].look(HEAD, self.block);
                room.at(HEAD + at * self.block, self.block)
                    .copy_from_slice(from);
            }
        }
        for node in self.others() {
            self.cross_to(node, room.piece());
        }
        self.crossed[self.node] = Some(self.rooms.len());
        self.rooms.push(room);
    }

    /// Returns a buffer with a head, and with this many blocks unless blocks go one by one.
    fn headed(&self, head: u64, blocks: usize) -> LeaderBuffer {
        let blocks = if head == BLOCK_BY_BLOCK { 0 } else { blocks };
        let mut room = LeaderBuffer::new(HEAD + blocks * self.block);
        room.set_head(head);
        room
    }

    /// Leader: sends a message to the leader of another node, and expects that one's.
    fn cross_to(&mut self, node: usize, message: DataView) {
        let leader = self.world[self.nodes.0[node][0]];
        self.sends.push(leader, message);
        let came = self.crossed[node].expect("there is a room for each");
        self.expect(leader, came);
    }

    /// Leader: distributes the blocks of all nodes, when they have come.
    fn scatter(&mut self) {
        let alike = |room: &usize| self.rooms[*room].head() == self.rooms[0].head();
        let together =
            self.rooms[0].head() != BLOCK_BY_BLOCK && self.crossed.iter().flatten().all(alike);
        let head = if together {
            self.block as u64
        } else {
            BLOCK_BY_BLOCK
        };
        let mut answer = self.same.then(|| self.answer(head, 0));
        let mine = self.mine().to_vec();
        for (at, &member) in mine.iter().enumerate().filter(|&(_, &it)| it != self.me) {
            let room = answer.take().unwrap_or_else(|| self.answer(head, at));
            self.sends.push(self.world[member], room.piece());
            if self.same {
                answer = Some(room);
            } else {
                self.rooms.push(room);
            }
        }
        self.rooms.extend(answer);
        if together {
            // The leader is the first member of its node.
            for (member, (from, offset)) in self.givers().zip(self.blocks_for(0)) {
                if member != self.me {
                    let from = self.rooms[from].look(offset, self.block);
                    data::scatter(&self.into[member], 0, from);
                }
            }
        }
        self.end(together);
    }

    /// Leader: returns the message with the blocks for a member of this node.
    fn answer(&self, head: u64, at: usize) -> LeaderBuffer {
        let mut room = self.headed(head, self.givers().count());
        if head != BLOCK_BY_BLOCK {
            for (place, (from, offset)) in self.blocks_for(at).enumerate() {
                let from = self.rooms[from].look(offset, self.block);
                room.at(HEAD + place * self.block, self.block)
                    .copy_from_slice(from);
            }
        }
        room
    }

    /// Returns where the blocks for a member of this node are, in the order of their givers: in
    /// which buffer, and from which byte on.
    fn blocks_for(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        let block = self.block;
        let (takers, at) = if self.same {
            (1, 0)
        } else {
            (self.mine().len(), at)
        };
        self.giving_nodes().flat_map(move |node| {
            let room = self.crossed[node].expect("there is a room for each");
            let senders = 0..self.nodes.0[node].len();
            senders.map(move |sender| (room, HEAD + (sender * takers + at) * block))
        })
    }

    /// Member: takes its leader's answer.
    fn take(&mut self) {
        let answer = &self.rooms[1];
        let together = answer.head() != BLOCK_BY_BLOCK && answer.head() == self.head();
        if together {
            for (at, member) in self.givers().enumerate() {
                if member != self.me {
                    let from = answer.look(HEAD + at * self.block, self.block);
                    data::scatter(&self.into[member], 0, from);
                }
            }
        }
        self.end(together);
    }

    fn end(&mut self, together: bool) {
        self.stage = LeaderStage::Over;
        if together || self.direct {
            return;
        }
        // The blocks that this rank gives are still where they were packed.
        let others = || {
            let givers = self.givers().enumerate();
            givers.filter(|&(_, member)| member != self.me)
        };
        let sends = others().map(|(at, member)| {
            let at = if self.same { 0 } else { at };
            let block = self.rooms[0].part(HEAD + at * self.block, self.block);
            (self.world[member], block)
        });
        let sends = sends.collect();
        let receives = others().map(|(_, member)| (self.world[member], self.into[member].clone()));
        self.one_by_one = Some((sends, Round::of(receives.collect())));
    }
}
