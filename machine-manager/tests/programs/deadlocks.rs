//! Programs in which no rank can ever go on: each is reported within a second after the last rank
//! has blocked. The graph is the same wherever the ranks are and whichever transport they use.
//! `BLESS=1` writes the graphs anew, into `deadlocks.json`: read the differences.

use crate::program::fixture;
use serde_json::{Map, Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Each program with its number of ranks.
const PROGRAMS: [(&str, usize); 44] = [
    ("head-to-head-sends", 2),
    ("head-to-head-ssends", 2),
    ("missing-receive", 2),
    ("missing-send", 2),
    ("wrong-tag", 2),
    ("wrong-communicator", 2),
    ("cycle-of-four", 4),
    ("greedy-wildcard", 3),
    ("wildcards", 3),
    ("workers-without-work", 4),
    ("from-itself", 2),
    ("ssend-to-itself", 2),
    ("probes", 2),
    ("probe-for-any", 3),
    ("matched-probes", 2),
    ("shift-without-tag", 3),
    ("between-groups", 4),
    ("wait-any", 3),
    ("wait-all", 3),
    ("wait-all-of-forty", 2),
    ("wait-any-of-the-gone", 3),
    ("persistent-receives", 2),
    ("persistent-sends", 2),
    ("finalize-before-receive", 2),
    ("barrier-and-receive", 3),
    ("barrier-and-finalize", 3),
    ("barrier-without-one", 3),
    ("barrier-of-a-half", 4),
    ("crossed-communicators", 2),
    ("broadcast-without-root", 3),
    ("reduce-without-one", 3),
    ("gather-without-one", 3),
    ("alltoall-without-one", 3),
    ("scan-behind-one", 3),
    ("split-without-one", 3),
    ("started-barriers", 2),
    ("barrier-between-groups", 4),
    ("barrier-and-another-program", 3),
    ("funneled-beside-a-computation", 2),
    ("funneled-beside-a-sleeper", 2),
    ("single-beside-a-computation", 2),
    ("locks-of-each-other", 2),
    ("lock-all-behind-an-owner", 2),
    ("lock-all-of-three-behind-an-owner", 4),
];

/// One and several nodes, both transports, two drivers and both strobes.
const LAYOUTS: [&str; 3] = [
    "--nodes 1",
    "--nodes 1 --intranode nic --nic-threads coprocessor",
    "--nodes NODES --nic-threads shared --strobe fixed",
];

/// The number of jobs that run at a time.
const AT_ONCE: usize = 6;

/// How soon a deadlock must be reported. A job with a later report is tried once more: other tests
/// may have used all cores.
const SOON: Duration = Duration::from_secs(1);

/// The result of a job.
struct Told {
    graph: Value,
    code: Option<i32>,
    said: String,
    /// The time since the last rank blocked.
    after: Duration,
}

fn run(name: &str, ranks: usize, layout: &str, directory: &Path) -> Told {
    let file = directory.join(format!("{name}-{}.json", layout.len()));
    let nodes = ranks.min(3).to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    command.args(["run", "--deadlock-json"]).arg(&file);
    if !layout.contains("--timeout") {
        command.args(["--timeout", "20s"]);
    }
    command.args(layout.replace("NODES", &nodes).split(' '));
    // A rank without MPI ends, and its partners wait.
    let another = usize::from(name.ends_with("another-program"));
    command.args(["-n", &(ranks - another).to_string()]);
    command.arg(fixture("deadlocks")).arg(name);
    if another > 0 {
        command.args([":", "-n", "1", "true"]);
    }
    let mut job = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut said, mut told_at) = (String::new(), None);
    for line in BufReader::new(job.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.starts_with("bcs: ") {
            told_at.get_or_insert_with(bcs_core::clock::now_ns);
        }
        said += &(line + "\n");
    }
    let output = job.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let times = stdout
        .lines()
        .filter_map(|line| line.strip_prefix("blocks "));
    let last = times.map(|time| time.parse::<u64>().unwrap()).max();
    let graph = std::fs::read_to_string(&file).ok();
    let graph = graph.and_then(|graph| serde_json::from_str(&graph).ok());
    let after = told_at.zip(last).map(|(at, last)| at.saturating_sub(last));
    Told {
        graph: graph.unwrap_or_default(),
        code: output.status.code(),
        after: after.map_or(Duration::MAX, Duration::from_nanos),
        said,
    }
}

/// Returns the source text at a call site, which must be one of the program's. (Its line changes
/// with every edit.)
fn text_at(site: &Value) -> Value {
    let Some(site) = site.as_str() else {
        return Value::Null;
    };
    let (file, line) = site.rsplit_once(':').unwrap();
    assert!(file.contains("src/bin/deadlocks/"), "{site}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join(file)).unwrap();
    let line = text.lines().nth(line.parse::<usize>().unwrap() - 1);
    line.unwrap().trim().into()
}

/// Returns the graph without the parts that depend on the layout.
fn comparable(graph: &Value) -> Value {
    let mut ranks = graph["ranks"].clone();
    let ranks_of = ranks.as_array_mut().into_iter().flatten();
    for rank in ranks_of.filter_map(Value::as_object_mut) {
        rank.remove("node");
        if let Some(site) = rank.get_mut("site") {
            *site = text_at(site);
        }
    }
    json!({ "causes": graph["causes"], "ranks": ranks })
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/deadlocks.json")
}

#[test]
fn each_deadlock_is_told_within_a_second_with_its_graph() {
    let directory = tempfile::tempdir().unwrap();
    let jobs: Vec<_> = PROGRAMS
        .iter()
        .flat_map(|program| LAYOUTS.iter().map(move |layout| (program, *layout)))
        .collect();
    let (next, told) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(|| {
                while let Some(((name, ranks), layout)) =
                    jobs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let mut job = run(name, *ranks, layout, directory.path());
                    if job.after > SOON {
                        job = run(name, *ranks, layout, directory.path());
                    }
                    told.lock().unwrap().push((*name, *layout, job));
                }
            });
        }
    });
    let told = told.into_inner().unwrap();
    let mut graphs = Map::new();
    for (name, layout, job) in &told {
        if *layout == LAYOUTS[0] {
            graphs.insert((*name).to_owned(), comparable(&job.graph));
        }
    }
    if std::env::var_os("BLESS").is_some() {
        let text = serde_json::to_string_pretty(&graphs).unwrap();
        std::fs::write(golden(), text + "\n").unwrap();
    }
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(golden()).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for (name, layout, job) in &told {
        let found = comparable(&job.graph);
        if found != golden[name] {
            wrong.push(format!("{name} {layout}: {found:#}\n{}", job.said));
        }
        if job.after > SOON {
            wrong.push(format!("{name} {layout}: told after {:?}", job.after));
        }
        if job.code != Some(123) {
            wrong.push(format!("{name} {layout}: {:?}: {}", job.code, job.said));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Other threads that may call MPI might help some day, so the job goes on. While one runs, nothing
/// is reported.
#[test]
fn beside_threads_that_may_call_a_deadlock_is_only_possible() {
    let directory = tempfile::tempdir().unwrap();
    for (name, may_be_said) in [
        ("multiple-beside-a-sleeper", true),
        ("multiple-beside-a-computation", false),
        ("funneled-but-another-thread-calls", true),
    ] {
        for layout in ["--nodes 1", "--nodes 2"] {
            let layout = format!("{layout} --timeout 3s");
            let job = run(name, 2, &layout, directory.path());
            assert_eq!(job.code, Some(124), "{name}: {}", job.said);
            assert_eq!(job.graph, Value::Null, "{name}: {}", job.said);
            let possible = job.said.matches("bcs: a deadlock is possible").count();
            assert_eq!(possible, usize::from(may_be_said), "{name}: {}", job.said);
            let waits = job.said.matches("bcs:   rank").count();
            let told = if may_be_said { 2 } else { 0 };
            assert_eq!(waits, told, "{name}: {}", job.said);
        }
    }
}

/// The report shows a person where in the program ranks wait.
#[test]
fn call_sites_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let job = run("head-to-head-sends", 2, "--nodes 2", directory.path());
    let line = job
        .said
        .lines()
        .find(|line| line.contains("rank 1 on node 1 waits"));
    let line = line.unwrap_or_else(|| panic!("{}", job.said));
    let (_, site) = line
        .rsplit_once(", at ")
        .unwrap_or_else(|| panic!("{line}"));
    let text = text_at(&site.into());
    assert_eq!(text, "world.send(&vec![1_u8; LONG], other(world), 1)");
}

/// Ranks that are in different collectives end the job as before, and are in the file, too.
#[test]
fn different_collectives_are_written_like_a_deadlock() {
    let directory = tempfile::tempdir().unwrap();
    let job = run("gather-and-scatter", 2, "--nodes 2", directory.path());
    assert_eq!(job.code, Some(1), "{}", job.said);
    let astray = json!([{ "kind": "astray", "ranks": [0, 1] }]);
    assert_eq!(job.graph["causes"], astray);
    let called = &job.graph["ranks"][1]["waits"][0]["called"];
    assert_eq!(called, "a scatter from rank 0");
}
