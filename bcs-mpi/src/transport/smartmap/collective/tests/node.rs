//! All members of a node in one thread: their ends, their calls, and the right results.
#![expect(unsafe_code, reason = "buffers are named by address")]

use super::super::communicator::LocalCommunicator;
use super::super::direction::{DirectionPolicy, LastDirection};
use super::super::group::{GroupId, LocalGroup};
use crate::data::ByteRange;
use crate::steps::CollectiveArguments;
use crate::transport::smartmap::SmartMap;
use crate::transport::smartmap::peer_memory::PeerMemory;
use crate::transport::smartmap::requests::LocalRequestId;
use crate::transport::{Blocking, PostedSend as Progress, RequestOutcome, TooManyRequests};
use bcs_core::descriptor::CollectiveKind;
use bcs_core::job::NodeRanks;
use bcs_core::memory::NicMemory;
use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};
use bcs_core::reduction::{Datatype, Op};
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::NodeMemory;
use bcs_core::smartmap::coll_info::PAYLOAD_BYTES;
use bcs_core::wait_state::{CalledCollective, EnteredCollective};
use bcs_core::wake::MachinePage;
use std::sync::atomic::Ordering;

/// The world rank at place 0.
pub(in crate::transport::smartmap::collective) const FIRST: u32 = 10;

/// All long data are enough to turn round.
const TURNING: DirectionPolicy = DirectionPolicy {
    least_bytes: 4096,
    stretch_bytes: 4096,
};

/// One call of all members.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::smartmap::collective) struct Step {
    pub(in crate::transport::smartmap::collective) kind: CollectiveKind,
    pub(in crate::transport::smartmap::collective) bytes: usize,
    pub(in crate::transport::smartmap::collective) in_place: bool,
}

/// One call of one member, with its memory.
pub(in crate::transport::smartmap::collective) struct Posted {
    /// None if it was over at once.
    pub(in crate::transport::smartmap::collective) id: Option<LocalRequestId>,
    pub(in crate::transport::smartmap::collective) input: Vec<u8>,
    pub(in crate::transport::smartmap::collective) output: Vec<u8>,
}

pub(in crate::transport::smartmap::collective) struct Node {
    pub(in crate::transport::smartmap::collective) ends: Vec<SmartMap>,
    /// World ranks in the order of the communicator.
    pub(in crate::transport::smartmap::collective) members: Vec<u32>,
    pub(in crate::transport::smartmap::collective) groups: Vec<Option<GroupId>>,
}

impl Node {
    pub(super) fn ends(ranks: usize, peer_memory: &PeerMemory) -> Vec<SmartMap> {
        let node = NodeMemory::private(ranks).unwrap();
        let page = MachinePage::private(1, 2).unwrap();
        let end = |place| {
            node.process_id(place)
                .store(std::process::id(), Ordering::Release);
            let memory = NicMemory::private(4096).unwrap();
            let here = (
                place,
                NodeRanks::consecutive(FIRST, u32::try_from(ranks).unwrap()),
            );
            let mut end = SmartMap::new(
                node.clone(),
                memory,
                page.clone(),
                here,
                peer_memory.clone(),
            );
            end.communicators.last_direction = LastDirection::turning(TURNING);
            end
        };
        (0..ranks).map(end).collect()
    }

    pub(in crate::transport::smartmap::collective) fn new(
        ranks: usize,
        members: Vec<u32>,
        peer_memory: &PeerMemory,
    ) -> Self {
        let ends = Self::ends(ranks, peer_memory);
        let all = members.clone();
        let open = |end: &mut SmartMap| end.open_group(7, all.iter().copied(), false);
        Self::opened(ends, members, open)
    }

    /// Returns the state of the groups that are not closed.
    fn open_groups(&mut self) -> impl Iterator<Item = &mut LocalGroup> {
        let ends = self.ends.iter_mut();
        let groups = ends.flat_map(|end| &mut end.communicators.groups).flatten();
        groups
            .filter_map(LocalCommunicator::here_mut)
            .map(|queue| &mut queue.group)
    }

    pub(super) fn fold_serially(&mut self, serial: bool) {
        self.open_groups().for_each(|group| group.serial = serial);
    }

    /// Makes the members use the tally, as if they were many.
    pub(in crate::transport::smartmap::collective) fn count(&mut self, counted: bool) {
        self.open_groups().for_each(|group| group.counted = counted);
    }

    /// Makes the members divide all short reductions to all that do not fit their areas.
    pub(in crate::transport::smartmap::collective) fn divide(&mut self, divided: bool) {
        let least = divided.then_some(0);
        self.open_groups()
            .for_each(|group| group.least_divided = least);
    }

    /// Makes a node whose `members` are the local ones of a larger communicator.
    pub(in crate::transport::smartmap::collective) fn with_others(
        ranks: usize,
        members: Vec<u32>,
        peer_memory: &PeerMemory,
    ) -> Self {
        let far = [FIRST - 1, FIRST + 100];
        let ends = Self::ends(ranks, peer_memory);
        let all: Vec<u32> = [far[1]]
            .into_iter()
            .chain(members.iter().copied())
            .collect();
        let open = |end: &mut SmartMap| {
            let all = all.iter().copied().chain([far[0]]);
            end.open_group(7, all, false)
        };
        Self::opened(ends, members, open)
    }

    pub(super) fn opened(
        mut ends: Vec<SmartMap>,
        members: Vec<u32>,
        open: impl FnMut(&mut SmartMap) -> Option<GroupId>,
    ) -> Self {
        let groups = ends.iter_mut().map(open).collect();
        Self {
            ends,
            members,
            groups,
        }
    }

    pub(in crate::transport::smartmap::collective) fn place(&self, member: usize) -> usize {
        (self.members[member] - FIRST) as usize
    }

    pub(super) fn post(&mut self, member: usize, step: Step, seed: usize) -> Posted {
        // Some callers wait, and poll at once.
        let blocking = [Blocking::No, Blocking::Yes][(member + seed) % 2];
        self.post_as(member, step, seed, |end, group, part, entered| {
            if part.bytes <= PAYLOAD_BYTES {
                return end.in_records(group, part, entered, blocking);
            }
            end.in_memory(group, part, entered, blocking)
        })
    }

    pub(in crate::transport::smartmap::collective) fn post_as(
        &mut self,
        member: usize,
        step: Step,
        seed: usize,
        post: impl FnOnce(
            &mut SmartMap,
            GroupId,
            CollectiveArguments,
            EnteredCollective,
        ) -> Result<Progress, TooManyRequests>,
    ) -> Posted {
        let mut input = data(step, member, seed);
        let (rank, place) = (self.members[member], self.place(member));
        let wants = wants(step.kind, rank);
        let broadcasts = matches!(step.kind, CollectiveKind::Broadcast { .. });
        let mut output = vec![0xee; step.bytes];
        let memory = |bytes: &mut Vec<u8>| {
            let address = bytes.as_mut_ptr().expose_provenance() as u64;
            // SAFETY: the posted call keeps it.
            unsafe { ByteRange::new(address, bytes.len()) }
        };
        let gives = !broadcasts || !wants;
        let part = CollectiveArguments {
            kind: step.kind,
            bytes: step.bytes,
            input: (gives && step.kind != CollectiveKind::Barrier).then(|| memory(&mut input)),
            output: match (wants, step.in_place && !broadcasts) {
                (false, _) => ByteRange::EMPTY,
                (true, true) => memory(&mut input),
                (true, false) => memory(&mut output),
            },
        };
        let entered = EnteredCollective {
            context: 7,
            group: 1,
            number: 0,
            called: CalledCollective::Nic {
                kind: step.kind,
                bytes: step.bytes as u64,
            },
        };
        let group = self.groups[place].unwrap();
        let id = match post(&mut self.ends[place], group, part, entered).unwrap() {
            Progress::Complete => None,
            Progress::Request(id) => Some(id),
        };
        if step.in_place && wants && !broadcasts {
            output.clear();
        }
        Posted { id, input, output }
    }

    /// Returns the outcome of a member's call, if it is over, with its result, if it got one.
    pub(in crate::transport::smartmap::collective) fn take(
        &mut self,
        member: usize,
        posted: &Posted,
    ) -> Option<RequestOutcome> {
        let Some(id) = posted.id else {
            return Some(RequestOutcome::default());
        };
        let place = self.place(member);
        self.ends[place].take(id)
    }
}

pub(in crate::transport::smartmap::collective) fn wants(kind: CollectiveKind, rank: u32) -> bool {
    match kind {
        CollectiveKind::Broadcast { root } => root != rank,
        CollectiveKind::Reduce { root, .. } => root.is_none_or(|root| root == rank),
        _ => false,
    }
}

/// Returns the contribution of a member: doubles of very different sizes, so that the order shows.
pub(in crate::transport::smartmap::collective) fn data(
    step: Step,
    member: usize,
    seed: usize,
) -> Vec<u8> {
    let number = |at: usize| {
        let mixed = (at * 2_654_435_761 + member * 40_503 + seed * 97) % 1_000_003;
        let exponent = i32::try_from(mixed % 60).unwrap() - 30;
        f64::from(u32::try_from(mixed).unwrap()) * 2f64.powi(exponent)
    };
    let numbers = (0..step.bytes.div_ceil(8)).flat_map(|at| number(at).to_le_bytes());
    numbers.take(step.bytes).collect()
}

/// Returns the result of a member that wants one.
pub(super) fn right(step: Step, members: &[u32], seed: usize) -> Vec<u8> {
    match step.kind {
        CollectiveKind::Broadcast { root } => {
            let root = members.iter().position(|&rank| rank == root).unwrap();
            data(step, root, seed)
        }
        CollectiveKind::Reduce { op, datatype, .. } => {
            let mut all = (0..members.len()).map(|member| data(step, member, seed));
            let mut result = all.next().unwrap();
            for operand in all {
                combine(op, datatype, ArithmeticPath::Soft, &mut result, &operand).unwrap();
            }
            result
        }
        _ => Vec::new(),
    }
}

pub(super) fn check(
    node: &mut Node,
    member: usize,
    step: Step,
    seed: usize,
    posted: &Posted,
) -> bool {
    let Some(outcome) = node.take(member, posted) else {
        return false;
    };
    assert_eq!(outcome.failure, RequestFailure::None, "{step:?}");
    if wants(step.kind, node.members[member]) {
        let broadcasts = matches!(step.kind, CollectiveKind::Broadcast { .. });
        let found = if step.in_place && !broadcasts {
            &posted.input
        } else {
            &posted.output
        };
        let right = right(step, &node.members, seed);
        assert!(*found == right, "{step:?} of member {member}");
    }
    true
}

pub(in crate::transport::smartmap::collective) fn sum(root: Option<u32>) -> CollectiveKind {
    CollectiveKind::Reduce {
        root,
        op: Op::Sum,
        datatype: Datatype::Double,
    }
}

pub(in crate::transport::smartmap::collective) const LENGTHS: [usize; 9] =
    [0, 8, 104, 112, 4096, 4104, 9_000, 40_000, 300_008];

pub(in crate::transport::smartmap::collective) fn step(
    kind: u8,
    root: usize,
    length: usize,
    in_place: bool,
    members: &[u32],
) -> Step {
    let root = members[root % members.len()];
    let kind = match kind % 4 {
        0 => CollectiveKind::Barrier,
        1 => CollectiveKind::Broadcast { root },
        2 => sum(Some(root)),
        _ => sum(None),
    };
    let bytes = match kind {
        CollectiveKind::Barrier => 0,
        CollectiveKind::Broadcast { .. } => LENGTHS[length % LENGTHS.len()] + length % 3,
        _ => LENGTHS[length % LENGTHS.len()],
    };
    Step {
        kind,
        bytes,
        in_place,
    }
}
