//! The exit codes and messages of `bcs run`.

use super::job::{run, text};

/// Returns the message without the process id.
fn message(stderr: &[u8]) -> String {
    let stderr = text(stderr);
    match stderr.split_once("(pid ") {
        Some((before, after)) => {
            format!(
                "{before}(pid P{}",
                after.trim_start_matches(|c: char| c.is_ascii_digit())
            )
        }
        None => stderr,
    }
}

#[test]
fn a_failing_rank_ends_the_job_with_its_code_and_a_message() {
    for (nodes, driver) in [(1, "shared"), (1, "coprocessor"), (1, "dedicated")] {
        let line = format!("run -n 1 --nodes {nodes} --nic-threads {driver}");
        let output = run(&line, "exit 3");
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(
            message(&output.stderr),
            "bcs: rank 0 on node 0 (pid P) exited with code 3; the job of 1 rank was ended\n"
        );
    }
}

#[test]
fn a_rank_killed_by_a_signal_is_named_with_it() {
    let output = run("run -n 1", "kill -SEGV $$");
    assert_eq!(output.status.code(), Some(139));
    assert!(
        message(&output.stderr)
            .starts_with("bcs: rank 0 on node 0 (pid P) was killed by signal 11 (SIGSEGV)"),
        "{output:?}"
    );
}

#[test]
fn one_failing_rank_ends_the_others() {
    // Only rank 0 has an input.
    let script = "read line && exit 5; sleep 1000";
    let mut command = super::job::bcs("run -n 4 --nodes 2");
    command
        .args(["sh", "-c", script])
        .stdin(std::process::Stdio::piped());
    let mut job = super::job::Job::spawn(command);
    std::io::Write::write_all(&mut job.child().stdin.take().unwrap(), b"go\n").unwrap();
    let output = job.finish();
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(
        message(&output.stderr),
        "bcs: rank 0 on node 0 (pid P) exited with code 5; the job of 4 ranks was ended\n"
    );
}

#[test]
fn what_a_rank_wrote_comes_before_the_news_of_its_end() {
    let output = run(
        "run -n 1",
        "echo out; echo err >&2; printf unfinished >&2; exit 1",
    );
    assert_eq!(text(&output.stdout), "out\n");
    assert_eq!(
        message(&output.stderr),
        "err\nunfinished\n\
         bcs: rank 0 on node 0 (pid P) exited with code 1; the job of 1 rank was ended\n"
    );
}

/// Everything that needs a descriptor when there is none left.
#[test]
fn ranks_that_are_too_many_for_the_limit_of_open_files_are_an_error_with_advice() {
    for program in ["true", "hello"] {
        let script = format!(
            "ulimit -n 200; exec {} run -n 60 {program}",
            env!("CARGO_BIN_EXE_bcs")
        );
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &script])
            .env("XDG_CONFIG_HOME", "/dev/null");
        let output = super::job::Job::spawn(command).finish();
        let told = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(125 | 126)), "{told}");
        let last = told.lines().last().unwrap_or_default();
        let advised = last.contains("Too many open files") && last.contains("ulimit -Hn");
        assert!(advised, "{program}: {told}");
    }
}

#[test]
fn a_script_without_interpreter_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    std::fs::write(&script, "echo hi\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let output = run(&format!("run -n 2 {}", script.display()), "");
    assert_eq!(output.status.code(), Some(126));
    assert_eq!(
        text(&output.stderr),
        format!(
            "bcs: rank 0 on node 0 could not be started: {} is not in a format that can be \
             executed: if it is a script, its first line must name the interpreter (#!/bin/sh); \
             the job of 2 ranks was ended\n",
            script.display()
        )
    );
}

#[test]
fn a_timeout_ends_the_job() {
    let output = run("run -n 2 --nodes 2 --timeout 100ms sleep 1000", "");
    assert_eq!(output.status.code(), Some(124));
    assert_eq!(
        text(&output.stderr),
        "bcs: the time limit of 100ms was over; the job of 2 ranks was ended\n"
    );
}

#[test]
fn exit_codes_are_documented() {
    for arguments in ["help exit-codes", "exit-codes"] {
        let output = run(arguments, "");
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("124    the time of --timeout was over"));
    }
}
