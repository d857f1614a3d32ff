//! The program of the scripted ranks: random, without races or deadlocks, and with known answers.
//!
//! A program is a list of rounds. In a round every rank posts its sends, receives and probes in an
//! order of its own, waits for all, and then takes part in collectives. One of them may go wrong.
//! Others go beside it, on other communicators with other masters, several at a time on each.
//! Receives without a send are cancelled. So every operation has its partner in the same round, and
//! the program must end in whatever order the fabric delivers.

mod message_bytes;
mod round_collective;

use message_bytes::{LENGTHS, pattern};
pub(super) use round_collective::RoundCollective;

use bcs_core::job::Placement;
use bcs_core::limits::INLINE_BYTES;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// A message of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramMessage {
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) tag: i32,
    pub(super) len: usize,
    /// The seed of its pieces, if its data are in pieces at the sender (unless it is eager and so
    /// was packed).
    pub(super) pieces: Option<u64>,
    /// Identifies the message in its own bytes.
    pub(super) id: u64,
    /// Whether its second half is not in the memory of its sender.
    pub(super) missing: bool,
}

/// A post of a rank in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProgramPost {
    /// Send message number `0` of the round.
    Send(usize),
    /// Receive from this source with this tag, into room for `capacity` bytes, in pieces if there
    /// is a seed for them.
    Receive {
        source: Option<u32>,
        tag: Option<i32>,
        capacity: usize,
        /// Whether to take the message out first (matched probe), and then receive it.
        extract: bool,
        pieces: Option<u64>,
        /// Whether the second half of the room is not there.
        missing: bool,
    },
    /// Probe once for this pattern. There may or may not be a message.
    ProbeOnce {
        source: Option<u32>,
        tag: Option<i32>,
    },
    /// Post a receive without a send, and cancel it at the end of the round.
    Decoy,
    /// Compute for this many nanoseconds, so that the next post comes later.
    Compute(u64),
}

/// How a rank arrives at a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ArrivalMode {
    /// For itself.
    Own,
    /// For these ranks of its node, in communicator order.
    ForNode(Vec<u32>),
    /// Not at all: another rank arrives for it.
    StoodFor,
}

/// A round.
#[derive(Clone, Debug, Default)]
pub(super) struct ProgramRound {
    pub(super) messages: Vec<ProgramMessage>,
    /// The posts, by rank.
    pub(super) posts: Vec<Vec<ProgramPost>>,
    /// The nanoseconds that each rank computes before it posts.
    pub(super) compute_ns: Vec<u64>,
    /// The collective at the end of the round and its context, if there is one.
    pub(super) together: Option<(u32, RoundCollective)>,
    /// A rank that calls another collective instead, and that collective.
    pub(super) astray: Option<(u32, RoundCollective)>,
    /// Whether, in the end, all contexts except the world are closed and opened again.
    pub(super) reopens: bool,
    /// The collectives of other contexts at the same time, sometimes several of one context.
    pub(super) beside: Vec<(u32, RoundCollective)>,
    /// Whether one of a node's members arrives for all of them, if they do the same.
    pub(super) led: bool,
    /// The member for which the second half of its input or output is not in memory.
    pub(super) missing: Option<(u32, CollectiveSide)>,
}

/// The input or the output of a member in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CollectiveSide {
    Input,
    Output,
}

/// The features that a program may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct AllowedFeatures {
    /// Receives may have wildcards, and contexts may be opened again. When a node dies a receive
    /// from any source fails. Then its sender would wait for ever, and so would members of a
    /// context that some of them have not opened. A correct program does not do that.
    pub(super) wildcards: bool,
    /// Memory may be missing.
    pub(super) missing: bool,
    /// Ranks may be in different rounds. Where they may not, no rank has to hold a message of a
    /// later round, and a pool of envelopes may be arbitrarily small.
    pub(super) run_ahead: bool,
}

/// A program.
#[derive(Clone, Debug)]
pub(super) struct ScriptedProgram {
    pub(super) rounds: Vec<ProgramRound>,
    /// The members of the contexts from 1 on, in communicator order; context 0 is the world.
    subsets: Vec<Vec<u32>>,
}

/// The number of contexts of a program, including the world.
pub(super) const CONTEXTS: usize = 5;

impl ScriptedProgram {
    pub(super) fn new(
        ranks: u32,
        slice_ns: u64,
        may: AllowedFeatures,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let subset = |random: &mut ChaCha8Rng| {
            let mut subset: Vec<u32> = (0..ranks).filter(|_| random.random_bool(0.6)).collect();
            if subset.is_empty() {
                subset.push(ranks - 1);
            }
            subset.shuffle(random);
            subset
        };
        let subsets: Vec<Vec<u32>> = (1..CONTEXTS).map(|_| subset(random)).collect();
        let mut id = 0;
        let mut rounds: Vec<ProgramRound> = (0..random.random_range(3..8))
            .map(|_| {
                let compute = |_| random.random_range(0..slice_ns * 2);
                let compute_ns = (0..ranks).map(compute).collect();
                if may.wildcards && random.random_bool(0.25) {
                    return ProgramRound::burst(compute_ns, slice_ns, may, &mut id, random);
                }
                ProgramRound::new(compute_ns, &subsets, may, &mut id, random)
            })
            .collect();
        // A stray rank gets its error at once, and its context is in use until all others have
        // come.
        let is_astray = |round: &ProgramRound| round.astray.is_some();
        let first = rounds.iter().position(is_astray).unwrap_or(rounds.len());
        rounds[first..]
            .iter_mut()
            .for_each(|round| round.reopens = false);
        Self { rounds, subsets }
    }

    pub(super) fn members(&self, context: u32, ranks: u32) -> Vec<u32> {
        if context == 0 {
            (0..ranks).collect()
        } else {
            self.subsets[context as usize - 1].clone()
        }
    }

    /// Returns the bytes of a message.
    pub(super) fn payload(message: &ProgramMessage) -> Vec<u8> {
        let mut bytes = pattern(message.id, message.len);
        let name = message.id.to_le_bytes();
        let named = name.len().min(bytes.len());
        bytes[..named].copy_from_slice(&name[..named]);
        bytes
    }
}

impl ProgramRound {
    fn new(
        compute_ns: Vec<u64>,
        subsets: &[Vec<u32>],
        may: AllowedFeatures,
        id: &mut u64,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let ranks = u32::try_from(compute_ns.len()).expect("few");
        let mut round = Self {
            posts: vec![Vec::new(); ranks as usize],
            compute_ns,
            ..Self::default()
        };
        for _ in 0..random.random_range(0..=ranks * 4) {
            let mut message = ProgramMessage {
                source: random.random_range(0..ranks),
                destination: random.random_range(0..ranks),
                tag: random.random_range(0..4),
                len: LENGTHS[random.random_range(0..LENGTHS.len())],
                pieces: random.random_bool(0.5).then(|| random.random()),
                id: *id,
                missing: false,
            };
            // Shorter messages may be eager, and then lie elsewhere.
            message.missing = random.random_bool(0.1) && may.missing && message.len > 4096;
            *id += 1;
            round.posts[message.source as usize].push(ProgramPost::Send(round.messages.len()));
            round.messages.push(message);
        }
        for rank in 0..ranks {
            round.add_receives(rank, may, random);
        }
        round.together = random.random_bool(0.8).then(|| {
            let (context, members) = if random.random_bool(0.5) {
                (0, (0..ranks).collect())
            } else {
                (1, subsets[0].clone())
            };
            if random.random_bool(0.2) {
                let rank = members[random.random_range(0..members.len())];
                round.astray = Some((rank, RoundCollective::new(&members, random)));
            }
            (context, RoundCollective::new(&members, random))
        });
        round.led = random.random_bool(0.5);
        let side = match random.random_bool(0.5) {
            true => CollectiveSide::Input,
            false => CollectiveSide::Output,
        };
        let missing = (random.random_range(0..ranks), side);
        round.missing = (random.random_bool(0.6) && may.missing).then_some(missing);
        for (context, members) in (1..).zip(subsets).skip(1) {
            // Those of one context follow each other, short and long ones: no rank waits for one
            // before the next.
            let count = [0, 0, 1, 1, 2, 4][random.random_range(0..6)];
            let together = (0..count).map(|_| (context, RoundCollective::new(members, random)));
            round.beside.extend(together);
        }
        if !may.run_ahead {
            round.together = Some((0, RoundCollective::Barrier));
            (round.astray, round.missing, round.led) = (None, None, false);
        }
        round.reopens = random.random_bool(0.3) && may.wildcards;
        round
    }

    /// Creates a round in which every rank sends many short messages to its neighbour, each with a
    /// tag of its own, and computes in between. Some receives name the source and others do not. A
    /// rank that is done may demand a slice for a collective at any moment of the others' bursts.
    /// So messages come in the middle of slices that were struck for other work.
    fn burst(
        compute_ns: Vec<u64>,
        slice_ns: u64,
        may: AllowedFeatures,
        id: &mut u64,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let ranks = u32::try_from(compute_ns.len()).expect("few");
        let mut round = Self {
            posts: vec![Vec::new(); ranks as usize],
            compute_ns,
            ..Self::default()
        };
        let count = random.random_range(1..=32);
        for source in 0..ranks {
            let destination = (source + 1) % ranks;
            for tag in 0..count {
                let len = [8, 8, 0, 64, 65, 1000][random.random_range(0..6)];
                round.messages.push(ProgramMessage {
                    source,
                    destination,
                    tag,
                    len,
                    pieces: None,
                    id: *id,
                    missing: false,
                });
                *id += 1;
            }
        }
        for rank in 0..ranks {
            round.posts[rank as usize] = round.burst_posts(rank, slice_ns, may, random);
        }
        if !may.run_ahead {
            round.together = Some((0, RoundCollective::Barrier));
        } else if random.random_bool(0.5) {
            let members: Vec<u32> = (0..ranks).collect();
            round.together = Some((0, RoundCollective::new(&members, random)));
        }
        round
    }

    /// Returns the posts of a rank in a burst: its receives, and then its sends, with pauses in
    /// between.
    fn burst_posts(
        &self,
        rank: u32,
        slice_ns: u64,
        may: AllowedFeatures,
        random: &mut ChaCha8Rng,
    ) -> Vec<ProgramPost> {
        let mut posts = Vec::new();
        for message in &self.messages {
            if message.destination == rank {
                let source = random.random_bool(0.5).then_some(message.source);
                posts.push(ProgramPost::Receive {
                    source,
                    tag: Some(message.tag),
                    capacity: 1000,
                    extract: false,
                    pieces: None,
                    missing: false,
                });
                // Where tables are small, a receive that is not posted yet may leave no room for
                // the others.
                if may.run_ahead && random.random_bool(0.1) {
                    posts.push(ProgramPost::Compute(random.random_range(0..slice_ns / 4)));
                }
            }
        }
        for (number, message) in self.messages.iter().enumerate() {
            if message.source == rank {
                if random.random_bool(0.3) {
                    posts.push(ProgramPost::Compute(random.random_range(0..slice_ns / 4)));
                }
                posts.push(ProgramPost::Send(number));
            }
        }
        posts
    }

    /// Returns the collective of a rank at the end of the round.
    pub(super) fn collective_of(&self, rank: u32) -> Option<&RoundCollective> {
        match &self.astray {
            Some((astray, other)) if *astray == rank => Some(other),
            _ => self.together.as_ref().map(|(_, together)| together),
        }
    }

    /// Returns how a member arrives at the end of the round. On a node whose members do the same,
    /// one of them, the root if it is there, may arrive for all.
    pub(super) fn arrival(&self, rank: u32, members: &[u32], placement: &Placement) -> ArrivalMode {
        let here = |member: &&u32| placement.node_of(**member) == placement.node_of(rank);
        let here: Vec<u32> = members.iter().filter(here).copied().collect();
        let mut calls = here.iter().filter_map(|&member| self.collective_of(member));
        let Some(first) = calls.next().filter(|_| self.led && here.len() > 1) else {
            return ArrivalMode::Own;
        };
        if !calls.all(|other| other.call(0) == first.call(0)) {
            return ArrivalMode::Own;
        }
        let root = match first {
            RoundCollective::Barrier => None,
            RoundCollective::Broadcast { root, .. } => Some(*root),
            RoundCollective::Reduce { root, .. } => *root,
        };
        let leader = root.filter(|root| here.contains(root)).unwrap_or(here[0]);
        if leader == rank {
            ArrivalMode::ForNode(here)
        } else {
            ArrivalMode::StoodFor
        }
    }

    /// Returns the member whose memory is missing for the collective, and which side of it. If
    /// another member of its node arrives for a member, it has that member's input already, and the
    /// NIC gives that member nothing.
    pub(super) fn missing_memory(
        &self,
        members: &[u32],
        placement: &Placement,
    ) -> Option<(u32, CollectiveSide)> {
        let (member, side) = self
            .missing
            .filter(|(member, _)| members.contains(member))?;
        let together = self.collective_of(member)?;
        let arrives = self.arrival(member, members, placement) != ArrivalMode::StoodFor;
        let needed = match (together, side) {
            (RoundCollective::Barrier, _) => false,
            (RoundCollective::Broadcast { root, .. }, CollectiveSide::Input) => *root == member,
            (RoundCollective::Broadcast { root, .. }, CollectiveSide::Output) => {
                *root != member && arrives
            }
            (RoundCollective::Reduce { .. }, CollectiveSide::Input) => true,
            (RoundCollective::Reduce { root, .. }, CollectiveSide::Output) => {
                arrives && root.is_none_or(|root| root == member)
            }
        };
        let long = together.call(member).bytes > INLINE_BYTES as u64;
        (needed && long).then_some((member, side))
    }

    /// Whether a member must get the error of missing memory.
    pub(super) fn must_be_told(&self, rank: u32, members: &[u32], placement: &Placement) -> bool {
        let Some((member, side)) = self.missing_memory(members, placement) else {
            return false;
        };
        let near = placement.node_of(rank) == placement.node_of(member);
        let needs_it = match self.together {
            Some((_, RoundCollective::Reduce { root, .. })) => root.is_none_or(|root| root == rank),
            _ => true,
        };
        near || (side == CollectiveSide::Input && needs_it)
    }

    /// Whether the members' calls differ, so that the collective must be refused.
    pub(super) fn disagrees(&self, members: &[u32]) -> bool {
        match (&self.together, &self.astray) {
            (Some((_, together)), Some((_, other))) => {
                members.len() > 1 && together.call(0) != other.call(0)
            }
            _ => false,
        }
    }

    /// Adds a rank's receives: all exact, or all from any source, or all from any source with any
    /// tag. A mixture could leave the wrong message for the exact one. They are shuffled among the
    /// sends, each kind in order.
    fn add_receives(&mut self, rank: u32, may: AllowedFeatures, random: &mut ChaCha8Rng) {
        let incoming: Vec<&ProgramMessage> = self
            .messages
            .iter()
            .filter(|message| message.destination == rank)
            .collect();
        let style = random.random_range(0..3) * u32::from(may.wildcards);
        let longest = incoming
            .iter()
            .map(|message| message.len)
            .max()
            .unwrap_or(0);
        // If memory is missing on both sides, either may be noticed; and missing rooms overlap.
        let mut may_miss = may.missing && incoming.iter().all(|message| !message.missing);
        let receives: Vec<ProgramPost> = incoming
            .iter()
            .flat_map(|message| {
                let source = (style == 0).then_some(message.source);
                let tag = (style < 2).then_some(message.tag);
                let extract = random.random_bool(0.2);
                let missing = random.random_bool(0.05) && may_miss && !extract;
                may_miss &= !missing;
                let receive = ProgramPost::Receive {
                    source,
                    tag,
                    capacity: longest,
                    extract,
                    pieces: random.random_bool(0.5).then(|| random.random()),
                    missing,
                };
                let other = match random.random_range(0..10) {
                    0 => Some(ProgramPost::ProbeOnce { source, tag }),
                    1 => Some(ProgramPost::Decoy),
                    _ => None,
                };
                [Some(receive), other].into_iter().flatten()
            })
            .collect();
        let mut merged = Vec::new();
        let mut sends = std::mem::take(&mut self.posts[rank as usize])
            .into_iter()
            .peekable();
        let mut receives = receives.into_iter().peekable();
        while sends.peek().is_some() || receives.peek().is_some() {
            let send = receives.peek().is_none() || (sends.peek().is_some() && random.random());
            merged.extend(if send { sends.next() } else { receives.next() });
        }
        self.posts[rank as usize] = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::BTreeSet;

    #[test]
    fn programs_have_receives_of_all_kinds() {
        let receives = |wildcards| {
            let may = AllowedFeatures {
                wildcards,
                missing: false,
                run_ahead: true,
            };
            let mut found = BTreeSet::new();
            for seed in 0..20 {
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let program = ScriptedProgram::new(5, 500_000, may, &mut random);
                let rounds = program.rounds.iter();
                for post in rounds.flat_map(|round| round.posts.iter().flatten()) {
                    if let ProgramPost::Receive { source, tag, .. } = post {
                        found.insert((source.is_some(), tag.is_some()));
                    }
                }
            }
            found
        };
        assert_eq!(receives(false), [(true, true)].into());
        // A pattern with any source and one tag would match what another pattern was meant for.
        assert_eq!(
            receives(true),
            [(true, true), (false, true), (false, false)].into()
        );
    }
}
