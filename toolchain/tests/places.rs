//! Tests erroneous programs in C (`tests/wrong`). Each one ends with a message that names the line,
//! within one node and between two nodes. Without line information the message names the function.

mod installed;

use std::fs;
use std::path::Path;
use std::process::Command;

use installed::{installed, said, succeeded};

/// A program, its possible exit codes, and its messages besides the lines.
type WrongProgram = (&'static str, &'static [i32], &'static [&'static str]);

const WRONG: [WrongProgram; 15] = [
    ("deadlock", &[123], &["waits for a message from rank"]),
    // Either a rank detects it, or one collective gets data of another one, and the job deadlocks.
    (
        "mismatched",
        &[1, 16, 123],
        &["different collectives", "did not call the same"],
    ),
    ("mismatched_nic", &[16], &["did not call the same"]),
    // The program chooses its exit code; the error is still reported.
    ("mismatched_ignored", &[0], &["did not call the same"]),
    ("leaked_request", &[0], &["not waited for"]),
    (
        "unmatched_send",
        &[0],
        &["not received a message from rank"],
    ),
    ("truncated", &[15], &["message truncated"]),
    ("missing_port", &[43], &["of ocean"]),
    // Two ranks lock each other's memory in a window.
    (
        "locked_windows",
        &[123],
        &["in the window \"table\", for which rank"],
    ),
    ("aborted", &[7], &["called MPI_Abort with code 7"]),
    // A handle is used after it was freed: both lines are named.
    (
        "freed_communicator",
        &[5],
        &["the communicator was freed before"],
    ),
    ("freed_datatype", &[3], &["the datatype was freed before"]),
    ("freed_group", &[9], &["the group was freed before"]),
    (
        "freed_operation",
        &[10],
        &["the operation was freed before"],
    ),
    ("freed_window", &[56], &["the window was freed before"]),
];

/// Programs that leave objects: the line that made each is named in a checked job.
const LEAVING: [WrongProgram; 1] = [("left_objects", &[0], &["not freed"])];

/// Returns whether a file has debug information, as `readelf` shows it.
fn has_debug_info(file: &Path) -> bool {
    let sections = succeeded(Command::new("readelf").arg("-SW").arg(file));
    sections.contains(".debug_line")
}

#[test]
fn wrong_programs_end_with_their_lines() {
    let folder = tempfile::tempdir().expect("there is room");
    let prefix = folder.path().join("installed here");
    installed(&prefix);
    for file in ["bin/bcs", "lib/libmpi_abi.so.1", "lib/libbcs_heap.so"] {
        assert!(!has_debug_info(&prefix.join(file)), "{file} is stripped");
    }
    for program in WRONG {
        ends_with_its_lines(folder.path(), &prefix, program, &[]);
    }
    for program in LEAVING {
        ends_with_its_lines(folder.path(), &prefix, program, &["--checked"]);
    }
}

/// Compiles a program with and without line information, and runs it in several layouts.
fn ends_with_its_lines(
    folder: &Path,
    prefix: &Path,
    (name, codes, words): WrongProgram,
    options: &[&str],
) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/wrong/{name}.c"));
    let text = fs::read_to_string(&source).expect("it is there");
    let lines = (1..).zip(text.lines());
    let of_mark = |mark: &str| -> Vec<String> {
        let marked = lines.clone().filter(|(_, line)| line.ends_with(mark));
        marked
            .map(|(number, _)| format!("{name}.c:{number}"))
            .collect()
    };
    let (all, any) = (of_mark("/* here */"), of_mark("/* here, or there */"));
    let program = folder.join(name);
    for debug in ["-g", "-g0"] {
        let mut compile = Command::new(prefix.join("bin/mpicc_abi"));
        compile.args([debug, "-O1", "-o"]);
        succeeded(compile.arg(&program).arg(&source));
        for layout in [
            &["--nodes", "1"][..],
            &["--nodes", "2"],
            &["--nodes", "2", "--copy-method", "queues"],
        ] {
            let mut run = Command::new(prefix.join("bin/mpiexec"));
            let run = run
                .args(["-n", "4", "--timeout", "60s"])
                .args(layout)
                .args(options)
                .arg(&program);
            let ended = run.output().expect("it runs");
            let says = said(&ended);
            let code = ended.status.code().expect("it ends by itself");
            assert!(codes.contains(&code), "{run:?}: {says}");
            let is_said = words.iter().any(|words| says.contains(words));
            assert!(is_said, "{run:?}: {says}");
            if debug == "-g" {
                assert!(
                    all.iter().all(|line| says.contains(line)),
                    "{run:?}: {says}"
                );
                let is_any = any.is_empty() || any.iter().any(|line| says.contains(line));
                assert!(is_any, "{run:?}: {says}");
            } else {
                assert!(says.contains("(in main)"), "{run:?}: {says}");
            }
        }
    }
}
