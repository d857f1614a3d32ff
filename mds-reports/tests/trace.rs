//! The exported trace, read back: it obeys the Trace Event Format, and holds exactly the contents
//! of the dump.

mod sample_run;

use std::collections::{BTreeMap, BTreeSet};

use mds::dump::{NONE, RunDumps};
use mds_reports::trace::{self, Moment, TraceWindow};
use serde_json::Value;

struct Trace {
    counts: trace::Counts,
    events: Vec<Value>,
}

fn traced(dumps: &RunDumps) -> Trace {
    let mut bytes = Vec::new();
    let counts = trace::write(dumps, TraceWindow::ALL, &mut bytes).unwrap();
    let trace: Value = serde_json::from_slice(&bytes).unwrap();
    Trace {
        counts,
        events: trace["traceEvents"].as_array().unwrap().clone(),
    }
}

impl Trace {
    fn of<'a>(&'a self, phase: &'a str, category: &'a str) -> impl Iterator<Item = &'a Value> {
        let events = self.events.iter();
        events.filter(move |event| event["ph"] == phase && event["cat"] == category)
    }
}

fn ns(microseconds: &Value) -> u64 {
    let ns = (microseconds.as_f64().unwrap() * 1e3).round();
    serde_json::from_str(&format!("{ns:.0}")).unwrap()
}

fn track(event: &Value) -> (u64, u64) {
    (
        event["pid"].as_u64().unwrap(),
        event["tid"].as_u64().unwrap(),
    )
}

#[test]
fn every_event_has_a_phase_a_name_and_a_track_that_is_named() {
    let trace = traced(&sample_run::dumps());
    let names = trace
        .events
        .iter()
        .filter(|event| event["name"] == "thread_name");
    let named: BTreeSet<(u64, u64)> = names.map(track).collect();
    for event in &trace.events {
        let phase = event["ph"].as_str().unwrap();
        assert!(["M", "X", "i", "s", "f"].contains(&phase), "{event}");
        assert!(!event["name"].as_str().unwrap().is_empty(), "{event}");
        assert!(named.contains(&track(event)), "{event}");
        match phase {
            "X" => assert!(event["dur"].as_f64().unwrap() >= 0.0, "{event}"),
            "i" => assert_eq!(event["s"], "t", "{event}"),
            "f" => assert_eq!(event["bp"], "e", "{event}"),
            _ => {}
        }
    }
    let threads: BTreeSet<String> = trace
        .events
        .iter()
        .filter(|event| event["ph"] == "M")
        .map(|event| event["args"]["name"].to_string())
        .collect();
    for name in [
        "job",
        "strobes",
        "node 2",
        "microphases",
        "NIC thread DH",
        "rank 5",
    ] {
        assert!(
            threads.contains(&format!("{name:?}")),
            "{name} in {threads:?}"
        );
    }
}

#[test]
fn times_are_in_order_and_begin_with_the_run() {
    let trace = traced(&sample_run::dumps());
    let times = trace
        .events
        .iter()
        .filter(|event| event["ph"] != "M")
        .map(|event| ns(&event["ts"]));
    let times: Vec<u64> = times.collect();
    assert!(times.is_sorted());
    assert_eq!(
        times[0], 2_000,
        "the first receives are posted 2 us after the run began"
    );
}

#[test]
fn bars_of_a_track_are_one_after_or_in_the_other() {
    let trace = traced(&sample_run::dumps());
    let mut open: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    for event in trace.events.iter().filter(|event| event["ph"] == "X") {
        let (begun, ended) = (ns(&event["ts"]), ns(&event["ts"]) + ns(&event["dur"]));
        let stack = open.entry(track(event)).or_default();
        stack.retain(|around| *around > begun);
        assert!(
            stack.last().is_none_or(|around| ended <= *around),
            "{event}"
        );
        stack.push(ended);
    }
}

#[test]
fn it_holds_exactly_the_slices_calls_and_messages_of_the_dump() {
    let dumps = sample_run::dumps();
    let trace = traced(&dumps);
    let began_ns = dumps.began_ns();
    let expected: Vec<(u64, u64)> = dumps.nodes[0]
        .global
        .iter()
        .flat_map(|global| &global.strobes)
        .map(|row| (row.slice, row.strobe_ns - began_ns))
        .collect();
    let found: Vec<(u64, u64)> = trace
        .of("X", "strobe")
        .map(|event| (event["args"]["slice"].as_u64().unwrap(), ns(&event["ts"])))
        .collect();
    assert_eq!(found, expected);

    let rows = dumps.nodes.iter().flat_map(|node| {
        node.slices
            .iter()
            .map(|row| (u64::from(node.node) + 1, row.slice))
    });
    let expected: BTreeSet<(u64, u64)> = rows.collect();
    let found = trace.of("X", "slice");
    let found: Vec<(u64, u64)> = found
        .map(|event| (track(event).0, event["args"]["slice"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        (found.len(), found.iter().copied().collect()),
        (expected.len(), expected)
    );

    let calls: usize = dumps.ranks.iter().map(|rank| rank.calls.len()).sum();
    assert_eq!(trace.of("X", "call").count(), calls);
    let messages: Vec<(u64, u64, u64)> = dumps
        .ranks
        .iter()
        .flat_map(|rank| {
            rank.messages
                .iter()
                .map(|row| (row.posted_ns, row.peer, row.ordinal))
        })
        .collect();
    let mut found: Vec<(u64, u64, u64)> = trace
        .of("i", "message")
        .map(|event| {
            let figure = |name: &str| event["args"][name].as_u64().unwrap();
            let peer = event["args"]["peer"].as_str().unwrap();
            let peer = peer.strip_prefix("rank ").unwrap().parse().unwrap();
            let road = event["args"]["road"].as_str().unwrap();
            assert!(["NIC", "SMARTMAP"].contains(&road), "{road}");
            assert_eq!(event["args"]["context"], "MPI_COMM_WORLD");
            (figure("posted_ns"), peer, figure("ordinal"))
        })
        .collect();
    let mut expected = messages.clone();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    let counts = trace.counts;
    let slices: usize = dumps.nodes.iter().map(|node| node.slices.len()).sum();
    assert_eq!(
        (counts.slices, counts.calls, counts.messages),
        (slices, calls, messages.len())
    );
}

#[test]
fn arrows_join_both_sides_of_each_message() {
    let dumps = sample_run::dumps();
    let trace = traced(&dumps);
    let ends = |phase: &'static str| {
        let ends = trace.of(phase, "message");
        let ends: BTreeMap<u64, &Value> = ends
            .map(|event| (event["id"].as_u64().unwrap(), event))
            .collect();
        ends
    };
    let (from, to) = (ends("s"), ends("f"));
    assert_eq!(from.len(), 6 * usize::try_from(sample_run::STEPS).unwrap());
    assert_eq!(from.len(), trace.counts.arrows);
    assert_eq!(
        from.keys().collect::<Vec<_>>(),
        to.keys().collect::<Vec<_>>()
    );
    let rank = |event: &Value| (track(event).1 - 100) / 64;
    for (id, from) in &from {
        let to = to[id];
        assert_eq!(
            (rank(from) + 1) % 6,
            rank(to),
            "from each rank to its right"
        );
        assert!(ns(&from["ts"]) <= ns(&to["ts"]), "{from} {to}");
        for end in [from, &to] {
            let at = ns(&end["ts"]);
            let mut calls = trace
                .of("X", "call")
                .filter(|call| track(call) == track(end));
            let within = |call: &Value| {
                let begun = ns(&call["ts"]);
                (begun..=begun + ns(&call["dur"])).contains(&at)
            };
            assert!(calls.any(within), "an arrow ends at a call: {end}");
        }
    }
}

#[test]
fn a_call_that_never_returned_lasts_to_the_end_and_one_sided_messages_have_no_arrow() {
    let mut dumps = sample_run::dumps();
    dumps.ranks.truncate(2);
    let last = dumps.ranks[0].calls.last_mut().unwrap();
    last.ended_ns = NONE;
    let begun_ns = last.begun_ns;
    let trace = traced(&dumps);
    let (began_ns, ended_ns) = mds_reports::figures::span_ns(&dumps);
    let mut unreturned = trace
        .of("X", "call")
        .filter(|call| call["args"]["returned"] == false);
    let call = unreturned.next().unwrap();
    assert_eq!(ns(&call["ts"]) + ns(&call["dur"]), ended_ns - began_ns);
    assert_eq!(ns(&call["ts"]), begun_ns - began_ns);
    assert!(unreturned.next().is_none());
    assert_eq!(
        trace.counts.arrows,
        usize::try_from(sample_run::STEPS).unwrap(),
        "from 0 to 1"
    );
}

#[test]
fn a_window_keeps_what_overlaps_it_with_both_ends_of_arrows() {
    let dumps = sample_run::dumps();
    let moment = |text: &str| Some(text.parse::<Moment>().unwrap());
    let window = TraceWindow::between(&dumps, moment("10ms"), moment("12.5ms")).unwrap();
    let mut bytes = Vec::new();
    let counts = trace::write(&dumps, window, &mut bytes).unwrap();
    let written: Value = serde_json::from_slice(&bytes).unwrap();
    let events = written["traceEvents"].as_array().unwrap();
    let mut ends = [0, 0];
    for event in events.iter().filter(|event| event["ph"] != "M") {
        let from = event["ts"].as_f64().unwrap();
        let to = from + event["dur"].as_f64().unwrap_or(0.0);
        let arrow = match event["ph"].as_str().unwrap() {
            "s" => Some(0),
            "f" => Some(1),
            _ => None,
        };
        match arrow {
            Some(end) => ends[end] += 1,
            None => assert!(from <= 12_500.0 && to >= 10_000.0, "{event}"),
        }
    }
    assert_eq!(ends, [counts.arrows; 2]);
    let all = trace::write(&dumps, TraceWindow::ALL, &mut std::io::sink()).unwrap();
    assert!(
        counts.calls > 0 && counts.calls < all.calls,
        "{counts:?} of {all:?}"
    );
    assert!(counts.arrows > 0 && counts.slices > 0, "{counts:?}");
    // A window of slices ends with the strobe of the next one.
    let slices = TraceWindow::between(&dumps, moment("18"), moment("20")).unwrap();
    let counts = trace::write(&dumps, slices, &mut std::io::sink()).unwrap();
    assert!((3..=4).contains(&counts.strobes), "{counts:?}");
    let error = TraceWindow::between(&dumps, moment("100000"), None).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no slice from number 100000 on"),
        "{error}"
    );
}

/// The grammar of Paraver's manual: a head, and records of three kinds in the order of their times.
#[test]
fn a_paraver_trace_holds_the_calls_and_messages_of_the_dump() {
    let dumps = sample_run::dumps();
    let directory = tempfile::tempdir().unwrap();
    let paths = mds_reports::export::write_paraver(&dumps, &directory.path().join("run")).unwrap();
    let [records, names, rows] = &paths[..] else {
        panic!("{paths:?}");
    };
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let records = read(records);
    let (head, records) = records.split_once('\n').unwrap();
    assert!(
        head.starts_with("#Paraver (") && head.ends_with(":3(2,2,2):1:6(1:1,1:1,1:2,1:2,1:3,1:3)"),
        "{head}"
    );
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let mut last = 0;
    for record in records.lines() {
        let words: Vec<&str> = record.split(':').collect();
        assert!(
            words.iter().all(|word| word.parse::<u64>().is_ok()),
            "{record}"
        );
        let length = [("1", 8), ("2", 8), ("3", 15)]
            .into_iter()
            .find(|(kind, _)| *kind == words[0]);
        assert_eq!(words.len(), length.unwrap().1, "{record}");
        let at: u64 = words[5].parse().unwrap();
        assert!(at >= last, "{record}");
        last = at;
        *kinds.entry(words[0]).or_default() += 1;
    }
    let calls: usize = dumps.ranks.iter().map(|rank| rank.calls.len()).sum();
    assert_eq!(kinds["2"], 2 * calls);
    assert_eq!(kinds["3"], traced(&dumps).counts.arrows);
    assert!(kinds["1"] >= calls, "{kinds:?}");
    assert!(read(names).contains("\tMPI_Barrier\n"));
    assert!(read(rows).contains("LEVEL THREAD SIZE 6\nrank 0\n"));
}

#[test]
fn folded_stacks_have_all_time_of_calls_and_of_computation() {
    let dumps = sample_run::dumps();
    let mut folded = Vec::new();
    mds_reports::export::write_folded(&dumps, &mut folded).unwrap();
    let folded = String::from_utf8(folded).unwrap();
    for dump in &dumps.ranks {
        let root = format!("rank {};", dump.rank);
        let stacks = folded.lines().filter_map(|line| line.strip_prefix(&root));
        let stacks: Vec<(&str, u64)> = stacks
            .map(|line| line.rsplit_once(' ').unwrap())
            .map(|(names, time)| (names, time.parse().unwrap()))
            .collect();
        let times = dump.sites.iter().map(|site| site.time_ns.total);
        let computation = dump.computation_granularity_ns.total;
        assert_eq!(
            stacks.iter().map(|(_, time)| time).sum::<u64>(),
            times.sum::<u64>() + computation
        );
        assert!(stacks.contains(&("computation", computation)));
        let names = |(names, _): &(&str, u64)| names.split(';').count();
        assert!(stacks.len() > 1 && stacks.iter().all(|stack| names(stack) <= 2));
    }
}
