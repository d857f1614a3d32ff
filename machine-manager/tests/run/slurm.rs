//! Jobs inside an allocation of Slurm, which `sbatch` starts.

use super::job::PATIENCE;
use super::program::fixture;
use super::slurm_cluster::SlurmCluster;
use std::fs;
use std::process::Stdio;
use std::time::Instant;

/// Runs a script in an allocation, and returns its exit code and all that it wrote. `$bcs` is the
/// command.
fn batch(cluster: &SlurmCluster, options: &[&str], script: &str) -> (Option<i32>, String) {
    let options = [&["--wait"], options].concat();
    let submitted = submission(cluster, &options, script).output().unwrap();
    let told = fs::read_to_string(cluster.at("output"));
    let told = told.unwrap_or_else(|error| format!("{error}: {submitted:?}"));
    (submitted.status.code(), told)
}

fn submission(cluster: &SlurmCluster, options: &[&str], script: &str) -> std::process::Command {
    let file = cluster.at("script");
    let bcs = env!("CARGO_BIN_EXE_bcs");
    let text = format!("#!/bin/sh\nbcs={bcs}\nexport XDG_CONFIG_HOME=/dev/null\n{script}\n");
    fs::write(&file, text).unwrap();
    let _ = fs::remove_file(cluster.at("output"));
    let mut command = cluster.command("sbatch", &["--parsable", "--output=output"]);
    command.args(options).arg(file);
    command
}

#[test]
fn an_allocation_is_the_hosts_and_the_ranks() {
    let Some(cluster) = SlurmCluster::start_or_skip() else {
        return;
    };
    let (code, told) = batch(&cluster, &["-N4", "-n8"], "$bcs run -v hello");
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told.matches("hello from rank").count(), 8, "{told}");
    for (node, host) in ["n1", "n2", "n3", "n4"].iter().enumerate() {
        let line = format!("bcs: the node manager of node {node} on host {host} is process");
        assert!(told.contains(&line), "{told}");
    }
    // srun's line for each node manager says nothing that a user could use.
    assert!(!told.contains("srun"), "{told}");

    // More ranks than tasks share the nodes, and options that name a place are obeyed.
    let script = "$bcs run -n 20 hello && $bcs run -n 2 --hosts localhost hello";
    let (code, told) = batch(&cluster, &["-N4"], script);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told.matches(" of 20").count(), 20, "{told}");
    assert_eq!(told.matches(" of 2\n").count(), 2, "{told}");

    // Ranks that ranks start are on all nodes of the allocation.
    let script = format!("$bcs run {} 6 ends", fixture("spawner").display());
    let (code, told) = batch(&cluster, &["-N4", "-n4"], &script);
    assert_eq!((code, &*told), (Some(0), ""));

    // A node of one's own needs no srun.
    let (code, told) = batch(&cluster, &["-N1", "-n3"], "PATH=/bin; $bcs run -v hello");
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told.matches(" of 3\n").count(), 3, "{told}");
    assert!(!told.contains("on host"), "{told}");

    // The exit code of the first rank that fails is the job's.
    let script = "$bcs run sh -c 'exit 7'";
    let (code, told) = batch(&cluster, &["-N2", "-n2"], script);
    assert_eq!(code, Some(7), "{told}");
    assert!(told.contains("exited with code 7"), "{told}");

    // Each task of a step is a job of its own.
    let script = "srun --overlap -N2 -n2 $bcs run hello";
    let (code, told) = batch(&cluster, &["-N2", "-n2"], script);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told.matches(" of 1\n").count(), 2, "{told}");
}

/// Slurm's plugin `pmi2` serves PMI-1, too. Its nodes are one host here, so they are one node.
#[test]
fn tasks_of_a_step_become_the_ranks_of_one_job() {
    let Some(cluster) = SlurmCluster::start_or_skip() else {
        return;
    };
    for layout in ["-N1 -n2", "-N2 -n4", "-N4 -n4"] {
        let script = format!("srun --overlap --mpi=pmi2 {layout} $bcs app hello");
        let (code, told) = batch(&cluster, &["-N4", "-n8"], &script);
        assert_eq!(code, Some(0), "{layout}: {told}");
        let ranks = layout.rsplit("-n").next().unwrap();
        let lines = told.matches(&format!(" of {ranks}\n")).count();
        assert_eq!(lines.to_string(), ranks, "{layout}: {told}");
    }
}

#[test]
fn a_cancelled_job_leaves_nothing() {
    let Some(cluster) = SlurmCluster::start_or_skip() else {
        return;
    };
    let mark = format!("slurm-{}", std::process::id());
    let script = format!("MARK_OF_TEST={mark} $bcs run sh -c 'echo up; sleep 1000'");
    let submitted = submission(&cluster, &["-N4", "-n8"], &script)
        .output()
        .unwrap();
    assert!(submitted.status.success(), "{submitted:?}");
    let number = String::from_utf8(submitted.stdout).unwrap();
    let told = || fs::read_to_string(cluster.at("output")).unwrap_or_default();
    until(
        "all ranks are up",
        || told().matches("up").count() == 8,
        told,
    );
    assert!(marked(&mark) >= 8);
    let mut cancel = cluster.command("scancel", &[number.trim()]);
    assert!(cancel.stdout(Stdio::null()).status().unwrap().success());
    until("all processes are gone", || marked(&mark) == 0, told);
    // Slurm ends the steps and the script in any order, so the reason is one of several.
    let says_so = || told().contains("the job of 8 ranks was ended");
    until("bcs run says so", says_so, told);
}

/// Counts the processes that have a mark in their environment.
fn marked(mark: &str) -> usize {
    let mark = format!("MARK_OF_TEST={mark}");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let environments = processes.filter_map(|one| fs::read(one.path().join("environ")).ok());
    let has_mark = |bytes: &Vec<u8>| {
        bytes
            .split(|&byte| byte == 0)
            .any(|one| one == mark.as_bytes())
    };
    environments.filter(has_mark).count()
}

/// Waits for what processes of others do.
fn until(what: &str, holds: impl Fn() -> bool, told: impl Fn() -> String) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}: {}", told());
        std::thread::yield_now();
    }
}
