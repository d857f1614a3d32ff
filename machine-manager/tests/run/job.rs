//! A job under test. Each of its processes has a mark in its environment, by which we find it even
//! if its parent has changed.

use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The promised time.
pub(crate) const GONE_WITHIN: Duration = Duration::from_secs(2);

/// How long a test waits for events without a promised time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

const MARK: &str = "BCS_TEST_MARK";

/// A process of a job.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) line: String,
    pub(crate) group: i32,
    pub(crate) parent: i32,
}

pub(crate) struct Job {
    mark: String,
    child: Option<Child>,
    pid: i32,
}

/// Makes a `bcs` with arguments in one string; `sh -c` scripts come as the last argument of
/// [`Job::start`].
pub(crate) fn bcs(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    command
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        // The user who runs the tests may have a configuration.
        .env("XDG_CONFIG_HOME", "/dev/null");
    command
}

/// Runs a whole job, with a script if it is not empty.
pub(crate) fn run(arguments: &str, script: &str) -> Output {
    Job::start(arguments, script).finish()
}

impl Job {
    pub(crate) fn start(arguments: &str, script: &str) -> Self {
        let mut command = bcs(arguments);
        if !script.is_empty() {
            command.args(["sh", "-c", script]);
        }
        Self::spawn(command)
    }

    pub(crate) fn spawn(command: Command) -> Self {
        Self::spawn_with_output(command, Stdio::piped())
    }

    /// Starts a job with the caller's standard output.
    pub(crate) fn spawn_with_output(mut command: Command, output: Stdio) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{MARK}={}-{count}", std::process::id());
        let (name, value) = mark.split_once('=').unwrap();
        command
            .env(name, value)
            .stdout(output)
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        Self {
            mark,
            child: Some(child),
            pid,
        }
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }

    /// Returns the process id of `bcs run`.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits for the end of `bcs run` and all its output, then for the end of all its processes.
    pub(crate) fn finish(mut self) -> Output {
        let output = self.child.take().unwrap().wait_with_output().unwrap();
        assert_eq!(self.left(), [], "bcs run has ended: {output:?}");
        output
    }

    /// Waits for the end of `bcs run` and all its output.
    pub(crate) fn output(&mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }

    /// Does the same for a `bcs run` whose end does not end the others at once.
    pub(crate) fn finish_later(mut self) -> ExitStatus {
        let mut child = self.child.take().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        let status = child.wait().unwrap();
        self.wait_until_gone();
        status
    }

    /// Waits until only `bcs run` is left of the job; fails after two seconds.
    pub(crate) fn wait_until_gone(&self) {
        let start = Instant::now();
        loop {
            let left = self.left();
            if left.is_empty() {
                return;
            }
            assert!(start.elapsed() < GONE_WITHIN, "left after 2 s: {left:?}");
            std::thread::yield_now();
        }
    }

    /// Returns all processes of the job except `bcs run`.
    pub(crate) fn left(&self) -> Vec<Process> {
        let mark = format!("{}\0", self.mark);
        let entries = std::fs::read_dir("/proc").unwrap();
        let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.filter(|&pid| pid != self.pid)
            .filter(|pid| {
                // A zombie has no environment any more; the process that must reap it is found
                // instead.
                std::fs::read(format!("/proc/{pid}/environ"))
                    .is_ok_and(|all| all.windows(mark.len()).any(|part| part == mark.as_bytes()))
            })
            .filter_map(describe)
            .collect()
    }

    /// Waits for a process of the job.
    pub(crate) fn find(&self, what: impl Fn(&Process) -> bool) -> Process {
        let start = Instant::now();
        loop {
            if let Some(process) = self.left().into_iter().find(&what) {
                return process;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "no such process in {:?}",
                self.left()
            );
            std::thread::yield_now();
        }
    }

    /// Waits until this number of the job's processes satisfy a condition.
    pub(crate) fn find_all(&self, count: usize, what: impl Fn(&Process) -> bool) -> Vec<Process> {
        let start = Instant::now();
        loop {
            let found: Vec<Process> = self.left().into_iter().filter(&what).collect();
            if found.len() >= count {
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "only {found:?}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Job {
    /// Ends the job, after a failed test, too.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        for process in self.left() {
            signal(process.pid, rustix::process::Signal::KILL);
        }
    }
}

impl PartialEq<Process> for Process {
    fn eq(&self, other: &Process) -> bool {
        self.pid == other.pid
    }
}

fn describe(pid: i32) -> Option<Process> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat
        .rsplit_once(") ")?
        .1
        .split(' ')
        .skip(1)
        .map(|field| field.parse().ok());
    let (parent, group) = (fields.next()??, fields.next()??);
    Some(Process {
        pid,
        line,
        group,
        parent,
    })
}

pub(crate) fn signal(pid: i32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Finds node managers. A child of one looks the same until its execve, except for its parent.
pub(crate) fn managers_of(job: &Job) -> impl Fn(&Process) -> bool + use<> {
    let launcher = job.pid();
    let is_manager = |line: &str| {
        line.starts_with("bcs node-manager") || line.starts_with("bcs far-node-manager")
    };
    move |process| is_manager(&process.line) && process.parent == launcher
}

/// Returns whether a process is a rank that runs a script: the shell that leads its process group.
pub(crate) fn is_rank(process: &Process) -> bool {
    process.line.starts_with("sh -c") && process.group == process.pid
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
