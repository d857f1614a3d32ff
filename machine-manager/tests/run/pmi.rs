//! Programs of MPICH and Intel MPI under `bcs run`, with their own libraries.
//!
//! Both come from `cargo xtask peers`. Without them the tests are skipped. They fail instead if
//! `BCS_REQUIRE_MPICH` is set.

use super::job::{Job, bcs, text};
use std::path::{Path, PathBuf};
use std::process::Command;
use test_network::{NetworkKind, NetworkOptions, TestNetwork};

const REQUIRED: &str = "BCS_REQUIRE_MPICH";

/// Returns the folder of another MPI, if it is installed.
pub(crate) fn peer_or_skip(name: &str) -> Option<PathBuf> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
    let peer = peers.join(name);
    let is_there = peer.join("lib/libmpi.so.12").is_file();
    assert!(
        is_there || std::env::var_os(REQUIRED).is_none(),
        "{name} is not installed (cargo xtask peers), and {REQUIRED} is set"
    );
    if !is_there {
        eprintln!("skipped: {name} is not installed (cargo xtask peers)");
    }
    is_there.then(|| peer.canonicalize().unwrap())
}

/// Compiles the program by the compiler wrapper of MPICH.
fn compiled(mpich: &Path, folder: &Path) -> PathBuf {
    let program = folder.join("pmi");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/pmi.c");
    let mut compile = Command::new(mpich.join("bin/mpicc"));
    compile.args(["-Wall", "-Wextra", "-o"]).arg(&program);
    let rpath = format!("-Wl,-rpath,{}", mpich.join("lib").display());
    assert!(compile.arg(source).arg(rpath).status().unwrap().success());
    program
}

/// Makes a `bcs run` of the program.
fn run(options: &str, program: &Path) -> Command {
    let mut command = bcs("run --timeout 100s");
    command.args(options.split_whitespace()).arg(program);
    command
}

/// Checks that a job is one of this number of ranks, with this number on each node.
fn is_one_job(command: Command, ranks: usize, on_node: usize) {
    let shown = format!("{command:?}");
    let output = Job::spawn(command).finish();
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        (output.status.code(), &*told),
        (Some(0), ""),
        "{shown}: {said}"
    );
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    let expected = (0..ranks).map(|rank| format!("rank {rank} of {ranks}, {on_node} on its node"));
    let mut expected: Vec<String> = expected.collect();
    expected.sort_unstable();
    assert_eq!(lines, expected, "{shown}");
}

#[test]
fn processes_of_mpich_are_one_job() {
    let Some(mpich) = peer_or_skip("mpich") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&mpich, folder.path());
    for (options, ranks, on_node) in [
        ("-n 1", 1, 1),
        ("-n 2", 2, 2),
        ("-n 2 --nodes 2 --fabric udp", 2, 1),
        ("-n 4 --nodes 4 --nic-threads coprocessor", 4, 1),
        ("-n 16 --nodes 2", 16, 8),
        ("-n 16 --nodes 4", 16, 4),
    ] {
        is_one_job(run(options, &program), ranks, on_node);
    }
    // A script may start the program, and another one after it.
    let mut command = bcs("run -n 2 --nodes 2 sh -c");
    command.arg("\"$0\" >&2; exec \"$0\"").arg(&program);
    let output = Job::spawn(command).finish();
    for said in [text(&output.stdout), text(&output.stderr)] {
        assert_eq!(
            said.matches(" of 2, 1 on its node").count(),
            2,
            "{output:?}"
        );
    }
}

#[test]
fn processes_of_intel_mpi_are_one_job() {
    let (Some(mpich), Some(intel)) = (peer_or_skip("mpich"), peer_or_skip("impi")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&mpich, folder.path());
    // Both libraries have one ABI. Intel's finds its libfabric by these variables.
    let libraries = intel.join("lib");
    for (options, ranks, on_node) in [("-n 2", 2, 2), ("-n 4 --nodes 2", 4, 2)] {
        let mut command = run(options, &program);
        command.env("LD_LIBRARY_PATH", &libraries);
        command.env("FI_PROVIDER_PATH", &libraries);
        command.env("FI_PROVIDER", "tcp");
        is_one_job(command, ranks, on_node);
    }
}

#[test]
fn processes_of_mpich_on_two_hosts_are_one_job() {
    let Some(mpich) = peer_or_skip("mpich") else {
        return;
    };
    let joined = NetworkKind::Bridge;
    let Some(network) = TestNetwork::make_or_skip(2, NetworkOptions { joined, mtu: 1500 }) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&mpich, folder.path());
    let mut command = bcs("run -n 4 --timeout 100s --fabric udp --launcher");
    command.args(["ip netns exec {host}", "--hosts"]);
    command.arg(network.hosts().join(",")).arg(program);
    is_one_job(command, 4, 2);
}

#[test]
fn gets_are_answered_on_the_node() {
    let Some(mpich) = peer_or_skip("mpich") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&mpich, folder.path());
    let command = run("-v -n 8 --nodes 4 --nic-threads coprocessor", &program);
    let told = text(&Job::spawn(command).finish().stderr);
    let lines = told
        .lines()
        .filter_map(|line| line.split_once(" PMI gets, and has sent "));
    let counts = lines.map(|(gets, sent)| {
        let gets = gets.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
        let sent = sent.split(' ').next().unwrap().parse::<u64>().unwrap();
        (gets, sent)
    });
    let counts: Vec<(u64, u64)> = counts.collect();
    assert_eq!(counts.len(), 4, "{told}");
    for (gets, sent) in counts {
        // One message for each barrier.
        assert!(gets >= 2 && (1..=4).contains(&sent), "{told}");
    }
}

#[test]
fn each_end_of_a_process_of_mpich_ends_the_job_and_names_the_rank() {
    let Some(mpich) = peer_or_skip("mpich") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&mpich, folder.path());
    for (options, rank) in [
        ("-n 2", "rank 1 on node 0"),
        ("-n 4 --nodes 2", "rank 3 on node 1"),
    ] {
        for (end, code, how) in [
            ("abort", 7, "called MPI_Abort with code 7"),
            ("killed", 137, "was killed by signal 9 (SIGKILL)"),
            ("leaves", 1, "left without calling MPI_Finalize"),
        ] {
            let mut command = run(options, &program);
            command.arg(end);
            let output = Job::spawn(command).finish();
            let told = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{end} {options}: {told}");
            let last = told.lines().last().unwrap_or_default();
            assert!(
                last.contains(rank) && last.contains(how),
                "{end} {options}: {told}"
            );
            assert!(!told.contains("program of another MPI"), "{told}");
        }
    }
}

/// We do not know what such a program waits for.
#[test]
fn processes_of_mpich_that_wait_for_each_other_are_not_called_deadlocked() {
    let Some(mpich) = peer_or_skip("mpich") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&mpich, folder.path());
    let mut command = bcs("run -n 2 --timeout 3s");
    command.arg(&program).arg("waits");
    let output = Job::spawn(command).finish();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(124), "{told}");
    assert!(!told.contains("deadlock"), "{told}");
}
