//! The files of one rank, one node, or the run: their names, and which part of a dump each of them
//! holds.
//!
//! The JSON file is written last and lists the tables beside it, so that its readers can expect
//! them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::limits::{MOST_TABLE_BYTES, MOST_TEXT_BYTES};
use ::mmds::Primitive;

use super::columns::Owner;
use super::label::{Label, labelled};
use super::{DistributionDump, DumpError, NodeDump, RankDump, Row, RunDump};
use super::{atomic_file, columns, histograms};

/// The end of the name of a histogram log.
const LOG: &str = "hlog";

/// A kind of JSON file.
pub(super) trait JsonDump: Serialize + DeserializeOwned + Send {
    /// The member `"format"`.
    const FORMAT: &'static str;
    /// The beginning of its file names.
    const PREFIX: &'static str;

    fn file_name(&self) -> String;
    fn job(&self) -> &str;
}

/// A dump with a histogram log and tables beside it.
pub(super) trait DumpWithTables: JsonDump {
    /// The rank or node.
    fn number(&self) -> u32;
    /// The length of the recorded time.
    fn run_ns(&self) -> u64;
    fn distributions(&self) -> Vec<(String, &DistributionDump)>;
    fn distributions_mut(&mut self) -> Vec<(String, &mut DistributionDump)>;
    /// Returns the number of rows of each table.
    fn tables(&self) -> Vec<(&'static str, usize)>;
    fn write_table(&self, table: &str, to: &mut dyn std::io::Write) -> std::io::Result<()>;
    fn read_table(&mut self, table: &str, path: &Path, bytes: &[u8]) -> Result<usize, DumpError>;
}

/// A JSON file: its label, the dump, and the list of tables beside it.
#[derive(Serialize, Deserialize)]
struct DumpContent<T> {
    #[serde(flatten)]
    dump: T,
    /// The tables that have rows, with their numbers of rows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tables: BTreeMap<String, usize>,
}

impl JsonDump for RunDump {
    const FORMAT: &'static str = "bcs-mds-run";
    const PREFIX: &'static str = "run";

    fn file_name(&self) -> String {
        "run.json".to_owned()
    }

    fn job(&self) -> &str {
        &self.job
    }
}

impl JsonDump for RankDump {
    const FORMAT: &'static str = "bcs-mds-rank";
    const PREFIX: &'static str = "rank-";

    fn file_name(&self) -> String {
        format!("rank-{:05}.json", self.rank)
    }

    fn job(&self) -> &str {
        &self.job
    }
}

impl JsonDump for NodeDump {
    const FORMAT: &'static str = "bcs-mds-node";
    const PREFIX: &'static str = "node-";

    fn file_name(&self) -> String {
        format!("node-{:04}.json", self.node)
    }

    fn job(&self) -> &str {
        &self.job
    }
}

/// Lists the distributions of a dump with their tags, to read or to change them.
macro_rules! distributions {
    (rank $dump:ident $iter:ident $($change:tt)?) => {{
        let mut all = vec![
            ("computation_granularity_ns".to_owned(), &$($change)? $dump.computation_granularity_ns),
            ("communication_overhead_ns".to_owned(), &$($change)? $dump.communication_overhead_ns),
        ];
        for (primitive, seen) in $dump.primitives.$iter() {
            all.push((format!("{primitive}.latency_ns"), &$($change)? seen.latency_ns));
            if let Some(sizes) = &$($change)? seen.size_bytes {
                all.push((format!("{primitive}.size_bytes"), sizes));
            }
        }
        for (number, site) in $dump.sites.$iter().enumerate() {
            all.push((format!("site.{number}.time_ns"), &$($change)? site.time_ns));
        }
        all
    }};
    (node $dump:ident $iter:ident $($change:tt)?) => {{
        let mut all = vec![
            ("empty_runs".to_owned(), &$($change)? $dump.empty_runs),
            ("letts_ns".to_owned(), &$($change)? $dump.letts_ns),
            ("ltdem_ns".to_owned(), &$($change)? $dump.ltdem_ns),
            ("ltmsm_ns".to_owned(), &$($change)? $dump.ltmsm_ns),
            ("ltpm_ns".to_owned(), &$($change)? $dump.ltpm_ns),
            ("ltbbm_ns".to_owned(), &$($change)? $dump.ltbbm_ns),
            ("ltrm_ns".to_owned(), &$($change)? $dump.ltrm_ns),
            ("ltts_ns".to_owned(), &$($change)? $dump.ltts_ns),
        ];
        for (thread, times_ns) in $dump.ltr_ns.$iter() {
            all.push((format!("ltr_ns.{thread}"), times_ns));
        }
        if let Some(global) = &$($change)? $dump.global {
            all.push(("getts_ns".to_owned(), &$($change)? global.getts_ns));
            all.push(("gtdem_ns".to_owned(), &$($change)? global.gtdem_ns));
            all.push(("gtmsm_ns".to_owned(), &$($change)? global.gtmsm_ns));
            all.push(("gtts_ns".to_owned(), &$($change)? global.gtts_ns));
            all.push(("usrsts".to_owned(), &$($change)? global.usrsts));
            all.push(("usrdem".to_owned(), &$($change)? global.usrdem));
            all.push(("usrmsm".to_owned(), &$($change)? global.usrmsm));
        }
        all
    }};
}

/// Writes or reads the table of this name in a dump. `$extra` is an additional requirement on its
/// rows.
macro_rules! tables {
    ($($member:ident$(.$inner:ident)? $row:ident $valid:expr,)*) => {
        fn tables(&self) -> Vec<(&'static str, usize)> {
            vec![$((super::$row::TABLE, tables!(@ self $member $($inner)?).map_or(0, Vec::len)),)*]
        }

        fn write_table(&self, table: &str, to: &mut dyn std::io::Write) -> std::io::Result<()> {
            let mut to = to;
            match table {
                $(super::$row::TABLE => {
                    let rows = tables!(@ self $member $($inner)?).map_or(&[][..], Vec::as_slice);
                    columns::write(&mut to, owner(self), rows)
                })*
                _ => Ok(()),
            }
        }

        fn read_table(
            &mut self,
            table: &str,
            path: &Path,
            bytes: &[u8],
        ) -> Result<usize, DumpError> {
            let unknown = || DumpError::malformed(path, format!("it has no table {table:?}"));
            match table {
                $(super::$row::TABLE => {
                    let rows = columns::read(path, bytes, owner(self))?;
                    let valid: fn(&[super::$row]) -> Option<String> = $valid;
                    if let Some(what) = valid(&rows) {
                        return Err(DumpError::malformed(path, what));
                    }
                    let to = tables!(% self $member $($inner)?).ok_or_else(unknown)?;
                    *to = rows;
                    Ok(to.len())
                })*
                _ => Err(unknown()),
            }
        }
    };
    (@ $dump:ident $member:ident) => { Some(&$dump.$member) };
    (@ $dump:ident $member:ident $inner:ident) => { $dump.$member.as_ref().map(|of| &of.$inner) };
    (% $dump:ident $member:ident) => { Some(&mut $dump.$member) };
    (% $dump:ident $member:ident $inner:ident) => { $dump.$member.as_mut().map(|of| &mut of.$inner) };
}

impl DumpWithTables for RankDump {
    fn number(&self) -> u32 {
        self.rank
    }

    fn run_ns(&self) -> u64 {
        self.run_ns
    }

    fn distributions(&self) -> Vec<(String, &DistributionDump)> {
        distributions!(rank self iter)
    }

    fn distributions_mut(&mut self) -> Vec<(String, &mut DistributionDump)> {
        distributions!(rank self iter_mut mut)
    }

    tables! {
        calls CallRow |rows| wrong(rows, "primitive", |row| {
            usize::try_from(row.primitive).is_ok_and(|place| place < Primitive::ALL.len())
        }),
        messages MessageRow |rows| wrong(rows, "side or road", |row| {
            row.received <= 1 && row.road <= 1
        }),
        near LocalSliceRow |rows| not_rising(rows, |row| row.slice),
    }
}

impl DumpWithTables for NodeDump {
    fn number(&self) -> u32 {
        self.node
    }

    fn run_ns(&self) -> u64 {
        self.letts_ns.total
    }

    fn distributions(&self) -> Vec<(String, &DistributionDump)> {
        distributions!(node self iter)
    }

    fn distributions_mut(&mut self) -> Vec<(String, &mut DistributionDump)> {
        distributions!(node self iter_mut mut)
    }

    tables! {
        slices SliceRow |rows| not_rising(rows, |row| row.slice),
        global.strobes StrobeRow |rows| not_rising(rows, |row| row.slice),
    }
}

/// Returns an error about the first invalid row, if there is one.
fn wrong<R: Row>(rows: &[R], what: &str, right: fn(&R) -> bool) -> Option<String> {
    let row = rows.iter().position(|row| !right(row))?;
    Some(format!("row {row} has a {what} that there is none of"))
}

fn not_rising<R: Row>(rows: &[R], number: fn(&R) -> u64) -> Option<String> {
    let rising = rows.is_sorted_by(|one, next| number(one) < number(next));
    (!rising).then(|| "its slices are not in rising order".to_owned())
}

fn owner<T: DumpWithTables>(dump: &T) -> Owner<'_> {
    Owner {
        job: dump.job(),
        number: dump.number(),
    }
}

/// Writes the dump of a rank into `dir`, and returns the path of its JSON file. Makes `dir` if it
/// is missing.
///
/// # Errors
///
/// [`DumpError::Write`]; no part of a file is left behind then.
pub fn write_rank(dir: &Path, dump: &RankDump) -> Result<PathBuf, DumpError> {
    write_accompanied(dir, dump)
}

/// Writes the dump of a node into `dir`, as [`write_rank`] does.
///
/// # Errors
///
/// [`DumpError::Write`]; no part of a file is left behind then.
pub fn write_node(dir: &Path, dump: &NodeDump) -> Result<PathBuf, DumpError> {
    write_accompanied(dir, dump)
}

/// Writes the header of the run into `dir`, as [`write_rank`] does.
///
/// # Errors
///
/// [`DumpError::Write`]; no part of a file is left behind then.
pub fn write_run(dir: &Path, dump: &RunDump) -> Result<PathBuf, DumpError> {
    write_json(dir, dump, BTreeMap::new())
}

fn write_accompanied<T: DumpWithTables>(dir: &Path, dump: &T) -> Result<PathBuf, DumpError> {
    let json = dir.join(dump.file_name());
    atomic_file::write(&json.with_extension(LOG), |file| {
        let distributions = dump.distributions().into_iter();
        histograms::write(file, owner(dump), dump.run_ns(), distributions)
    })?;
    let mut tables = BTreeMap::new();
    for (table, rows) in dump.tables() {
        if rows > 0 {
            atomic_file::write(&json.with_extension(table), |file| {
                dump.write_table(table, file)
            })?;
            tables.insert(table.to_owned(), rows);
        }
    }
    write_json(dir, dump, tables)
}

fn write_json<T: JsonDump>(
    dir: &Path,
    dump: &T,
    tables: BTreeMap<String, usize>,
) -> Result<PathBuf, DumpError> {
    let path = dir.join(dump.file_name());
    let content = Label::new(T::FORMAT, DumpContent { dump, tables });
    atomic_file::write(&path, |file| {
        // The file does not end with a newline. So a file that was cut short always has an
        // unfinished object.
        serde_json::to_writer(&mut *file, &content)?;
        file.flush()
    })?;
    Ok(path)
}

/// A dump that was read, with the faults of the files beside its JSON file.
pub(super) struct LoadedDump<T> {
    pub(super) dump: T,
    pub(super) faults: Vec<DumpError>,
}

/// Reads a dump with the tables for which `wanted` returns true.
///
/// # Errors
///
/// If its JSON file is not valid.
pub(super) fn read_accompanied<T: DumpWithTables>(
    path: &Path,
    wanted: fn(&str) -> bool,
) -> Result<LoadedDump<T>, DumpError> {
    let DumpContent { mut dump, tables } = read_json::<T>(path)?;
    let log = path.with_extension(LOG);
    let mut faults = Vec::new();
    let histograms = beside(path, &log, MOST_TEXT_BYTES)
        .and_then(|bytes| histograms::read(&log, &bytes, owner(&dump)));
    match histograms {
        Ok(logged) => faults.extend(join(&log, logged, dump.distributions_mut())),
        Err(fault) => faults.push(fault),
    }
    for (table, rows) in tables.iter().filter(|(table, _)| wanted(table)) {
        let file = path.with_extension(table);
        let read = beside(path, &file, MOST_TABLE_BYTES)
            .and_then(|bytes| dump.read_table(table, &file, &bytes));
        match read {
            Ok(found) if found == *rows => {}
            Ok(found) => {
                let what = format!("it has {found} rows, and {} says {rows}", path.display());
                faults.push(DumpError::malformed(&file, what));
            }
            Err(fault) => faults.push(fault),
        }
    }
    Ok(LoadedDump { dump, faults })
}

/// Gives each distribution its histogram. One fault is enough to reject a log.
fn join(
    path: &Path,
    logged: Vec<histograms::LoggedHistogram>,
    distributions: Vec<(String, &mut DistributionDump)>,
) -> Option<DumpError> {
    let mut logged: BTreeMap<String, Vec<(u64, u64)>> = logged.into_iter().collect();
    let mut fault = None;
    for (tag, distribution) in distributions {
        if distribution.count == 0 {
            continue;
        }
        let joined = match logged.remove(&tag) {
            Some(histogram) => distribution.take_histogram(histogram),
            None => Err("is missing".to_owned()),
        };
        if let Err(what) = joined {
            let what = format!("of the histogram {tag:?}: {what}");
            fault.get_or_insert(DumpError::malformed(path, what));
        }
    }
    fault
}

/// Returns the bytes of a file that the JSON file at `json` refers to.
fn beside(json: &Path, path: &Path, most: u64) -> Result<Vec<u8>, DumpError> {
    atomic_file::read(path, most).map_err(|error| match error {
        DumpError::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            DumpError::Absent {
                path: path.to_owned(),
                beside: json.to_owned(),
            }
        }
        error => error,
    })
}

/// Reads the header of a run.
///
/// # Errors
///
/// If the file is anything but a whole header, in the version that this program knows.
pub fn read_run(path: &Path) -> Result<RunDump, DumpError> {
    read_json(path).map(|content| content.dump)
}

/// Reads a JSON file. Also compares its name with its content, so that no rank is counted twice.
fn read_json<T: JsonDump>(path: &Path) -> Result<DumpContent<T>, DumpError> {
    let bytes = atomic_file::read(path, MOST_TEXT_BYTES)?;
    // First check whether it is whole. The parser does not report "unexpected end" for an object
    // that was cut inside a number.
    let unfinished = bytes.starts_with(b"{") && !bytes.trim_ascii_end().ends_with(b"}");
    let cut = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)
        .is_err_and(|error| error.is_eof() || unfinished);
    if cut {
        return Err(DumpError::Truncated {
            path: path.to_owned(),
            length: bytes.len(),
        });
    }
    let content: Label<DumpContent<T>> = labelled(path, &bytes, T::FORMAT)?;
    let name = content.content.dump.file_name();
    match path.file_name() == Some(OsStr::new(&name)) {
        true => Ok(content.content),
        false => Err(DumpError::Misnamed {
            path: path.to_owned(),
            content: name,
        }),
    }
}
