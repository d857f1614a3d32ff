//! The sides of a contest: ours with some options, and peers with their fastest settings.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use apps::bench::{BenchCase, BenchOptions, BenchRow};

use crate::c_bench::CBench;
use crate::hosts::Hosts;
use crate::peers::{LauncherSettings, MessagePath, PeerMpi};
use crate::process;
use crate::verdict::UnsuitableMachine;
use crate::workspace::Workspace;

/// Ends a side that hangs. MPICH with four ranks a core takes a minute where others take a second.
const LIMIT: Duration = Duration::from_secs(600);

/// A side of a contest.
#[derive(Debug, Clone, PartialEq)]
pub enum Contestant {
    /// Our `bcs run` with these options.
    Ours(Vec<String>),
    /// The same with the benchmark in C, on our library.
    InC(Vec<String>),
    /// Our `bcs run` as a rival.
    Baseline(Vec<String>),
    /// A peer.
    Peer(&'static PeerMpi, &'static LauncherSettings),
    /// A peer that is not a rival.
    Onlooker(&'static PeerMpi, &'static LauncherSettings),
}

impl Contestant {
    /// Returns its name in tables.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Contestant::Ours(words) if words.is_empty() => "bcs".into(),
            Contestant::Ours(words) | Contestant::Baseline(words) => {
                format!("bcs {}", words.join(" "))
            }
            Contestant::InC(words) => ["bcs-c", &words.join(" ")].join(" ").trim_end().into(),
            Contestant::Peer(peer, settings) | Contestant::Onlooker(peer, settings) => {
                match settings.name {
                    "" => peer.name.into(),
                    name => format!("{}-{name}", peer.name),
                }
            }
        }
    }

    /// Returns peers with all their settings for a transport, and this number of ranks and cores.
    #[must_use]
    pub fn of_peers(
        peers: &[&'static PeerMpi],
        way: MessagePath,
        ranks: usize,
        cores: usize,
    ) -> Vec<Contestant> {
        let sides = |peer: &&'static PeerMpi| {
            let peer = *peer;
            let all = peer.settings(way, ranks, cores).iter();
            all.map(move |settings| Contestant::Peer(peer, settings))
        };
        peers.iter().flat_map(sides).collect()
    }

    /// Returns our fastest side: each rank on its own core, if there are enough.
    #[must_use]
    pub fn ours(ranks: usize, cores: usize) -> Contestant {
        match ranks <= cores {
            true => Contestant::Ours(vec!["--bind".into(), "core".into()]),
            false => Contestant::Ours(Vec::new()),
        }
    }

    fn command(
        &self,
        workspace: &Workspace,
        ranks: usize,
        hosts: Option<&Hosts>,
    ) -> Result<Command> {
        match self {
            Contestant::Ours(words) | Contestant::Baseline(words) => {
                let mut command = workspace.bcs(["run", "-n", &ranks.to_string()])?;
                command.args(hosts.iter().flat_map(|hosts| hosts.options()));
                command.args(words).arg("bench");
                Ok(command)
            }
            Contestant::InC(words) => Ok(CBench::shared(workspace)?.command(ranks, words)),
            Contestant::Peer(peer, settings) | Contestant::Onlooker(peer, settings) => {
                peer.bench(workspace, settings, ranks, hosts)
            }
        }
    }

    /// Builds or installs the side.
    ///
    /// # Errors
    ///
    /// The build or the installation fails; [`UnsuitableMachine`] for a peer.
    pub fn prepare(&self, workspace: &Workspace) -> Result<()> {
        self.command(workspace, 2, None).map(|_| ())
    }

    /// Runs the benchmark once, on this machine or over these hosts. Returns its rows, which are
    /// those of `options`, in order.
    ///
    /// # Errors
    ///
    /// The benchmark failed. The failure of a peer is [`UnsuitableMachine`].
    pub fn measure(
        &self,
        workspace: &Workspace,
        ranks: usize,
        hosts: Option<&Hosts>,
        options: &BenchOptions,
    ) -> Result<Vec<BenchRow>> {
        let measured = self.rows(workspace, ranks, hosts, options);
        match self {
            Contestant::Ours(_) | Contestant::InC(_) | Contestant::Baseline(_) => measured,
            Contestant::Peer(..) | Contestant::Onlooker(..) => measured.map_err(|error| {
                UnsuitableMachine(format!("{} failed: {error:#}", self.name())).into()
            }),
        }
    }

    fn rows(
        &self,
        workspace: &Workspace,
        ranks: usize,
        hosts: Option<&Hosts>,
        options: &BenchOptions,
    ) -> Result<Vec<BenchRow>> {
        let mut command = self.command(workspace, ranks, hosts)?;
        command.args(options.words());
        let output = process::run(&mut command, LIMIT)?.succeeded()?.stdout;
        let rows = BenchRow::of_output(&output).context("it wrote a broken row")?;
        let found: Vec<BenchCase> = rows.iter().map(BenchRow::case).collect();
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
        let sides = Contestant::of_peers(&peers::ALL, MessagePath::Node, 4, 2);
        let mut names: Vec<String> = sides.iter().map(Contestant::name).collect();
        assert_eq!(names, ["mpich", "openmpi", "impi", "impi-wait"]);
        names.push(Contestant::ours(2, 2).name());
        names.push(Contestant::ours(3, 2).name());
        assert_eq!(names[4..], ["bcs --bind core", "bcs"]);
        assert_eq!(
            Contestant::of_peers(&[&INTEL_MPI], MessagePath::Node, 2, 2).len(),
            1
        );
        assert!(Contestant::of_peers(&[&INTEL_MPI], MessagePath::Tcp, 2, 2).is_empty());
        assert_eq!(
            Contestant::of_peers(&peers::ALL, MessagePath::Hosts, 2, 2).len(),
            2
        );
    }
}
