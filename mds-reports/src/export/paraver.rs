//! A run as a trace of Paraver: `.prv` with the records, `.pcf` with the names of states and calls,
//! `.row` with the names of ranks.
//!
//! | record | is |
//! |---|---|
//! | state (1) | computation, or a call, of a rank |
//! | event (2) | the beginning of a call (its number), and its end (0) |
//! | communication (3) | a message with a row on both sides |
//!
//! Each rank is a task with one thread, on a processor of its own of its node. A rank may leave no
//! dump, so tasks are numbered by the dumps that there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::figures::{CALL_CLASSES, MessageKey, call_class, primitive, span_ns};
use mds::dump::{CallRow, MessageRow, NONE, RankDump, RunDumps};
use mds::mmds::Primitive;

/// The number of the state of computation; the states of calls follow.
const COMPUTES: usize = 1;

/// The type of the events of calls.
const CALLS: u32 = 50_000_001;

/// The date in the head, which nobody needs: `run.json` has the true one.
const DATE: &str = "01/01/1970 at 00:00";

/// Writes the three files, of which `path` names the first. Returns their paths.
///
/// # Errors
///
/// Those of the file system.
pub fn write_paraver(dumps: &RunDumps, path: &Path) -> io::Result<Vec<PathBuf>> {
    let files = ["prv", "pcf", "row"].map(|extension| path.with_extension(extension));
    let [records_path, names_path, rows_path] = &files;
    let mut records = BufWriter::new(File::create(records_path)?);
    write_records(dumps, &mut records)?;
    records.flush()?;
    std::fs::write(names_path, names())?;
    std::fs::write(rows_path, rows(dumps))?;
    Ok(files.to_vec())
}

/// Writes the head and the records in the order of their times.
fn write_records(dumps: &RunDumps, to: &mut impl Write) -> io::Result<()> {
    let (began_ns, ended_ns) = span_ns(dumps);
    let nodes: BTreeSet<u32> = dumps.ranks.iter().map(|dump| dump.node).collect();
    let numbers: BTreeMap<u32, usize> = nodes.iter().copied().zip(1..).collect();
    let ranks_of = |node: &u32| dumps.ranks.iter().filter(|dump| dump.node == *node).count();
    let processors: Vec<String> = nodes
        .iter()
        .map(|node| ranks_of(node).to_string())
        .collect();
    let node_of = |dump: &RankDump| numbers.get(&dump.node).copied().unwrap_or(1);
    let tasks: Vec<String> = dumps
        .ranks
        .iter()
        .map(|dump| format!("1:{}", node_of(dump)))
        .collect();
    writeln!(
        to,
        "#Paraver ({DATE}):{}_ns:{}({}):1:{}({})",
        ended_ns.saturating_sub(began_ns),
        nodes.len(),
        processors.join(","),
        tasks.len(),
        tasks.join(",")
    )?;
    let mut records: Vec<(u64, String)> = Vec::new();
    for (dump, task) in dumps.ranks.iter().zip(1..) {
        add_calls(dump, task, (began_ns, ended_ns), &mut records);
    }
    add_messages(dumps, began_ns, &mut records);
    records.sort_by_key(|record| record.0);
    for (_, record) in &records {
        writeln!(to, "{record}")?;
    }
    Ok(())
}

/// Returns the processor, application, task and thread of a rank, as records name them.
fn place(task: usize) -> String {
    format!("{task}:1:{task}:1")
}

fn add_calls(
    dump: &RankDump,
    task: usize,
    (began_ns, ended_ns): (u64, u64),
    records: &mut Vec<(u64, String)>,
) {
    let place = place(task);
    let since = |ns: u64| ns.clamp(began_ns, ended_ns) - began_ns;
    let mut state = |from: u64, to: u64, number: usize| {
        if from < to {
            records.push((from, format!("1:{place}:{from}:{to}:{number}")));
        }
    };
    let mut calls: Vec<&CallRow> = dump.calls.iter().collect();
    calls.sort_by_key(|call| call.begun_ns);
    let mut until = since(dump.began_ns);
    let mut events = Vec::new();
    for call in calls {
        let from = since(call.begun_ns).max(until);
        let to = since(if call.ended_ns == NONE {
            ended_ns
        } else {
            call.ended_ns
        })
        .max(from);
        state(until, from, COMPUTES);
        state(from, to, COMPUTES + 1 + call_class(call));
        until = to;
        let number = primitive(call).map_or(0, |primitive| primitive as u64 + 1);
        events.push((from, format!("2:{place}:{from}:{CALLS}:{number}")));
        events.push((to, format!("2:{place}:{to}:{CALLS}:0")));
    }
    state(
        until,
        since(dump.began_ns.saturating_add(dump.run_ns)),
        COMPUTES,
    );
    records.append(&mut events);
}

fn add_messages(dumps: &RunDumps, began_ns: u64, records: &mut Vec<(u64, String)>) {
    let mut sent: HashMap<MessageKey, (usize, &MessageRow)> = HashMap::new();
    let of_ranks = || {
        let ranks = dumps.ranks.iter().zip(1_usize..);
        ranks.flat_map(|(dump, task)| dump.messages.iter().map(move |row| (dump.rank, task, row)))
    };
    for (rank, task, row) in of_ranks().filter(|(.., row)| row.received == 0) {
        if let Some(key) = MessageKey::of(rank, row) {
            sent.insert(key, (task, row));
        }
    }
    for (rank, task, row) in of_ranks().filter(|(.., row)| row.received != 0) {
        let key = MessageKey::of(rank, row);
        let Some((sender, send)) = key.and_then(|key| sent.remove(&key)) else {
            continue;
        };
        let since = |ns: u64| ns.saturating_sub(began_ns);
        let (posted, complete) = (since(send.posted_ns), since(row.completed_ns));
        let posted = posted.min(complete);
        let record = format!(
            "3:{}:{posted}:{posted}:{}:{}:{complete}:{}:{}",
            place(sender),
            place(task),
            since(row.posted_ns).min(complete),
            row.bytes,
            row.tag
        );
        records.push((posted, record));
    }
}

/// Returns the names of states and calls.
fn names() -> String {
    let mut text = "DEFAULT_OPTIONS\n\nLEVEL\tTHREAD\nUNITS\tNANOSEC\n\nSTATES\n".to_owned();
    let line = |text: &mut String, number: usize, name: &str| {
        // A text takes all bytes.
        let _is_written = writeln!(text, "{number}\t{name}");
    };
    line(&mut text, 0, "not recorded");
    line(&mut text, COMPUTES, "computes");
    for (number, (_, name)) in (COMPUTES + 1..).zip(CALL_CLASSES) {
        line(&mut text, number, name);
    }
    text.push_str(&format!("\nEVENT_TYPE\n0\t{CALLS}\tMPI call\nVALUES\n"));
    line(&mut text, 0, "outside of MPI");
    for (number, primitive) in (1..).zip(Primitive::ALL) {
        line(&mut text, number, primitive.name());
    }
    text
}

/// Returns the names of processors, nodes and ranks.
fn rows(dumps: &RunDumps) -> String {
    let nodes: BTreeSet<u32> = dumps.ranks.iter().map(|dump| dump.node).collect();
    let ranks = || dumps.ranks.iter().map(|dump| format!("rank {}", dump.rank));
    let nodes = nodes.iter().map(|node| format!("node {node}"));
    let level = |name: &str, names: Vec<String>| {
        format!("LEVEL {name} SIZE {}\n{}\n", names.len(), names.join("\n"))
    };
    [
        level("CPU", ranks().collect()),
        level("NODE", nodes.collect()),
        level("THREAD", ranks().collect()),
    ]
    .join("\n")
}
