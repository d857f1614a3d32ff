//! The header of a run: `run.json`.

use serde::{Deserialize, Serialize};

/// The header of all dumps of one run, format `bcs-mds-run`, which later distinguishes it from
/// other runs. `bcs run` writes it, at the end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunDump {
    /// The name of the run, the same in all its dumps.
    pub job: String,
    /// The command line of the programs, without that of the launcher.
    pub command: Vec<String>,
    /// The version of BCS-MPI. The member `"version"` of a file is that of its format.
    #[serde(rename = "bcs_mpi")]
    pub version: String,
    /// The name of the machine.
    pub machine: String,
    /// When the run began, in nanoseconds since 1970.
    pub began_unix_ns: u64,
    /// The same moment by the clock of all other times in the dumps.
    pub began_ns: u64,
    /// When the run ended, by that clock.
    pub ended_ns: u64,
    /// The exit code of the launcher.
    pub exit_code: i32,
    /// The number of nodes.
    pub nodes: u32,
    /// The number of ranks.
    pub ranks: u32,
    /// The length of a time slice; with auto strobes the longest one.
    pub time_slice_ns: u64,
    /// `elastic`, `fixed` or `auto`.
    pub strobe: String,
    /// `shared`, `coprocessor` or `dedicated`.
    pub nic_threads: String,
    /// `smartmap` or `nic`.
    pub intranode: String,
    /// The longest eager message, in bytes.
    pub eager_limit: u64,
    /// The bandwidth of a link, in bytes a second, from which budgets follow.
    pub bandwidth: u64,
    /// When that was measured, in seconds since 1970; absent if the user has set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_measured_unix_s: Option<u64>,
    /// The selection of data that were recorded, in the syntax of `--mds-record`.
    pub recorded: String,
}

impl RunDump {
    /// Returns whether only the clock caused strobes, so that strobes released completions.
    #[must_use]
    pub fn strobes_by_clock(&self) -> bool {
        matches!(self.strobe.as_str(), "fixed" | "auto")
    }
}
