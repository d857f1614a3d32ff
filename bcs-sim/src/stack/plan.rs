//! The program of a simulated job: parts, one after the other, the same on all ranks.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use super::bad_memory::BadMemoryCase;
use super::fault::{FaultKind, FaultSet};
use super::injection::InjectionState;
use super::{communicators, intercommunicators, neighbors, operations};
use crate::{collectives, traffic, windows};
use bcs_core::limits::SEND_RING_ENTRIES;
use bcs_core::reduction::Datatype;
use bcs_mpi::mpi::{ANY_SOURCE, Buffer, Process, Result, request};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Bytes for buffered sends: more than those of all messages of a part.
const BUFFER: usize = 1 << 30;

/// A part.
#[derive(Clone, Debug)]
enum PlannedActivity {
    /// A random program of messages.
    Traffic { seed: u64 },
    /// Random collectives.
    Collectives { seed: u64, cases: u64 },
    /// Communicators made and freed.
    Communicators { seed: u64, count: usize, few: bool },
    /// Intercommunicators.
    Intercommunicators { seed: u64, count: usize },
    /// Neighbourhood collectives.
    Neighbors { seed: u64, graphs: usize },
    /// One-sided communication.
    Windows { seed: u64, count: usize },
    /// Operations of the program's own that call MPI.
    Operations { count: usize },
    /// An operation on bad memory.
    BadMemory(BadMemoryCase),
    /// More sends than a ring holds, to one rank that receives late.
    Flood { to: usize },
    /// The rules of transports.
    Rules,
}

/// All parts.
#[derive(Clone, Debug)]
pub(super) struct Plan(Vec<PlannedActivity>);

impl Plan {
    /// Creates a plan that checks the rules of transports.
    pub(super) fn rules() -> Self {
        Self(vec![PlannedActivity::Rules])
    }

    pub(super) fn draw(ranks: usize, faults: FaultSet, random: &mut ChaCha8Rng) -> Self {
        let few = faults.contains(FaultKind::SmallTables);
        let mut parts = Vec::new();
        for _ in 0..random.random_range(1..4) {
            parts.push(match random.random_range(0..10) {
                0 | 1 => PlannedActivity::Traffic {
                    seed: random.random(),
                },
                2 | 3 => PlannedActivity::Collectives {
                    seed: random.random(),
                    cases: random.random_range(2..12),
                },
                5 => PlannedActivity::Intercommunicators {
                    seed: random.random(),
                    count: random.random_range(1..4),
                },
                6 => PlannedActivity::Neighbors {
                    seed: random.random(),
                    graphs: random.random_range(1..4),
                },
                8 | 9 => PlannedActivity::Windows {
                    seed: random.random(),
                    count: random.random_range(1..4),
                },
                7 => PlannedActivity::Operations {
                    count: random.random_range(1..6),
                },
                _ => PlannedActivity::Communicators {
                    seed: random.random(),
                    count: random.random_range(2..8),
                    few,
                },
            });
        }
        let spoils = [
            FaultKind::Unreadable,
            FaultKind::Unwritable,
            FaultKind::Vanished,
        ];
        for fault in spoils.into_iter().filter(|&kind| faults.contains(kind)) {
            let deed = BadMemoryCase::draw(fault, ranks, random);
            parts.insert(
                random.random_range(0..=parts.len()),
                PlannedActivity::BadMemory(deed),
            );
        }
        if faults.contains(FaultKind::FullRing) {
            let to = random.random_range(0..ranks);
            parts.insert(
                random.random_range(0..=parts.len()),
                PlannedActivity::Flood { to },
            );
        }
        Self(parts)
    }

    /// Does this rank's part in all of them.
    pub(super) fn run(&self, process: &Arc<Process>, shared: &InjectionState) -> Result<()> {
        process.attach_buffer(BUFFER)?;
        let world = process.world();
        for part in &self.0 {
            match part {
                &PlannedActivity::Traffic { seed } => {
                    if traffic::has_threads(&world, seed) {
                        shared.record_fault(FaultKind::Threads);
                    }
                    traffic::run(process, seed, 1)?;
                }
                &PlannedActivity::Collectives { seed, cases } => {
                    collectives::run(&world, seed, cases)?
                }
                &PlannedActivity::Communicators { seed, count, few } => {
                    communicators::run(&world, seed, count, few)?
                }
                &PlannedActivity::Intercommunicators { seed, count } => {
                    intercommunicators::run(&world, seed, count)?
                }
                &PlannedActivity::Neighbors { seed, graphs } => {
                    neighbors::run(&world, seed, graphs)?
                }
                &PlannedActivity::Windows { seed, count } => windows::run(&world, seed, count)?,
                &PlannedActivity::Operations { count } => operations::run(&world, count)?,
                PlannedActivity::BadMemory(deed) => deed.run(&world, shared)?,
                &PlannedActivity::Flood { to } => flood(process, to, shared)?,
                PlannedActivity::Rules => {
                    let broken = process.endpoint().bcs_conforms(&[]).err();
                    assert_eq!(broken, None, "a rule of roads is broken");
                }
            }
        }
        Ok(())
    }

    /// Returns the names of the parts.
    pub(super) fn describe(&self) -> String {
        let name = |part: &PlannedActivity| match part {
            PlannedActivity::Traffic { .. } => "traffic".to_owned(),
            PlannedActivity::Collectives { .. } => "collectives".to_owned(),
            PlannedActivity::Communicators { .. } => "teams".to_owned(),
            PlannedActivity::Intercommunicators { .. } => "bridges".to_owned(),
            PlannedActivity::Neighbors { .. } => "neighbors".to_owned(),
            PlannedActivity::Windows { .. } => "windows".to_owned(),
            PlannedActivity::Operations { .. } => "operations".to_owned(),
            PlannedActivity::BadMemory(deed) => format!("{:?}:{:?}", deed.fault, deed.kind),
            PlannedActivity::Flood { .. } => "flood".to_owned(),
            PlannedActivity::Rules => "rules".to_owned(),
        };
        let names: Vec<String> = self.0.iter().map(name).collect();
        names.join(" ")
    }
}

/// Sends one rank more than a ring holds, from all others, before it receives anything.
fn flood(process: &Arc<Process>, to: usize, shared: &InjectionState) -> Result<()> {
    shared.record_fault(FaultKind::FullRing);
    let world = process.world();
    let number = |of: i32| usize::try_from(of).expect("positive");
    let (me, ranks) = (number(world.rank()), number(world.size()));
    let each = usize::try_from(SEND_RING_ENTRIES).expect("small") + 100;
    let senders = (ranks - 1).min(2);
    let sends = |rank: usize| rank != to && (rank + ranks - to) % ranks <= senders;
    let numbers: Vec<u64> = (0..each as u64).collect();
    let mut requests = Vec::new();
    for number in numbers.iter().filter(|_| sends(me)) {
        // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
        let data = unsafe { Buffer::read_only(&raw const *number, 1, Datatype::Uint64) };
        let destination = i32::try_from(to).expect("few");
        requests.push(world.isend(data, destination, 9)?);
    }
    world.barrier()?;
    if me == to {
        let mut next = vec![0_u64; ranks];
        for _ in 0..each * senders {
            let mut got = u64::MAX;
            // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
            let data = unsafe { Buffer::new(&raw mut got, 1, Datatype::Uint64) };
            let status = world.recv(data, ANY_SOURCE, 9)?;
            let expected = &mut next[number(status.source)];
            assert_eq!(got, *expected, "rank {me}: from {}", status.source);
            *expected += 1;
        }
    }
    for outcome in request::waitall(&mut requests) {
        outcome?;
    }
    world.barrier()
}
