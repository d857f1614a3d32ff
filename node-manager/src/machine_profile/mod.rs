//! The costs of this machine: the link bandwidth, from which budgets follow, and the costs of
//! waiting ([`bcs_core::wake::profile`]). Each is measured once on a machine and stored with its
//! date, so that it is the same from run to run.
//!
//! | file | is |
//! |---|---|
//! | `copy_bandwidth.rs` | measuring the link bandwidth |
//! | `measurement.rs` | figures, and when they were measured |
//! | `measurement_file.rs` | what is stored, and where |

mod copy_bandwidth;
mod measurement;
mod measurement_file;

use crate::cores;
use bcs_core::wake::profile;
use measurement_file::{Machine, MeasurementFile, StoredMeasurement};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use measurement::{LinkBandwidth, Measurement, ProfileStoreError, WaitCosts};

/// Names a file with figures of a machine. They replace those that are measured and stored, to try
/// the runtime as on another machine.
pub const PROFILE_VARIABLE: &str = "BCS_MACHINE_PROFILE";

/// The user names a file that has no figures.
#[derive(Debug, thiserror::Error)]
#[error(
    "{PROFILE_VARIABLE} names {}, which has no figures that can be used: it is as the file that `bcs doctor` names under \
     waiting", .0.display()
)]
pub struct ProfileFileError(PathBuf);

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
