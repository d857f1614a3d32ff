//! Compares a program on one node or between two hosts with itself over MPICH. The same binary runs
//! over our MPI under `bcs run`, and over theirs, by the standard ABI, under their `mpiexec`.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::bootstrap::median;
use crate::contest::Contestant;
use crate::hosts::Hosts;
use crate::peers::{LauncherSettings, MPICH, MessagePath};
use crate::rounds::{Bar, Rounds};
use crate::verdict::{CheckOutcome, UnsuitableMachine, Verdict};
use crate::workspace::Workspace;

/// The cores that all ranks share.
pub(super) const CORES: usize = 2;

/// The common settings of the runs.
pub(super) struct Race<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) ranks: usize,
    /// The hosts of the job; `None` for one node.
    pub(super) hosts: Option<&'a Hosts>,
    /// A program of `bcs app`.
    pub(super) program: &'a str,
    /// The arguments of the program.
    pub(super) arguments: Vec<OsString>,
    /// Runs the program and returns its time in seconds. All runs must give the same answers.
    pub(super) solve: &'a dyn Fn(&mut Command) -> Result<f64>,
}

impl Race<'_> {
    fn ours(&self) -> Result<f64> {
        let ranks = self.ranks.to_string();
        let mut command = self.workspace.bcs(["run", "-n", &ranks])?;
        match (self.hosts, Contestant::ours(self.ranks, CORES)) {
            (Some(hosts), _) => command.args(hosts.options()),
            (None, Contestant::Ours(binding)) => {
                command.args(["--intranode", "smartmap"]).args(binding)
            }
            (None, _) => unreachable!("it is ours"),
        };
        command.arg(self.program).args(&self.arguments);
        (self.solve)(&mut command)
    }

    fn theirs(&self, settings: &LauncherSettings, library: &Path) -> Result<f64> {
        let mut command = MPICH.launch(self.workspace, settings, self.ranks, self.hosts)?;
        command
            .arg(self.workspace.release()?.join("bcs"))
            .args(["app", self.program, "--mpi"])
            .arg(format!("abi:{}", library.display()))
            .args(&self.arguments);
        (self.solve)(&mut command)
    }

    /// Measures our time over theirs, which must be at most `bar`.
    pub(super) fn run(&self, bar: f64) -> Result<CheckOutcome> {
        MPICH.mpiexec(self.workspace)?;
        let peers = self.workspace.target().join("peers");
        let library = peers.join(MPICH.name).join("lib/libmpi_abi.so.1");
        if !library.is_file() {
            let why = format!("{} has no {}", MPICH.requirement, library.display());
            return Err(UnsuitableMachine(why).into());
        }
        let mut outcomes = Vec::new();
        let (way, place) = match self.hosts {
            None => (MessagePath::Node, String::new()),
            Some(hosts) => (
                MessagePath::Hosts,
                format!(" on 2 hosts (MTU {})", hosts.mtu()),
            ),
        };
        for settings in MPICH.settings(way, self.ranks, CORES) {
            let (ours_s, theirs_s) = (RefCell::new(vec![]), RefCell::new(vec![]));
            let keep = |kept: &RefCell<Vec<f64>>, seconds: f64| {
                kept.borrow_mut().push(seconds);
                seconds
            };
            let ours = || self.ours().map(|seconds| keep(&ours_s, seconds));
            let theirs = || {
                let solved = self.theirs(settings, &library);
                solved.map(|seconds| keep(&theirs_s, seconds))
            };
            let measured = Rounds::default().ratio(Bar::AtMost(bar), ours, theirs)?;
            let what = format!("{} of {} ranks{place}", self.program, self.ranks);
            let mut outcome = measured.outcome(&what, " x");
            outcome.figure.push_str(&format!(
                "; of the rounds' medians: {:.3} s against {:.3} s; the same answers",
                median(&ours_s.borrow()),
                median(&theirs_s.borrow())
            ));
            outcomes.push(outcome);
        }
        // The result counts against each of their settings; against their fastest setting we miss
        // first.
        let worst = outcomes
            .iter()
            .position(|outcome| outcome.verdict != Verdict::Held);
        Ok(outcomes.swap_remove(worst.unwrap_or(0)))
    }
}
