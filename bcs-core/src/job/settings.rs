//! The settings of the runtime of a job.

use super::bad_job::BadJob;
use super::phase::NicThreadId;
use crate::limits::{
    DEFAULT_EAGER_LIMIT, DEFAULT_SOFT_REDUCE_ELEMENTS, DEFAULT_TIME_SLICE_NS, MAX_EAGER_LIMIT,
    MAX_LINK_BANDWIDTH, MAX_TIME_SLICE_NS, MIN_BUDGET, MIN_TIME_SLICE_NS,
};
use serde::{Deserialize, Serialize};

/// The times at which slices are struck (docs/slice.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StrobeMode {
    /// At every multiple of the time slice at which there is work.
    Fixed,
    /// When a rank demands a slice, and at the latest one time slice after work was posted.
    Elastic,
    /// As fixed, but the Strobe Sender adapts the length of time slices: it lies between the
    /// shortest possible one and the one that is set.
    Auto,
}

impl StrobeMode {
    /// Returns whether a demand has a slice struck at once (law 2) and a completion is released at
    /// once (law 1). Otherwise both wait for the clock.
    #[must_use]
    pub fn is_elastic(self) -> bool {
        self == Self::Elastic
    }
}

/// The mapping of NIC threads to OS threads (docs/nic.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NicThreading {
    /// One OS thread for all NICs emulated on this machine and the Strobe Sender.
    Shared,
    /// One OS thread per NIC, and one for the Strobe Sender.
    Coprocessor,
    /// One OS thread per NIC thread, and one for the Strobe Sender.
    Dedicated,
}

/// The transport of messages between ranks of one node (docs/smartmap.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntranodeTransport {
    /// Ranks copy from each other at once, without waiting for a strobe.
    Smartmap,
    /// The NIC, as between nodes: everything is scheduled in slices.
    Nic,
}

/// The method for collectives of communicators that span nodes: barriers, broadcasts, reductions by
/// predefined operations, and all-to-all (docs/collectives.md). All methods give the same result to
/// the bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectiveMode {
    /// The ranks of a node first work among themselves, if [`IntranodeTransport::Smartmap`] lets
    /// them. Then one of them uses its NIC for all.
    Hierarchical,
    /// The NICs.
    Nic,
}

/// The best method that may copy bytes from the memory of one rank to that of another, on the same
/// node (docs/smartmap.md) or by the NICs (docs/fabric.md). The runtime takes the best available
/// method up to this one. All methods bring the same bytes; the slower ones exist to be measured
/// and tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyMethod {
    /// Data in a slot are read and written in place.
    Slots,
    /// The kernel copies (`process_vm_readv`).
    Kernel,
    /// Data are copied through memory that the ranks of a node share. NICs let the kernel copy.
    Queues,
}

/// The method to fold a long reduction within a node. (Threaded is the collectives paper's. Its
/// serial algorithm, in which ranks take turns to fold into the root's buffer, is not implemented.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FoldingMode {
    /// Each member folds a share of the vector.
    Threaded,
    /// The root folds all, or the first member if all want the result.
    Serial,
}

impl NicThreading {
    /// Returns the default: dedicated when every NIC thread and rank can have a core of its own,
    /// coprocessor when every NIC and rank can, else shared.
    #[must_use]
    pub fn for_cores(cores: usize, ranks: usize, nodes: usize) -> Self {
        let fits = |driver: &Self| cores >= ranks + driver.os_threads(nodes);
        let best_first = [Self::Dedicated, Self::Coprocessor];
        best_first.into_iter().find(fits).unwrap_or(Self::Shared)
    }

    /// Returns the number of OS threads of the NICs of this many nodes and of the Strobe Sender.
    #[must_use]
    pub fn os_threads(self, nodes: usize) -> usize {
        1 + match self {
            Self::Shared => 0,
            Self::Coprocessor => nodes,
            Self::Dedicated => nodes * NicThreadId::COUNT,
        }
    }

    /// Returns the name that users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Coprocessor => "coprocessor",
            Self::Dedicated => "dedicated",
        }
    }
}

/// The settings of the runtime of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The times at which slices are struck.
    pub strobe: StrobeMode,
    /// The time slice in nanoseconds; elastic: the longest gap; auto: the longest slice.
    pub time_slice_ns: u64,
    /// The most bytes of a standard send that completes when it is posted (law 3).
    pub eager_limit: usize,
    /// Bytes per second that may enter a node.
    pub link_bandwidth: u64,
    /// The mapping of NIC threads to OS threads.
    pub driver: NicThreading,
    /// The most elements of a reduction that is computed in software floating point.
    pub soft_reduce_elements: u32,
    /// The transport within a node.
    pub intranode: IntranodeTransport,
    /// The method for collectives of several nodes.
    pub collectives: CollectiveMode,
    /// The best method that may copy bytes between two ranks.
    pub road: CopyMethod,
    /// The method to fold long reductions within a node.
    pub folding: FoldingMode,
    /// Whether to make the checks that cost time (`bcs run --checked`).
    pub checked: bool,
    /// Whether to strike every slice, and all five of its microphases, needed or not: to measure
    /// their cost.
    pub all_phases: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            strobe: StrobeMode::Elastic,
            time_slice_ns: DEFAULT_TIME_SLICE_NS,
            eager_limit: DEFAULT_EAGER_LIMIT,
            link_bandwidth: 4_000_000_000,
            driver: NicThreading::Shared,
            soft_reduce_elements: DEFAULT_SOFT_REDUCE_ELEMENTS,
            intranode: IntranodeTransport::Smartmap,
            collectives: CollectiveMode::Hierarchical,
            road: CopyMethod::Slots,
            folding: FoldingMode::Threaded,
            checked: false,
            all_phases: false,
        }
    }
}

impl Settings {
    /// Returns the bytes that may enter a node in one slice.
    #[must_use]
    pub fn budget(&self) -> u64 {
        let bytes =
            u128::from(self.link_bandwidth) * u128::from(self.time_slice_ns) / 1_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(MIN_BUDGET)
    }

    /// Checks every setting against its limit.
    ///
    /// # Errors
    /// [`BadJob`] that names the setting, the value and the range.
    pub fn check(&self) -> Result<(), BadJob> {
        let out_of_range = |what, value, min, max, unit| {
            if value < min || value > max {
                return Err(BadJob::OutOfRange {
                    what,
                    value,
                    min,
                    max,
                    unit,
                });
            }
            Ok(())
        };
        out_of_range(
            "time slice",
            self.time_slice_ns,
            MIN_TIME_SLICE_NS,
            MAX_TIME_SLICE_NS,
            "ns",
        )?;
        out_of_range(
            "eager limit",
            self.eager_limit as u64,
            0,
            MAX_EAGER_LIMIT as u64,
            "bytes",
        )?;
        out_of_range(
            "link bandwidth",
            self.link_bandwidth,
            1,
            MAX_LINK_BANDWIDTH,
            "bytes/s",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_out_of_range_is_named_with_the_range() {
        let settings = Settings {
            time_slice_ns: 10_000,
            ..Settings::default()
        };
        let message = settings.check().unwrap_err().to_string();
        assert!(message.contains("time slice of 10us") && message.contains("50us to 100ms"));
    }

    #[test]
    fn the_driver_follows_the_cores() {
        assert_eq!(NicThreading::for_cores(2, 2, 1), NicThreading::Shared);
        assert_eq!(NicThreading::for_cores(4, 2, 1), NicThreading::Coprocessor);
        assert_eq!(NicThreading::for_cores(14, 2, 2), NicThreading::Coprocessor);
        assert_eq!(NicThreading::for_cores(15, 2, 2), NicThreading::Dedicated);
    }
}
