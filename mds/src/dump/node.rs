//! The dump of a node.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DistributionDump, SliceRow, StrobeRow};

/// The Elan MDS of one node (Table 5.2): `node-0000.json`, format `bcs-mds-node`, and its tables.
/// The members are described at [`SliceRow`]; distributions and totals are over all slices of the
/// run, the tables over a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NodeDump {
    /// Names the run, as in [`RankDump`](super::RankDump).
    #[serde(default)]
    pub job: String,
    /// The number of the node.
    pub node: u32,
    /// Slices in which some node had work.
    pub slices_struck: u64,
    /// The lengths of the runs of slices in which no node had work.
    pub empty_runs: DistributionDump,
    /// LETTS: time from one struck slice to the next.
    pub letts_ns: DistributionDump,
    /// LTDEM.
    pub ltdem_ns: DistributionDump,
    /// LTMSM.
    pub ltmsm_ns: DistributionDump,
    /// LTPM.
    pub ltpm_ns: DistributionDump,
    /// LTBBM.
    pub ltbbm_ns: DistributionDump,
    /// LTRM.
    pub ltrm_ns: DistributionDump,
    /// LTTS.
    pub ltts_ns: DistributionDump,
    /// NP2PDEM.
    pub np2pdem: u64,
    /// NP2PMSM.
    pub np2pmsm: u64,
    /// NCOLLDEM.
    pub ncolldem: u64,
    /// NCOLLMSM.
    pub ncollmsm: u64,
    /// BPTS, summed over slices: divide by the slices for the average.
    pub bpts: u64,
    /// LTRi: time in the routines of each NIC thread in a slice in which it ran any; by `sr`, `bs`,
    /// `br`, `dh`, `ch`, `rh`.
    #[serde(default)]
    pub ltr_ns: BTreeMap<String, DistributionDump>,
    /// The bytes of messages that were allowed to move into this node in all slices.
    #[serde(default)]
    pub budget_bytes: u64,
    /// The bytes that were scheduled to move into this node.
    #[serde(default)]
    pub scheduled_bytes: u64,
    /// The bytes that had been matched and were left for a later slice, summed over slices.
    #[serde(default)]
    pub carried_bytes: u64,
    /// Slices that were demanded.
    #[serde(default)]
    pub demanded: u64,
    /// Bytes of messages from other hosts that the kernel put directly into the memory of their
    /// ranks. The dump of a process's first node has the figure for all nodes of that process.
    #[serde(default)]
    pub placed_bytes: u64,
    /// Bytes of such messages that were copied once more. As for `placed_bytes`.
    #[serde(default)]
    pub copied_bytes: u64,
    /// Struck slices of the window before those in `slices`, for which there was no room left.
    #[serde(default)]
    pub slices_dropped: u64,
    /// The slices of the window, in the order of their numbers.
    #[serde(skip)]
    pub slices: Vec<SliceRow>,
    /// The figures of the Strobe Sender, in the dump of the node that it runs beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global: Option<StrobeDump>,
}

impl NodeDump {
    /// Returns the slices that were only counted, because no node had work.
    #[must_use]
    pub fn empty_slices(&self) -> u64 {
        self.empty_runs.total
    }
}

/// The global figures (Table 5.1). The members are described at
/// [`StrobeRow`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StrobeDump {
    /// GETTS: time from one struck slice to the next.
    pub getts_ns: DistributionDump,
    /// GTDEM.
    pub gtdem_ns: DistributionDump,
    /// GTMSM.
    pub gtmsm_ns: DistributionDump,
    /// GTTS.
    pub gtts_ns: DistributionDump,
    /// USRSTS, in retries a slice.
    pub usrsts: DistributionDump,
    /// USRDEM, in retries a slice.
    pub usrdem: DistributionDump,
    /// USRMSM, in retries a slice.
    pub usrmsm: DistributionDump,
    /// Slices of the window before those in `strobes`, for which there was no room left.
    #[serde(default)]
    pub strobes_dropped: u64,
    /// The slices of the window, in the order of their numbers.
    #[serde(skip)]
    pub strobes: Vec<StrobeRow>,
}
