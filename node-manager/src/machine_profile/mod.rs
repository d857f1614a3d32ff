//! The costs of this machine: the link bandwidth, from which budgets follow, and the costs of
//! waiting ([`bcs_core::wake::profile`]). Each is measured once on a machine and stored with its
//! date, so that it is the same from run to run.
//!
//! | file | is |
//! |---|---|
//! | `copy_bandwidth.rs` | measuring the link bandwidth |
//! | `measurement_file.rs` | what is stored, and where |

mod copy_bandwidth;
mod measurement_file;

use crate::cores;
use bcs_core::wake::profile::{self, Profile, ProfileMeasurement};
use measurement_file::{Machine, MeasurementFile, StoredMeasurement};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Names a file with figures of a machine. They replace those that are measured and stored, to try
/// the runtime as on another machine.
pub const PROFILE_VARIABLE: &str = "BCS_MACHINE_PROFILE";

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

/// The user names a file that has no figures.
#[derive(Debug, thiserror::Error)]
#[error(
    "{PROFILE_VARIABLE} names {}, which has no figures that can be used: it is as the file that `bcs doctor` names under \
     waiting", .0.display()
)]
pub struct ProfileFileError(PathBuf);

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
const DISTURBED_FOR: Duration = Duration::from_mins(10);

/// Returns the stored link bandwidth of this machine and kernel. If there is none, measures it, and
/// stores it if that is possible. A file that cannot be used is no error, but counts as none.
#[must_use]
pub fn link_bandwidth() -> Measurement<LinkBandwidth> {
    let measure = || LinkBandwidth {
        bytes_per_second: copy_bandwidth::measure(),
    };
    of_this_machine(&Machine::this(), measure)
}

/// Returns the costs of waiting on this machine. They are stored like the [link
/// bandwidth](link_bandwidth), but also per number of cores and mitigations of the processor. If
/// the user has named a file, its figures are returned.
///
/// # Errors
/// That file has no figures.
pub fn wait_costs() -> Result<Measurement<WaitCosts>, ProfileFileError> {
    match named() {
        Some(path) => said_by(path),
        None => {
            let machine = Machine::this_with_its_cores(cores::usable());
            Ok(of_this_machine(&machine, || profile::measure().into()))
        }
    }
}

/// Checks that the file which the user has named, if any, has figures. Called before anything is
/// started.
///
/// # Errors
/// It has none.
pub fn can_be_read() -> Result<(), ProfileFileError> {
    named().map_or(Ok(()), |path| said_by(path).map(drop))
}

fn named() -> Option<PathBuf> {
    std::env::var_os(PROFILE_VARIABLE).map(PathBuf::from)
}

fn said_by(path: PathBuf) -> Result<Measurement<WaitCosts>, ProfileFileError> {
    match MeasurementFile::read_of_any_machine(&path) {
        Some(said) => Ok(said.measurement(Ok(path))),
        None => Err(ProfileFileError(path)),
    }
}

fn of_this_machine<T: StoredMeasurement>(
    machine: &Machine,
    measure: impl FnOnce() -> T,
) -> Measurement<T> {
    match measurement_file::path::<T>(machine, |name| std::env::var_os(name)) {
        Some(path) => remembered(&path, machine, measure),
        None => {
            let measured = MeasurementFile::new(machine.clone(), measure(), SystemTime::now());
            measured.measurement(Err(ProfileStoreError::NoPlace))
        }
    }
}

fn remembered<T: StoredMeasurement>(
    path: &Path,
    machine: &Machine,
    measure: impl FnOnce() -> T,
) -> Measurement<T> {
    if let Some(known) = MeasurementFile::read(path, machine) {
        return known.measurement(Ok(path.to_owned()));
    }
    let measured = MeasurementFile::new(machine.clone(), measure(), SystemTime::now());
    match measured.store(path) {
        // Several simultaneous starts all use the measurement of the first one.
        Ok(kept) => kept.measurement(Ok(path.to_owned())),
        Err(error) => {
            let path = path.to_owned();
            measured.measurement(Err(ProfileStoreError::Unwritten { path, error }))
        }
    }
}

#[cfg(test)]
mod tests;
