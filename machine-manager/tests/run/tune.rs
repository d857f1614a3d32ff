//! `bcs tune`: runs, a table, files, and its end.

use super::job::{Job, PATIENCE, bcs, run, text};
use super::program::fixture;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

/// Returns a script that counts its runs in a file, and does something in each.
fn counting(then: &str) -> String {
    format!("echo run >> runs; n=$(wc -l < runs); {then}")
}

fn tune(directory: &Path, options: &str, script: &str) -> Job {
    let mut command = bcs(&format!("tune {options}"));
    command.args(["sh", "-c", script]).current_dir(directory);
    Job::spawn(command)
}

#[test]
fn a_slice_is_named_drawn_and_written() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("bcs.toml"),
        "# ours\nstrobe = \"fixed\"\ntime-slice = \"20ms\"\n",
    )
    .unwrap();
    let mut command = bcs(
        "tune -n 2 --nodes 2 --slices 20ms,50us --against --nodes=1 --runs 26 --json t.json --svg t.svg --write",
    );
    command.arg(fixture("grains")).args(["300", "8"]);
    command.current_dir(directory.path());
    let output = Job::spawn(command).finish();
    assert!(output.status.success(), "{output:?}");
    let stdout = text(&output.stdout);
    assert!(stdout.contains("Use --time-slice 50us: "), "{stdout}");
    assert!(
        stdout.contains("between blocking calls (median; "),
        "{stdout}"
    );
    assert!(
        !stdout.contains("grains\n"),
        "what the program writes goes nowhere: {stdout}"
    );
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    assert_eq!(
        read("bcs.toml"),
        "# ours\nstrobe = \"fixed\"\ntime-slice = \"50us\"\n"
    );
    let json: Value = serde_json::from_str(&read("t.json")).unwrap();
    let slice = |row: usize| &json["rows"][row]["setting"]["time_slice_ns"];
    assert_eq!((slice(0), slice(1)), (&50_000.into(), &20_000_000.into()));
    assert_eq!(json["rows"][2]["standing"], "reference");
    assert_eq!((&json["best"], &json["differ"]), (&0.into(), &true.into()));
    assert!(json["runs"].as_u64().unwrap() <= 26, "{json}");
    assert!(read("t.svg").contains("fixed strobes"));
}

#[test]
fn a_program_that_fails_with_what_is_in_effect_is_told_with_its_words() {
    let directory = tempfile::tempdir().unwrap();
    let job = tune(
        directory.path(),
        "-n 1 --slices 50us,1ms",
        "echo what >&2; exit 3",
    );
    let output = job.finish();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("what\n"), "{stderr}");
    assert!(
        stderr.ends_with("the program fails with what is in effect, with exit code 3\n"),
        "{stderr}"
    );
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn a_program_that_does_not_end_the_same_each_time_is_told_with_its_settings() {
    let directory = tempfile::tempdir().unwrap();
    let options = "-n 1 --timeout 1s --slices 50us,1ms --runs 12 --output out";
    let script = counting("echo $n; if [ $n = 3 ]; then while :; do :; done; fi");
    let output = tune(directory.path(), options, &script).finish();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stdout = text(&output.stdout);
    // The first run is the recorded one, so the third is the first run of the second setting.
    assert!(
        stdout.contains("\n--time-slice 1ms: 1 of 1 runs failed, with exit code 124: bcs: "),
        "{stdout}"
    );
    let written = std::fs::read_to_string(directory.path().join("out")).unwrap();
    assert!(written.starts_with("1\n2\n3\nbcs: "), "{written}");
}

#[test]
fn a_signal_ends_it_with_what_is_known_and_nothing_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let script = counting("if [ $n = 4 ]; then touch fourth; while :; do :; done; fi");
    let job = tune(
        directory.path(),
        "-n 1 --slices 50us,1ms --runs 20",
        &script,
    );
    let start = Instant::now();
    while !directory.path().join("fourth").exists() {
        assert!(start.elapsed() < PATIENCE, "there is no fourth run");
        std::thread::yield_now();
    }
    kill_process(Pid::from_raw(job.pid()).unwrap(), Signal::INT).unwrap();
    let output = job.finish();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let stdout = text(&output.stdout);
    assert!(
        stdout.contains("Ended before it was clear: this is what was known."),
        "{stdout}"
    );
    let rows = stdout.lines().filter(|line| line.contains('●')).count();
    assert_eq!(rows, 2, "{stdout}");
}

#[test]
fn what_cannot_be_tuned_is_one_line_and_nothing_started() {
    let see = "see `bcs tune --help`";
    for (arguments, expected) in [
        (
            "tune --slices 1ms hello",
            "one setting is nothing to choose from: give --slices a range",
        ),
        (
            "tune --slices 1ms,2ms --against --nodes=1 --runs 10 hello",
            "--runs 10 are too few for 4 settings: give at least 14",
        ),
        (
            "tune --slices 1ms,1s hello",
            "the time slice of 1s is out of range: choose one from 50us to 100ms",
        ),
        (
            "tune --slices 2ms-1ms hello",
            &format!(
                "invalid value '2ms-1ms' for '--slices <FIRST-LAST>': a range goes from a shorter slice to a longer \
                 one; {see}"
            ),
        ),
        (
            "tune --time-slice 1ms hello",
            "--time-slice is what is tried: say which by --slices",
        ),
        (
            "tune --mds x hello",
            "--mds is for `bcs run`: runs are compared as they are without",
        ),
        (
            "tune --against --nods=1 hello",
            &format!(
                "invalid value '--nods=1' for '--against <OPTIONS>': there is no option --nods (did you mean --nodes?); {see}"
            ),
        ),
        (
            "tune -n 2 --nodes 3 hello",
            "3 nodes cannot share 2 ranks: give at most as many nodes as ranks",
        ),
        (
            "tune --json /dev/null/x hello",
            "failed to write /dev/null/x: Not a directory (os error 20)",
        ),
        (
            "tune -n 2",
            "no program is named: say what to run, as in `bcs run -n 4 hello`",
        ),
    ] {
        let output = run(arguments, "");
        let stderr = text(&output.stderr);
        assert_eq!(stderr, format!("bcs: {expected}\n"), "bcs {arguments}");
        assert_eq!(output.status.code(), Some(2), "bcs {arguments}");
        assert_eq!(text(&output.stdout), "", "bcs {arguments}");
    }
}

#[test]
fn help_teaches_by_example_and_the_examples_run() {
    let output = run("tune --help", "");
    let help = text(&output.stdout);
    let examples = help.split("Examples:\n").nth(1).unwrap();
    let examples = examples.split("\n\n").next().unwrap();
    let examples: Vec<&str> = examples
        .lines()
        .filter_map(|line| line.trim().strip_prefix("bcs tune "))
        .collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        let empty = tempfile::tempdir().unwrap();
        let line = example.split("  ").next().unwrap();
        // Unchanged, they take a minute.
        let line = line.replace(" hello", " --lengths 2 --runs 20 hello");
        let mut shell = std::process::Command::new("sh");
        let bcs = env!("CARGO_BIN_EXE_bcs");
        shell.args(["-c", &format!("exec {bcs} tune {line}")]);
        shell
            .env("XDG_CONFIG_HOME", "/dev/null")
            .current_dir(empty.path());
        let output = Job::spawn(shell).finish();
        assert!(output.status.success(), "{line}: {output:?}");
        let stdout = text(&output.stdout);
        assert!(
            [
                "\nUse --",
                "\nStay with what is in effect (",
                "\nNo difference: "
            ]
            .iter()
            .any(|verdict| stdout.contains(verdict)),
            "{stdout}"
        );
    }
    assert!(
        !help.contains("--stdin"),
        "what has no sense here is not shown"
    );
}
