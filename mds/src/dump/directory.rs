//! The dumps of a run, all together. Files that cannot be read are left out and reported.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use super::file::{DumpWithTables, JsonDump, LoadedDump, read_accompanied, read_run};
use super::{CallRow, MessageRow};
use super::{DumpError, NodeDump, RankDump, Row as _, RunDump};
use crate::selection::{NumberSet, Selection};

/// All dumps of one run.
#[derive(Debug, Default)]
pub struct RunDumps {
    /// The header. It is missing if `bcs run` was ended before its job.
    pub run: Option<RunDump>,
    /// In the order of ranks.
    pub ranks: Vec<RankDump>,
    /// In the order of nodes.
    pub nodes: Vec<NodeDump>,
    /// The dumps that could not be read, or are missing.
    pub faults: Vec<DumpError>,
}

impl RunDumps {
    /// Returns the dumps if all of them are there.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub fn require_complete(mut self) -> Result<Self, DumpError> {
        match self.faults.is_empty() {
            true => Ok(self),
            false => Err(self.faults.swap_remove(0)),
        }
    }

    /// Returns the dump of this rank.
    #[must_use]
    pub fn rank(&self, rank: u32) -> Option<&RankDump> {
        let place = self.ranks.binary_search_by_key(&rank, |dump| dump.rank);
        place.ok().map(|place| &self.ranks[place])
    }

    /// Returns when the run began, by the clock of all times in the dumps.
    #[must_use]
    pub fn began_ns(&self) -> u64 {
        let of_run = self.run.as_ref().map(|run| run.began_ns);
        let of_ranks = || self.ranks.iter().map(|dump| dump.began_ns).min();
        of_run.or_else(of_ranks).unwrap_or_default()
    }
}

/// Reads all dumps in `dir`. Skips files whose names are not those of dumps.
///
/// # Errors
///
/// Only if the directory cannot be read, or holds no dump at all. Any other error becomes one of
/// the [faults](RunDumps::faults), and the other dumps are returned.
pub fn read_dir(dir: &Path) -> Result<RunDumps, DumpError> {
    read_tables(dir, |_| true)
}

/// Reads the same without the tables of calls and messages, which make up nearly all of a dump.
///
/// # Errors
///
/// As [`read_dir`].
pub fn read_summaries(dir: &Path) -> Result<RunDumps, DumpError> {
    read_tables(dir, |table| {
        table != CallRow::TABLE && table != MessageRow::TABLE
    })
}

/// Reads the same with the wanted tables, by their names ([`Row::TABLE`](super::Row::TABLE)).
///
/// # Errors
///
/// As [`read_dir`].
pub fn read_tables(dir: &Path, wanted: fn(&str) -> bool) -> Result<RunDumps, DumpError> {
    let refused = |source| DumpError::Read {
        path: dir.to_owned(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(refused)? {
        paths.push(entry.map_err(refused)?.path());
    }
    // Faults are then reported in the same order each time.
    paths.sort();
    let run_path = dir.join("run.json");
    let run = paths.contains(&run_path).then(|| read_run(&run_path));
    let mut dumps = RunDumps::default();
    match run {
        Some(Ok(run)) => dumps.run = Some(run),
        Some(Err(fault)) => dumps.faults.push(fault),
        None => {}
    }
    dumps.ranks = read_all(&paths, wanted, &mut dumps.faults);
    dumps.nodes = read_all(&paths, wanted, &mut dumps.faults);
    if dumps.ranks.is_empty() && dumps.nodes.is_empty() {
        return Err(dumps
            .faults
            .into_iter()
            .next()
            .unwrap_or(DumpError::NoDumps {
                path: dir.to_owned(),
            }));
    }
    dumps.ranks.sort_by_key(|dump| dump.rank);
    dumps.nodes.sort_by_key(|dump| dump.node);
    keep_one_run(dir, &mut dumps);
    miss(dir, &mut dumps);
    Ok(dumps)
}

/// Reads the dumps of one kind, on all cores: a thousand ranks have thousands of files.
fn read_all<T: DumpWithTables>(
    paths: &[PathBuf],
    wanted: fn(&str) -> bool,
    faults: &mut Vec<DumpError>,
) -> Vec<T> {
    let of_kind = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(T::PREFIX) && name.ends_with(".json")
    };
    let paths: Vec<&PathBuf> = paths.iter().filter(of_kind).collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let share = paths.len().div_ceil(cores).max(1);
    let read: Vec<Result<LoadedDump<T>, DumpError>> = thread::scope(|scope| {
        let shares: Vec<_> = paths
            .chunks(share)
            .map(|share| {
                let read = |path: &&PathBuf| read_accompanied(path, wanted);
                scope.spawn(move || share.iter().map(read).collect::<Vec<_>>())
            })
            .collect();
        let read = shares.into_iter().map(|share| share.join());
        read.flat_map(|share| share.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut dumps = Vec::new();
    for one in read {
        match one {
            Ok(found) => {
                dumps.push(found.dump);
                faults.extend(found.faults);
            }
            Err(fault) => faults.push(fault),
        }
    }
    dumps
}

/// Leaves out the dumps of other runs. The header decides which run is kept, if there are dumps of
/// its run; otherwise it is the run of most dumps.
fn keep_one_run(dir: &Path, dumps: &mut RunDumps) {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let ranks = dumps.ranks.iter().map(JsonDump::job);
    for job in ranks.chain(dumps.nodes.iter().map(JsonDump::job)) {
        *found.entry(job.to_owned()).or_default() += 1;
    }
    let of_run = dumps.run.as_ref().map(|run| run.job.clone());
    let of_run = of_run.filter(|job| found.contains_key(job));
    let of_most = || {
        found
            .into_iter()
            .max_by_key(|(_, dumps)| *dumps)
            .map(|(job, _)| job)
    };
    let Some(job) = of_run.or_else(of_most) else {
        return;
    };
    let header = dumps.run.take_if(|run| run.job != job);
    let header = header.map(|run| (run.file_name(), run.job));
    let others = [
        others(&mut dumps.ranks, &job),
        others(&mut dumps.nodes, &job),
    ];
    for (name, other) in header.into_iter().chain(others.into_iter().flatten()) {
        dumps.faults.push(DumpError::TwoRuns {
            path: dir.join(name),
            job: other,
            other: job.clone(),
        });
    }
}

/// Removes the dumps of other runs. Returns the names of their files and of their runs.
fn others<T: JsonDump>(dumps: &mut Vec<T>, job: &str) -> Vec<(String, String)> {
    let others = dumps.extract_if(.., |dump| dump.job() != job);
    others
        .map(|dump| (dump.file_name(), dump.job().to_owned()))
        .collect()
}

/// Reports the ranks and nodes that left no dump, where some of their kind were recorded.
fn miss(dir: &Path, dumps: &mut RunDumps) {
    let run = dumps.run.as_ref();
    let recorded = run.and_then(|run| run.recorded.parse::<Selection>().ok());
    let Selection { mmds, emds } = recorded.unwrap_or_default();
    let (of_ranks, of_nodes) = (
        mmds.unwrap_or_default().ranks,
        emds.unwrap_or_default().nodes,
    );
    let ranks = dumps.ranks.iter().map(|dump| dump.rank);
    let ranks = missing(("rank", &of_ranks), ranks, run.map(|run| run.ranks));
    let nodes = dumps.nodes.iter().map(|dump| dump.node);
    let nodes = missing(("node", &of_nodes), nodes, run.map(|run| run.nodes));
    for missing in ranks.into_iter().chain(nodes) {
        dumps.faults.push(DumpError::Missing {
            path: dir.to_owned(),
            missing,
        });
    }
}

/// Returns the parts of the gaps that lie in a set of numbers.
fn within(gaps: Vec<(u32, u32)>, numbers: &NumberSet) -> Vec<(u32, u32)> {
    let NumberSet::Only(some) = numbers else {
        return gaps;
    };
    let parts = gaps.iter().flat_map(|&(from, to)| {
        let common = move |&(first, last): &(u32, u32)| (from.max(first), to.min(last));
        some.iter().map(common)
    });
    parts.filter(|(from, to)| from <= to).collect()
}

/// Lists the numbers below `count` that were recorded and that `found` (in rising order) does not
/// have: `ranks 3 and 5 to 7`. Without `count` the last number found is the limit. If nothing of a
/// kind is found, nothing of it was recorded.
fn missing(
    (kind, recorded): (&str, &NumberSet),
    found: impl Iterator<Item = u32>,
    count: Option<u32>,
) -> Option<String> {
    let mut gaps = Vec::new();
    let mut next = 0;
    for number in found {
        if number > next {
            gaps.push((next, number - 1));
        }
        next = number.saturating_add(1);
    }
    let count = count.unwrap_or(next);
    if next > 0 && count > next {
        gaps.push((next, count - 1));
    }
    let gaps = within(gaps, recorded);
    let words: Vec<String> = gaps
        .iter()
        .map(|(from, to)| match to - from {
            0 => from.to_string(),
            1 => format!("{from} and {to}"),
            _ => format!("{from} to {to}"),
        })
        .collect();
    let many = gaps.len() > 1 || gaps.first().is_some_and(|(from, to)| from != to);
    let plural = if many { "s" } else { "" };
    (!words.is_empty()).then(|| format!("{kind}{plural} {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::missing;
    use crate::selection::NumberSet;

    #[test]
    fn gaps_are_named_without_counting_them_one_by_one() {
        let some = NumberSet::Only(vec![(1, 3), (7, 9)]);
        assert_eq!(
            missing(("rank", &some), [1, 3].into_iter(), Some(9)).unwrap(),
            "ranks 2, 7 and 8"
        );
        assert_eq!(
            missing(("rank", &some), [1, 2, 3].into_iter(), Some(7)),
            None
        );
        let missing =
            |found: &[u32], count| missing(("rank", &NumberSet::All), found.iter().copied(), count);
        assert_eq!(missing(&[0, 1, 2], Some(3)), None);
        assert_eq!(missing(&[0, 1, 2], None), None);
        assert_eq!(missing(&[], Some(3)), None);
        assert_eq!(missing(&[0, 2], Some(3)).unwrap(), "rank 1");
        assert_eq!(
            missing(&[1, 2, 5], Some(u32::MAX)).unwrap(),
            "ranks 0, 3 and 4, 6 to 4294967294"
        );
        assert_eq!(missing(&[u32::MAX], None).unwrap(), "ranks 0 to 4294967294");
    }
}
