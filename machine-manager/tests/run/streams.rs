//! `--stdin` and `--output-dir`.

use super::job::{Job, bcs, run, text};
use std::io::Write as _;
use std::process::{Output, Stdio};

fn with_input(arguments: &str, input: &[u8]) -> Output {
    let mut command = bcs(arguments);
    command.stdin(Stdio::piped());
    let mut job = Job::spawn(command);
    let mut stdin = job.child().stdin.take().unwrap();
    // There may be no reader.
    let _ = stdin.write_all(input);
    drop(stdin);
    job.finish()
}

#[test]
fn any_rank_may_read_the_input() {
    for nodes in [1, 2] {
        let line = format!("run -n 3 --nodes {nodes} --nic-threads coprocessor -l --stdin 2 cat");
        let output = with_input(&line, b"one\ntwo\n");
        assert_eq!(text(&output.stdout), "[2] one\n[2] two\n", "{output:?}");
    }
}

#[test]
fn nobody_need_read_the_input() {
    let output = with_input("run -n 2 -l --stdin none cat", b"one\n");
    assert_eq!(text(&output.stdout), "");
    assert!(output.status.success());
}

#[test]
fn all_ranks_may_read_the_input() {
    // More than the pipes can hold, so that all have to wait for each other.
    let input = "one line of many\n".repeat(20_000);
    for driver in ["shared", "coprocessor"] {
        let line = format!("run -n 3 --nodes 2 --nic-threads {driver} --stdin all");
        let mut command = bcs(&line);
        command.args(["sh", "-c", "cksum"]).stdin(Stdio::piped());
        let mut job = Job::spawn(command);
        let mut stdin = job.child().stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = job.finish();
        assert!(output.status.success(), "{output:?}");
        let stdout = text(&output.stdout);
        let sums: Vec<&str> = stdout.lines().collect();
        assert_eq!(sums.len(), 3, "{driver}");
        let len = input.len().to_string();
        assert!(
            sums.iter()
                .all(|sum| sum.ends_with(&len) && *sum == sums[0])
        );
    }
}

#[test]
fn a_rank_that_reads_no_more_is_not_waited_for() {
    let input = "x\n".repeat(200_000);
    let mut command = bcs("run -n 1 --stdin all true : -n 1 sh -c");
    command.arg("wc -c").stdin(Stdio::piped());
    let mut job = Job::spawn(command);
    let mut stdin = job.child().stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    assert_eq!(text(&job.finish().stdout).trim(), "400000");
}

#[test]
fn all_ranks_may_read_nothing() {
    let output = with_input("run -n 2 -l --stdin all cat", b"");
    assert_eq!(text(&output.stdout), "");
    assert!(output.status.success());
}

#[test]
fn ranks_write_into_files_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("made/on/the/way");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("rank.1.out"), "of the last run").unwrap();
    let line = format!("run -n 3 --nodes 2 -l --output-dir {}", place.display());
    let output = run(&line, "echo out; echo err >&2; printf unfinished");
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        Default::default()
    );
    for rank in 0..3 {
        let read = |name: &str| std::fs::read_to_string(place.join(name)).unwrap();
        assert_eq!(read(&format!("rank.{rank}.out")), "out\nunfinished");
        assert_eq!(read(&format!("rank.{rank}.err")), "err\n");
    }
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 6);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("rank.1.err")).unwrap();
    let line = format!("run -n 2 --output-dir {} cat", directory.path().display());
    let output = run(&line, "");
    assert_eq!(output.status.code(), Some(126));
    let stderr = text(&output.stderr);
    assert!(
        stderr.starts_with("bcs: rank 1 on node 0 could not be started: ")
            && stderr.contains("rank.1.err cannot be written: Is a directory"),
        "{stderr}"
    );
}
