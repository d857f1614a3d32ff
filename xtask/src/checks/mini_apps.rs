//! Compares six public programs in C and C++ over our MPI and over MPICH's.
//!
//! The programs are not part of this repository. To run them, get HPCCG, CoMD, miniAMR, PENNANT,
//! miniMD and HPCG. Build each twice by its own makefile: with our `mpicc` and `mpicxx` first on
//! `PATH`, and with MPICH's (`cargo xtask peers`). Put the programs into two folders, `ours` and
//! `mpich`, under the names `hpccg`, `comd`, `miniamr`, `pennant`, `minimd` and `hpcg`. Add `pots`
//! of CoMD and `in.lj.miniMD` to each folder:
//!
//! ```sh
//! HPCCG:         make CXX=mpicxx LINKER=mpicxx USE_MPI=-DUSING_MPI CPP_OPT_FLAGS=-O3
//! CoMD/src-mpi:  cp Makefile.vanilla Makefile && make
//! miniAMR/ref:   make
//! PENNANT:       make CXXFLAGS="-O3 -DUSE_MPI" LDFLAGS=
//! miniMD/ref:    make openmpi
//! hpcg/build:    ../configure Linux_MPI && make
//! BCS_MINI_APPS=FOLDER cargo xtask check mini-apps
//! ```

use std::cell::RefCell;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::c_bench::CBench;
use crate::peers::{MPICH, MessagePath};
use crate::process;
use crate::rounds::{Bar, Rounds};
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;
use super::abi_race::CORES;

pub(super) const CHECK: Check = Check {
    name: "mini-apps",
    about: "six public programs in C and C++ answer as over MPICH, in at most 1.05 times its time with 2 ranks and 0.95 with 8",
    about_time: true,
    quick: false,
    run,
};

const LIMIT: Duration = Duration::from_secs(300);

/// The allowed relative deviation of numbers: the order of sums differs.
const RELATIVE: f64 = 1e-6;

/// Smaller numbers are residuals of a converged iteration, and count as zero.
const NOTHING: f64 = 1e-9;

/// A problem for PENNANT: a shock tube. PENNANT's own problems end after ten cycles, or are too
/// large.
const TUBE_FILE: &str = "tube.pnt";
const TUBE: &str = "\
tstop 6.0
meshtype rect
meshparams 30 270 1.0 9.0
subregion 0.0 1.0 3.0 9.0
rinit 1.0
einit 0.1
rinitsub 1.0e-3
einitsub 1.0e-7
bcx 0.0 1.0
bcy 0.0 9.0
ssmin 0.1
q1 0.3
q2 2.0
dtinit 1.e-2
chunksize 512
";

struct App {
    name: &'static str,
    /// Its arguments with two ranks, and with eight; `@` is the folder of its input.
    words: [&'static str; 2],
    /// The beginnings of the lines with its answers.
    lines: &'static [&'static str],
    /// The number of answers in each of these lines.
    numbers: usize,
}

const APPS: [App; 6] = [
    App {
        name: "hpccg",
        words: ["64 64 48", "64 64 12"],
        lines: &["Final residual"],
        numbers: 1,
    },
    App {
        name: "comd",
        words: [
            "-d @/pots -e -i 2 -j 1 -k 1 -x 20 -y 20 -z 20 -N 10",
            "-d @/pots -e -i 2 -j 2 -k 2 -x 20 -y 20 -z 20 -N 10",
        ],
        lines: &["Initial energy", "Final energy", "Final atom count"],
        numbers: 1,
    },
    App {
        name: "miniamr",
        words: [
            "--npx 2 --npy 1 --npz 1 --init_x 1 --init_y 2 --init_z 2 --nx 8 --ny 8 --nz 8 --max_blocks 500 --num_refine 3 --num_objects 1 --object 2 0 -0.8 -0.8 -0.8 0.03 0.03 0.03 1.5 1.5 1.5 0.0 0.0 0.0 --num_tsteps 4 --checksum_freq 1",
            "--npx 2 --npy 2 --npz 2 --nx 8 --ny 8 --nz 8 --max_blocks 500 --num_refine 3 --num_objects 1 --object 2 0 -0.8 -0.8 -0.8 0.03 0.03 0.03 1.5 1.5 1.5 0.0 0.0 0.0 --num_tsteps 1 --checksum_freq 1",
        ],
        lines: &["total blocks", "Total blocks moved"],
        numbers: 4,
    },
    App {
        name: "pennant",
        words: [TUBE_FILE, TUBE_FILE],
        lines: &["Energy check", "(internal"],
        numbers: 2,
    },
    App {
        name: "minimd",
        words: ["-i @/in.lj.miniMD -n 40", "-i @/in.lj.miniMD -n 40"],
        lines: &["0 ", "40 "],
        numbers: 4,
    },
    App {
        name: "hpcg",
        words: [
            "--nx=16 --ny=16 --nz=16 --rt=1",
            "--nx=16 --ny=16 --nz=16 --rt=1",
        ],
        lines: &[],
        numbers: 0,
    },
];

struct Apps {
    ours: PathBuf,
    theirs: PathBuf,
}

impl Apps {
    fn find() -> Result<Self> {
        let folder = env::var_os("BCS_MINI_APPS").map(PathBuf::from);
        let Some(folder) = folder.filter(|folder| folder.is_dir()) else {
            let why = "BCS_MINI_APPS names no folder: the programs are to be built first, as xtask/src/checks/mini_apps.rs says";
            return Err(UnsuitableMachine(why.into()).into());
        };
        let folder = folder
            .canonicalize()
            .with_context(|| format!("failed to find {}", folder.display()))?;
        Ok(Self {
            ours: folder.join("ours"),
            theirs: folder.join("mpich"),
        })
    }
}

impl App {
    fn command(&self, mut launcher: Command, folder: &Path, words: &str, at: &Path) -> Command {
        let input = folder.display().to_string();
        launcher
            .arg(folder.join(self.name))
            .args(
                words
                    .split_whitespace()
                    .map(|word| word.replace('@', &input)),
            )
            .env("OMP_NUM_THREADS", "1")
            .current_dir(at);
        launcher
    }

    /// Returns its numerical answers.
    fn answers(&self, output: &str) -> Vec<f64> {
        let of_answer = |line: &&str| {
            let line = line.trim_start();
            self.lines.iter().any(|begins| line.starts_with(begins))
        };
        let lines = output.lines().filter(of_answer);
        lines
            .flat_map(|line| {
                let words = line.split(|c: char| c.is_whitespace() || "=,():".contains(c));
                let numbers = words.filter_map(|word| word.parse::<f64>().ok());
                numbers.take(self.numbers)
            })
            .collect()
    }
}

fn are_the_same(one: &[f64], other: &[f64]) -> bool {
    let close = |(one, other): (&f64, &f64)| {
        let larger = one.abs().max(other.abs());
        larger < NOTHING || (one - other).abs() <= RELATIVE * larger
    };
    one.len() == other.len() && one.iter().zip(other).all(close)
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let apps = Apps::find()?;
    MPICH.mpiexec(workspace)?;
    let launcher = CBench::shared(workspace)?.launcher().to_owned();
    // A round takes seconds, and there are twelve cases. The median of the first rounds therefore
    // decides, even if its interval is wide.
    let rounds = Rounds::default();
    let rounds = Rounds {
        most: rounds.least,
        ..rounds
    };
    let mut outcomes = Vec::new();
    for app in &APPS {
        for (ranks, bar, words) in [(2, 1.05, app.words[0]), (8, 0.95, app.words[1])] {
            let answers = RefCell::new(None);
            let solve = |mut command: Command| {
                let finished = process::run(&mut command, LIMIT)?.succeeded()?;
                let found = app.answers(&finished.stdout);
                ensure!(
                    app.lines.is_empty() || !found.is_empty(),
                    "{} wrote no answer:\n{}",
                    app.name,
                    finished.stdout
                );
                let known = answers.replace(Some(found.clone()));
                ensure!(
                    known.is_none_or(|known| are_the_same(&known, &found)),
                    "{} with {ranks} ranks has found {found:?}, and something else before",
                    app.name
                );
                Ok(finished.wall.as_secs_f64())
            };
            let room = tempfile::tempdir()?;
            fs::write(room.path().join(TUBE_FILE), TUBE)?;
            let ours = || {
                let mut command = Command::new(&launcher);
                command.args(["run", "-n", &ranks.to_string()]);
                if ranks <= CORES {
                    command.args(["--bind", "core"]);
                }
                solve(app.command(command, &apps.ours, words, room.path()))
            };
            let settings = &MPICH.settings(MessagePath::Node, ranks, CORES)[0];
            let theirs = || {
                let command = MPICH.launch(workspace, settings, ranks, None)?;
                solve(app.command(command, &apps.theirs, words, room.path()))
            };
            let measured = rounds.ratio(Bar::AtMost(bar), ours, theirs)?;
            outcomes.push(measured.outcome(&format!("{} with {ranks} ranks", app.name), " x"));
        }
    }
    Ok(CheckOutcome::of_all(&outcomes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_numbers_of_lines() {
        let minimd = &APPS[4];
        let output =
            "# Timestep T U P Time\n0 1.44 -6.77 -5.01  0.000\n40 0.82 -5.85 -0.18  6.029\n";
        let found = minimd.answers(output);
        assert_eq!(found, [0.0, 1.44, -6.77, -5.01, 40.0, 0.82, -5.85, -0.18]);
        let pennant = &APPS[3];
        let output = "Energy check:  total energy  =   2.5e-01\n(internal =   1.8e-01, kinetic =   6.3e-02)\n";
        assert_eq!(pennant.answers(output), [0.25, 0.18, 0.063]);
    }

    #[test]
    fn what_differs_in_its_last_bits_is_the_same() {
        assert!(are_the_same(&[1.0, 1e-20], &[1.0 + 1e-9, 3e-18]));
        assert!(!are_the_same(&[1.0], &[1.01]));
        assert!(!are_the_same(&[1.0], &[]));
    }
}
