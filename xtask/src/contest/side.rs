//! Who is measured: us, with some options, and peers as they are fastest.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use apps::bench::{Case, Options, Row};

use crate::hosts::Hosts;
use crate::peers::{Peer, Settings, Way};
use crate::process;
use crate::verdict::CannotTell;
use crate::workspace::Workspace;

/// So that a side that hangs is seen to. MPICH with four ranks a core takes a minute for what others do in a second.
const LIMIT: Duration = Duration::from_secs(600);

/// One of those who take turns.
#[derive(Debug, Clone, PartialEq)]
pub enum Side {
    /// `bcs run` with these options.
    Ours(Vec<String>),
    /// The same with the benchmark in C, on our library.
    InC(Vec<String>),
    /// `bcs run`, where we are compared with ourselves.
    Baseline(Vec<String>),
    /// A peer.
    Peer(&'static Peer, &'static Settings),
    /// A peer that we are not compared with.
    Onlooker(&'static Peer, &'static Settings),
}

impl Side {
    /// What it is called in tables.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Side::Ours(words) if words.is_empty() => "bcs".into(),
            Side::Ours(words) | Side::Baseline(words) => format!("bcs {}", words.join(" ")),
            Side::InC(words) => ["bcs-c", &words.join(" ")].join(" ").trim_end().into(),
            Side::Peer(peer, settings) | Side::Onlooker(peer, settings) => match settings.name {
                "" => peer.name.into(),
                name => format!("{}-{name}", peer.name),
            },
        }
    }

    /// Peers with all their settings for a way, so many ranks and cores.
    #[must_use]
    pub fn of_peers(peers: &[&'static Peer], way: Way, ranks: usize, cores: usize) -> Vec<Side> {
        let sides = |peer: &&'static Peer| {
            let peer = *peer;
            let all = peer.settings(way, ranks, cores).iter();
            all.map(move |settings| Side::Peer(peer, settings))
        };
        peers.iter().flat_map(sides).collect()
    }

    /// We as we are fastest: each rank on a core of its own, if there are enough.
    #[must_use]
    pub fn ours(ranks: usize, cores: usize) -> Side {
        match ranks <= cores {
            true => Side::Ours(vec!["--bind".into(), "core".into()]),
            false => Side::Ours(Vec::new()),
        }
    }

    fn command(
        &self,
        workspace: &Workspace,
        ranks: usize,
        hosts: Option<&Hosts>,
    ) -> Result<Command> {
        match self {
            Side::Ours(words) | Side::Baseline(words) => {
                let mut command = workspace.bcs(["run", "-n", &ranks.to_string()])?;
                command.args(hosts.iter().flat_map(|hosts| hosts.options()));
                command.args(words).arg("bench");
                Ok(command)
            }
            Side::InC(words) => Ok(workspace.c_bench()?.command(ranks, words)),
            Side::Peer(peer, settings) | Side::Onlooker(peer, settings) => {
                peer.bench(workspace, settings, ranks, hosts)
            }
        }
    }

    /// Builds or installs it.
    ///
    /// # Errors
    ///
    /// It cannot be had; [`CannotTell`] for a peer.
    pub fn prepare(&self, workspace: &Workspace) -> Result<()> {
        self.command(workspace, 2, None).map(|_| ())
    }

    /// Runs the benchmark once, on this machine or over these hosts, and gives its rows, which are those of `options`, in order.
    ///
    /// # Errors
    ///
    /// It failed. A peer that fails is nothing that this machine can tell about us.
    pub fn measure(
        &self,
        workspace: &Workspace,
        ranks: usize,
        hosts: Option<&Hosts>,
        options: &Options,
    ) -> Result<Vec<Row>> {
        let measured = self.rows(workspace, ranks, hosts, options);
        match self {
            Side::Ours(_) | Side::InC(_) | Side::Baseline(_) => measured,
            Side::Peer(..) | Side::Onlooker(..) => measured
                .map_err(|error| CannotTell(format!("{} failed: {error:#}", self.name())).into()),
        }
    }

    fn rows(
        &self,
        workspace: &Workspace,
        ranks: usize,
        hosts: Option<&Hosts>,
        options: &Options,
    ) -> Result<Vec<Row>> {
        let mut command = self.command(workspace, ranks, hosts)?;
        command.args(options.words());
        let output = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        let rows = Row::of_output(&output).context("it wrote a broken row")?;
        let found: Vec<Case> = rows.iter().map(Row::case).collect();
        ensure!(
            found == options.cases(),
            "it wrote {} rows, which are not the {} that were asked for",
            found.len(),
            options.cases().len()
        );
        ensure!(
            rows.iter().all(|row| row.us > 0.0 && row.us.is_finite()),
            "it wrote a time that is none"
        );
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::{self, INTEL_MPI};

    #[test]
    fn names_tell_sides_apart() {
        let sides = Side::of_peers(&peers::ALL, Way::Node, 4, 2);
        let mut names: Vec<String> = sides.iter().map(Side::name).collect();
        assert_eq!(names, ["mpich", "openmpi", "impi", "impi-wait"]);
        names.push(Side::ours(2, 2).name());
        names.push(Side::ours(3, 2).name());
        assert_eq!(names[4..], ["bcs --bind core", "bcs"]);
        assert_eq!(Side::of_peers(&[&INTEL_MPI], Way::Node, 2, 2).len(), 1);
        assert!(Side::of_peers(&[&INTEL_MPI], Way::Tcp, 2, 2).is_empty());
        assert_eq!(Side::of_peers(&peers::ALL, Way::Hosts, 2, 2).len(), 2);
    }
}
