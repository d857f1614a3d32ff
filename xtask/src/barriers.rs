//! The experiment of section 5.3 of the BCS-MPI paper: a barrier after every 1.9 ms of computation,
//! slices of 250 µs, and the data of the NICs' recorders.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mds::dump::{NONE, NodeDump, RunDumps, SliceRow, read_dir};

use crate::bootstrap::median;
use crate::process;
use crate::workspace::Workspace;

const SLICE_NS: f64 = 250_000.0;

/// Computation before each barrier in microseconds, and the number of barriers, as in the paper.
/// The computation takes 7.6 slices, so the eighth strobe schedules the barrier and the ninth one
/// releases it.
const COMPUTE_US: &str = "1900";
const ITERATIONS: &str = "10000";
const APART: u64 = 9;

/// The recorded slices, as in the paper.
pub const WINDOW: RangeInclusive<u64> = 7_500..=12_500;

const LIMIT: Duration = Duration::from_secs(120);

/// The results of one run.
#[derive(Debug)]
pub struct BarrierSpacing {
    /// The relative deviation of the median gap.
    pub median_off: f64,
    /// The share of gaps that deviate by 8 % at most.
    pub within_8_percent: f64,
    /// The share of gaps that deviate by 20 % at most.
    pub within_20_percent: f64,
    /// The share of barriers at the expected distance in slices from the previous one, in DEM and
    /// in MSM, on the node with the least share.
    pub apart: f64,
}

/// Runs the experiment once. The paper's machine strobes every slice; ours strobes only the slices
/// that are needed. `--all-phases` makes it strobe all of them.
///
/// `barriers` is the path of the fixture of that name.
///
/// # Errors
///
/// The job failed, or wrote no dumps.
pub fn record(workspace: &Workspace, barriers: &Path) -> Result<RunDumps> {
    let dir = tempfile::tempdir().context("failed to make a directory for the dump")?;
    let mut command = workspace.bcs(["run", "-n", "2", "--nodes", "2", "--strobe", "fixed"])?;
    command.args(["--time-slice", "250us", "--all-phases"]);
    let window = format!("emds:{}-{}", WINDOW.start(), WINDOW.end());
    command.args(["--mds-record", &window, "--mds"]);
    command.arg(dir.path()).arg(barriers);
    command.args([COMPUTE_US, ITERATIONS]);
    process::run(&mut command, LIMIT)?.succeeded()?;
    Ok(read_dir(dir.path())?)
}

impl BarrierSpacing {
    /// Computes the results from the NICs' dumps.
    ///
    /// # Errors
    ///
    /// There are no slices or no barriers in the dumps.
    pub fn from_dumps(nodes: &[NodeDump]) -> Result<Self> {
        let strobes = nodes.iter().find_map(|node| node.global.as_ref());
        let strobes = &strobes
            .context("no node has dumped the global figures")?
            .strobes;
        let gaps = strobes.iter().map(|row| row.getts_ns);
        let gaps: Vec<f64> = gaps
            .filter(|gap| *gap != NONE)
            .map(|gap| gap as f64)
            .collect();
        // A late slice is strobed at the next multiple, and then a slice is missing.
        ensure!(
            2 * gaps.len() > WINDOW.count(),
            "only {} slices of the window were struck",
            gaps.len()
        );
        let within = |tolerance: f64| {
            let off = |gap: &&f64| (**gap - SLICE_NS).abs() <= tolerance * SLICE_NS;
            gaps.iter().filter(off).count() as f64 / gaps.len() as f64
        };
        let mut apart = f64::INFINITY;
        for node in nodes {
            for collectives in [|row: &SliceRow| row.ncolldem, |row: &SliceRow| row.ncollmsm] {
                apart = apart.min(share_apart(&node.slices, collectives)?);
            }
        }
        Ok(Self {
            median_off: (median(&gaps) - SLICE_NS).abs() / SLICE_NS,
            within_8_percent: within(0.08),
            within_20_percent: within(0.20),
            apart,
        })
    }
}

/// Returns the share of collectives at the expected distance in slices from the previous one.
fn share_apart(rows: &[SliceRow], collectives: impl Fn(&SliceRow) -> u64) -> Result<f64> {
    let with_one = rows.iter().filter(|row| collectives(row) > 0);
    let slices: Vec<u64> = with_one.map(|row| row.slice).collect();
    let gaps = slices.windows(2).map(|pair| pair[1] - pair[0]);
    ensure!(gaps.len() > 0, "there are no two barriers in the window");
    let right = gaps.clone().filter(|gap| *gap == APART).count();
    Ok(right as f64 / gaps.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mds::dump::{StrobeDump, StrobeRow};

    /// Makes dumps with slices at this distance, except for one in twenty, and a barrier in every
    /// ninth slice.
    fn nodes(gap_ns: u64, late_ns: u64) -> Vec<NodeDump> {
        let strobe = |slice: u64| StrobeRow {
            slice,
            getts_ns: if slice.is_multiple_of(20) {
                gap_ns + late_ns
            } else {
                gap_ns
            },
            ..StrobeRow::default()
        };
        let slice = |slice: u64| SliceRow {
            ncolldem: u64::from(slice.is_multiple_of(9)),
            ncollmsm: u64::from(slice.is_multiple_of(9)),
            ..SliceRow::struck(slice, 0)
        };
        let window = || 7_500..=12_500;
        vec![NodeDump {
            slices: window().map(slice).collect(),
            global: Some(StrobeDump {
                strobes: window().map(strobe).collect(),
                ..StrobeDump::default()
            }),
            ..NodeDump::default()
        }]
    }

    #[test]
    fn slices_and_barriers_that_come_as_they_should_are_told_from_others() {
        let right = BarrierSpacing::from_dumps(&nodes(250_000, 0)).unwrap();
        assert_eq!((right.median_off, right.apart), (0.0, 1.0));
        assert_eq!(
            (right.within_8_percent, right.within_20_percent),
            (1.0, 1.0)
        );
        let late = BarrierSpacing::from_dumps(&nodes(250_000, 40_000)).unwrap();
        assert!((late.within_8_percent - 0.95).abs() < 0.001, "{late:?}");
        assert_eq!(late.within_20_percent, 1.0);
        let slow = BarrierSpacing::from_dumps(&nodes(260_000, 0)).unwrap();
        assert_eq!(slow.median_off, 0.04);
        let mut shifted = nodes(250_000, 0);
        for row in &mut shifted[0].slices {
            row.slice += row.slice / 99;
        }
        assert!((BarrierSpacing::from_dumps(&shifted).unwrap().apart - 10.0 / 11.0).abs() < 0.01);
        assert!(BarrierSpacing::from_dumps(&nodes(250_000, 0)[..0]).is_err());
    }
}
