//! `bcs bench`: a job, a table, two files.

use super::job::{Job, bcs, run, text};
use serde_json::Value;

const QUICK: &str = "--row-ms 3 --samples 3";

#[test]
fn rows_come_as_table_as_json_and_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = bcs(&format!(
        "bench -n 2 --ops latency --sizes 8 {QUICK} --json rows.json --svg rows.svg"
    ));
    command.current_dir(directory.path());
    let output = Job::spawn(command).finish();
    assert!(output.status.success(), "{output:?}");
    let stdout = text(&output.stdout);
    let line = stdout.lines().nth(3).unwrap();
    assert!(line.trim().starts_with("latency"), "{stdout}");

    let json = std::fs::read_to_string(directory.path().join("rows.json")).unwrap();
    let rows: Value = serde_json::from_str(&json).unwrap();
    let [row] = rows.as_array().unwrap().as_slice() else {
        panic!("one row: {json}");
    };
    assert_eq!(row["op"], "latency");
    assert_eq!(row["mode"], "untouched");
    assert_eq!(
        (&row["bytes"], &row["ranks"]),
        (&Value::from(8), &Value::from(2))
    );
    let figure = |name: &str| row[name].as_f64().unwrap();
    assert!(figure("us") > 0.0 && figure("us") < 1e6, "{json}");
    assert!(
        figure("q1") <= figure("us") && figure("us") <= figure("q3"),
        "{json}"
    );
    assert!(row["iterations"].as_u64().unwrap() > 0, "{json}");

    let svg = std::fs::read_to_string(directory.path().join("rows.svg")).unwrap();
    assert!(svg.contains("latency, 2 ranks"));
}

#[test]
fn every_operation_runs_in_all_modes() {
    let ops = "latency,bandwidth,rate,exchange,sendrecv,barrier,bcast,reduce,allreduce,alltoall";
    let output = run(
        &format!(
            "run -n 3 --nodes 2 bench --ops {ops} --sizes 0,8,8200 --mode untouched,touched,turns,fresh \
             --row-ms 1 --samples 1"
        ),
        "",
    );
    assert!(output.status.success(), "{output:?}");
    // Three operations with size 0, and eight with sizes 8 and 8200 in four modes; the rate in four
    // modes, and the barrier.
    let rows = text(&output.stdout).lines().count();
    assert_eq!(rows, 3 + 8 * 2 * 4 + 4 + 1, "{output:?}");
}

#[test]
fn whoever_waits_for_a_laggard_says_what_that_cost() {
    let output = run("run -n 2 bench --ops lag --row-ms 20 --samples 1", "");
    assert!(output.status.success(), "{output:?}");
    let row: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert!(row["us"].as_f64().unwrap() >= 10_000.0, "{row}");
    assert!(row["cpu_percent"].as_f64().unwrap() >= 0.0, "{row}");
}

#[test]
fn what_cannot_be_measured_is_one_line_and_nothing_started() {
    let see = "see `bcs bench --help`";
    for (arguments, expected) in [
        (
            "bench -n 1",
            "1 rank has nobody to talk to: give -n a number from 2",
        ),
        (
            "bench --ops reduce --sizes 3",
            &format!("nothing to measure: none of --ops takes one of --sizes; {see}"),
        ),
        (
            "bench --sizes 3G",
            &format!(
                "invalid value '3G' for '--sizes <BYTES>': give bytes as in 8, 64K or 4M, at most \
                 1024M; {see}"
            ),
        ),
        (
            "bench --output-dir x",
            "--output-dir is for `bcs run`: rows go to a table here, and to --json FILE",
        ),
        (
            "bench --svg /dev/null/x",
            "failed to write /dev/null/x: Not a directory (os error 20)",
        ),
        (
            "bench hello",
            &format!("unexpected argument 'hello' found; {see}"),
        ),
    ] {
        let output = run(arguments, "");
        assert_eq!(
            text(&output.stderr),
            format!("bcs: {expected}\n"),
            "bcs {arguments}"
        );
        assert_eq!(output.status.code(), Some(2), "bcs {arguments}");
        assert_eq!(text(&output.stdout), "", "bcs {arguments}");
    }
}

#[test]
fn help_teaches_by_example_and_the_examples_run() {
    let output = run("bench --help", "");
    let help = text(&output.stdout);
    let examples = help.split("Examples:\n").nth(1).unwrap();
    let examples = examples.split("\n\n").next().unwrap();
    assert_eq!(examples.lines().count(), 5);
    let empty = tempfile::tempdir().unwrap();
    for example in examples.lines() {
        let line = example.trim().strip_prefix("bcs ").unwrap();
        let line = line.split("  ").next().unwrap();
        // Unchanged, they take minutes.
        let mut command = bcs(&format!("{line} --row-ms 1 --samples 1"));
        if !line.contains("--sizes") {
            command.args(["--sizes", "8"]);
        }
        command.current_dir(empty.path());
        let output = Job::spawn(command).finish();
        assert!(output.status.success(), "{line}: {output:?}");
    }
    assert!(
        !help.contains("--stdin"),
        "what has no sense here is not shown"
    );
}
