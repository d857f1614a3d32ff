//! Running jobs as they are seen and ended from outside: `bcs ps`, `bcs state`, `bcs kill`, `bcs
//! mds top`.

use super::job::{GONE_WITHIN, Job, PATIENCE, bcs, managers_of, signal, text};
use super::program::fixture;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::tcgetattr;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// A job of the fixture `asked` whose rank 0 reads its input and knows that all have begun.
pub(crate) struct Asked {
    pub(crate) job: Job,
    said: BufReader<std::process::ChildStdout>,
}

impl Asked {
    pub(crate) fn start(options: &str) -> Self {
        let mut command = bcs(&format!("run {options}"));
        command.arg(fixture("asked")).stdin(Stdio::piped());
        let mut job = Job::spawn(command);
        let said = job.child().stdout.take().unwrap();
        let mut said = BufReader::new(said);
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "posted\n");
        Self { job, said }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.job.pid()
    }

    /// Lets the job go on to its end, which must be undisturbed.
    pub(crate) fn ends_well(mut self) {
        drop(self.job.child().stdin.take());
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "done\n");
        let output = self.job.finish();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&output.stderr), "");
    }
}

pub(crate) fn ask(arguments: &str) -> Output {
    bcs(arguments).output().unwrap()
}

fn json(arguments: &str) -> Value {
    let output = ask(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments}: {output:?}"))
}

/// Returns what `bcs ps` lists of the job of a process.
pub(crate) fn listed(pid: i32) -> Option<Value> {
    let jobs = json("ps --json");
    let mut jobs = jobs.as_array().unwrap().iter();
    jobs.find(|job| job["pid"] == pid).cloned()
}

fn id_of(pid: i32) -> String {
    let start = Instant::now();
    loop {
        if let Some(job) = listed(pid) {
            return job["job"].as_str().unwrap().to_owned();
        }
        assert!(start.elapsed() < PATIENCE, "process {pid} is not listed");
    }
}

/// Returns the state of a job when this number of its ranks wait.
fn state_with(pid: i32, waiting: usize) -> Value {
    let start = Instant::now();
    loop {
        let state = json(&format!("state {pid} --json"));
        let ranks = state["ranks"].as_array().unwrap();
        let waits = ranks.iter().filter(|rank| rank["state"] == "waits");
        if waits.count() == waiting {
            return state;
        }
        assert!(start.elapsed() < PATIENCE, "{state:#}");
    }
}

#[test]
fn jobs_are_listed_and_each_is_ended_by_its_name() {
    let script = "sleep 1000 & wait";
    let jobs = [
        Job::start("run -n 3 --nodes 3", script),
        Job::start("run -n 2", script),
    ];
    let [one, other] = jobs.each_ref().map(|job| id_of(job.pid()));
    let pids = jobs.each_ref().map(Job::pid);
    let first = listed(pids[0]).unwrap();
    assert_eq!((&first["nodes"], &first["ranks"]), (&3.into(), &3.into()));
    assert_eq!(first["command"], serde_json::json!(["sh", "-c", script]));
    let table = text(&ask("ps").stdout);
    assert!(
        table.starts_with("JOB ") || table.starts_with(" JOB "),
        "{table}"
    );
    let line = table.lines().find(|line| line.contains(&other));
    assert!(line.unwrap().contains("sh -c sleep 1000 & wait"), "{table}");

    let [first, second] = jobs;
    first.find_all(3, |process| process.line.starts_with("sleep"));
    let killed = ask(&format!("kill {one}"));
    assert_eq!(text(&killed.stdout), format!("job {one} has ended\n"));
    assert!(killed.status.success(), "{killed:?}");
    // No process of it is left at this moment; the other job goes on.
    assert_eq!(first.left(), []);
    assert_eq!(listed(pids[0]), None);
    let output = first.finish();
    assert_eq!(output.status.code(), Some(143));
    assert!(text(&output.stderr).starts_with("bcs: bcs run received signal 15 (SIGTERM)"));
    assert!(listed(pids[1]).is_some());
    let killed = ask(&format!("kill {}", pids[1]));
    assert!(killed.status.success(), "{killed:?}");
    assert_eq!(second.finish().status.code(), Some(143));
}

#[test]
fn a_job_that_is_not_there_is_refused_with_those_that_are() {
    let job = Job::start("run -n 1", "sleep 1000 & wait");
    let id = id_of(job.pid());
    for (arguments, called) in [
        ("kill 1", "1"),
        ("state 0-1", "0-1"),
        ("mds top nothing", "nothing"),
        ("kill -- -1", "-1"),
    ] {
        let output = ask(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let told = text(&output.stderr);
        let expected = format!("bcs: no job {called} of this user runs here; there are: ");
        assert!(told.starts_with(&expected), "{told}");
        let named = format!("{id} (process {})", job.pid());
        assert!(told.contains(&named), "{told}");
    }
    assert!(ask(&format!("kill {id}")).status.success());
    let output = ask(&format!("kill {id}"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn ranks_that_do_not_want_to_end_are_ended_by_kill_now() {
    let script = "trap '' TERM; while :; do sleep 1000; done";
    let job = Job::start("run -n 2 --kill-delay 1h", script);
    job.find_all(2, |process| process.line.starts_with("sleep"));
    let start = Instant::now();
    let killed = ask(&format!("kill --now {}", job.pid()));
    assert!(killed.status.success(), "{killed:?}");
    assert!(start.elapsed() < GONE_WITHIN, "{:?}", start.elapsed());
    let code = job.finish().status.code();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
}

/// A stopped `bcs run` does not answer, and takes its signals only when it continues.
#[test]
fn a_job_whose_bcs_run_is_stopped_is_named_and_ended() {
    let job = Job::start("run -n 1", "sleep 1000 & wait");
    let id = id_of(job.pid());
    signal(job.pid(), Signal::STOP);
    let told = listed(job.pid()).unwrap();
    assert!(told["error"].as_str().unwrap().contains("does not answer"));
    let output = ask(&format!("state {id}"));
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(ask(&format!("kill {id}")).status.success());
    assert_eq!(job.finish().status.code(), Some(143));
}

#[test]
fn the_state_says_who_waits_for_what_and_what_is_pending() {
    for layout in ["-n 4 --nodes 2", "-n 4 --nodes 2 --nic-threads coprocessor"] {
        let asked = Asked::start(layout);
        let state = state_with(asked.pid(), 3);
        assert_eq!(state["format"], "bcs-state");
        assert_eq!(state["job"]["pid"], asked.pid());
        let ranks = state["ranks"].as_array().unwrap();
        let first = &ranks[0];
        assert_eq!(first["state"], "computes", "{first:#}");
        let world = "MPI_COMM_WORLD";
        let pending = first["pending"].as_array().unwrap();
        let receive = |it: &&Value| it["call"] == "receive" && it["tag"] == 7 && it["peer"] == 3;
        assert_eq!(pending.iter().filter(receive).count(), 1, "{first:#}");
        assert_eq!(first["come"][0]["tag"], 9, "{first:#}");
        assert_eq!(first["come"][0]["communicator"], world, "{first:#}");
        for rank in &ranks[1..] {
            let wait = &rank["waits"][0];
            assert_eq!(wait["call"], "collective", "{rank:#}");
            assert_eq!(wait["for"][0], 0, "{rank:#}");
            assert_eq!(wait["communicator"], world, "{rank:#}");
        }
        let output = ask(&format!("state {}", asked.pid()));
        assert!(output.status.success(), "{output:?}");
        let told = text(&output.stdout);
        let first = "  rank 0 on node 0 computes; pending: a receive from rank 3 with tag 7 in \
                     MPI_COMM_WORLD; a message from rank 3 with tag 9 in MPI_COMM_WORLD has come, \
                     and is not received\n";
        assert!(told.contains(first), "{told}");
        let others = "  ranks 1-3 on nodes 0-1: each waits for the others in ";
        assert!(told.contains(others), "{told}");
        assert!(told.contains(", where rank 0 is not seen"), "{told}");
        asked.ends_well();
    }
}

#[test]
fn a_signal_that_ends_a_job_asks_where_its_ranks_are() {
    let layouts = ["-n 4 --nodes 2", "-n 4 --nodes 2 --nic-threads coprocessor"];
    for (layout, sent, code) in [
        (layouts[0], Signal::TERM, 143),
        (layouts[1], Signal::INT, 130),
    ] {
        let mut asked = Asked::start(layout);
        state_with(asked.pid(), 3);
        // Rank 0 reads until it is ended.
        let _held = asked.job.child().stdin.take();
        signal(asked.pid(), sent);
        let output = asked.job.finish();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let told = text(&output.stderr);
        let (first, last) = (told.lines().next(), told.lines().last());
        assert_eq!(first, Some("bcs: rank 0 on node 0 computes"), "{told}");
        assert_eq!(
            told.matches(" waits for the others in ").count(),
            3,
            "{told}"
        );
        let last = last.unwrap_or_default();
        assert!(last.starts_with("bcs: bcs run received signal "), "{told}");
    }
}

/// A node manager that does not answer delays the end of the job by half a second.
#[test]
fn a_signal_ends_a_job_though_a_node_manager_does_not_answer() {
    let job = Job::start(
        "run -n 2 --nodes 2 --nic-threads coprocessor --kill-delay 0s",
        "sleep 1000 & wait",
    );
    job.find_all(2, |process| process.line.starts_with("sleep"));
    let managers = job.find_all(2, managers_of(&job));
    signal(managers[1].pid, Signal::STOP);
    let start = Instant::now();
    signal(job.pid(), Signal::TERM);
    assert_eq!(job.finish().status.code(), Some(143));
    assert!(start.elapsed() < GONE_WITHIN, "{:?}", start.elapsed());
}

#[test]
fn a_rank_that_is_stopped_or_knows_no_mpi_is_called_so() {
    let job = Job::start("run -n 1", "kill -STOP $$");
    let pid = job.pid();
    let start = Instant::now();
    let id = id_of(pid);
    loop {
        let told = text(&ask(&format!("state {id}")).stdout);
        if told.contains("  rank 0 on node 0 is stopped\n") {
            break;
        }
        assert!(told.contains("has not called MPI_Init"), "{told}");
        assert!(start.elapsed() < PATIENCE, "{told}");
    }
    assert!(ask(&format!("kill {id}")).status.success());
    assert_eq!(job.finish().status.code(), Some(143));
}

#[test]
fn a_node_that_does_not_answer_is_named_and_the_others_are_shown() {
    let job = Job::start(
        "run -n 2 --nodes 2 --nic-threads coprocessor",
        "sleep 1000 & wait",
    );
    job.find_all(2, |process| process.line.starts_with("sleep"));
    let manager = job.find(managers_of(&job)).pid;
    signal(manager, Signal::STOP);
    let start = Instant::now();
    // It works each time, and the second time nobody waits for it.
    for _ in 0..2 {
        let output = ask(&format!("state {} --json", job.pid()));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let state: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(state["ranks"].as_array().unwrap().len(), 1, "{state:#}");
        assert_eq!(state["silent_nodes"].as_array().unwrap().len(), 1);
    }
    assert!(start.elapsed() < PATIENCE);
    signal(manager, Signal::CONT);
    loop {
        let output = ask(&format!("state {}", job.pid()));
        if output.status.success() {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{output:?}");
    }
    assert!(ask(&format!("kill {}", job.pid())).status.success());
    assert_eq!(job.finish().status.code(), Some(143));
}

#[test]
fn two_hundred_and_fifty_six_ranks_share_lines_and_are_ended() {
    let asked = Asked::start("-n 256 --nodes 8");
    state_with(asked.pid(), 255);
    // Other tests may have used all cores.
    let looks = (0..3).map(|_| {
        let start = Instant::now();
        let output = ask(&format!("state {}", asked.pid()));
        (start.elapsed(), output)
    });
    let (took, output) = looks.min_by_key(|(took, _)| *took).unwrap();
    assert!(took < Duration::from_secs(1), "{took:?}");
    let told = text(&output.stdout);
    assert!(
        told.contains("  ranks 1-255 on nodes 0-7: each waits"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 4, "{told}");
    let table = ask(&format!("mds top {} --count 1", asked.pid()));
    let table = text(&table.stdout);
    assert_eq!(table.matches(" computes").count(), 1, "{table}");
    assert_eq!(table.matches(" waits for the others ").count(), 255);
    assert_eq!(table.matches(" 32 ranks: ").count(), 8, "{table}");
    assert!(ask(&format!("kill {}", asked.pid())).status.success());
    assert_eq!(asked.job.left(), []);
    assert_eq!(asked.job.finish().status.code(), Some(143));
}

/// Returns the figures under a head of `bcs mds top`, in the lines of ranks.
fn column(table: &str, head: &str) -> Vec<f64> {
    let heads = table.lines().find(|line| line.contains("MPI%")).unwrap();
    let at = heads.split_whitespace().position(|it| it == head).unwrap();
    let lines = table.lines().skip_while(|line| *line != heads).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // Lines of nodes have no rank and no process.
    let of_ranks = lines.filter(|line| !line.contains(" ranks: "));
    of_ranks
        .map(|line| line.split_whitespace().nth(at).unwrap().parse().unwrap())
        .collect()
}

#[test]
fn top_prints_what_happened_between_its_looks() {
    let dumps = tempfile::tempdir().unwrap();
    let options = format!("-n 4 --nodes 2 --mds {}", dumps.path().display());
    let asked = Asked::start(&options);
    state_with(asked.pid(), 3);
    let output = ask(&format!(
        "mds top {} --interval 200ms --count 2",
        asked.pid()
    ));
    assert!(output.status.success(), "{output:?}");
    let told = text(&output.stdout);
    let tables: Vec<&str> = told.split("\njob ").collect();
    assert_eq!(tables.len(), 2, "{told}");
    assert!(tables[0].contains("since the job began") && tables[1].contains(" slices/s, in 0."));
    let shares = column(tables[1], "MPI%");
    assert_eq!(shares.len(), 4, "{told}");
    assert!(shares[0] < 1.0, "rank 0 reads: {told}");
    assert!(shares[1..].iter().all(|&share| share > 99.0), "{told}");
    assert!(
        tables[1].contains(" 2 ranks: 1 waiting, 1 computing"),
        "{told}"
    );
    asked.ends_well();
}

#[test]
fn top_ends_with_its_job() {
    let asked = Asked::start("-n 2");
    let mut top = bcs(&format!("mds top {} --interval 1h", asked.pid()));
    let mut top = top.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(top.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(
        line.starts_with("job ") && line.contains(", 2 ranks on 1 node, for "),
        "{line}"
    );
    asked.ends_well();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(
        rest.contains("MPI%") && rest.ends_with(" has ended\n"),
        "{rest}"
    );
    assert!(top.wait().unwrap().success());
}

/// Returns what a terminal has shown, and whether it was restored.
fn top_in_a_terminal(pid: i32, leave: impl FnOnce(&mut File, i32)) -> (String, Option<i32>) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(&name, flags, Mode::empty()).unwrap();
    let size = rustix::termios::Winsize {
        ws_row: 24,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&slave, size).unwrap();
    let modes = |slave: &std::os::fd::OwnedFd| format!("{:?}", tcgetattr(slave).unwrap());
    let before = modes(&slave);
    let mut command = bcs(&format!("mds top {pid} --interval 100ms"));
    let mut top = command
        .stdin(slave.try_clone().unwrap())
        .stdout(slave.try_clone().unwrap())
        .stderr(slave.try_clone().unwrap())
        .spawn()
        .unwrap();
    drop(command);
    let mut terminal = File::from(master);
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("MPI%") {
        let len = terminal.read(&mut piece).unwrap();
        seen.extend_from_slice(&piece[..len]);
    }
    assert_ne!(modes(&slave), before, "keys are read as they are pressed");
    leave(&mut terminal, i32::try_from(top.id()).unwrap());
    let code = top.wait().unwrap().code();
    assert_eq!(modes(&slave), before, "the terminal is as it was");
    drop(slave);
    // A terminal without a writer is an error to its reader.
    let _hung_up = terminal.read_to_end(&mut seen);
    (String::from_utf8_lossy(&seen).into_owned(), code)
}

#[test]
fn top_leaves_a_terminal_as_it_was() {
    let asked = Asked::start("-n 2");
    let keys =
        |keys: &'static [u8]| move |terminal: &mut File, _: i32| terminal.write_all(keys).unwrap();
    let (enters, leaves) = ("\x1b[?1049h", "\x1b[?1049l");
    for leave in [&b"jq"[..], b"\x03"] {
        let (seen, code) = top_in_a_terminal(asked.pid(), keys(leave));
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains(enters) && seen.contains(leaves), "{seen}");
        assert!(seen.contains("RANK"), "{seen}");
    }
    let by_signal = |_: &mut File, top| signal(top, Signal::TERM);
    let (seen, code) = top_in_a_terminal(asked.pid(), by_signal);
    assert_eq!(code, Some(143), "{seen}");
    assert!(seen.contains(leaves), "{seen}");
    let pid = asked.pid();
    let ends = |_: &mut File, _: i32| asked.ends_well();
    let (seen, code) = top_in_a_terminal(pid, ends);
    assert_eq!(code, Some(0), "{seen}");
    let after = seen.split(leaves).last().unwrap();
    assert!(after.contains(" has ended"), "{seen}");
}
