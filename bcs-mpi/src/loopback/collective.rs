//! Collectives among ranks of this process: done when the last member has arrived.

use super::memory;
use bcs_core::arithmetic::{Path, combine};
use bcs_core::descriptor::{Call, CollectiveDescriptor, CollectiveKind};
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::{Completion, RequestId};
use std::collections::HashMap;

/// A completion for a world rank.
type Completed = (u32, RequestId, Completion);

/// All contexts and the collectives under way in them.
#[derive(Debug)]
pub(super) struct Collectives {
    /// By first member and id, as in the emulated NIC.
    contexts: HashMap<Key, Context>,
    /// Which context a rank means by an id.
    of_rank: HashMap<(u32, u32), Key>,
    /// The first rank of each rank's node: ranks of a node follow each other.
    nodes: Vec<u32>,
}

type Key = (u32, u32);

#[derive(Debug)]
struct Context {
    /// World ranks in the order of the communicator.
    members: Vec<u32>,
    /// How many members have opened it, and not closed it.
    open: usize,
    arrived: HashMap<u64, Vec<(u32, CollectiveDescriptor)>>,
}

impl Collectives {
    /// The world, given the first rank of each rank's node.
    pub(super) fn new(nodes: Vec<u32>) -> Self {
        let world: Vec<u32> = (0..).zip(&nodes).map(|(rank, _)| rank).collect();
        let open = world.len();
        let of_rank = world.iter().map(|&rank| ((rank, 0), (0, 0))).collect();
        let world = Context {
            members: world,
            open,
            arrived: HashMap::new(),
        };
        Self {
            contexts: HashMap::from([((0, 0), world)]),
            of_rank,
            nodes,
        }
    }

    /// A rank arrives. Returns what is complete by that.
    pub(super) fn arrive(&mut self, rank: u32, part: CollectiveDescriptor) -> Vec<Completed> {
        let done = vec![(rank, part.request, Completion::done())];
        match part.kind {
            CollectiveKind::OpenContext => {
                let members = members(&part);
                let key = (members[0], part.context);
                let new = || Context {
                    members: members.clone(),
                    open: 0,
                    arrived: HashMap::new(),
                };
                let context = self.contexts.entry(key).or_insert_with(new);
                assert_eq!(
                    context.members, members,
                    "{key:?} was closed by all of its last life"
                );
                context.open += 1;
                let before = self.of_rank.insert((rank, part.context), key);
                assert_eq!(before, None, "rank {rank} uses an id once");
                done
            }
            CollectiveKind::CloseContext => {
                let key = self
                    .of_rank
                    .remove(&(rank, part.context))
                    .expect("an open context");
                let context = self.contexts.get_mut(&key).expect("an open context");
                context.open -= 1;
                if context.open == 0 {
                    self.contexts.remove(&key);
                }
                done
            }
            _ => self.arrive_at(rank, part),
        }
    }

    fn arrive_at(&mut self, rank: u32, part: CollectiveDescriptor) -> Vec<Completed> {
        let key = self
            .of_rank
            .get(&(rank, part.context))
            .expect("an open context");
        let context = self.contexts.get_mut(key).expect("an open context");
        assert_eq!(
            context.open,
            context.members.len(),
            "all have opened what one of them uses"
        );
        let arrived = context.arrived.entry(part.sequence).or_default();
        arrived.push((rank, part));
        let node = |rank: u32| self.nodes[rank as usize];
        let stands_for = |&(arrived, part): &(u32, CollectiveDescriptor)| {
            let with = |&&member: &&u32| node(member) == node(arrived);
            if part.for_node {
                context.members.iter().filter(with).count()
            } else {
                1
            }
        };
        if arrived.iter().map(stands_for).sum::<usize>() < context.members.len() {
            return Vec::new();
        }
        let mut parts = context
            .arrived
            .remove(&part.sequence)
            .expect("all are there");
        let place = |rank| context.members.iter().position(|&member| member == rank);
        parts.sort_by_key(|&(rank, _)| place(rank));
        let calls: Vec<Call> = parts
            .iter()
            .map(|(rank, part)| Call::of(*rank, part))
            .collect();
        let against = |call: &Call| calls.iter().find(|other| !other.agrees_with(call));
        if against(&calls[0]).is_some() {
            return parts
                .iter()
                .zip(&calls)
                .map(|(&(rank, part), call)| {
                    let other = against(call).expect("some do not agree");
                    (rank, part.request, Completion::mismatch(other.pack()))
                })
                .collect();
        }
        let (result, root) = result(&parts);
        parts
            .iter()
            .map(|(rank, part)| (*rank, part.request, hand_out(*rank, part, root, &result)))
            .collect()
    }
}

/// The result, and who alone gets it.
fn result(parts: &[(u32, CollectiveDescriptor)]) -> (Vec<u8>, Option<u32>) {
    let contribution = |part: &CollectiveDescriptor| {
        let bytes = usize::try_from(part.bytes).expect("64 bits");
        part.inline.map_or_else(
            || memory::read(part.input, bytes),
            |inline| inline[..bytes].to_vec(),
        )
    };
    match parts[0].1.kind {
        CollectiveKind::Broadcast { root } => {
            let source = parts
                .iter()
                .find(|(rank, _)| *rank == root)
                .expect("the root is a member");
            (contribution(&source.1), None)
        }
        CollectiveKind::Reduce { root, op, datatype } => {
            let mut accumulator = contribution(&parts[0].1);
            for (_, part) in &parts[1..] {
                combine(
                    op,
                    datatype,
                    Path::Soft,
                    &mut accumulator,
                    &contribution(part),
                )
                .expect("the library checks operation and datatype");
            }
            (accumulator, root)
        }
        _ => (Vec::new(), None),
    }
}

/// Gives a member the result.
fn hand_out(
    rank: u32,
    part: &CollectiveDescriptor,
    root: Option<u32>,
    result: &[u8],
) -> Completion {
    let mut completion = Completion::done();
    let sends = matches!(part.kind, CollectiveKind::Broadcast { root } if root == rank);
    if sends || root.is_some_and(|root| root != rank) {
        return completion;
    }
    if result.len() <= INLINE_BYTES {
        completion.set_inline(result);
    } else {
        memory::write(part.output, result);
    }
    completion
}

fn members(part: &CollectiveDescriptor) -> Vec<u32> {
    let bytes = memory::read(part.input, usize::try_from(part.bytes).expect("64 bits"));
    bytes
        .chunks_exact(4)
        .map(|member| u32::from_le_bytes(member.try_into().expect("four bytes")))
        .collect()
}
