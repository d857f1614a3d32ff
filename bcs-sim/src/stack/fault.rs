//! The faults in a simulated job.

use bcs_core::job::NodeId;
use bcs_fabric::sim;
use bcs_fabric::udp::datagram_network::DatagramFaults;
use bcs_nic::simulator::fabric::{DatagramFaultKinds, FabricKind};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FaultKind {
    /// Transfers fail whole, or datagrams are lost.
    Lost,
    /// Transfers or datagrams are late.
    Delayed,
    /// Transfers of different pairs overtake each other, or datagrams of one.
    Reordered,
    /// A node is slow.
    Slowed,
    /// A node dies, with its NIC and its ranks.
    Crashed,
    /// A rank dies at some step of its thread.
    Died,
    /// A rank gives memory that cannot be read.
    Unreadable,
    /// A rank gives memory that cannot be written.
    Unwritable,
    /// Memory vanishes in the middle of an operation.
    Vanished,
    /// The kernel refuses to copy between the ranks of a node.
    Refused,
    /// More entries are posted than a ring holds.
    FullRing,
    /// Several threads of a rank call at once.
    Threads,
    /// Tables, blocks and credits of the NICs are small.
    SmallTables,
    /// Datagrams arrive twice.
    Repeated,
    /// No datagram arrives for a while.
    Cut,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 15] = [
        Self::Lost,
        Self::Delayed,
        Self::Reordered,
        Self::Slowed,
        Self::Crashed,
        Self::Died,
        Self::Unreadable,
        Self::Unwritable,
        Self::Vanished,
        Self::Refused,
        Self::FullRing,
        Self::Threads,
        Self::SmallTables,
        Self::Repeated,
        Self::Cut,
    ];

    /// Returns the kinds that a job on such a fabric may have. Datagrams make no node slow. On
    /// several hosts a node that dies ends the job, as a rank does.
    pub fn possible_on(fabric: FabricKind) -> impl Iterator<Item = Self> {
        let of_transfers = [Self::Slowed, Self::Crashed];
        let of_datagrams = [Self::Repeated, Self::Cut];
        Self::ALL.into_iter().filter(move |kind| match fabric {
            FabricKind::Sim => !of_datagrams.contains(kind),
            FabricKind::Udp => !of_transfers.contains(kind),
        })
    }

    /// Returns its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Delayed => "delayed",
            Self::Reordered => "reordered",
            Self::Slowed => "slowed",
            Self::Crashed => "crashed",
            Self::Died => "died",
            Self::Unreadable => "unreadable",
            Self::Unwritable => "unwritable",
            Self::Vanished => "vanished",
            Self::Refused => "refused",
            Self::FullRing => "full-ring",
            Self::Threads => "threads",
            Self::SmallTables => "small-tables",
            Self::Repeated => "repeated",
            Self::Cut => "cut",
        }
    }

    fn bit(self) -> u32 {
        1 << self as u8
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultSet(u32);

/// The faults that have struck.
pub type StruckFaults = FaultSet;

impl FaultSet {
    /// No kinds.
    pub const NONE: Self = Self(0);
    /// All kinds.
    pub const ALL: Self = Self(u32::MAX);

    /// Adds this kind.
    pub fn insert(&mut self, kind: FaultKind) {
        self.0 |= kind.bit();
    }

    /// Whether this kind is among them.
    #[must_use]
    pub fn contains(self, kind: FaultKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Returns the kinds.
    pub fn iter(self) -> impl Iterator<Item = FaultKind> {
        FaultKind::ALL
            .into_iter()
            .filter(move |&kind| self.contains(kind))
    }

    /// Chooses each of these kinds with this chance, if it is among them.
    pub(super) fn choose(
        self,
        kinds: impl Iterator<Item = FaultKind>,
        chance: f64,
        random: &mut ChaCha8Rng,
    ) -> Self {
        // Every choice is drawn, whether or not it is allowed, so the rest of a seed's run does not
        // depend on that.
        let mut some = Self::NONE;
        for kind in kinds {
            if random.random_bool(chance) && self.contains(kind) {
                some.insert(kind);
            }
        }
        some
    }
}

/// The virtual time after which the simulated fabric has no faults.
const UNTIL_NS: u64 = 20_000_000;

/// Draws the faults of the simulated fabric.
pub(super) fn draw_network_faults(
    faults: FaultSet,
    nodes: usize,
    random: &mut ChaCha8Rng,
) -> sim::FaultPlan {
    let slow = NodeId::from_index(random.random_range(0..nodes));
    let factor = random.random_range(2..20);
    let victim = NodeId::from_index(random.random_range(0..nodes));
    let crash_ns = random.random_range(1_000..UNTIL_NS / 4);
    let has = |kind| faults.contains(kind);
    sim::FaultPlan {
        lose: if has(FaultKind::Lost) { 0.05 } else { 0.0 },
        delay: if has(FaultKind::Delayed) {
            (0.2, 300_000)
        } else {
            (0.0, 0)
        },
        reorder_ns: if has(FaultKind::Reordered) { 40_000 } else { 0 },
        slow: has(FaultKind::Slowed)
            .then_some((slow, factor))
            .into_iter()
            .collect(),
        crash: has(FaultKind::Crashed)
            .then_some((victim, crash_ns))
            .into_iter()
            .collect(),
        until_ns: UNTIL_NS,
    }
}

/// Draws the faults of the datagram network.
pub(super) fn draw_wire_faults(faults: FaultSet, random: &mut ChaCha8Rng) -> DatagramFaults {
    let kinds = DatagramFaultKinds {
        lose: faults.contains(FaultKind::Lost),
        repeat: faults.contains(FaultKind::Repeated),
        delay: faults.contains(FaultKind::Delayed) || faults.contains(FaultKind::Reordered),
        cut: faults.contains(FaultKind::Cut),
    };
    kinds.draw(random)
}

/// Returns the faults that have struck, by the fabric's counts.
pub(super) fn struck_faults(counts: &sim::FaultCounts) -> StruckFaults {
    let mut struck = StruckFaults::NONE;
    for (count, kind) in [
        (counts.lost, FaultKind::Lost),
        (counts.delayed, FaultKind::Delayed),
        (counts.reordered, FaultKind::Reordered),
        (counts.slowed, FaultKind::Slowed),
        (counts.crashed, FaultKind::Crashed),
        (counts.repeated, FaultKind::Repeated),
        (counts.cut, FaultKind::Cut),
    ] {
        if count > 0 {
            struck.insert(kind);
        }
    }
    struck
}
