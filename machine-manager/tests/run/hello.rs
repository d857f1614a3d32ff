//! The smallest program, on all sorts of clusters.

use super::job::{bcs, run, text};

fn hello(ranks: usize, nodes: usize, driver: &str) {
    let arguments = format!("run -n {ranks} --nodes {nodes} --nic-threads {driver} hello");
    let output = run(&arguments, "");
    assert!(output.status.success(), "{arguments}: {output:?}");
    assert_eq!(text(&output.stderr), "", "{arguments}");
    let stdout = text(&output.stdout);
    let mut lines: Vec<&str> = stdout.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..ranks)
        .map(|rank| format!("hello from rank {rank} of {ranks}"))
        .collect();
    expected.sort_unstable();
    assert_eq!(lines, expected, "{arguments}");
}

#[test]
fn every_rank_says_hello_with_every_driver() {
    for driver in ["shared", "coprocessor", "dedicated"] {
        for (ranks, nodes) in [(1, 1), (2, 1), (2, 2), (7, 3)] {
            hello(ranks, nodes, driver);
        }
    }
}

#[test]
fn sixty_four_ranks_on_four_nodes() {
    hello(64, 4, "shared");
}

#[test]
fn labels_name_the_rank() {
    let output = run("run -n 3 -l hello", "");
    let stdout = text(&output.stdout);
    let mut lines: Vec<&str> = stdout.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..3)
        .map(|rank| format!("[{rank}] hello from rank {rank} of 3"))
        .collect();
    assert_eq!(lines, expected);
}

#[test]
fn everything_after_the_program_belongs_to_it() {
    let output = run("run -n 1 echo -n 3 --nodes --help", "");
    assert_eq!(text(&output.stdout), "3 --nodes --help");
}

#[test]
fn rank_0_gets_the_input_and_the_others_none() {
    let mut command = bcs("run -n 3 -l cat");
    command.stdin(std::process::Stdio::piped());
    let mut job = super::job::Job::spawn(command);
    let mut stdin = job.child().stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"one\ntwo\n").unwrap();
    drop(stdin);
    let output = job.finish();
    assert_eq!(text(&output.stdout), "[0] one\n[0] two\n");
    assert!(output.status.success());
}

#[test]
fn dumps_of_nodes_name_one_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made/on/the/way");
    for driver in ["shared", "coprocessor"] {
        let line = format!(
            "run -n 2 --nodes 2 --nic-threads {driver} --mds {} hello",
            path.display()
        );
        let output = run(&line, "");
        assert!(output.status.success(), "{output:?}");
        let dumps = mds::dump::read_dir(&path)
            .unwrap()
            .require_complete()
            .unwrap();
        let nodes: Vec<(u32, bool)> = dumps
            .nodes
            .iter()
            .map(|dump| (dump.node, dump.global.is_some()))
            .collect();
        assert_eq!(nodes, [(0, true), (1, false)], "{driver}");
    }
}
