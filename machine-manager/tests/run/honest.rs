//! Ends that are not the fault of the program: each prints one line that names the cause, and has
//! the documented code. None is a panic.

use super::job::{Job, bcs, run, text};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A user without privileges.
const NOBODY: u32 = 65_534;

const LOST: i32 = machine_manager::exit_code::OUTPUT_LOST as i32;

fn shell(script: &str) -> Output {
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            &script.replace("bcs ", concat!(env!("CARGO_BIN_EXE_bcs"), " ")),
        ])
        .stdin(Stdio::null())
        .env("XDG_CONFIG_HOME", "/dev/null");
    Job::spawn(shell).finish()
}

/// Runs a command that reports how another one ended whose output is not ours.
fn told(script: &str) -> (String, i32) {
    let output = shell(script);
    (text(&output.stderr), output.status.code().unwrap())
}

const COMMANDS: [&str; 9] = [
    "bcs config",
    "bcs exit-codes",
    "bcs completions bash",
    "bcs run --help",
    "bcs run --version",
    "bcs --help",
    "bcs sim --seeds 3",
    "bcs sim --mpi --seeds 2",
    "bcs ps",
];

#[test]
fn a_full_disk_is_said_and_has_a_code() {
    let full = "failed to write to standard output: No space left on device (os error 28): what was written there is \
                not all";
    for command in COMMANDS {
        let (said, code) = told(&format!("{command} >/dev/full"));
        assert_eq!((said, code), (format!("bcs: {full}\n"), LOST), "{command}");
    }
    let (said, code) = told("bcs run -n 1 yes >/dev/full");
    assert_eq!(said, format!("bcs: {full}; the job of 1 rank was ended\n"));
    assert_eq!(code, LOST);
    // The job may be over before the disk is found to be full.
    let (said, code) = told("bcs run -n 1 echo x >/dev/full");
    assert!(said.starts_with(&format!("bcs: {full}")), "{said}");
    assert_eq!((said.lines().count(), code), (1, LOST));
    // No message can be written, but the code is set.
    let (_, code) = told("bcs run -n 1 sh -c 'yes >&2' 2>/dev/full");
    assert_eq!(code, LOST);
    let (_, code) = told("bcs run --no-such-option 2>/dev/full");
    assert_eq!(code, 2);
}

#[test]
fn a_closed_pipe_ends_every_command_quietly() {
    for command in COMMANDS {
        // The shell reports how the first command of the pipe ended.
        let (said, code) = told(&format!("{{ {command}; echo $? >&2; }} | :"));
        assert_eq!(said.lines().count(), 1, "{command}: {said}");
        assert!(["0\n", "141\n"].contains(&&*said), "{command}: {said}");
        assert_eq!(code, 0);
    }
    let (said, _) = told("{ bcs run -n 2 yes; echo $? >&2; } | head -1 >/dev/null");
    assert_eq!(said, "141\n");
}

/// Makes a copy of `bcs` that everybody may run, beside the files that a test needs.
fn for_everybody() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    mode(directory.path(), 0o755);
    let copy = directory.path().join("bcs");
    std::fs::copy(env!("CARGO_BIN_EXE_bcs"), &copy).unwrap();
    mode(&copy, 0o755);
    (directory, copy)
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Runs it as a user for whom file modes count.
fn as_nobody(mut command: Command) -> Output {
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.stdin(Stdio::null()).env_remove("XDG_CONFIG_HOME");
    Job::spawn(command).finish()
}

#[test]
fn a_home_that_may_not_be_looked_into_is_no_error() {
    let (directory, bcs) = for_everybody();
    for name in ["home", "config"] {
        std::fs::create_dir(directory.path().join(name)).unwrap();
        mode(&directory.path().join(name), 0);
    }
    for (variable, folder) in [("HOME", "home"), ("XDG_CONFIG_HOME", "config")] {
        let mut command = Command::new(&bcs);
        command.args(["run", "-n", "2", "hello"]).current_dir("/");
        command.env("HOME", "/nowhere");
        if variable == "HOME" {
            command.env(variable, directory.path().join(folder));
        }
        let output = match variable {
            "HOME" => as_nobody(command),
            _ => {
                command.env(variable, directory.path().join(folder));
                if rustix::process::geteuid().is_root() {
                    command.uid(NOBODY).gid(NOBODY);
                }
                Job::spawn(command).finish()
            }
        };
        assert_eq!(text(&output.stderr), "", "{variable}");
        assert_eq!(output.status.code(), Some(0), "{variable}");
    }
    // A file that exists, and that a user has written, is not ignored.
    let asked = directory.path().join("asked");
    std::fs::create_dir(&asked).unwrap();
    std::fs::write(asked.join("bcs.toml"), "ranks = 2\n").unwrap();
    mode(&asked.join("bcs.toml"), 0);
    let mut command = Command::new(&bcs);
    command
        .args(["run", "hello"])
        .current_dir(&asked)
        .env("HOME", "/nowhere");
    let output = as_nobody(command);
    assert_eq!(
        text(&output.stderr),
        "bcs: bcs.toml: it cannot be read: Permission denied (os error 13)\n"
    );
    assert_eq!(output.status.code(), Some(2));
    for name in ["home", "config"] {
        mode(&directory.path().join(name), 0o700);
    }
}

#[test]
fn few_open_files_are_named_where_they_are_the_cause() {
    for ranks in [4, 16] {
        let (said, code) = told(&format!("ulimit -n 64; bcs run -n {ranks} hello"));
        let named = said.contains("Too many open files") && said.contains("ulimit -Hn");
        assert!(
            code == 0 && said.is_empty() || matches!(code, 125 | 126) && named,
            "{ranks}: {code} {said}"
        );
        assert!(said.lines().count() <= 1, "{said}");
    }
}

/// A control group with a limit, if one can be made.
struct Limited(PathBuf);

impl Limited {
    fn make(bytes: u64) -> Option<Self> {
        let name = format!("bcs-test-{}", std::process::id());
        let kinds = [
            ("/sys/fs/cgroup", "memory.max"),
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ];
        kinds.into_iter().find_map(|(mount, limit)| {
            if !Path::new(mount).join("cgroup.procs").exists() {
                return None;
            }
            let group = Path::new(mount).join(&name);
            std::fs::create_dir(&group).ok()?;
            let group = Self(group);
            std::fs::write(group.0.join(limit), bytes.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _what_is_left_is_empty = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn the_memory_limit_of_a_control_group_is_named_where_it_is_the_cause() {
    let Some(group) = Limited::make(128 << 20) else {
        return;
    };
    let group = group.0.join("cgroup.procs");
    // It holds the last line, which never ends.
    let (said, code) = told(&format!(
        "echo $$ >{}; bcs run -n 1 tail /dev/zero",
        group.display()
    ));
    let (before, after) = said
        .split_once(" was killed by ")
        .unwrap_or_else(|| panic!("{said}"));
    assert!(before.starts_with("bcs: rank 0 on node 0 (pid "), "{said}");
    assert_eq!(
        after,
        "signal 9 (SIGKILL): the memory limit of the control group (128MiB) was reached: raise memory.max of the \
         container, or give each rank less to do; the job of 1 rank was ended\n"
    );
    assert_eq!(code, 137);
}

#[test]
fn a_folder_that_may_not_be_written_is_a_folder_to_run_in() {
    let (directory, bcs) = for_everybody();
    let folder = directory.path().join("read only");
    std::fs::create_dir(&folder).unwrap();
    mode(&folder, 0o555);
    let run = |words: &[&str]| {
        let mut command = Command::new(&bcs);
        command
            .arg("run")
            .args(words)
            .current_dir(&folder)
            .env("HOME", "/nowhere");
        as_nobody(command)
    };
    let output = run(&["-n", "2", "hello"]);
    assert_eq!(
        (text(&output.stderr), output.status.code()),
        (String::new(), Some(0))
    );
    for option in ["--output-dir", "--mds"] {
        let output = run(&[option, "out", "hello"]);
        let said = format!(
            "bcs: directory out for {option} cannot be made: Permission denied (os error 13)\n"
        );
        assert_eq!(
            (text(&output.stderr), output.status.code()),
            (said, Some(2))
        );
    }
    let output = run(&["--deadlock-json", "x/y.json", "true"]);
    assert_eq!(
        output.status.code(),
        Some(0),
        "it is not written before there is something to write"
    );
    mode(&folder, 0o755);
}

#[test]
fn names_with_blanks_are_names() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("a folder");
    std::fs::create_dir_all(folder.join("where to")).unwrap();
    let program = folder.join("my program");
    std::fs::write(&program, "#!/bin/sh\nbasename \"$PWD\"; echo \"$1\"\n").unwrap();
    mode(&program, 0o755);
    let mut command = bcs("run -n 1 --wdir");
    command.args([
        "where to",
        "--output-dir",
        "out put",
        "--mds",
        "what was",
        "./my program",
        "b c",
    ]);
    command.current_dir(&folder);
    let output = Job::spawn(command).finish();
    assert_eq!(
        (text(&output.stderr), output.status.code()),
        (String::new(), Some(0))
    );
    let written = std::fs::read_to_string(folder.join("out put/rank.0.out")).unwrap();
    assert_eq!(written, "where to\nb c\n");
}

#[test]
fn whom_another_launcher_has_started_says_that_it_is_alone() {
    let (said, code) = told("PMI_SIZE=4 PMI_RANK=0 bcs app hello");
    assert_eq!(
        said,
        "bcs-mpi: this program runs alone, as rank 0 of 1: PMI_SIZE=4 is of the mpiexec of MPICH or another library, \
         which offers it no PMI-1 (PMI_FD); start it with `bcs run -n 4`\n"
    );
    assert_eq!(code, 0);
    assert_eq!(told("PMI_SIZE=4 PMI_RANK=1 bcs app hello").0, "");
    // One of our jobs within one of another launcher is a job.
    assert_eq!(told("OMPI_COMM_WORLD_SIZE=4 bcs run -n 2 hello").0, "");
}

#[test]
fn variables_that_nothing_reads_are_told_once() {
    let (said, code) = told("BCS_TIMESLICE=1ms BCS_WHATEVER=1 bcs run -n 2 true");
    assert_eq!(
        said,
        "bcs: nothing reads the variable BCS_TIMESLICE (did you mean BCS_TIME_SLICE?)\n\
         bcs: nothing reads the variable BCS_WHATEVER\n"
    );
    assert_eq!(code, 0);
}

#[test]
fn keys_of_the_file_are_names_of_options() {
    let config = text(&run("config", "").stdout);
    let keys = config.lines().map(|line| {
        line.trim_start_matches("# ")
            .split([' ', '='])
            .next()
            .unwrap()
    });
    for key in keys.filter(|key| !key.starts_with("BCS_")) {
        // The value of an existing option is missing, or the program.
        let output = run(&format!("run --{key}"), "");
        let said = text(&output.stderr);
        assert!(!said.contains("there is no option"), "{key}: {said}");
        assert_eq!(output.status.code(), Some(2), "{key}");
    }
}
