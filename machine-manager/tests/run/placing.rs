//! `--ppn`, `--bind`, `--wdir`, `--env`: where and with what ranks run.

use super::job::{run, text};

/// Lines of all ranks in the order of the ranks: each begins with its label.
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
    assert_eq!(text(&output.stderr), said);
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
