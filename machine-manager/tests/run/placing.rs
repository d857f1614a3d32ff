//! `--ppn`, `--bind`, `--nic-cores`, `--wdir`, `--env`: where ranks and NICs run, and with what
//! environment.

use super::job::{Job, PATIENCE, managers_of, run, signal, text};
use bcs_core::job::{Cores, NicThreading, Placement};
use bcs_nic::driver::{ThreadPlacement, place_os_threads};
use machine_manager::cores::ranges;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Instant;

/// Returns the lines of all ranks in the order of the ranks: each begins with its label.
pub(crate) fn by_rank(stdout: &[u8]) -> Vec<String> {
    let stdout = text(stdout);
    let mut lines: Vec<String> = stdout.lines().map(String::from).collect();
    lines.sort_by_key(|line| {
        let number = line.trim_start_matches('[').split(']').next();
        number.and_then(|number| number.parse::<u32>().ok())
    });
    lines
}

#[test]
fn ppn_decides_the_nodes() {
    let output = run("run -n 5 --ppn 2 --report-bindings true", "");
    let stderr = text(&output.stderr);
    let nodes: Vec<&str> = stderr
        .lines()
        .filter(|line| line.starts_with("bcs: rank "))
        .map(|line| line.split(" may").next().unwrap())
        .collect();
    assert_eq!(
        nodes,
        [
            "bcs: rank 0 on node 0",
            "bcs: rank 1 on node 0",
            "bcs: rank 2 on node 1",
            "bcs: rank 3 on node 1",
            "bcs: rank 4 on node 2",
        ]
    );
    assert!(output.status.success());
}

#[test]
fn bound_ranks_run_on_the_core_that_is_reported() {
    let cores = machine_manager::cores::allowed();
    let output = run(
        "run -n 3 -l --bind core --report-bindings",
        "grep Cpus_allowed_list /proc/self/status | cut -f 2",
    );
    let core = |rank: usize| cores[rank % cores.len()];
    let ran: Vec<String> = (0..3)
        .map(|rank| format!("[{rank}] {}", core(rank)))
        .collect();
    assert_eq!(by_rank(&output.stdout), ran);
    let said: String = (0..3)
        .map(|rank| {
            format!(
                "bcs: rank {rank} on node 0 is bound to core {}\n",
                core(rank)
            )
        })
        .collect();
    let stderr = text(&output.stderr);
    let of_nics = stderr.strip_prefix(&said).expect(&stderr);
    let named = |line: &str| line.starts_with("bcs: OS thread bcs-");
    assert!(
        !of_nics.is_empty() && of_nics.lines().all(named),
        "{stderr}"
    );
}

/// Returns the OS threads of NICs of a job, and the cores that each may use.
fn nic_threads(job: &Job) -> BTreeMap<String, String> {
    let managers = job.left().into_iter().filter(managers_of(job));
    let pids = managers.map(|manager| manager.pid).chain([job.pid()]);
    let tasks = pids.filter_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).ok());
    tasks
        .flat_map(|tasks| tasks.filter_map(|task| of_nic(&task.ok()?.path())))
        .collect()
}

fn of_nic(task: &Path) -> Option<(String, String)> {
    let name = std::fs::read_to_string(task.join("comm")).ok()?;
    let status = std::fs::read_to_string(task.join("status")).ok()?;
    let mut lines = status.lines();
    let cores = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let name = name.trim().to_owned();
    name.starts_with("bcs-")
        .then(|| (name, cores.trim().to_owned()))
}

/// All cores in the order from the last to the first, and the last one alone.
#[test]
fn nic_threads_run_where_they_are_told_and_ranks_elsewhere() {
    let script = "grep Cpus_allowed_list /proc/self/status | cut -f 2; exec sleep 1000";
    let allowed = machine_manager::cores::allowed();
    let last = allowed[allowed.len() - 1];
    let all: Vec<usize> = allowed.iter().rev().copied().collect();
    for (driver, of_nics) in [
        (NicThreading::Shared, vec![last]),
        (NicThreading::Coprocessor, all),
        (NicThreading::Dedicated, vec![last]),
    ] {
        let list: Vec<String> = of_nics.iter().map(usize::to_string).collect();
        let line = format!(
            "run -n 2 --nodes 2 --nic-threads {} --nic-cores {} --report-bindings",
            driver.name(),
            list.join(",")
        );
        let mut job = Job::start(&line, script);
        let mut stdout = BufReader::new(job.child().stdout.take().unwrap()).lines();
        let left: Vec<usize> = allowed
            .iter()
            .filter(|&&core| core != last)
            .copied()
            .collect();
        let of_ranks = if of_nics.len() == allowed.len() {
            &allowed
        } else {
            &left
        };
        for _ in 0..2 {
            assert_eq!(stdout.next().unwrap().unwrap(), ranges(of_ranks), "{line}");
        }
        let cores = Cores {
            allowed: allowed.clone(),
            usable: allowed.len(),
            of_nics,
        };
        let placed = place_os_threads(driver, &Placement::block(2, 2).unwrap(), &cores);
        let core_of =
            |thread: &ThreadPlacement| (thread.name.clone(), thread.core.unwrap().to_string());
        let expected: BTreeMap<String, String> = placed.iter().map(core_of).collect();
        let start = Instant::now();
        while nic_threads(&job) != expected {
            assert!(
                start.elapsed() < PATIENCE,
                "{line}: {:?}",
                nic_threads(&job)
            );
            std::thread::yield_now();
        }
        signal(job.pid(), Signal::TERM);
        let stderr = text(&job.finish().stderr);
        for (name, core) in expected {
            let reported = format!("bcs: OS thread {name} is pinned to core {core}\n");
            assert!(stderr.contains(&reported), "{line}: {stderr}");
        }
    }
}

#[test]
fn who_is_not_pinned_is_said_with_the_reason() {
    let ranks = machine_manager::cores::usable();
    let output = run(&format!("run -n {ranks} --report-bindings true"), "");
    let expected = format!(
        "bcs: OS thread bcs-nic is not pinned: cores are short: ranks {ranks}, OS threads of NICs 1, \
         usable cores {ranks}\n"
    );
    assert!(text(&output.stderr).ends_with(&expected), "{output:?}");
}

#[test]
fn ranks_run_where_they_are_told_with_what_they_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let there = directory.path().canonicalize().unwrap();
    let line = format!(
        "run -n 2 -l --wdir {} --env BCS_A=1 --env BCS_B=b=c --env BCS_A=2",
        directory.path().display()
    );
    let output = run(&line, "echo $(pwd) $BCS_A $BCS_B");
    let there = there.display();
    assert_eq!(
        by_rank(&output.stdout),
        [format!("[0] {there} 2 b=c"), format!("[1] {there} 2 b=c")]
    );
}

#[test]
fn a_relative_program_is_found_where_bcs_runs_not_in_wdir() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/pwd", directory.path().join("tool")).unwrap();
    let mut command = super::job::bcs("run --wdir / ./tool");
    command.current_dir(directory.path());
    let output = super::job::Job::spawn(command).finish();
    assert_eq!(text(&output.stdout), "/\n", "{output:?}");
}
