//! Programs that are slow for a known reason, and the cause that `bcs mds report` names.

use crate::program::fixture;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Other programs of the machine may be slower than any planted cause for once.
const TRIES: usize = 3;

/// A program of `fixtures/src/bin/slow.rs`, how it runs, and the cause that it must get.
struct Plant {
    name: &'static str,
    options: &'static str,
    cause: &'static str,
    /// The rank to blame.
    rank: Option<u64>,
    /// The end of the line to blame.
    place: Option<&'static str>,
}

const fn plant(name: &'static str, options: &'static str, cause: &'static str) -> Plant {
    Plant {
        name,
        options,
        cause,
        rank: None,
        place: None,
    }
}

impl Plant {
    const fn by_rank(self, rank: u64) -> Self {
        Self {
            rank: Some(rank),
            ..self
        }
    }

    const fn at(self, comment: &'static str) -> Self {
        Self {
            place: Some(comment),
            ..self
        }
    }
}

const PROGRAM: &str = include_str!("../../../fixtures/src/bin/slow.rs");

const FOUR: &str = "-n 4 --nodes 1";
const TWO: &str = "-n 2 --nodes 1";
const LONG_SLICES: &str = "-n 2 --nodes 2 --strobe fixed --time-slice 20ms";
const NARROW: &str = "-n 2 --nodes 2 --link-bandwidth 10MB";

fn bcs(words: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(words)
        .arg(path)
        .stdin(Stdio::null())
        .env("XDG_CONFIG_HOME", "/dev/null")
        .output()
        .unwrap()
}

/// Runs a program, and returns the diagnosis and the report.
fn told(plant: &Plant) -> (Value, String) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "120s", "--mds"])
        .arg(directory.path().join("dumps"))
        .args(plant.options.split_whitespace())
        .arg(fixture("slow"))
        .arg(plant.name)
        .arg(directory.path())
        .env("XDG_CONFIG_HOME", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {output:?}", plant.name);
    let dumps = directory.path().join("dumps");
    let json = bcs(&["mds", "report", "--json"], &dumps);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let report = bcs(&["mds", "report"], &dumps);
    let report = String::from_utf8(report.stdout).unwrap();
    (json["diagnosis"].clone(), report)
}

/// Returns why the diagnosis of the program is not the planted one.
fn missed(plant: &Plant) -> Option<String> {
    let (diagnosis, report) = told(plant);
    let largest = &diagnosis["largest"];
    let sentences: Vec<&str> = diagnosis["sentences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    let paragraph: Vec<&str> = report.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(
        paragraph.join(" "),
        sentences.join(" "),
        "the report begins with the answers"
    );
    assert!(
        paragraph.iter().all(|line| line.chars().count() <= 80),
        "{report}"
    );
    let line = plant.place.map(|comment| {
        let line = PROGRAM.lines().position(|line| line.ends_with(comment));
        format!("slow.rs:{}:", line.unwrap() + 1)
    });
    let place = largest["place"].as_str().unwrap_or_default();
    let right = largest["cause"] == plant.cause
        && plant.rank.is_none_or(|rank| largest["rank"] == rank)
        && line.is_none_or(|line| place.contains(&line));
    (!right).then(|| format!("{}: {diagnosis:#}", plant.name))
}

fn assert_named(plants: &[Plant]) {
    for plant in plants {
        let misses: Vec<String> = (0..TRIES).map_while(|_| missed(plant)).collect();
        assert!(
            misses.len() < TRIES,
            "{} is not {}: {}",
            plant.name,
            plant.cause,
            misses.join("\n")
        );
    }
}

#[test]
fn a_late_rank_is_named_with_the_reason_for_its_lateness() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let mut plants = vec![
        plant("imbalance", FOUR, "load imbalance").by_rank(3),
        plant("file", TWO, "I/O in one rank").by_rank(1),
        plant("root", FOUR, "serialised root").by_rank(0),
    ];
    // A rank on the only core has no faster one beside it.
    if cores > 1 {
        plants.push(plant("slow-core", TWO, "slow core").by_rank(1));
    }
    assert_named(&plants);
}

#[test]
fn what_comes_late_in_turns_is_named_by_its_place() {
    assert_named(&[
        plant("late-sender", TWO, "late sender").at("// the late send"),
        plant("late-receiver", TWO, "late receiver").at("// the late receive"),
        plant("barrier", FOUR, "wait at barrier").at("// the barrier"),
    ]);
}

#[test]
fn slices_bandwidth_and_small_messages_are_told_apart() {
    assert_named(&[
        plant("slices", LONG_SLICES, "slices too long"),
        plant("bandwidth", NARROW, "bandwidth"),
        plant("small", TWO, "many small messages"),
    ]);
}

#[test]
fn more_ranks_than_cores_are_told_and_nothing_wrong_is_said_to_be_so() {
    let ranks = 4 * std::thread::available_parallelism().unwrap().get();
    let options = format!("-n {ranks} --nodes 1").leak();
    assert_named(&[
        plant("oversubscribed", options, "more ranks than cores"),
        plant("nothing", TWO, "nothing wrong"),
    ]);
}
