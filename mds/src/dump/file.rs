//! Dumps on disk. A dump appears under its name whole or not at all.

use std::path::{Path, PathBuf};
use std::{fs, io, process};

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::{DumpError, NodeDump, RankDump};

/// The version of both formats that is written, and the newest that can be read. It rises when a member changes
/// its meaning or goes away; members may be added without it.
const VERSION: u64 = 1;

/// A kind of dump: what differs between the file of a rank and that of a node.
trait Dump: Serialize + DeserializeOwned {
    /// The member `"format"`.
    const FORMAT: &'static str;
    /// What its file names begin with.
    const PREFIX: &'static str;

    fn file_name(&self) -> String;
    fn job(&self) -> &str;
}

impl Dump for RankDump {
    const FORMAT: &'static str = "bcs-mds-rank";
    const PREFIX: &'static str = "rank-";

    fn file_name(&self) -> String {
        format!("rank-{:05}.json", self.rank)
    }

    fn job(&self) -> &str {
        &self.job
    }
}

impl Dump for NodeDump {
    const FORMAT: &'static str = "bcs-mds-node";
    const PREFIX: &'static str = "node-";

    fn file_name(&self) -> String {
        format!("node-{:04}.json", self.node)
    }

    fn job(&self) -> &str {
        &self.job
    }
}

/// A whole file: what it is, then the dump.
#[derive(Serialize)]
struct Labelled<'a, T> {
    format: &'static str,
    version: u64,
    #[serde(flatten)]
    dump: &'a T,
}

/// The part of a file that says whether the rest can be understood.
#[derive(Deserialize)]
struct Label {
    format: Option<String>,
    version: Option<u64>,
}

/// All dumps of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dumps {
    /// In the order of ranks.
    pub ranks: Vec<RankDump>,
    /// In the order of nodes.
    pub nodes: Vec<NodeDump>,
}

/// Writes the dump of a rank into `dir`, which is made if it is missing, and returns the path of the file.
///
/// # Errors
///
/// [`DumpError::Write`]; no file is left behind then.
pub fn write_rank(dir: &Path, dump: &RankDump) -> Result<PathBuf, DumpError> {
    write(dir, dump)
}

/// Writes the dump of a node into `dir`, as [`write_rank`] does.
///
/// # Errors
///
/// [`DumpError::Write`]; no file is left behind then.
pub fn write_node(dir: &Path, dump: &NodeDump) -> Result<PathBuf, DumpError> {
    write(dir, dump)
}

/// Reads the dump of a rank.
///
/// # Errors
///
/// Anything but a whole dump of a rank, in a version that this program knows.
pub fn read_rank(path: &Path) -> Result<RankDump, DumpError> {
    read(path)
}

/// Reads the dump of a node.
///
/// # Errors
///
/// Anything but a whole dump of a node, in a version that this program knows.
pub fn read_node(path: &Path) -> Result<NodeDump, DumpError> {
    read(path)
}

/// Reads all dumps in `dir`. Files whose names are not those of dumps are passed over.
///
/// # Errors
///
/// The first dump that cannot be read, two runs in one directory, or no dump at all.
pub fn read_dir(dir: &Path) -> Result<Dumps, DumpError> {
    let refused = |source| DumpError::Read {
        path: dir.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(refused)? {
        paths.push(entry.map_err(refused)?.path());
    }
    let mut dumps = Dumps {
        ranks: read_all(&paths)?,
        nodes: read_all(&paths)?,
    };
    if dumps.ranks.is_empty() && dumps.nodes.is_empty() {
        return Err(DumpError::NoDumps {
            path: dir.to_owned(),
        });
    }
    dumps.ranks.sort_by_key(|dump| dump.rank);
    dumps.nodes.sort_by_key(|dump| dump.node);
    refuse_two_runs(dir, &dumps)?;
    Ok(dumps)
}

fn refuse_two_runs(dir: &Path, dumps: &Dumps) -> Result<(), DumpError> {
    let ranks = dumps
        .ranks
        .iter()
        .map(|dump| (dump.file_name(), dump.job()));
    let nodes = dumps
        .nodes
        .iter()
        .map(|dump| (dump.file_name(), dump.job()));
    let mut all = ranks.chain(nodes);
    let Some((_, first)) = all.next() else {
        return Ok(());
    };
    match all.find(|(_, job)| *job != first) {
        None => Ok(()),
        Some((name, job)) => Err(DumpError::TwoRuns {
            path: dir.join(name),
            job: job.to_owned(),
            other: first.to_owned(),
        }),
    }
}

fn write<T: Dump>(dir: &Path, dump: &T) -> Result<PathBuf, DumpError> {
    let path = dir.join(dump.file_name());
    // In the same directory, so that the rename cannot cross file systems; hidden, so that no pattern for
    // dumps matches it; with the process in its name, so that two writers do not share it.
    let partial = dir.join(format!(".{}.{}.partial", dump.file_name(), process::id()));
    let attempt = || -> io::Result<()> {
        fs::create_dir_all(dir)?;
        let whole = Labelled {
            format: T::FORMAT,
            version: VERSION,
            dump,
        };
        // No newline at the end: so every file that was cut short is known by its unfinished object.
        fs::write(&partial, serde_json::to_vec(&whole)?)?;
        fs::rename(&partial, &path)
    };
    attempt().map_err(|source| {
        // The write has failed already; that its remains cannot be removed either adds nothing.
        drop(fs::remove_file(&partial));
        DumpError::Write {
            path: path.clone(),
            source,
        }
    })?;
    Ok(path)
}

fn read_all<T: Dump>(paths: &[PathBuf]) -> Result<Vec<T>, DumpError> {
    let is_dump = |path: &&PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        name.starts_with(T::PREFIX) && name.ends_with(".json")
    };
    paths
        .iter()
        .filter(is_dump)
        .map(|path| read_named(path))
        .collect()
}

/// Also holds the file to its name, so that no rank is counted twice.
fn read_named<T: Dump>(path: &Path) -> Result<T, DumpError> {
    let dump: T = read(path)?;
    let content = dump.file_name();
    if path
        .file_name()
        .is_some_and(|name| name != content.as_str())
    {
        return Err(DumpError::Misnamed {
            path: path.to_owned(),
            content,
        });
    }
    Ok(dump)
}

fn read<T: Dump>(path: &Path) -> Result<T, DumpError> {
    let bytes = fs::read(path).map_err(|source| DumpError::Read {
        path: path.to_owned(),
        source,
    })?;
    let foreign = |found: String| DumpError::Foreign {
        path: path.to_owned(),
        expected: T::FORMAT,
        found,
    };
    // First the syntax of the whole, so that a file that was cut short is told from one of another kind. Cut
    // inside a number, an object does not end with its brace but is not "unexpected end" to the parser.
    let unfinished = bytes.starts_with(b"{") && !bytes.trim_ascii_end().ends_with(b"}");
    serde_json::from_slice::<IgnoredAny>(&bytes).map_err(|error| match error.classify() {
        Category::Eof => DumpError::Truncated {
            path: path.to_owned(),
            length: bytes.len(),
        },
        _ if unfinished => DumpError::Truncated {
            path: path.to_owned(),
            length: bytes.len(),
        },
        _ => foreign(format!("what is not JSON ({error})")),
    })?;
    let label: Label = serde_json::from_slice(&bytes)
        .map_err(|error| foreign(format!("another JSON value ({error})")))?;
    match label.format {
        Some(format) if format == T::FORMAT => {}
        Some(format) => return Err(foreign(format!("\"{format}\""))),
        None => return Err(foreign("an object without one".to_owned())),
    }
    let malformed = |what: String| DumpError::Malformed {
        path: path.to_owned(),
        what,
    };
    match label.version {
        Some(VERSION) => {}
        Some(found) if found > VERSION => {
            return Err(DumpError::Newer {
                path: path.to_owned(),
                found,
                known: VERSION,
            });
        }
        Some(found) => return Err(malformed(format!("there never was a version {found}"))),
        None => return Err(malformed("it has no version".to_owned())),
    }
    serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))
}
