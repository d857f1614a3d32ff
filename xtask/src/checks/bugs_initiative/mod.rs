//! Runs the programs of the MPI Bugs Initiative, most of which are wrong, and compares what is
//! reported with what each program's head says.
//!
//! The programs are not part of this repository. They are written by generators, which SimGrid
//! keeps in `teshsuite/smpi/MBI`. Execute each of them in an empty folder, and name the folder, or
//! let it be `target/bugs-initiative/programs`:
//!
//! ```sh
//! for generator in $SIMGRID/teshsuite/smpi/MBI/*Generator.py; do python3 $generator; done
//! BCS_BUGS_INITIATIVE=$PWD cargo xtask check bugs-initiative
//! ```
//!
//! Two thirds of the programs are the same mistake, two collectives in another order, for each pair
//! of collectives. With `BCS_BUGS_EVERY=20` only one in 20 of these is run, and counts as 20. With
//! `BCS_BUGS_ONLY=RMA` or another part of a file's name, only such programs are run.
//!
//! A run counts as reported if the job fails with a message of `bcs` or of the library, or if it
//! succeeds with one (a leak). The place counts as right if the message names a rank, and one of
//! the lines with calls that the head names; runs whose heads name no such line do not count.
//! Programs that the suite runs without buffers run with `--eager-limit 0`. The messages of all
//! runs are written to `target/bugs-initiative/MODE.txt`.

mod header;
mod tally;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use toolchain::DebugInfo;

use crate::install::{CommandProfile, install_from};
use crate::process;
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;
use header::ExpectedRun;
use tally::{Reported, Tally};

pub(super) const CHECK: Check = Check {
    name: "bugs-initiative",
    about: "of the MPI Bugs Initiative's wrong programs 85 % are reported, 97 % with --checked (one-sided: 90 %), 95 % with rank and line; no right one is, none hangs",
    about_time: false,
    quick: false,
    run,
};

const PROGRAMS_VARIABLE: &str = "BCS_BUGS_INITIATIVE";
const EVERY_VARIABLE: &str = "BCS_BUGS_EVERY";
const ONLY_VARIABLE: &str = "BCS_BUGS_ONLY";

/// The time after which a job is taken for one that hangs. A livelock takes some ten seconds.
const HANGS_AFTER: &str = "20s";

/// The limit of a whole command, should `bcs run` itself hang.
const LIMIT: Duration = Duration::from_secs(60);

/// The programs of which only some are run.
const MANY: &str = "CallOrdering_";

/// Options of `bcs run`, and the bars of the shares of wrong runs that are reported.
struct RunMode {
    name: &'static str,
    options: &'static str,
    reported: f64,
    one_sided: Option<f64>,
    placed: Option<f64>,
}

const MODES: [RunMode; 4] = [
    RunMode {
        name: "default",
        options: "--nodes 1",
        reported: 85.0,
        one_sided: None,
        placed: None,
    },
    RunMode {
        name: "default-2-nodes",
        options: "--nodes 2",
        reported: 85.0,
        one_sided: None,
        placed: None,
    },
    RunMode {
        name: "checked",
        options: "--nodes 1 --checked",
        reported: 97.0,
        one_sided: Some(90.0),
        placed: Some(95.0),
    },
    RunMode {
        name: "checked-2-nodes",
        options: "--nodes 2 --checked",
        reported: 97.0,
        one_sided: Some(90.0),
        placed: Some(95.0),
    },
];

/// A program of the suite.
struct Program {
    source: PathBuf,
    /// The name of the source file.
    file: String,
    runs: Vec<ExpectedRun>,
    is_one_sided: bool,
    /// The number of programs for which it stands.
    weight: u32,
}

/// Returns the programs that are to be run.
fn programs(folder: &Path, every: usize, only: &str) -> Result<Vec<Program>> {
    let files = fs::read_dir(folder).with_context(|| format!("failed to read {folder:?}"))?;
    let mut sources = Vec::new();
    for file in files {
        let source = file?.path();
        if source.extension().is_some_and(|it| it == "c") {
            sources.push(source);
        }
    }
    sources.sort();
    let (mut programs, mut many) = (Vec::new(), 0);
    for source in sources {
        let file = source.file_name().unwrap_or_default().to_string_lossy();
        let file = file.into_owned();
        if !file.contains(only) {
            continue;
        }
        let is_one_of_many = file.starts_with(MANY);
        many += usize::from(is_one_of_many);
        if is_one_of_many && !many.is_multiple_of(every) {
            continue;
        }
        let text = fs::read_to_string(&source).with_context(|| format!("failed to read {file}"))?;
        programs.push(Program {
            runs: header::runs(&text, &file),
            is_one_sided: header::uses(&text, "RMA"),
            weight: match is_one_of_many {
                true => u32::try_from(every).unwrap_or(u32::MAX),
                false => 1,
            },
            source,
            file,
        });
    }
    Ok(programs)
}

/// The folders of the check.
struct Suite {
    prefix: PathBuf,
    /// The compiled programs.
    built: PathBuf,
}

impl Suite {
    fn binary(&self, program: &Program) -> PathBuf {
        self.built.join(program.file.trim_end_matches(".c"))
    }

    fn compile(&self, program: &Program) -> Result<()> {
        let mut compiler = Command::new(self.prefix.join("bin/mpicc"));
        compiler.args(["-g", "-w", "-o"]);
        compiler.arg(self.binary(program)).arg(&program.source);
        process::run(&mut compiler, LIMIT)?
            .succeeded()
            .with_context(|| format!("mpicc does not build {}", program.file))?;
        Ok(())
    }

    /// Runs a program once. Returns what was reported, and the messages.
    fn run(
        &self,
        program: &Program,
        expected: &ExpectedRun,
        mode: &RunMode,
    ) -> Result<(Reported, String)> {
        let mut command = Command::new(self.prefix.join("bin/bcs"));
        command
            .args(["run", "--timeout", HANGS_AFTER])
            .args(["-n", &expected.ranks.to_string()])
            .args(mode.options.split_whitespace());
        if expected.is_unbuffered {
            command.args(["--eager-limit", "0"]);
        }
        command
            .arg(self.binary(program))
            .args(&expected.arguments)
            .current_dir(&self.built);
        // The command warns of variables of its prefix that nothing reads.
        for variable in [PROGRAMS_VARIABLE, EVERY_VARIABLE, ONLY_VARIABLE] {
            command.env_remove(variable);
        }
        let finished = process::run(&mut command, LIMIT)?;
        let said = finished.stderr;
        let hangs = finished.timed_out || finished.status.code() == Some(124);
        let lines = header::lines_of(&said, &program.file);
        let reported = if hangs {
            Reported::Hangs
        } else if !said.contains("bcs: ") && !said.contains("bcs-mpi: ") {
            match finished.status.success() {
                true => Reported::Nothing,
                false => Reported::Unexplained,
            }
        } else if said.contains("rank") && !lines.is_disjoint(&expected.lines) {
            Reported::WithLine
        } else {
            Reported::WithoutLine
        };
        Ok((reported, said))
    }
}

/// Executes some jobs side by side. Returns their results in the order of the jobs.
fn side_by_side<J: Sync, R: Send>(
    jobs: &[J],
    execute: impl Fn(&J) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let threads = thread::available_parallelism().map_or(1, usize::from) + 1;
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { return };
                    let result = execute(job);
                    results
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((at, result));
                }
            });
        }
    });
    let mut results = results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let home = workspace.target().join("bugs-initiative");
    let named = env::var_os(PROGRAMS_VARIABLE).map(PathBuf::from);
    let folder = named.unwrap_or_else(|| home.join("programs"));
    if !folder.is_dir() {
        let why = format!(
            "there is no folder {}: the MPI Bugs Initiative's programs are to be generated first, and \
             {PROGRAMS_VARIABLE} names their folder, as xtask/src/checks/bugs_initiative says",
            folder.display()
        );
        return Err(UnsuitableMachine(why).into());
    }
    let every = env::var(EVERY_VARIABLE).map_or(Ok(1), |every| every.parse());
    let every = every.with_context(|| format!("{EVERY_VARIABLE} is no number"))?;
    let only = env::var(ONLY_VARIABLE).unwrap_or_default();
    let programs = programs(&folder, usize::max(every, 1), &only)?;
    let suite = Suite {
        prefix: workspace.target().join("installed"),
        built: home.join("built"),
    };
    let stripped = DebugInfo::Stripped;
    install_from(workspace, CommandProfile::Release, &suite.prefix, stripped)?;
    fs::create_dir_all(&suite.built).context("failed to make the folder of the programs")?;
    side_by_side(&programs, |program| suite.compile(program))?;
    let jobs: Vec<_> = programs
        .iter()
        .flat_map(|program| program.runs.iter().map(move |run| (program, run)))
        .collect();
    let mut outcomes = Vec::new();
    for mode in &MODES {
        let results = side_by_side(&jobs, |(program, run)| suite.run(program, run, mode))?;
        let mut tallies = [Tally::default(), Tally::default()];
        let mut log = String::new();
        for ((program, run), (reported, said)) in jobs.iter().zip(&results) {
            tallies[usize::from(program.is_one_sided)].count(run, *reported, program.weight);
            log += &tally::log_entry(&program.file, run, *reported, said);
        }
        let path = home.join(format!("{}.txt", mode.name));
        fs::write(&path, log).with_context(|| format!("failed to write {}", path.display()))?;
        let [plain, one_sided] = &tallies;
        println!("{}", plain.table(mode.name));
        outcomes.extend(plain.outcome(mode.name, Some(mode.reported), mode.placed));
        println!("{}", one_sided.table(mode.name));
        let name = format!("{}, one-sided", mode.name);
        outcomes.extend(one_sided.outcome(&name, mode.one_sided, None));
    }
    Ok(CheckOutcome::of_all(&outcomes))
}
