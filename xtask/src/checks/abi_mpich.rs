//! Runs MPICH's tests of MPI, built by our `mpicc`, over our library.
//!
//! The tests are not part of this repository. To run them, get MPICH's sources, and build
//! `test/mpi` elsewhere:
//!
//! ```sh
//! cargo xtask install --prefix $PREFIX
//! ./autogen.sh && mkdir build && cd build && ../configure --with-mpi=$PREFIX \
//!     --enable-mpi-abi --disable-fortran --disable-cxx
//! make -k check TESTS=
//! BCS_MPICH_TESTS=$PWD BCS_MPICH_PREFIX=$PREFIX cargo xtask check abi-mpich
//! ```
//!
//! Those of Fortran are run in the same way by `cargo xtask check fortran-mpich`, which says how
//! they are built.
//!
//! A test that was not built does not count if the peer MPICH's own compiler for the standard ABI
//! cannot build it either: it calls functions that MPI 3 has removed. A test whose list entry
//! requires more memory than this machine has does not count; MPICH's script leaves it out, too.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "abi-mpich",
    about: "97 % of MPICH's tests of what we have pass, with one node, with two, and with --copy-method queues",
    about_time: false,
    quick: false,
    run,
};

/// The time limit of a test. Some tests expect more cores for their processes than this machine
/// has.
const LIMIT: Duration = Duration::from_secs(60);

/// The most ranks of a test.
const RANKS: u32 = 8;

const BAR: f64 = 97.0;

/// The tests of a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct TestFolders {
    pub(super) names: &'static [&'static str],
    pub(super) layouts: &'static [&'static str],
    /// Whether a test that was not built does not count if MPICH cannot build it either.
    pub(super) leaves_out: bool,
}

const FOLDERS: [&str; 24] = [
    "attr",
    "coll",
    "comm",
    "datatype",
    "errhan",
    "group",
    "info",
    "init",
    "part",
    "pt2pt",
    "session",
    "topo",
    "errors/attr",
    "errors/coll",
    "errors/comm",
    "errors/datatype",
    "errors/group",
    "errors/pt2pt",
    "errors/session",
    "errors/topo",
    "threads/coll",
    "threads/comm",
    "threads/init",
    "threads/pt2pt",
];

const TESTS: TestFolders = TestFolders {
    names: &FOLDERS,
    layouts: &["--nodes 1", "--nodes 2", "--copy-method queues"],
    leaves_out: true,
};

/// A line of a list of tests.
#[derive(Debug, PartialEq)]
struct TestListLine {
    program: String,
    ranks: u32,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// The expected result: nothing for "No Errors".
    result: Option<String>,
    fails_with_mpich: bool,
    /// Memory of all its ranks together, in GB.
    memory_gb: f64,
}

impl TestListLine {
    fn parse(line: &str) -> Option<Self> {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace().peekable();
        let program = words.next()?.to_owned();
        let ranks = words.next_if(|word| word.parse::<u32>().is_ok());
        let mut parsed = Self {
            program,
            ranks: ranks.map_or(2, |word| word.parse().expect("it is a number")),
            arguments: Vec::new(),
            environment: Vec::new(),
            result: None,
            fails_with_mpich: false,
            memory_gb: 0.0,
        };
        for word in words {
            match word.split_once('=') {
                Some(("arg", argument)) => parsed.arguments.push(argument.to_owned()),
                Some(("env", pair)) => {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    parsed.environment.push((name.to_owned(), value.to_owned()));
                }
                // Like MPICH's own script, passes the limit to the launcher.
                Some(("timeLimit", seconds)) => {
                    let variable = ("MPIEXEC_TIMEOUT".to_owned(), seconds.to_owned());
                    parsed.environment.push(variable);
                }
                Some(("resultTest", result)) => parsed.result = Some(result.to_owned()),
                Some(("mem", gb)) => parsed.memory_gb = gb.parse().unwrap_or_default(),
                Some(("xfail", _)) => parsed.fails_with_mpich = true,
                _ => {}
            }
        }
        Some(parsed)
    }

    /// Runs the test. Returns what went wrong, if anything did.
    fn run(&self, suite: &Suite, folder: &str, layout: &str) -> Result<Option<String>> {
        let folder = suite.built.join(folder);
        let program = folder.join(&self.program);
        if !program.is_file() {
            return Ok(Some(NOT_BUILT.to_owned()));
        }
        let mut command = Command::new(suite.prefix.join("bin/mpiexec"));
        command
            .args(["-n", &self.ranks.to_string()])
            .args(layout.split_whitespace())
            .arg(&program)
            .args(&self.arguments)
            .envs(self.environment.iter().cloned())
            .current_dir(&folder);
        let finished = process::run(&mut command, LIMIT)?;
        if finished.timed_out {
            return Ok(Some(format!("took more than {} s", LIMIT.as_secs())));
        }
        let failed = !finished.status.success();
        let passed = match self.result.as_deref() {
            None => !failed && finished.stdout.to_lowercase().contains("no errors"),
            Some("TestErrFatal" | "TestStatus" | "TestAbort") => failed,
            Some(_) => !failed,
        };
        let said = || {
            let lines = finished.stdout.lines().chain(finished.stderr.lines());
            let said: Vec<&str> = lines.take(2).collect();
            format!("{}: {}", finished.status, said.join(" / "))
        };
        Ok((!passed).then(said))
    }
}

/// The result for a program that does not exist.
const NOT_BUILT: &str = "was not built";

/// The folders of the tests.
struct Suite {
    built: PathBuf,
    prefix: PathBuf,
    /// MPICH's own compiler for the standard ABI, if it is installed.
    theirs: Option<PathBuf>,
}

impl Suite {
    fn find(workspace: &Workspace) -> Result<Self> {
        let folder = |name: &str| {
            let said = env::var_os(name).map(PathBuf::from);
            said.filter(|folder| folder.is_dir()).ok_or_else(|| {
                let why = format!(
                    "{name} names no folder: MPICH's tests are to be built first, as xtask/src/checks/abi_mpich.rs says"
                );
                UnsuitableMachine(why)
            })
        };
        let theirs = workspace.root().join("target/peers/mpich/bin/mpicc_abi");
        Ok(Self {
            built: folder("BCS_MPICH_TESTS")?,
            prefix: folder("BCS_MPICH_PREFIX")?,
            theirs: Some(theirs).filter(|theirs| theirs.is_file()),
        })
    }

    /// Returns whether MPICH itself cannot build a test for the standard ABI, because it calls
    /// removed functions.
    fn nobody_builds(&self, folder: &str, line: &TestListLine) -> Result<bool> {
        let Some(theirs) = &self.theirs else {
            return Ok(false);
        };
        let source = self.sources().join(folder).join(&line.program);
        let mut compile = Command::new(theirs);
        compile
            .args(["-fsyntax-only", "-Werror=implicit-function-declaration"])
            .arg("-I")
            .arg(self.built.join("include"))
            .arg("-I")
            .arg(self.sources().join("include"))
            .arg(source.with_extension("c"));
        Ok(!process::run(&mut compile, LIMIT)?.status.success())
    }

    fn lines(&self, folder: &str) -> Result<Vec<TestListLine>> {
        let list = [self.built.join(folder), self.sources().join(folder)]
            .map(|folder| folder.join("testlist"));
        let Some(list) = list.iter().find(|list| list.is_file()) else {
            return Ok(Vec::new());
        };
        let text = fs::read_to_string(list)
            .with_context(|| format!("failed to read {}", list.display()))?;
        let lines = text.lines().filter_map(TestListLine::parse);
        Ok(lines
            .filter(|line| line.ranks <= RANKS && !line.fails_with_mpich)
            .collect())
    }

    /// Returns the folder of the sources: the parent of the build folder, unless configure recorded
    /// another one.
    fn sources(&self) -> PathBuf {
        let makefile = fs::read_to_string(self.built.join("Makefile")).unwrap_or_default();
        let said = makefile
            .lines()
            .find_map(|line| line.strip_prefix("srcdir = "));
        let said = said.map(|folder| self.built.join(Path::new(folder.trim())));
        said.unwrap_or_else(|| self.built.join(".."))
    }
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    run_tests(workspace, TESTS)
}

/// Runs the tests of these folders that were built.
pub(super) fn run_tests(workspace: &Workspace, tests: TestFolders) -> Result<CheckOutcome> {
    let suite = Suite::find(workspace)?;
    let memory_gb = rustix::system::sysinfo().totalram as f64 / 1e9;
    let mut outcomes = Vec::new();
    for layout in tests.layouts {
        let nodes = if *layout == "--nodes 2" { 2 } else { 1 };
        let (mut passed, mut left_out, mut failed) = (0_u32, 0_u32, Vec::new());
        let mut too_large = 0_u32;
        for folder in tests.names {
            for line in suite
                .lines(folder)?
                .iter()
                .filter(|line| line.ranks >= nodes)
            {
                if line.memory_gb > memory_gb {
                    too_large += 1;
                    continue;
                }
                match line.run(&suite, folder, layout)? {
                    None => passed += 1,
                    Some(why)
                        if why == NOT_BUILT
                            && tests.leaves_out
                            && suite.nobody_builds(folder, line)? =>
                    {
                        left_out += 1;
                    }
                    Some(why) => {
                        failed.push(format!("{folder}/{} {}: {why}", line.program, line.ranks))
                    }
                }
            }
        }
        failed.iter().for_each(|line| println!("{layout}: {line}"));
        let all = passed + u32::try_from(failed.len()).unwrap_or(u32::MAX);
        let share = 100.0 * f64::from(passed) / f64::from(all.max(1));
        let figure = format!(
            "{layout}: {passed} of {all} lines, {share:.1} % ({left_out} that MPICH cannot build either, {too_large} that need more memory than is here)"
        );
        outcomes.push(CheckOutcome::exact(
            all > 0 && share >= BAR,
            figure,
            format!("at least {BAR} %"),
        ));
    }
    Ok(CheckOutcome::of_all(&outcomes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_lists_are_read() {
        let line = TestListLine::parse(
            "bcast 4 arg=-x=3 env=A=b resultTest=TestErrFatal mpiversion=4.0 # why",
        )
        .unwrap();
        assert_eq!(line.ranks, 4);
        assert_eq!(line.arguments, ["-x=3"]);
        assert_eq!(line.environment, [("A".to_owned(), "b".to_owned())]);
        let limited = TestListLine::parse("timeout 2 timeLimit=10").unwrap();
        let limit = ("MPIEXEC_TIMEOUT".to_owned(), "10".to_owned());
        assert_eq!(limited.environment, [limit]);
        assert!(
            (TestListLine::parse("large 4 mem=80").unwrap().memory_gb - 80.0).abs() < f64::EPSILON
        );
        assert_eq!(line.result.as_deref(), Some("TestErrFatal"));
        assert_eq!(TestListLine::parse("alone").unwrap().ranks, 2);
        assert!(
            TestListLine::parse("odd 2 xfail=ticket1")
                .unwrap()
                .fails_with_mpich
        );
        assert!(TestListLine::parse("  # nothing").is_none());
    }
}
