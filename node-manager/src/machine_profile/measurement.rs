//! Figures of this machine, and when they were measured.

use bcs_core::wake::profile::{Profile, ProfileMeasurement};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Why a measurement is not stored. The next start measures again.
#[derive(Debug, thiserror::Error)]
pub enum ProfileStoreError {
    /// There is no directory for it.
    #[error("there is no directory for it: neither XDG_CACHE_HOME nor HOME is set")]
    NoPlace,
    /// It could not be written.
    #[error("failed to write {}: {error}", path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The error of the file system.
        error: std::io::Error,
    },
}

/// Something that was measured on this machine.
#[derive(Debug)]
pub struct Measurement<T> {
    /// The figures.
    pub found: T,
    /// When it was measured.
    pub measured: SystemTime,
    /// The file that stores it.
    pub file: Result<PathBuf, ProfileStoreError>,
}

/// Bytes per second that may enter a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkBandwidth {
    /// Bytes per second.
    pub bytes_per_second: u64,
}

/// The costs of waiting, as they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitCosts {
    /// Nanoseconds of a yield while no other thread wants the core.
    pub yield_ns: u32,
    /// Nanoseconds of a yield while one other thread wants the core, and yields itself.
    pub shared_yield_ns: u32,
    /// Nanoseconds to wake a thread on another core.
    pub wake_ns: u32,
    /// Nanoseconds to wake a thread on the same core.
    pub switch_ns: u32,
    /// Whether no other process seems to have used the cores meanwhile.
    pub undisturbed: bool,
}

impl WaitCosts {
    /// Returns the profile that jobs use.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let Self {
            yield_ns,
            shared_yield_ns,
            wake_ns,
            switch_ns,
            ..
        } = *self;
        Profile::from_figures([yield_ns, shared_yield_ns, wake_ns, switch_ns]).within_bounds()
    }
}

impl From<ProfileMeasurement> for WaitCosts {
    fn from(measured: ProfileMeasurement) -> Self {
        let [yield_ns, shared_yield_ns, wake_ns, switch_ns] = measured.profile.figures();
        Self {
            yield_ns,
            shared_yield_ns,
            wake_ns,
            switch_ns,
            undisturbed: measured.is_undisturbed,
        }
    }
}

/// Disturbed figures are used for this long: if a machine is busy when its first job starts, it
/// must not stay so in our records for ever.
pub(super) const DISTURBED_FOR: Duration = Duration::from_mins(10);
