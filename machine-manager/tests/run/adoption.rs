//! Our ranks under the `mpiexec` of MPICH and Intel MPI, which start them and serve PMI-1.
//!
//! Both come from `cargo xtask peers`. Without them the tests are skipped. They fail instead if
//! `BCS_REQUIRE_MPICH` is set.

use super::job::{GONE_WITHIN, Job, Process, signal, text};
use super::pmi::peer_or_skip;
use super::program::fixture;
use rustix::process::Signal;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// Returns the launchers that are installed.
fn launchers() -> Vec<PathBuf> {
    let peers = ["mpich", "impi"].into_iter().filter_map(peer_or_skip);
    peers.map(|peer| peer.join("bin/mpiexec")).collect()
}

/// Makes a job of this many processes.
fn launch(launcher: &PathBuf, ranks: u32, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(launcher);
    command.args(["-n", &ranks.to_string()]);
    command
        .env("XDG_CONFIG_HOME", "/dev/null")
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command
}

/// Runs a job to its end, and until nothing of it is left.
fn finish(command: Command) -> (Output, String) {
    let shown = format!("{command:?}");
    let mut job = Job::spawn(command);
    let output = job.output();
    job.wait_until_gone();
    (output, shown)
}

#[test]
fn processes_of_other_launchers_are_ranks_of_one_job() {
    for launcher in launchers() {
        for (ranks, variables) in [
            (1, &[][..]),
            (2, &[]),
            (4, &[]),
            (16, &[]),
            (4, &[("BCS_PPN", "2")]),
            (3, &[("BCS_PPN", "1"), ("BCS_FABRIC", "udp")]),
        ] {
            let mut command = launch(&launcher, ranks, variables);
            command.args([env!("CARGO_BIN_EXE_bcs"), "app", "hello"]);
            let (output, shown) = finish(command);
            let told = text(&output.stderr);
            assert_eq!((output.status.code(), &*told), (Some(0), ""), "{shown}");
            let said = text(&output.stdout);
            let mut lines: Vec<&str> = said.lines().collect();
            lines.sort_unstable();
            let expected = (0..ranks).map(|rank| format!("hello from rank {rank} of {ranks}"));
            let mut expected: Vec<String> = expected.collect();
            expected.sort_unstable();
            assert_eq!(lines, expected, "{shown}");
        }
    }
}

#[test]
fn roads_keep_the_rules_in_jobs_of_other_launchers() {
    for launcher in launchers() {
        for variables in [&[][..], &[("BCS_PPN", "2")]] {
            let mut command = launch(&launcher, 4, variables);
            command.arg(fixture("conformance")).arg("unwritable");
            let (output, shown) = finish(command);
            let (said, told) = (text(&output.stdout), text(&output.stderr));
            assert_eq!((&*said, &*told), ("16 rules\n", ""), "{shown}");
        }
    }
}

#[test]
fn each_end_of_a_rank_reaches_the_other_launcher() {
    for launcher in launchers() {
        for variables in [&[][..], &[("BCS_PPN", "2")]] {
            let mut command = launch(&launcher, 4, variables);
            command.arg(fixture("recorded")).arg("aborts");
            let (output, shown) = finish(command);
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(7), "{shown}: {told}");

            let mut command = launch(&launcher, 4, variables);
            command.arg(fixture("recorded")).arg("dies");
            let (output, shown) = finish(command);
            let told = text(&output.stderr);
            assert!(!output.status.success(), "{shown}: {told}");

            let mut command = launch(&launcher, 4, variables);
            command.arg(fixture("deadlocks")).arg("cycle-of-four");
            let (output, shown) = finish(command);
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(123), "{shown}: {told}");
            assert!(told.contains("messages.rs:"), "{shown}: {told}");
        }
    }
}

/// Whichever process is killed, nothing is left. Intel's own processes may take some seconds.
#[test]
fn no_process_outlives_the_others() {
    type IsVictim = fn(&Process) -> bool;
    let victims: [(&str, IsVictim); 4] = [
        ("rank", |process| process.line.contains("recorded computes")),
        ("launcher", |process| {
            process.line.starts_with("bcs adopt-job")
        }),
        ("node manager", |process| {
            process.line.starts_with("bcs node-manager")
                || process.line.starts_with("bcs far-node-manager")
        }),
        ("mpiexec", |_| false),
    ];
    let Some(peer) = peer_or_skip("mpich") else {
        return;
    };
    let launcher = peer.join("bin/mpiexec");
    for variables in [&[][..], &[("BCS_PPN", "2")]] {
        for (who, is_victim) in victims {
            let mut command = launch(&launcher, 4, variables);
            command.arg(fixture("recorded")).arg("computes");
            let mut job = Job::spawn(command);
            let mut said = BufReader::new(job.child().stdout.take().unwrap());
            let mut line = String::new();
            said.read_line(&mut line).unwrap();
            assert_eq!(line, "all are there\n");
            let is_rank = |process: &Process| process.line.ends_with("recorded computes ");
            let victim = match who {
                "mpiexec" => job.pid(),
                "rank" => {
                    job.find(|process| is_rank(process) && !process.line.starts_with("bcs"))
                        .pid
                }
                _ => job.find(is_victim).pid,
            };
            signal(victim, Signal::KILL);
            let killed = Instant::now();
            job.wait_until_gone();
            assert!(killed.elapsed() < GONE_WITHIN, "{who}");
        }
    }
}

#[test]
fn a_command_that_is_not_there_is_told() {
    for launcher in launchers() {
        let is_told = (0..3).any(|_| {
            let mut command = launch(&launcher, 2, &[("BCS_COMMAND", "/nowhere/bcs")]);
            command.arg(fixture("recorded")).arg("ends");
            let (output, shown) = finish(command);
            assert!(!output.status.success(), "{shown}");
            let told = text(&output.stderr);
            told.contains("/nowhere/bcs") || told.contains("rank 0 could not start")
        });
        // These launchers may end all ranks before they have passed on what they told, Intel's in
        // most runs.
        let is_lost = launcher.to_string_lossy().contains("impi");
        assert!(is_told || is_lost, "{}", launcher.display());
    }
}
