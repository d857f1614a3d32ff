//! How the runtime of a job is set.

use super::bad_job::BadJob;
use super::phase::NicThreadId;
use crate::limits::{
    DEFAULT_EAGER_LIMIT, DEFAULT_SOFT_REDUCE_ELEMENTS, DEFAULT_TIME_SLICE_NS, MAX_EAGER_LIMIT,
    MAX_LINK_BANDWIDTH, MAX_TIME_SLICE_NS, MIN_BUDGET, MIN_TIME_SLICE_NS,
};
use serde::{Deserialize, Serialize};

/// When slices are struck (docs/slice.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StrobeMode {
    /// At every multiple of the time slice at which there is work.
    Fixed,
    /// When somebody waits for it, and at the latest a time slice after work was posted.
    Elastic,
    /// As fixed, with time slices of a length that the Strobe Sender chooses again and again: from the shortest there is
    /// to the one that is set.
    Auto,
}

impl StrobeMode {
    /// Whether a demand has a slice struck at once (law 2), and a completion is released at once (law 1). Else both wait
    /// for the clock.
    #[must_use]
    pub fn is_elastic(self) -> bool {
        self == Self::Elastic
    }
}

/// How NIC threads are mapped to OS threads (docs/nic.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NicThreading {
    /// One OS thread for all NICs emulated on this machine and the Strobe Sender.
    Shared,
    /// One OS thread per NIC, and one for the Strobe Sender.
    Coprocessor,
    /// One OS thread per NIC thread, and one for the Strobe Sender.
    Dedicated,
}

/// Which road messages between ranks of one node take (docs/smartmap.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntranodeTransport {
    /// The ranks' own: at once, whatever the strobe does.
    Smartmap,
    /// That of all others: everything is scheduled in slices.
    Nic,
}

/// Who does collectives of communicators that span nodes: barriers, broadcasts, reductions by
/// predefined operations, and all-to-all (docs/collectives.md). What comes of them is the same to the bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectiveMode {
    /// The ranks of a node among themselves first, where [`IntranodeTransport::Smartmap`] lets them, and one of
    /// them for all with its NIC.
    Hierarchical,
    /// The NICs.
    Nic,
}

/// How bytes get from the memory of one rank to that of another, of its node (docs/smartmap.md) or by the NICs
/// (docs/fabric.md): by the best road there is, of which this one is the best that may be taken. All bring the same bytes; the slower ones
/// are chosen to measure them and to test them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyMethod {
    /// What lies in a slot is read and written where it is.
    Slots,
    /// The kernel copies (`process_vm_readv`).
    Kernel,
    /// Through memory that the ranks of a node share. NICs have the kernel copy.
    Queues,
}

/// Who folds a long reduction within a node. (Threaded is the collectives paper's. Its serial algorithm,
/// in which ranks take turns to fold into the root's buffer, is not here.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FoldingMode {
    /// Each member a share of the vector.
    Threaded,
    /// The root, or the first member if all want the result.
    Serial,
}

impl NicThreading {
    /// The default: dedicated when every NIC thread and rank can have a core of its own,
    /// coprocessor when every NIC and rank can, else shared.
    #[must_use]
    pub fn for_cores(cores: usize, ranks: usize, nodes: usize) -> Self {
        let fits = |driver: &Self| cores >= ranks + driver.os_threads(nodes);
        let best_first = [Self::Dedicated, Self::Coprocessor];
        best_first.into_iter().find(fits).unwrap_or(Self::Shared)
    }

    /// How many OS threads the NICs of so many nodes have, that of the Strobe Sender among them.
    #[must_use]
    pub fn os_threads(self, nodes: usize) -> usize {
        1 + match self {
            Self::Shared => 0,
            Self::Coprocessor => nodes,
            Self::Dedicated => nodes * NicThreadId::COUNT,
        }
    }

    /// As a user writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Coprocessor => "coprocessor",
            Self::Dedicated => "dedicated",
        }
    }
}

/// How the runtime of a job is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// When slices are struck.
    pub strobe: StrobeMode,
    /// The time slice in nanoseconds; elastic: the longest gap; auto: the longest slice.
    pub time_slice_ns: u64,
    /// Standard sends of at most so many bytes complete when they are posted (law 3).
    pub eager_limit: usize,
    /// Bytes per second that may enter a node.
    pub link_bandwidth: u64,
    /// The driver.
    pub driver: NicThreading,
    /// Reductions of at most so many elements are computed in software floating point.
    pub soft_reduce_elements: u32,
    /// The road within a node.
    pub intranode: IntranodeTransport,
    /// Who does collectives of several nodes.
    pub collectives: CollectiveMode,
    /// The best road of bytes between two ranks.
    pub road: CopyMethod,
    /// Who folds long reductions within a node.
    pub folding: FoldingMode,
    /// Look at what takes time to look at (`bcs run --checked`).
    pub checked: bool,
    /// Strike every slice, and all five microphases of it, needed or not: to measure what one costs.
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
    /// Bytes that may enter a node in one slice.
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
