//! Tests erroneous programs in C (`tests/wrong`). Each one ends with a message that names the line,
//! within one node and between two nodes. Without line information the message names the function.
//!
//! Programs in Python (`tests/wrong/python`) are run with each `python3` and `python3.N` that works
//! here. If there is none, they are skipped. They fail instead if `BCS_REQUIRE_PACKAGERS` is set,
//! as in `.ci/run`.

mod installed;

use std::env;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;

use installed::{installed, said, succeeded};

/// No program takes so long.
const LONG: [&str; 2] = ["--timeout", "60s"];

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

/// Ranks that do not wait are named with their last call when the time is over.
const COMPUTING: [WrongProgram; 1] = [(
    "computing",
    &[124],
    &["computes; its last call of MPI was at"],
)];

/// Programs in Python, with the options that they need. A line of them ends with the name of its
/// function, or with several if it depends on the version of Python: `# step|Solver.step`.
const WRONG_PYTHON: [WrongScript; 6] = [
    ("deadlock", 123, "waits for a message from rank", &[]),
    ("mapped", 123, "waits for a message from rank", &[]),
    ("aborted", 7, "called MPI_Abort with code 7", &[]),
    ("invalid", 6, "the communicator has no rank 77", &[]),
    ("left", 0, "not freed", &["--checked"]),
    ("mismatched", 8, "do not call the same", &["--checked"]),
];

/// A program, its exit code, its message, and options.
type WrongScript = (&'static str, i32, &'static str, &'static [&'static str]);

/// Versions of Python beside the one that is called `python3`.
const PYTHONS: RangeInclusive<u32> = 8..=20;

const REQUIRED: &str = "BCS_REQUIRE_PACKAGERS";

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
        ends_with_its_lines(folder.path(), &prefix, program, &LONG);
    }
    for program in LEAVING {
        ends_with_its_lines(
            folder.path(),
            &prefix,
            program,
            &["--timeout", "60s", "--checked"],
        );
    }
    for program in COMPUTING {
        ends_with_its_lines(folder.path(), &prefix, program, &["--timeout", "2s"]);
    }
    let versions = PYTHONS.map(|version| format!("python3.{version}"));
    let pythons: Vec<String> = ["python3".to_owned()]
        .into_iter()
        .chain(versions)
        .filter(|python| has_ctypes(python))
        .collect();
    assert!(
        !pythons.is_empty() || env::var_os(REQUIRED).is_none(),
        "there is no python3 with ctypes, and {REQUIRED} is set"
    );
    if pythons.is_empty() {
        eprintln!("skipped: there is no python3 with ctypes");
    }
    for python in pythons {
        for script in WRONG_PYTHON {
            script_ends_with_its_lines(&prefix, &python, script);
        }
    }
}

fn has_ctypes(python: &str) -> bool {
    let output = Command::new(python).args(["-c", "import ctypes"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Runs a program in Python in several layouts.
fn script_ends_with_its_lines(
    prefix: &Path,
    python: &str,
    (name, code, words, options): WrongScript,
) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong/python");
    let file = format!("{name}.py");
    let text = fs::read_to_string(folder.join(&file)).expect("it is there");
    let marked = (1..).zip(text.lines()).filter_map(|(number, line)| {
        let (_, functions) = line.split_once("  # ")?;
        let sites = functions.split('|');
        Some(sites.map(move |function| format!("{name}.py:{number} in {function}")))
    });
    let lines: Vec<Vec<String>> = marked.map(Iterator::collect).collect();
    assert!(!lines.is_empty(), "{file} has marks");
    for layout in [&["--nodes", "1"][..], &["--nodes", "2"]] {
        let mut run = Command::new(prefix.join("bin/mpiexec"));
        let run = run
            .args(["-n", "4", "--timeout", "60s"])
            .args(layout)
            .args(options)
            .args([python, "-B", &file])
            .current_dir(&folder);
        let ended = run.output().expect("it runs");
        let says = said(&ended);
        assert_eq!(ended.status.code(), Some(code), "{run:?}: {says}");
        assert!(says.contains(words), "{run:?}: {says}");
        for sites in &lines {
            let is_said = sites.iter().any(|site| says.contains(site));
            assert!(is_said, "{run:?}: none of {sites:?} in {says}");
        }
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
                .args(["-n", "4"])
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
