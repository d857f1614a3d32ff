//! The dumps of the ranks of real jobs, however they end.

use crate::program::fixture;
use mds::dump::{LocalSliceRow, MessageTransport, PeerDump, RankDump, RunDumps, read_dir};
use mds::mmds::Primitive;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = include_str!("../../../fixtures/src/bin/recorded.rs");

/// Returns the line of the program with this comment.
fn place(comment: &str) -> String {
    let line = PROGRAM.lines().position(|line| line.ends_with(comment));
    format!("fixtures/src/bin/recorded.rs:{}:", line.unwrap() + 1)
}

fn job(options: &str, how: &str, directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    command
        .args(["run", "-n", "4", "--mds"])
        .arg(directory)
        .args(options.split_whitespace())
        .arg(fixture("recorded"))
        .arg(how)
        .env("XDG_CONFIG_HOME", "/dev/null")
        .stdin(Stdio::null());
    command
}

/// Runs a job to its end; returns its exit code and its dumps.
fn recorded(options: &str, how: &str) -> (Option<i32>, RunDumps) {
    let directory = tempfile::tempdir().unwrap();
    let output = job(options, how, directory.path()).output().unwrap();
    let dumps = read_dir(directory.path());
    let dumps = dumps.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.status.code(), dumps)
}

fn counts(dump: &RankDump) -> Vec<(&str, u64)> {
    let primitives = dump.primitives.iter();
    primitives
        .map(|(name, seen)| (name.name(), seen.latency_ns.count))
        .collect()
}

fn whole(dump: &RankDump) {
    let accounted = dump.computation_granularity_ns.total + dump.communication_overhead_ns.total;
    assert_eq!(accounted, dump.run_ns, "rank {}", dump.rank);
    assert!(dump.run_ns > 0);
}

/// Returns what rank 0 did by SMARTMAP: messages, bytes, collectives.
fn near(dump: &RankDump) -> (u64, u64, u64) {
    let add = |sum: (u64, u64, u64), row: &LocalSliceRow| {
        (
            sum.0 + row.messages,
            sum.1 + row.bytes,
            sum.2 + row.collectives,
        )
    };
    dump.near.iter().fold((0, 0, 0), add)
}

/// Checks what all ranks have done before their end, of whatever kind.
fn communicated(dumps: &RunDumps, (near, far): (MessageTransport, MessageTransport)) {
    assert_eq!(dumps.ranks.len(), 4);
    dumps.ranks.iter().for_each(whole);
    let rank = &dumps.ranks[0];
    let sends = &rank.primitives[&Primitive::Send];
    assert_eq!(sends.size_bytes.as_ref().unwrap().total, 500);
    let site = rank
        .sites
        .iter()
        .find(|site| site.place.contains(&place("// the site of the sends")));
    let site = site.unwrap();
    assert_eq!(
        (site.time_ns.count, site.bytes, site.primitive),
        (5, 500, Some(Primitive::Send))
    );
    assert_eq!(site.time_ns.total, sends.latency_ns.total);
    let peer = |rank, road, sent, sent_bytes| PeerDump {
        rank,
        road,
        sent,
        sent_bytes,
        received: 0,
        received_bytes: 0,
    };
    assert_eq!(rank.peers, [peer(1, near, 5, 500), peer(2, far, 1, 2_000)]);
    let received: Vec<_> = dumps.ranks[1]
        .peers
        .iter()
        .map(|peer| (peer.received, peer.received_bytes))
        .collect();
    assert_eq!(received, [(5, 500)]);
    let received = &dumps.ranks[1].primitives[&Primitive::Recv];
    assert_eq!(
        received.size_bytes.as_ref().unwrap().histogram,
        [(100, 5)],
        "not the 4,000 of the buffer"
    );
    let [world, alike] = &rank.communicators[..] else {
        panic!("{:?}", rank.communicators);
    };
    assert_eq!(
        (world.context, world.sent, world.sent_bytes, world.received),
        (0, 6, 2_500, 0)
    );
    assert_eq!((world.collectives, world.collective_bytes), (2, 40));
    assert_eq!(
        (alike.sent, alike.collectives, alike.collective_bytes),
        (0, 1, 8)
    );
    assert_eq!(dumps.ranks[2].communicators[1], *alike);
    assert_eq!(
        (rank.calls_dropped, rank.messages_dropped, rank.near_dropped),
        (0, 0, 0)
    );
}

#[test]
fn a_job_that_ends_has_left_what_it_did_on_both_roads() {
    for (options, roads, by_smartmap) in [
        (
            "--intranode smartmap",
            (MessageTransport::Smartmap, MessageTransport::Smartmap),
            (6, 2_500, 3),
        ),
        (
            "--intranode nic",
            (MessageTransport::Nic, MessageTransport::Nic),
            (0, 0, 0),
        ),
        (
            "--nodes 2 --intranode smartmap",
            (MessageTransport::Smartmap, MessageTransport::Nic),
            (5, 500, 2),
        ),
        (
            "--nodes 2 --intranode nic --nic-threads coprocessor",
            (MessageTransport::Nic, MessageTransport::Nic),
            (0, 0, 0),
        ),
    ] {
        let (code, dumps) = recorded(options, "ends");
        assert_eq!(code, Some(0), "{options}");
        communicated(&dumps, roads);
        assert_eq!(near(&dumps.ranks[0]), by_smartmap, "{options}");
        assert_eq!(
            (dumps.ranks[0].calls.len(), dumps.ranks[0].messages.len()),
            (12, 6)
        );
        assert!(dumps.faults.is_empty(), "{:?}", dumps.faults);
        assert_eq!(
            dumps.nodes.len(),
            if options.contains("--nodes 2") { 2 } else { 1 }
        );
        assert!(
            dumps
                .ranks
                .iter()
                .all(|dump| dump.finalized && dump.job == dumps.nodes[0].job)
        );
        let all = [
            ("MPI_Send", 5),
            ("MPI_Isend", 1),
            ("MPI_Wait", 1),
            ("MPI_Barrier", 1),
            ("MPI_Bcast", 1),
            ("MPI_Allreduce", 1),
            ("MPI_Comm_split", 1),
            ("MPI_Finalize", 1),
        ];
        assert_eq!(counts(&dumps.ranks[0]), all, "{options}");
    }
}

/// Checks that no rank has finalized, and that all its operations are recorded.
fn ended_early(dumps: &RunDumps) {
    communicated(dumps, (MessageTransport::Smartmap, MessageTransport::Nic));
    for dump in &dumps.ranks {
        assert!(!dump.finalized, "rank {}", dump.rank);
        let barriers = dump.primitives[&Primitive::Barrier].latency_ns.count;
        assert_eq!(barriers, 1, "rank {}", dump.rank);
    }
}

#[test]
fn a_rank_that_is_killed_and_all_others_leave_their_dumps() {
    for threads in ["shared", "coprocessor"] {
        let options = format!("--nodes 2 --intranode smartmap --nic-threads {threads}");
        let (code, dumps) = recorded(&options, "dies");
        assert_eq!(code, Some(137));
        ended_early(&dumps);
    }
}

#[test]
fn ranks_of_a_job_that_is_aborted_leave_their_dumps() {
    let (code, dumps) = recorded("--nodes 2 --intranode smartmap", "aborts");
    assert_eq!(code, Some(7));
    ended_early(&dumps);
}

#[test]
fn ranks_of_a_job_that_takes_too_long_leave_their_dumps() {
    let (code, dumps) = recorded("--nodes 2 --intranode smartmap --timeout 1s", "computes");
    assert_ne!(code, Some(0));
    ended_early(&dumps);
    // Ranks that waited were in their last receive, and most of their time was spent there.
    for dump in &dumps.ranks {
        let mut places = dump.sites.iter().map(|site| &site.place);
        let last = places.any(|at| at.contains(&place("// the last site")));
        assert_eq!(last, dump.rank != 1, "rank {}", dump.rank);
        let waited = dump.communication_overhead_ns.total > dump.run_ns / 2;
        assert_eq!(waited, dump.rank != 1, "rank {}", dump.rank);
    }
}

#[test]
fn ranks_of_a_job_that_is_told_to_end_leave_their_dumps() {
    let directory = tempfile::tempdir().unwrap();
    let options = "--nodes 2 --intranode smartmap";
    let mut command = job(options, "computes", directory.path());
    let mut run = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(run.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "all are there\n");
    let pid = Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(143));
    let dumps = read_dir(directory.path()).unwrap();
    communicated(&dumps, (MessageTransport::Smartmap, MessageTransport::Nic));
    assert!(dumps.ranks.iter().all(|dump| !dump.finalized));
}

#[test]
fn what_is_recorded_can_be_chosen() {
    let (code, dumps) = recorded(
        "--mds-record mmds:ranks=1+3:only=MPI_Recv:metrics=latency,emds",
        "ends",
    );
    assert_eq!(code, Some(0));
    let ranks: Vec<u32> = dumps.ranks.iter().map(|dump| dump.rank).collect();
    assert_eq!(ranks, [1, 3]);
    assert_eq!(counts(&dumps.ranks[0]), [("MPI_Recv", 5)]);
    assert!(
        dumps.ranks[0].primitives[&Primitive::Recv]
            .size_bytes
            .is_none()
    );
    assert!(dumps.ranks[0].peers.is_empty());
    assert!(
        dumps.faults.is_empty(),
        "nobody misses the others: {:?}",
        dumps.faults
    );
    dumps.ranks.iter().for_each(whole);
}

/// A full disk loses the dump, which is reported.
#[test]
fn a_dump_that_cannot_be_written_is_named_and_changes_no_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    // In the place of a file there is a directory that nobody can replace.
    std::fs::create_dir_all(directory.path().join("rank-00002.json/full")).unwrap();
    let output = job("", "ends", directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("rank-00002.json"), "{told}");
    assert!(directory.path().join("rank-00003.json").exists());
}
