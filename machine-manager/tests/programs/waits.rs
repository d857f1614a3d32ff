//! Deliberate waits of a program, and the causes that `bcs mds blame` finds for them. The program
//! reports by its own clock when it called and when it returned. Also checks that the records add
//! up to the time between the program's MPI_Init and MPI_Finalize.

use crate::program::fixture;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = include_str!("../../../fixtures/src/bin/waits.rs");

/// The share of a wait that has to be blamed on its cause.
const SHARE: f64 = 0.95;

/// The time that a program cannot measure itself: the path into the call, and out of it.
const MARGIN_NS: f64 = 300_000.0;

const TRIES: usize = 3;

const POSTED: &str = "posted late";
const SCHEDULED: &str = "scheduled late";
const MOVED: &str = "moved late";

/// A layout, and whether its messages and collectives go by NICs.
struct Layout {
    options: &'static str,
    by_nic: bool,
}

const LAYOUTS: [Layout; 4] = [
    Layout {
        options: "--nodes 1 --intranode smartmap",
        by_nic: false,
    },
    Layout {
        options: "--nodes 1 --intranode nic",
        by_nic: true,
    },
    Layout {
        options: "--nodes 2 --intranode smartmap",
        by_nic: true,
    },
    Layout {
        options: "--nodes 3 --nic-threads coprocessor",
        by_nic: true,
    },
];

/// A slice of 100 ms carries 1 MB.
const SLICES: &str = "--strobe fixed --time-slice 100ms --link-bandwidth 10MB";

/// All long data moves in one slice.
const ONE_SLICE: &str = "--time-slice 100ms --link-bandwidth 100GB";

/// Returns the line of the program with this comment.
fn place(comment: &str) -> String {
    let line = PROGRAM.lines().position(|line| line.ends_with(comment));
    format!("fixtures/src/bin/waits.rs:{}:", line.unwrap() + 1)
}

/// A call as its rank reports it.
#[derive(Clone, Copy, Debug)]
struct Call {
    called_ns: u64,
    returned_ns: u64,
}

/// The reports of a job, and the blame for its waits.
struct Told {
    calls: BTreeMap<(String, u32), Vec<Call>>,
    /// Causes, ranks, places, and the waiting in nanoseconds.
    blamed: Vec<(String, u32, String, u64)>,
    /// The expected times, by cause, rank and comment.
    expected: BTreeMap<(&'static str, u32, &'static str), u64>,
}

fn words(output: &Output) -> Vec<Vec<String>> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    text.lines().map(words).collect()
}

fn run(options: &str, plants: &str, directory: &Path) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["run", "--timeout", "60s", "-n", "3", "--mds"])
        .arg(directory)
        .args(options.split_whitespace())
        .arg(fixture("waits"))
        .args(plants.split_whitespace())
        .env("XDG_CONFIG_HOME", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{options}: {output:?}");
    output
}

impl Told {
    fn by(options: &str, plants: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let output = run(options, plants, directory.path());
        let mut calls: BTreeMap<_, Vec<Call>> = BTreeMap::new();
        for line in words(&output) {
            let [plant, called, returned, _, rank] = &line[..] else {
                continue;
            };
            let [called_ns, returned_ns] = [called, returned].map(|word| word.parse().unwrap());
            let call = Call {
                called_ns,
                returned_ns,
            };
            let key = (plant.clone(), rank.parse().unwrap());
            calls.entry(key).or_default().push(call);
        }
        Self {
            calls,
            blamed: blamed(directory.path()),
            expected: BTreeMap::new(),
        }
    }

    fn calls(&self, plant: &str, rank: u32) -> Vec<Call> {
        self.calls[&(plant.to_owned(), rank)].clone()
    }

    /// Expects that rank `who` waited in each call of a plant for the call of another rank. The
    /// time after the post is blamed on `then`, and on the rank that posted last if that is a
    /// strobe.
    fn waits(
        &mut self,
        who: (&str, u32, &'static str),
        of: (&str, u32, &'static str),
        then: &'static str,
    ) {
        let both = self
            .calls(who.0, who.1)
            .into_iter()
            .zip(self.calls(of.0, of.1));
        for (own, other) in both {
            if other.called_ns > own.returned_ns {
                continue;
            }
            let posted_ns = own.called_ns.max(other.called_ns);
            *self.expected.entry((POSTED, of.1, of.2)).or_default() += posted_ns - own.called_ns;
            let (_, rank, place) = match then == SCHEDULED && own.called_ns > other.called_ns {
                true => who,
                false => of,
            };
            *self.expected.entry((then, rank, place)).or_default() += own.returned_ns - posted_ns;
        }
    }

    fn expected_of(&self, cause: &'static str) -> u64 {
        let of_cause = self.expected.iter().filter(|((of, ..), _)| *of == cause);
        of_cause.map(|(_, ns)| ns).sum()
    }

    /// Checks that each wait for this cause is blamed on it, the rank and the place, and on no
    /// other rank there. Returns the first wait that is not.
    fn hold(&self, cause: &'static str, layout: &str) -> Result<(), String> {
        let of_cause = self.expected.iter().filter(|((of, ..), _)| *of == cause);
        for (&(_, rank, comment), &expected_ns) in of_cause {
            let place = place(comment);
            let there = self
                .blamed
                .iter()
                .filter(|(of, _, at, _)| of == cause && at.contains(&place));
            let (own, all) = there.fold((0, 0), |(own, all), (_, who, _, ns)| {
                (own + if *who == rank { *ns } else { 0 }, all + ns)
            });
            let expected = expected_ns as f64;
            let said = format!(
                "{layout}: {cause} by rank {rank} at {comment}: {own} ns of {expected_ns}, {all} in all: {:?}",
                self.blamed
            );
            if (own as f64) < SHARE * expected - MARGIN_NS {
                return Err(format!("too little: {said}"));
            }
            if own as f64 * SHARE > expected + MARGIN_NS {
                return Err(format!("too much: {said}"));
            }
            if (own as f64) < SHARE * all as f64 - MARGIN_NS {
                return Err(format!("others, too: {said}"));
            }
        }
        Ok(())
    }
}

/// Checks that one job out of a few meets all conditions. Between reading the clock and the call, a
/// rank may lose its core to another program for milliseconds, and no record can show that.
fn one_holds(job: impl Fn() -> Result<(), String>) {
    let mut missed = Vec::new();
    while let Err(what) = job() {
        missed.push(what);
        assert!(missed.len() < TRIES, "{missed:#?}");
    }
}

/// Returns the output of `bcs mds WHAT --json`.
fn mds(what: &str, directory: &Path) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_bcs"))
        .args(["mds", what, "--json"])
        .arg(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn blamed(directory: &Path) -> Vec<(String, u32, String, u64)> {
    let said = mds("blame", directory);
    let culprits = said["culprits"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    culprits
        .map(|one| {
            let rank = u32::try_from(one["rank"].as_u64().unwrap()).unwrap();
            let waited_ns = one["waited_ns"].as_u64().unwrap();
            (text(&one["cause"]), rank, text(&one["place"]), waited_ns)
        })
        .collect()
}

fn late(told: &mut Told, then: &'static str) {
    told.waits(("late", 2, ""), ("late", 0, "// the late send"), then);
    told.waits(("behind", 2, ""), ("behind", 0, "// the one behind"), then);
    for (plant, comment) in [
        ("barrier", "// the barrier"),
        ("allreduce", "// the sum"),
        ("bcast", "// the broadcast"),
        ("gather", "// the gather"),
    ] {
        for who in [0, 2] {
            told.waits((plant, who, comment), (plant, 1, comment), then);
        }
    }
}

#[test]
fn who_computes_too_long_has_posted_late_on_both_roads() {
    for Layout { options, .. } in LAYOUTS {
        one_holds(|| {
            let mut told = Told::by(options, "late behind collectives");
            // Check only the time before the post: the time after it is some microseconds.
            late(&mut told, MOVED);
            let all = told.expected_of(POSTED);
            assert!(
                all > 150_000_000,
                "{options}: ten waits of 20 ms were {all} ns"
            );
            told.hold(POSTED, options)
        });
    }
}

#[test]
fn what_waits_for_a_strobe_or_a_budget_is_scheduled_late() {
    for Layout { options, by_nic } in LAYOUTS.into_iter().take(3) {
        one_holds(|| {
            let mut told = Told::by(&format!("{SLICES} {options}"), "late budget strobe");
            let (send, receive) = ("// the late send", "// the early receive");
            told.waits(("late", 2, receive), ("late", 0, send), SCHEDULED);
            let (send, receive) = ("// the long send", "// the long receive");
            told.waits(("budget", 2, receive), ("budget", 0, send), SCHEDULED);
            told.waits(("budget", 0, send), ("budget", 2, receive), SCHEDULED);
            let (send, receive) = ("// the send there", "// the receive there");
            told.waits(("there", 2, receive), ("there-send", 0, send), SCHEDULED);
            let (send, receive) = ("// the send back", "// the receive here");
            told.waits(("back", 0, receive), ("back-send", 2, send), SCHEDULED);
            told.hold(POSTED, options)?;
            if !by_nic {
                let scheduled = told.blamed.iter().find(|(cause, ..)| cause == SCHEDULED);
                assert_eq!(scheduled, None, "no strobe is waited for within a node");
                return Ok(());
            }
            let all = told.expected_of(SCHEDULED);
            assert!(
                all > 2_000_000_000,
                "{options}: 20 slices of two ranks, and more, were {all} ns"
            );
            told.hold(SCHEDULED, options)
        });
    }
}

#[test]
fn what_takes_long_to_move_is_moved_late_on_both_roads() {
    for Layout { options, .. } in LAYOUTS {
        one_holds(|| {
            let mut told = Told::by(&format!("{ONE_SLICE} {options}"), "long");
            let (send, receive) = ("// the send that moves", "// the receive that moves");
            told.waits(("long", 2, receive), ("long", 0, send), MOVED);
            told.waits(("long", 0, send), ("long", 2, receive), MOVED);
            told.hold(MOVED, options)
        });
    }
}

/// Returns the relative difference between a rank's records and its own measurement, of the rank
/// where that is greatest.
fn off(options: &str) -> f64 {
    let directory = tempfile::tempdir().unwrap();
    let output = run(options, "steps", directory.path());
    let report = mds("report", directory.path());
    let mut elapsed_ns = [0.0; 3];
    for line in words(&output) {
        if let [word, ns, _, rank] = &line[..]
            && word == "elapsed"
        {
            elapsed_ns[rank.parse::<usize>().unwrap()] = ns.parse().unwrap();
        }
    }
    let off = elapsed_ns.iter().enumerate().map(|(rank, elapsed_ns)| {
        let rank = &report["ranks"][rank];
        let total = |of: &serde_json::Value| of["total"].as_f64().unwrap();
        let all =
            total(&rank["computation_granularity_ns"]) + total(&rank["communication_overhead_ns"]);
        // The program reads the clock before it calls that.
        let finalize = total(&rank["primitives"]["MPI_Finalize"]["latency_ns"]);
        (all - finalize - elapsed_ns).abs() / elapsed_ns
    });
    off.fold(0.0, f64::max)
}

/// The time between reading the clock and the call beside it is in neither, and other programs want
/// the cores.
#[test]
fn computation_and_communication_add_up_to_what_the_program_measures() {
    for Layout { options, .. } in LAYOUTS {
        let mut tries = Vec::new();
        while tries.len() < 5 && tries.last().is_none_or(|off| *off > 0.001) {
            tries.push(off(options));
        }
        assert!(
            tries.last().is_some_and(|off| *off <= 0.001),
            "{options}: {tries:?}"
        );
    }
}
