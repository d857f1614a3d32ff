//! `--checked`: reports wrong programs, with both sides and their lines, wherever their ranks are
//! and whichever transport they use; and reports nothing about right ones.

use crate::examples::example;
use crate::program::fixture;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Programs in which rank 1 receives other types than rank 0 has sent.
const MESSAGES: [&str; 12] = [
    "numbers",
    "posted-before",
    "long",
    "other-order",
    "bytes",
    "within-a-number",
    "from-anybody",
    "probed",
    "again-and-again",
    "exchanged",
    "buffered",
    "replaced",
];

/// Programs whose ranks do not call the same.
const CALLS: [&str; 11] = [
    "roots-of-broadcasts",
    "roots-of-started-broadcasts",
    "types-of-broadcasts",
    "operations",
    "roots-of-reductions",
    "scans",
    "types-of-gathers",
    "split-and-barrier",
    "started-and-not",
    "types-of-gathers-by-counts",
    "types-of-scatters-by-counts",
];

/// Programs in which a block has other types where it is given than where it is taken.
const BLOCKS: [&str; 14] = [
    "types-of-started-allgathers",
    "types-of-exchanges-by-counts",
    "types-of-started-exchanges-by-counts",
    "types-of-exchanges-by-types",
    "types-of-started-exchanges-by-types",
    "types-of-neighbors",
    "types-of-neighbors-by-counts",
    "types-of-neighbors-by-types",
    "types-of-started-neighbors",
    "types-of-gathers-from-neighbors",
    "columns-of-gathers-by-counts",
    "columns-of-started-scatters",
    "columns-of-allgathers-by-counts",
    "own-types-of-allgathers",
];

/// Programs whose rank 0 uses memory that a pending operation has.
const MISUSED: [&str; 25] = [
    "put-from-gotten",
    "two-gets",
    "received-into-put",
    "two-receives",
    "receive-into-sent",
    "send-from-received",
    "receive-that-blocks",
    "send-that-blocks",
    "buffered-from-received",
    "exchanged-from-received",
    "started-receives",
    "received-into-started",
    "common-columns",
    "sent-from-broadcast",
    "reduced-into-sent",
    "received-into-gathered",
    "gathered-by-counts",
    "exchanged-by-counts",
    "received-from-neighbors",
    "broadcast-that-blocks",
    "received-into-part",
    "received-into-ready-part",
    "replaced-received",
    "matched-into-received",
    "complete-but-not-waited-for",
];

/// Programs whose rank 0 writes what a pending operation sends or receives into.
const WRITTEN: [&str; 28] = [
    "written-put",
    "written-send",
    "written-and-tested",
    "written-long-send",
    "written-synchronous-send",
    "written-column",
    "written-started-send",
    "written-receive",
    "written-started-receive",
    "written-received",
    "written-part",
    "written-broadcast",
    "written-contribution",
    "written-block",
    "written-result",
    "written-result-in-place",
    "written-reduction",
    "written-scan",
    "written-sum-of-blocks",
    "written-sums-in-place",
    "written-gather",
    "written-gathered-block",
    "written-exchange",
    "written-exchanged-block",
    "written-scattered-block",
    "written-received-broadcast",
    "written-block-of-neighbors",
    "written-started-gather",
];

/// Legal programs that almost misuse a buffer.
const SHARED: [&str; 31] = [
    "two-puts-of-one-buffer",
    "put-from-gotten-after-a-flush",
    "written-after-a-flush",
    "two-sends",
    "beside-each-other",
    "columns-received",
    "column-sent-and-received",
    "after-a-wait",
    "after-a-test",
    "after-a-freed-request",
    "after-a-cancel",
    "started-and-written",
    "part-not-ready",
    "part-that-has-arrived",
    "written-beside-a-column",
    "reduced-in-place",
    "exchanged-in-place",
    "written-after-a-wait",
    "received-with-tests",
    "replaced-twice",
    "buffered-and-written",
    "no-process",
    "no-bytes",
    "broadcast-and-sent",
    "scattered-beside",
    "the-same-number-written",
    "peeked",
    "gathered-around",
    "collected-with-tests",
    "written-between-blocks",
    "read-after-a-peek",
];

/// Legal programs whose blocks have several types.
const LEGAL_BLOCKS: [&str; 8] = [
    "blocks-of-two-types",
    "empty-blocks-of-other-types",
    "columns-into-rows-by-counts",
    "columns-into-rows-by-types",
    "columns-gathered-into-rows",
    "neighbors-of-two-types",
    "exchanges-that-overlap",
    "counted-in-place",
];

/// One node and two, both transports.
const LAYOUTS: [&str; 4] = [
    "--nodes 1",
    "--nodes 1 --intranode nic",
    "--nodes 2",
    "--nodes 2 --fabric udp --strobe fixed",
];

/// The folder of the programs, as reports name it.
const FOLDER: &str = "fixtures/src/bin/checked/";

/// The number of jobs that run at a time.
const AT_ONCE: usize = 4;

/// Returns the exit code and the messages.
fn run(options: &str, program: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "120s"])
        .args(options.split_whitespace())
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

/// Returns the source text at the lines of the fixture that are named.
fn texts(said: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let places = said.match_indices(FOLDER).map(|(at, _)| &said[at..]);
    let text = |place: &str| {
        let (file, rest) = place.split_once(':')?;
        let line = rest.split(|it: char| !it.is_ascii_digit()).next()?;
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let line = text.lines().nth(line.parse::<usize>().ok()? - 1)?;
        Some(line.trim().to_owned())
    };
    places.filter_map(text).collect()
}

/// Returns the error in the report about a wrong program, if there is one.
fn judge(name: &str, layout: &str) -> Option<String> {
    let options = format!("-n 2 --checked {layout}");
    let (mut code, mut said) = run(&options, &fixture("checked"), &[name]);
    // The rank that gives the block may end the job before the other one has printed its error.
    for _ in 0..5 {
        if BLOCKS.contains(&name) && said.contains("with a datatype that cannot be used") {
            (code, said) = run(&options, &fixture("checked"), &[name]);
        }
    }
    let wanted = match name {
        name if MESSAGES.contains(&name) => "the types differ: rank 0 has sent",
        "columns-of-allgathers-by-counts" => "do not call the same: rank",
        name if BLOCKS.contains(&name) => "the types of a block differ: rank",
        name if MISUSED.contains(&name) => "of its buffer on, that the pending MPI_",
        name if WRITTEN.contains(&name) => "the program has written the buffer that MPI_",
        _ => "do not call the same: rank",
    };
    // Rank 1 may exchange with rank 0, which then gets the error, too.
    let is_told = said.contains(wanted) || said.contains(&wanted.replace("rank 0", "rank 1"));
    // Both ranks exchange blocks at one line, which is named for each of them.
    let places = match BLOCKS.contains(&name) {
        true => said.matches(FOLDER).count(),
        false => texts(&said).len(),
    };
    let right = code == Some(1) && is_told && places >= 2;
    (!right).then(|| format!("{name} {layout}: {code:?}, {:?}: {said}", texts(&said)))
}

#[test]
fn wrong_programs_are_named() {
    let jobs: Vec<_> = MESSAGES
        .iter()
        .chain(&CALLS)
        .chain(&BLOCKS)
        .chain(&MISUSED)
        .chain(&WRITTEN)
        .flat_map(|name| LAYOUTS.iter().map(move |layout| (*name, *layout)))
        .collect();
    all_pass(&jobs, judge);
}

/// Judges some jobs at a time, and reports all that are wrong.
fn all_pass(jobs: &[(&str, &str)], judge: impl Fn(&str, &str) -> Option<String> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some((name, layout)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = judge(name, layout); // Without the lock: others judge meanwhile.
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn legal_uses_of_buffers_are_silent() {
    let jobs: Vec<_> = SHARED
        .iter()
        .chain(&LEGAL_BLOCKS)
        .flat_map(|name| LAYOUTS.iter().map(move |layout| (*name, *layout)))
        .collect();
    all_pass(&jobs, |name, layout| {
        let options = format!("-n 2 --checked {layout}");
        let (code, said) = run(&options, &fixture("checked"), &[name]);
        let right = (code, &said[..]) == (Some(0), "");
        (!right).then(|| format!("{name} {layout}: {code:?}: {said}"))
    });
}

/// Nothing is checked without the option.
#[test]
fn other_types_are_the_programs_affair_without_it() {
    for layout in ["-n 2", "-n 2 --nodes 2"] {
        let (code, said) = run(layout, &fixture("checked"), &["numbers"]);
        assert_eq!((code, &said[..]), (Some(0), ""), "{layout}");
    }
}

/// A forked child that calls is reported, though the job goes on.
#[test]
fn a_forked_child_that_calls_is_told_of() {
    let (code, said) = run("-n 2 --checked", &fixture("checked"), &["forked"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("a forked child of rank 0, calls MPI_Send"),
        "{said}"
    );
}

#[test]
fn nothing_is_said_of_right_programs() {
    let layouts = [
        "-n 1",
        "-n 3",
        "-n 4 --nodes 2",
        "-n 5 --nodes 2 --intranode nic --strobe auto",
        "-n 4 --nodes 2 --eager-limit 0",
        "-n 5 --nodes 3 --fabric udp",
    ];
    for layout in layouts {
        let options = format!("--checked {layout}");
        for name in ["ring", "pi", "heat", "master_worker", "sample_sort", "halo"] {
            let (code, said) = run(&options, &example(name), &[]);
            assert_eq!((code, &said[..]), (Some(0), ""), "{name} {layout}");
        }
        let sage = ["--deck", "sedov", "--levels", "2", "--cycles", "6"];
        for (program, arguments) in [("sage", &sage[..]), ("sweep3d", &[])] {
            let (code, said) = run(&options, Path::new(program), arguments);
            assert_eq!((code, &said[..]), (Some(0), ""), "{program} {layout}");
        }
        let (code, said) = run(&options, &fixture("selftest"), &[]);
        assert_eq!((code, &said[..]), (Some(0), ""), "selftest {layout}");
    }
}
