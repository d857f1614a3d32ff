//! The cores of a job.

use serde::{Deserialize, Serialize};

/// The cores of a job, as its launcher found them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cores {
    /// The cores that its processes may use, ascending. Empty if the kernel does not report them.
    pub allowed: Vec<usize>,
    /// The number of cores that can be busy at once. A quota can make it smaller than `allowed`.
    pub usable: usize,
    /// The cores to which the OS threads of NICs are pinned, in this order. Empty if the runtime
    /// chooses them.
    pub of_nics: Vec<usize>,
}
