//! The cores of a job.

use serde::{Deserialize, Serialize};

/// The cores of a job, as its launcher found them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cores {
    /// Those that its processes may use, ascending; none if the kernel does not say which.
    pub allowed: Vec<usize>,
    /// How many of them can be busy at once: fewer where a quota says so.
    pub usable: usize,
    /// Those that OS threads of NICs are to be pinned to, in this order; none if it is for the runtime
    /// to choose.
    pub of_nics: Vec<usize>,
}
