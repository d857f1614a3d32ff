//! The faults that the switch applies to UDP datagrams.

use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The faults of UDP datagrams, and their frequencies: `_permille` of the datagrams, from 0 (never)
/// to 1000 (always). The default is a switch without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchFaults {
    /// The fate of the n-th datagram from one port to another is a function of this, the ports and
    /// n.
    pub seed: u64,
    /// The share of datagrams that is dropped.
    pub loss_permille: u16,
    /// The share that leaves twice. The faults below are drawn for each copy.
    pub duplication_permille: u16,
    /// The share that is held back, until others of their pair of ports have overtaken them.
    pub reordering_permille: u16,
    /// The number of datagrams that overtake one that is held back.
    pub reordering_behind: u32,
    /// The time after which it leaves if no others come.
    pub reordering_hold_us: u32,
    /// The share that is delayed.
    pub delay_permille: u16,
    /// The least delay.
    pub delay_us: u32,
    /// The most that is added to it, each length equally likely.
    pub jitter_us: u32,
    /// The share in which a byte of the payload is changed. The switch corrects the checksum, so
    /// that they arrive.
    pub corruption_permille: u16,
    /// The bytes that each port sends to its host in a second, headers included. Faster traffic
    /// waits.
    pub bandwidth_bytes_per_s: Option<NonZeroU64>,
}

impl SwitchFaults {
    /// No faults.
    pub const NONE: Self = Self {
        seed: 0,
        loss_permille: 0,
        duplication_permille: 0,
        reordering_permille: 0,
        reordering_behind: 3,
        reordering_hold_us: 10_000,
        delay_permille: 0,
        delay_us: 0,
        jitter_us: 0,
        corruption_permille: 0,
        bandwidth_bytes_per_s: None,
    };
}

impl Default for SwitchFaults {
    fn default() -> Self {
        Self::NONE
    }
}

/// Reads JSON: `{"loss_permille": 50}`. A field that is absent has its default.
impl FromStr for SwitchFaults {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

/// A line that the program `lossy-switch` reads. It answers each by its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchCommand {
    /// `counts`: only the answer.
    Counts,
    /// New faults from now on, as JSON.
    Faults(SwitchFaults),
}

impl FromStr for SwitchCommand {
    type Err = serde_json::Error;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        match line.trim() {
            "counts" => Ok(Self::Counts),
            faults => faults.parse().map(Self::Faults),
        }
    }
}
