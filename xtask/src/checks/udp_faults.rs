//! Nodes and cables fail at random moments. If they fail for good, the job ends in time; if they
//! fail for a second, it goes on.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};
use test_network::TestNetwork;

use crate::bootstrap::median;
use crate::network::{bcs_run, check_no_processes, describe_process, leftover_names, make};
use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;
use super::simulator_mpi::seeds;

pub(super) const CHECK: Check = Check {
    name: "udp-faults",
    about: "100 times each at random moments (BCS_UDP_FAULTS: fewer): a killed node manager and a cut cable end the job within the timeout and a second, naming node and host; a node stopped and a cable cut for a second change no answer; nothing is left",
    about_time: false,
    quick: false,
    run,
};

const ROUNDS: u64 = 100;
const HOSTS: usize = 3;

/// `--node-timeout`.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The additional time in which a job must end.
const GRACE: Duration = Duration::from_secs(1);

/// The duration of a temporary fault.
const AWAY: Duration = Duration::from_secs(1);

/// The faults begin within this time after the start of the job, in milliseconds.
const MOMENTS_MS: u64 = 500;

/// The exit code of `bcs run` when it ends a job for a fault of a node.
const FAILED: i32 = 125;

const GAS: [&str; 7] = [
    "sage", "--deck", "timing_c", "--levels", "1", "--cycles", "60",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Killed,
    Cut,
    Stopped,
    Down,
}

impl Fault {
    const ALL: [Self; 4] = [Self::Killed, Self::Cut, Self::Stopped, Self::Down];

    fn ends_the_job(self) -> bool {
        matches!(self, Self::Killed | Self::Cut)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "a node manager killed",
            Self::Cut => "a cable cut",
            Self::Stopped => "a node stopped for 1 s",
            Self::Down => "a cable cut for 1 s",
        })
    }
}

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let rounds = seeds("BCS_UDP_FAULTS", ROUNDS)?;
    let seed = seeds("BCS_UDP_FAULTS_SEED", fresh_seed())?;
    eprintln!("BCS_UDP_FAULTS_SEED={seed}");
    let before = leftover_names();
    let network = make(HOSTS)?;
    let trial = Trial::new(workspace, &network)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut took = Fault::ALL.map(|fault| (fault, Vec::new()));
    let mut objections = Vec::new();
    for round in 0..rounds {
        for (fault, took) in &mut took {
            let host = random.random_range(0..HOSTS);
            let after = Duration::from_millis(random.random_range(0..MOMENTS_MS));
            let done = trial.round(*fault, host, after);
            let done = done.and_then(|seconds| check_no_processes(&network).map(|()| seconds));
            match done {
                Ok(seconds) => took.push(seconds),
                Err(error) => {
                    let what = format!("round {round}, {fault}, host {host}, {after:?}: {error:#}");
                    eprintln!("{what}");
                    objections.push(what);
                }
            }
        }
    }
    let left: Vec<String> = leftover_names()
        .into_iter()
        .filter(|name| !before.contains(name))
        .collect();
    let mut figure = format!("seed {seed}, {} objections", objections.len());
    for (fault, took) in took.iter().filter(|(_, took)| !took.is_empty()) {
        let most = took.iter().copied().fold(0.0, f64::max);
        let what = if fault.ends_the_job() {
            "ended after"
        } else {
            "went on, all took"
        };
        figure.push_str(&format!(
            "; {fault}, {} times: {what} {:.2} s, {most:.2} s at most",
            took.len(),
            median(took)
        ));
    }
    for objection in objections.iter().take(3) {
        figure.push_str(&format!("; {objection}"));
    }
    if !left.is_empty() {
        figure.push_str(&format!("; left: {left:?}"));
    }
    Ok(CheckOutcome::exact(
        objections.is_empty() && left.is_empty(),
        figure,
        format!("ended within {TIMEOUT:?} and {GRACE:?}, or the right answers; nothing left"),
    ))
}

/// Returns another seed each time.
fn fresh_seed() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.map_or(0, |time| u64::from(time.subsec_nanos()))
}

/// The common settings of all rounds.
struct Trial<'a> {
    workspace: &'a Workspace,
    network: &'a TestNetwork,
    /// The digest of the gas computed on one machine.
    digest: String,
}

/// A running job.
struct RunningJob {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        // The job has ended, or must end: `bcs run` ends its ranks with it.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl<'a> Trial<'a> {
    fn new(workspace: &'a Workspace, network: &'a TestNetwork) -> Result<Self> {
        let ranks = HOSTS.to_string();
        let mut alone = workspace.bcs(["run", "-n", &ranks])?;
        let said = process::run(alone.args(GAS), Duration::from_secs(60))?.succeeded()?;
        let digest = digest(&said.stdout)?.to_owned();
        Ok(Self {
            workspace,
            network,
            digest,
        })
    }

    /// Returns the seconds from the fault to the end, for a job that must end; otherwise those of
    /// the rest of the job.
    fn round(&self, fault: Fault, host: usize, after: Duration) -> Result<f64> {
        let program = if fault.ends_the_job() {
            vec![
                self.workspace.fixture_program("endless")?.into(),
                "collectives".into(),
            ]
        } else {
            GAS.map(std::ffi::OsString::from).to_vec()
        };
        let timeout = format!(
            "-n {HOSTS} --timeout 60s --kill-delay 100ms --node-timeout {}s",
            TIMEOUT.as_secs()
        );
        let mut command = bcs_run(self.workspace, self.network, HOSTS, &timeout)?;
        command.args(program);
        let mut job = begun(command)?;
        wait(after);
        let start = Instant::now();
        let done = self.act(fault, host);
        let ended = job.end();
        // Repairs the network for the next round.
        self.network.mend(host)?;
        done?;
        let seconds = start.elapsed().as_secs_f64();
        let (code, said, told) = ended?;
        if fault.ends_the_job() {
            ensure!(code == Some(FAILED), "exit code {code:?}: {told}");
            let most = TIMEOUT + GRACE;
            ensure!(
                seconds <= most.as_secs_f64(),
                "it ended after {seconds:.2} s: {told}"
            );
            self.names_a_node(fault, host, &told)?;
        } else {
            ensure!(
                code == Some(0) && told.is_empty(),
                "exit code {code:?}: {told}"
            );
            let found = digest(&said)?;
            ensure!(
                found == self.digest,
                "the state is {found}, and {} on one machine",
                self.digest
            );
        }
        Ok(seconds)
    }

    fn act(&self, fault: Fault, host: usize) -> Result<()> {
        match fault {
            Fault::Killed => self.signal(host, Signal::KILL, |name| name.starts_with("bcs "))?,
            Fault::Cut => self.network.cut(host)?,
            Fault::Stopped => {
                self.signal(host, Signal::STOP, |_| true)?;
                wait(AWAY);
                self.signal(host, Signal::CONT, |_| true)?;
            }
            Fault::Down => {
                self.network.cut(host)?;
                wait(AWAY);
                self.network.mend(host)?;
            }
        }
        Ok(())
    }

    /// Sends a signal to the processes of a host whose program `is_meant` selects.
    fn signal(&self, host: usize, signal: Signal, is_meant: impl Fn(&str) -> bool) -> Result<()> {
        let all = self.network.processes(host)?;
        let mut meant = all
            .iter()
            .filter(|pid| is_meant(&describe_process(**pid)))
            .peekable();
        ensure!(
            meant.peek().is_some(),
            "the job does not run on host {host}: {all:?}"
        );
        for pid in meant {
            let pid = Pid::from_raw(pid.cast_signed()).context("a process has a number")?;
            // The process may have ended since.
            let _gone = kill_process(pid, signal);
        }
        Ok(())
    }

    /// A cut-off host does not hear the others and may be the first to report a fault. It then
    /// names one of the other hosts.
    fn names_a_node(&self, fault: Fault, host: usize, told: &str) -> Result<()> {
        let is_named = |at: usize| {
            let name = self.network.host(at);
            let words = [
                format!("node {at} is on host {name}"),
                format!("node {at} on host {name}"),
            ];
            words.iter().any(|words| told.contains(words))
        };
        let mut hosts = 0..HOSTS;
        let is_named = match fault {
            Fault::Cut => hosts.any(is_named),
            _ => is_named(host),
        };
        ensure!(is_named, "no node and host are named: {told}");
        Ok(())
    }
}

/// Starts a job, and waits until it is in the middle.
fn begun(mut command: Command) -> Result<RunningJob> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().context("failed to start a job")?;
    let stdout = child.stdout.take().context("a job has an output")?;
    let mut job = RunningJob {
        child,
        stdout: BufReader::new(stdout),
    };
    let mut line = String::new();
    while job.stdout.read_line(&mut line)? > 0 {
        let word = line.split_whitespace().next();
        if matches!(word, Some("under" | "10")) {
            return Ok(job);
        }
        line.clear();
    }
    let (code, _, told) = job.end()?;
    bail!("it ended before it was under way, with exit code {code:?}: {told}")
}

impl RunningJob {
    /// Returns the exit code of the job, and the rest of its output.
    fn end(&mut self) -> Result<(Option<i32>, String, String)> {
        let (mut said, mut told) = (String::new(), String::new());
        self.stdout.read_to_string(&mut said)?;
        let mut stderr = self.child.stderr.take().context("it is read once")?;
        stderr.read_to_string(&mut told)?;
        Ok((self.child.wait()?.code(), said, told))
    }
}

fn digest(said: &str) -> Result<&str> {
    let digest = said.lines().find_map(|line| line.strip_prefix("digest "));
    digest.context("SAGE did not say the digest of its state")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the moment and the time away are the point"
)]
fn wait(time: Duration) {
    thread::sleep(time);
}
