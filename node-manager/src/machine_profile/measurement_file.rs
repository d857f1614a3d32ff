//! The files that store measurements.

use super::measurement::{DISTURBED_FOR, LinkBandwidth, Measurement, ProfileStoreError, WaitCosts};
use bcs_core::limits::MAX_LINK_BANDWIDTH;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A measurement that is stored in a file of its own.
pub(super) trait StoredMeasurement: Copy + Serialize + DeserializeOwned {
    /// The kind of measurement, and the beginning of the file's name.
    const NAME: &str;
    const VERSION: u32;

    /// Returns whether the figures can be true, if they were measured so long ago.
    fn are_credible(&self, age: Duration) -> bool;
}

impl StoredMeasurement for LinkBandwidth {
    const NAME: &str = "link-bandwidth";
    const VERSION: u32 = 2;

    fn are_credible(&self, _: Duration) -> bool {
        (1..=MAX_LINK_BANDWIDTH).contains(&self.bytes_per_second)
    }
}

impl StoredMeasurement for WaitCosts {
    const NAME: &str = "waiting";
    const VERSION: u32 = 1;

    fn are_credible(&self, age: Duration) -> bool {
        let profile = self.profile();
        let said = [
            self.yield_ns,
            self.shared_yield_ns,
            self.wake_ns,
            self.switch_ns,
        ];
        profile.figures() == said && (self.undisturbed || age < DISTURBED_FOR)
    }
}

/// More than a record has: of any other file with its name no more is read.
const MAX_BYTES: u64 = 16 << 10;

/// The end of the year 9999, the last year that dates are written in.
const LAST_SECOND: u64 = 253_402_300_799;

/// The machine of a measurement. Another kernel may copy in another way, and be slower to wake a
/// thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Machine {
    /// Its host name.
    pub(super) machine: String,
    /// The release of its kernel.
    pub(super) kernel: String,
    /// The name of its processor; empty if the kernel does not report it.
    pub(super) processor: String,
    /// How many cores can be busy at once, for measurements that depend on it.
    #[serde(default)]
    pub(super) cores: Option<usize>,
    /// The kernel's mitigations of processor faults, for measurements that depend on them.
    #[serde(default)]
    pub(super) mitigations: String,
}

impl Machine {
    /// Describes the machine that this program runs on.
    pub(super) fn this() -> Self {
        let names = rustix::system::uname();
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = processors.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == "model name").then(|| value.trim().to_owned())
        });
        Self {
            machine: names.nodename().to_string_lossy().into_owned(),
            kernel: names.release().to_string_lossy().into_owned(),
            processor: processor.unwrap_or_default(),
            cores: None,
            mitigations: String::new(),
        }
    }

    /// Describes it with the number of its cores and the mitigations of its processor.
    pub(super) fn this_with_its_cores(cores: usize) -> Self {
        Self {
            cores: Some(cores),
            mitigations: mitigations(),
            ..Self::this()
        }
    }

    /// Returns its name as part of a file's name: machines may share a home.
    fn file_name(&self, figures: &str) -> String {
        let plain = |letter: char| match letter {
            letter if letter.is_ascii_alphanumeric() || "-.".contains(letter) => letter,
            _ => '_',
        };
        let name: String = self.machine.chars().map(plain).collect();
        match self.cores {
            None => format!("{figures}-{name}.json"),
            Some(cores) => format!("{figures}-{name}-{cores}.json"),
        }
    }
}

/// Returns the kernel's mitigations; empty if the kernel does not report them.
fn mitigations() -> String {
    let Ok(files) = fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return String::new();
    };
    let said = files.filter_map(|file| {
        let file = file.ok()?;
        let answer = fs::read_to_string(file.path()).ok()?;
        let name = file.file_name();
        answer.starts_with("Mitigation").then(|| {
            let (name, answer) = (name.to_string_lossy(), answer.trim());
            format!("{name}: {answer}")
        })
    });
    let mut said: Vec<String> = said.collect();
    said.sort_unstable();
    said.join("; ")
}

/// Returns the file of a machine's measurement, by the variables of the XDG base directories.
pub(super) fn path<T: StoredMeasurement>(
    machine: &Machine,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let set = |name| lookup(name).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let home = || Some(set("HOME")?.join(".cache")).filter(|path| path.is_absolute());
    let directory = cache.or_else(home)?.join("bcs");
    Some(directory.join(machine.file_name(T::NAME)))
}

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MeasurementFile<T> {
    format: String,
    version: u32,
    #[serde(flatten)]
    machine: Machine,
    #[serde(flatten)]
    figures: T,
    measured_unix_s: u64,
}

fn format_of<T: StoredMeasurement>() -> String {
    format!("bcs-{}", T::NAME)
}

impl<T: StoredMeasurement> MeasurementFile<T> {
    pub(super) fn new(machine: Machine, figures: T, now: SystemTime) -> Self {
        let since_1970 = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            format: format_of::<T>(),
            version: T::VERSION,
            machine,
            figures,
            measured_unix_s: since_1970.as_secs().min(LAST_SECOND),
        }
    }

    /// Reads the file's record of this machine, if it has a usable one.
    pub(super) fn read(path: &Path, machine: &Machine) -> Option<Self> {
        let record = Self::read_of_any_machine(path)?;
        let age = SystemTime::now().duration_since(record.measured());
        // A record from the future counts as one of now.
        let is_credible = record.figures.are_credible(age.unwrap_or_default());
        (record.machine == *machine && is_credible).then_some(record)
    }

    /// Reads the file's record of any machine and age.
    pub(super) fn read_of_any_machine(path: &Path) -> Option<Self> {
        let mut text = String::new();
        let file = File::open(path).ok()?;
        file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        let record: Self = serde_json::from_str(&text).ok()?;
        let fits = record.format == format_of::<T>()
            && record.version == T::VERSION
            && record.measured_unix_s <= LAST_SECOND;
        (fits && record.figures.are_credible(Duration::ZERO)).then_some(record)
    }

    fn measured(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.measured_unix_s)
    }

    /// Writes the file under a name of its own and then renames it. Returns the file's contents
    /// after that: those of the first of several simultaneous starts. A file that cannot be used is
    /// replaced.
    pub(super) fn store(&self, path: &Path) -> io::Result<Self> {
        self.keep_as(path, &std::process::id().to_string())
    }

    /// Does the same for one of several writers in a process.
    pub(super) fn keep_as(&self, path: &Path, writer: &str) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory)?;
        let own = path.with_extension(format!("{writer}.new"));
        let kept = self.write(&own).and_then(|()| self.publish(&own, path));
        // After a rename there is no such file any more.
        let _ = fs::remove_file(&own);
        kept
    }

    fn write(&self, own: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(own, text)
    }

    fn publish(&self, own: &Path, path: &Path) -> io::Result<Self> {
        match fs::hard_link(own, path) {
            Ok(()) => return Ok(self.clone()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if let Some(first) = Self::read(path, &self.machine) {
                    return Ok(first);
                }
            }
            // A file system without links.
            Err(_) => {}
        }
        fs::rename(own, path)?;
        Ok(self.clone())
    }

    pub(super) fn measurement(&self, file: Result<PathBuf, ProfileStoreError>) -> Measurement<T> {
        Measurement {
            found: self.figures,
            measured: self.measured(),
            file,
        }
    }
}
