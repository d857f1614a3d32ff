//! The link bandwidth, from which budgets follow: measured once on a machine and remembered with its date, so that the
//! budget is the same from run to run.
//!
//! | file | is |
//! |---|---|
//! | `measure.rs` | the measuring |
//! | `record.rs` | what is remembered, and where |

mod measure;
mod record;

use record::{Machine, Record};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Why a measurement is not remembered. The next start measures anew.
#[derive(Debug, thiserror::Error)]
pub enum Forgotten {
    /// There is no directory for it.
    #[error("there is no directory for it: neither XDG_CACHE_HOME nor HOME is set")]
    NoPlace,
    /// It could not be written.
    #[error("failed to write {}: {error}", path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The answer of the file system.
        error: std::io::Error,
    },
}

/// The link bandwidth of this machine.
#[derive(Debug)]
pub struct Measurement {
    /// Bytes per second that may enter a node.
    pub bytes_per_second: u64,
    /// When it was measured.
    pub measured: SystemTime,
    /// The file that remembers it.
    pub file: Result<PathBuf, Forgotten>,
}

impl Measurement {
    /// When it was measured, in words: to the second, in UTC.
    #[must_use]
    pub fn date(&self) -> String {
        humantime::format_rfc3339_seconds(self.measured).to_string()
    }
}

/// What is remembered of this machine and kernel, or else a new measurement, which is then remembered as far as that
/// is possible. A file that cannot be used is no error: it is as if there were none.
#[must_use]
pub fn of_this_machine() -> Measurement {
    let machine = Machine::this();
    match record::path(&machine, |name| std::env::var_os(name)) {
        Some(path) => remembered(&path, &machine, measure::measure),
        None => {
            let measured = Record::new(machine, measure::measure(), SystemTime::now());
            measured.measurement(Err(Forgotten::NoPlace))
        }
    }
}

fn remembered(path: &Path, machine: &Machine, measure: impl FnOnce() -> u64) -> Measurement {
    if let Some(known) = Record::read(path, machine) {
        return known.measurement(Ok(path.to_owned()));
    }
    let measured = Record::new(machine.clone(), measure(), SystemTime::now());
    match measured.keep(path) {
        // Of several starts at once all take what the first one has measured.
        Ok(kept) => kept.measurement(Ok(path.to_owned())),
        Err(error) => {
            let path = path.to_owned();
            measured.measurement(Err(Forgotten::Unwritten { path, error }))
        }
    }
}

#[cfg(test)]
mod tests;
