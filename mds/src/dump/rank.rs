//! What a rank leaves behind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mmds::Primitive;

use super::DistributionDump;

/// The Main MDS of one rank (Table 5.3): `rank-00003.json`, format `bcs-mds-rank`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankDump {
    /// Names the run, alike in all its dumps, so that two runs in one directory are noticed. A recorder leaves
    /// it empty: whoever writes the dump knows it.
    #[serde(default)]
    pub job: String,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// From the start of the recorder to its end.
    pub run_ns: u64,
    /// The primitives that were called.
    pub primitives: BTreeMap<Primitive, PrimitiveDump>,
    /// Times between two blocking primitives.
    pub computation_granularity_ns: DistributionDump,
    /// Times inside blocking primitives.
    pub communication_overhead_ns: DistributionDump,
}

/// What one primitive was seen to do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PrimitiveDump {
    /// From the call to its completion, also for non-blocking ones.
    pub latency_ns: DistributionDump,
    /// The data moved by each call; absent for primitives that move none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<DistributionDump>,
}
