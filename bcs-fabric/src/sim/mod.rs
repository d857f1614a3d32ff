//! The simulated fabric: nodes in virtual time, fixed by one seed.
//!
//! All ports of a simulated cluster share one [`Network`]. Nothing happens until the simulator
//! advances the time. Then events (a PUT arrives, a Compare-And-Write is decided, a get is
//! complete) happen in the order of their times. Latencies are those of Table 2.1 for QsNet, and
//! our own where the table is blank ([`Latencies`]). Faults are at the level of the primitives
//! ([`FaultPlan`]): whole transfers fail with an error event, are delayed, or overtake those of
//! other pairs; nodes are slow or die.

mod faults;
mod global_memory;
mod network;
mod port;
mod ranks;

pub use faults::{FaultCounts, FaultPlan};
pub use network::{Latencies, Network};
pub use port::{SimMemory, SimPort};
pub use ranks::{RankStore, SharedRankStores, SimulatedRanks};
