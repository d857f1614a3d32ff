//! What the switch is to do to UDP datagrams.

use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What happens to UDP datagrams, and how often: `_permille` of them, from 0 (never) to 1000 (always). The default is
/// a switch without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchFaults {
    /// The fate of the n-th datagram from one port to another is a function of this, the ports and n.
    pub seed: u64,
    /// So many are dropped.
    pub loss_permille: u16,
    /// So many leave twice. What is below is drawn for each of both.
    pub duplication_permille: u16,
    /// So many are held back, until others of their pair of ports have overtaken them.
    pub reordering_permille: u16,
    /// That is how many overtake them.
    pub reordering_behind: u32,
    /// If no others come, they leave after this time.
    pub reordering_hold_us: u32,
    /// So many are delayed.
    pub delay_permille: u16,
    /// By this time,
    pub delay_us: u32,
    /// and up to this time more, each length equally likely.
    pub jitter_us: u32,
    /// Of so many a byte of what UDP carries is changed. Their checksum is made right again, so that it arrives.
    pub corruption_permille: u16,
    /// What each port sends to its host in a second, headers included. What comes faster waits.
    pub bandwidth_bytes_per_s: Option<NonZeroU64>,
}

impl SwitchFaults {
    /// None.
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

/// As JSON: `{"loss_permille": 50}`. What is not named has its default.
impl FromStr for SwitchFaults {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

/// A line that the program `lossy-switch` reads. It answers each by its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchCommand {
    /// `counts`: nothing but the answer.
    Counts,
    /// Other faults from now on, as JSON.
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
