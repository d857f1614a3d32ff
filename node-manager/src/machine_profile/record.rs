//! The file that remembers a measurement.

use super::{Forgotten, Measurement};
use bcs_core::limits::MAX_LINK_BANDWIDTH;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FORMAT: &str = "bcs-link-bandwidth";
const VERSION: u32 = 1;

/// More than a record has: whatever else has its name is not read to its end.
const MAX_BYTES: u64 = 16 << 10;

/// The end of the year 9999, up to which dates are written.
const LAST_SECOND: u64 = 253_402_300_799;

/// What a measurement is of: another kernel may copy otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Machine {
    /// Its name in the network.
    pub(super) machine: String,
    /// The release of its kernel.
    pub(super) kernel: String,
    /// The name of its processor; empty where the kernel does not say.
    pub(super) processor: String,
}

impl Machine {
    /// The one that this program runs on.
    pub(super) fn this() -> Self {
        let names = rustix::system::uname();
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = processors.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == "model name").then(|| value.trim().to_owned())
        });
        Self {
            machine: names.nodename().to_string_lossy().into_owned(),
            kernel: names.release().to_string_lossy().into_owned(),
            processor: processor.unwrap_or_default(),
        }
    }

    /// Its name as part of a file's: machines may share a home.
    fn file_name(&self) -> String {
        let plain = |letter: char| match letter {
            letter if letter.is_ascii_alphanumeric() || "-.".contains(letter) => letter,
            _ => '_',
        };
        let name: String = self.machine.chars().map(plain).collect();
        format!("link-bandwidth-{name}.json")
    }
}

/// Where the measurement of a machine is remembered, by the variables of the XDG base directories.
pub(super) fn path(
    machine: &Machine,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let set = |name| lookup(name).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let home = || Some(set("HOME")?.join(".cache")).filter(|path| path.is_absolute());
    let directory = cache.or_else(home)?.join("bcs");
    Some(directory.join(machine.file_name()))
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    format: String,
    version: u32,
    #[serde(flatten)]
    machine: Machine,
    bytes_per_second: u64,
    measured_unix_s: u64,
}

impl Record {
    pub(super) fn new(machine: Machine, bytes_per_second: u64, now: SystemTime) -> Self {
        let since_1970 = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            machine,
            bytes_per_second,
            measured_unix_s: since_1970.as_secs().min(LAST_SECOND),
        }
    }

    /// What the file says of this machine, if it says anything that can be used.
    pub(super) fn read(path: &Path, machine: &Machine) -> Option<Self> {
        let mut text = String::new();
        let file = File::open(path).ok()?;
        file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        let record: Self = serde_json::from_str(&text).ok()?;
        let fits = (record.format.as_str(), record.version, &record.machine)
            == (FORMAT, VERSION, machine)
            && (1..=MAX_LINK_BANDWIDTH).contains(&record.bytes_per_second)
            && record.measured_unix_s <= LAST_SECOND;
        fits.then_some(record)
    }

    /// Writes the file, whole under a name of its own that then becomes the file's, and gives what it says then: of
    /// several starts at once the first one's. What cannot be used is replaced.
    pub(super) fn keep(&self, path: &Path) -> io::Result<Self> {
        self.keep_as(path, &std::process::id().to_string())
    }

    /// The same for one of several writers in a process.
    pub(super) fn keep_as(&self, path: &Path, writer: &str) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(directory)?;
        let own = path.with_extension(format!("{writer}.new"));
        let kept = self.write(&own).and_then(|()| self.publish(&own, path));
        // It is gone if it was renamed.
        let _ = std::fs::remove_file(&own);
        kept
    }

    fn write(&self, own: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(own, text)
    }

    fn publish(&self, own: &Path, path: &Path) -> io::Result<Self> {
        match std::fs::hard_link(own, path) {
            Ok(()) => return Ok(self.clone()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if let Some(first) = Self::read(path, &self.machine) {
                    return Ok(first);
                }
            }
            // A file system without links.
            Err(_) => {}
        }
        std::fs::rename(own, path)?;
        Ok(self.clone())
    }

    pub(super) fn measurement(&self, file: Result<PathBuf, Forgotten>) -> Measurement {
        Measurement {
            bytes_per_second: self.bytes_per_second,
            measured: UNIX_EPOCH + Duration::from_secs(self.measured_unix_s),
            file,
        }
    }
}
