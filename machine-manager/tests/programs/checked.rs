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
const CALLS: [&str; 9] = [
    "roots-of-broadcasts",
    "roots-of-started-broadcasts",
    "types-of-broadcasts",
    "operations",
    "roots-of-reductions",
    "scans",
    "types-of-gathers",
    "split-and-barrier",
    "started-and-not",
];

/// One node and two, both transports.
const LAYOUTS: [&str; 4] = [
    "--nodes 1",
    "--nodes 1 --intranode nic",
    "--nodes 2",
    "--nodes 2 --fabric udp --strobe fixed",
];

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
    let folder = "fixtures/src/bin/checked/";
    let places = said.match_indices(folder).map(|(at, _)| &said[at..]);
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
    let (code, said) = run(&options, &fixture("checked"), &[name]);
    let wanted = match MESSAGES.contains(&name) {
        true => "the types differ: rank 0 has sent",
        false => "do not call the same: rank",
    };
    // Rank 1 may exchange with rank 0, which then gets the error, too.
    let is_told = said.contains(wanted) || said.contains(&wanted.replace("rank 0", "rank 1"));
    let right = code == Some(1) && is_told && texts(&said).len() >= 2;
    (!right).then(|| format!("{name} {layout}: {code:?}, {:?}: {said}", texts(&said)))
}

#[test]
fn wrong_programs_are_named() {
    let jobs: Vec<_> = MESSAGES
        .iter()
        .chain(&CALLS)
        .flat_map(|name| LAYOUTS.iter().map(move |layout| (*name, *layout)))
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some((name, layout)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(judge(name, layout));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
