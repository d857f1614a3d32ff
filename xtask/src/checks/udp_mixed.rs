//! Jobs whose nodes are partly on one machine: four nodes on two hosts.
//!
//! With `--fabric udp` hosts are network namespaces. Their node managers could map each other's
//! memory, but do so only within a host, as that option requires. With `--fabric auto` a host also
//! has a namespace for processes. Node managers of two hosts then cannot reach each other's memory,
//! and find that out by trying.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use test_network::TestNetwork;

use crate::network::{LAUNCHER, check_no_processes, make};
use crate::process::{self, ProcessResult};
use crate::sage::SageReference;
use crate::sweep3d::Answers;
use crate::verdict::{CheckOutcome, UnsuitableMachine};
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "udp-mixed",
    about: "4 nodes on 2 hosts, all drivers, --fabric udp and auto: rules, known answers and bits as on one machine, and -v says how each pair is joined and why",
    about_time: false,
    quick: true,
    run,
};

const NODES: usize = 4;

const DRIVERS: [&str; 3] = ["shared", "coprocessor", "dedicated"];

/// Programs that check their answers: options of `bcs run`, a fixture with its arguments, and the
/// beginning of its output.
const FIXTURES: [(&str, &str, &str, &str); 4] = [
    ("-n 4", "conformance", "unwritable", "16 rules\n"),
    ("-n 8", "conformance", "unwritable", "16 rules\n"),
    ("-n 4", "oracle", "1 500", "500 cases"),
    ("-n 6", "traffic", "1 30", "30 programs"),
];

const SWEEP3D: [&str; 2] = ["sweep3d --comm blocking", "sweep3d --comm nonblocking"];

const SAGE: &str = "sage --deck sedov --levels 2 --cycles 6";

const LIMIT: Duration = Duration::from_secs(120);

/// How hosts are separated from each other.
struct HostSetup {
    fabric: &'static str,
    hosts: String,
    launcher: &'static str,
    /// The reported reason why the network connects the hosts.
    why: &'static str,
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let network = make(2)?;
    let answers = ReferenceAnswers::find(workspace)?;
    let told = HostSetup {
        fabric: "udp",
        hosts: network.hosts().join(","),
        launcher: LAUNCHER,
        why: "as --fabric udp says",
    };
    let mut jobs = try_all(workspace, &told, &answers)?;
    check_no_processes(&network)?;
    let hidden = [
        HiddenHost::make(&network, 0)?,
        HiddenHost::make(&network, 1)?,
    ];
    let found = HostSetup {
        fabric: "auto",
        hosts: hidden.each_ref().map(HiddenHost::host).join(","),
        launcher: HiddenHost::LAUNCHER,
        why: "since none can map another's memory",
    };
    jobs += try_all(workspace, &found, &answers)?;
    hidden.into_iter().try_for_each(HiddenHost::end)?;
    check_no_processes(&network)?;
    let figure = format!(
        "{jobs} jobs of {NODES} nodes on 2 hosts have the right answers, and in each all 6 pairs are joined as they \
        should be"
    );
    Ok(CheckOutcome::exact(true, figure, "all of them"))
}

/// The answers of the applications on one machine.
struct ReferenceAnswers {
    sweep3d: Vec<Answers>,
    gas: SageReference,
}

impl ReferenceAnswers {
    fn find(workspace: &Workspace) -> Result<Self> {
        let command = |program: &str| -> Result<Command> {
            let mut command = workspace.bcs(["run", "-n", "4"])?;
            command.args(program.split(' '));
            Ok(command)
        };
        let sweep3d = SWEEP3D.iter().map(|program| {
            let finished = process::run(&mut command(program)?, LIMIT)?.succeeded()?;
            finished.stdout.parse()
        });
        let gas = SageReference::default();
        gas.solve(&mut command(SAGE)?)?;
        Ok(Self {
            sweep3d: sweep3d.collect::<Result<_>>()?,
            gas,
        })
    }
}

/// Runs all programs with all drivers, and returns the number of jobs.
fn try_all(workspace: &Workspace, way: &HostSetup, expected: &ReferenceAnswers) -> Result<usize> {
    let mut jobs = 0;
    for driver in DRIVERS {
        for (options, name, words, answer) in FIXTURES {
            let program = workspace.fixture_program(name)?;
            let mut command = bcs_run(workspace, way, driver, options)?;
            command.arg(program).args(words.split(' '));
            let said = run_and_check_pairs(way, &mut command)?.stdout;
            ensure!(
                said.starts_with(answer),
                "`{}` was to say `{answer}`, and said `{said}`",
                process::command_line(&command)
            );
            jobs += 1;
        }
        for (program, expected) in SWEEP3D.iter().zip(&expected.sweep3d) {
            let mut command = bcs_run(workspace, way, driver, "-n 4")?;
            command.args(program.split(' '));
            let found: Answers = run_and_check_pairs(way, &mut command)?.stdout.parse()?;
            ensure!(
                found == *expected,
                "`{}` found {found:?}, and one machine {expected:?}",
                process::command_line(&command)
            );
            jobs += 1;
        }
        let mut command = bcs_run(workspace, way, driver, "-n 4")?;
        let finished = run_and_check_pairs(way, command.args(SAGE.split(' ')))?;
        expected.gas.judge(&finished.stdout)?;
        jobs += 1;
    }
    Ok(jobs)
}

fn bcs_run(workspace: &Workspace, way: &HostSetup, driver: &str, options: &str) -> Result<Command> {
    let mut command = workspace.bcs(["run", "-v", "--fabric", way.fabric])?;
    command.args(["--hosts", &way.hosts, "--launcher", way.launcher]);
    command.args(["--nic-threads", driver, "--nodes", &NODES.to_string()]);
    command.args(options.split(' '));
    Ok(command)
}

/// Runs a job, and checks its report on each pair of nodes.
fn run_and_check_pairs(way: &HostSetup, command: &mut Command) -> Result<ProcessResult> {
    let finished = process::run(command, LIMIT)?.succeeded()?;
    let found = pairs(&finished.stderr)?;
    let each = NODES / 2;
    for one in 0..NODES {
        for other in one + 1..NODES {
            let expected = match one / each == other / each {
                true => ("shared memory", "which their node managers can map"),
                false => ("udp", way.why),
            };
            let found = found.get(&(one, other));
            ensure!(
                found.map(|(by, why)| (by.as_str(), why.as_str())) == Some(expected),
                "`{}`: nodes {one} and {other} were to be joined by {expected:?}, and are by {found:?}",
                finished.command
            );
        }
    }
    Ok(finished)
}

/// Returns how each pair of nodes is connected, and why, from the output of `-v`.
fn pairs(said: &str) -> Result<BTreeMap<(usize, usize), (String, String)>> {
    let mut machines: Vec<(Vec<usize>, Option<&str>)> = Vec::new();
    let mut between = None;
    for line in said.lines().filter_map(|line| line.strip_prefix("bcs: ")) {
        if let Some(rest) = line.strip_prefix("machine of nodes ") {
            let (nodes, rest) = rest.split_once(" on host ").context("a host is named")?;
            let nodes = nodes
                .split(", ")
                .map(str::parse)
                .collect::<Result<_, _>>()?;
            let why = rest.split_once(", joined by shared memory, ");
            machines.push((nodes, why.map(|(_, why)| why)));
        } else if let Some(rest) = line.strip_prefix("machines are joined by udp, ") {
            between = rest.split_once("; ").map(|(why, _)| why);
        }
    }
    let mut pairs = BTreeMap::new();
    for (number, (nodes, within)) in machines.iter().enumerate() {
        for (other_number, (others, _)) in machines.iter().enumerate() {
            let (by, why) = match number == other_number {
                true => ("shared memory", *within),
                false => ("udp", between),
            };
            for (node, other) in nodes
                .iter()
                .flat_map(|node| others.iter().map(move |other| (node, other)))
            {
                if node < other {
                    let why = why.with_context(|| {
                        format!("nobody says why nodes {node} and {other} are joined by {by}")
                    })?;
                    pairs.insert((*node, *other), (by.to_owned(), why.to_owned()));
                }
            }
        }
    }
    Ok(pairs)
}

/// A host whose processes see no others: it has a process namespace with its own `/proc`. Its
/// processes end with it.
struct HiddenHost {
    /// The process that made the namespaces; it identifies the host.
    maker: Child,
    /// The namespace ends when this is closed.
    input: ChildStdin,
}

impl HiddenHost {
    const LAUNCHER: &str = "nsenter --net=/proc/{host}/ns/net --mount=/proc/{host}/ns/mnt \
                            --pid=/proc/{host}/ns/pid_for_children";

    fn make(network: &TestNetwork, host: usize) -> Result<Self> {
        let mut command = network.command(host, "unshare");
        command.args(["--pid", "--fork", "--mount-proc"]);
        command.args(["sh", "-c", "echo there; exec cat"]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut maker = piped.spawn().context("failed to start unshare")?;
        let input = maker.stdin.take().context("it is a pipe")?;
        let output = maker.stdout.take().context("it is a pipe")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let hidden = Self { maker, input };
        if line == "there\n" {
            return Ok(hidden);
        }
        hidden.end()?;
        let why = "processes of two hosts cannot be hidden from each other: unshare --pid --mount-proc is refused";
        Err(UnsuitableMachine(why.to_owned()).into())
    }

    fn host(&self) -> String {
        self.maker.id().to_string()
    }

    fn end(self) -> Result<()> {
        let Self { mut maker, input } = self;
        drop(input);
        maker.wait().context("failed to wait for unshare")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_with_their_reasons() {
        let said = "bcs: machine of nodes 0, 2 on host a: 10.0.0.1:7, joined by shared memory, because\n\
            bcs: machine of nodes 1 on host b: 10.0.0.2:7\n\
            bcs: machines are joined by udp, as it is; datagrams are guarded by Tag\n\
            bcs: bcs run is process 7\n";
        let pairs = pairs(said).unwrap();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(pair, (by, why))| (*pair, by.as_str(), why.as_str()))
            .collect();
        let expected = [
            ((0, 1), "udp", "as it is"),
            ((0, 2), "shared memory", "because"),
            ((1, 2), "udp", "as it is"),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn a_pair_without_a_reason_is_an_error() {
        let said = "bcs: machine of nodes 0 on host a: 10.0.0.1:7\nbcs: machine of nodes 1 on host b: 10.0.0.2:7\n";
        assert!(pairs(said).is_err());
        assert!(pairs("").unwrap().is_empty());
    }
}
