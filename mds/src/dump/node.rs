//! What a node leaves behind.

use serde::{Deserialize, Serialize};

use super::DistributionDump;

/// The Elan MDS of one node (Table 5.2): `node-0000.json`, format `bcs-mds-node`. The members are described at
/// [`SliceFigures`](crate::emds::SliceFigures); the counts are totals over all slices.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NodeDump {
    /// Names the run, as in [`RankDump`](super::RankDump).
    #[serde(default)]
    pub job: String,
    /// The number of the node.
    pub node: u32,
    /// Slices in which some node had work.
    pub slices_struck: u64,
    /// The lengths of the runs of slices in which nobody had work.
    pub empty_runs: DistributionDump,
    /// LETTS: time from one struck slice to the next.
    pub letts_ns: DistributionDump,
    /// LTDEM.
    pub ltdem_ns: DistributionDump,
    /// LMSM.
    pub lmsm_ns: DistributionDump,
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
    /// The figures of the Strobe Sender, in the dump of the node that it runs beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global: Option<StrobeDump>,
}

impl NodeDump {
    /// Slices that were only counted, because nobody had work.
    #[must_use]
    pub fn empty_slices(&self) -> u64 {
        self.empty_runs.total
    }
}

/// The global figures (Table 5.1). The members are described at
/// [`StrobeFigures`](crate::emds::StrobeFigures).
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
}
