//! The environment of a launch: closed streams, limits of the shell, missing mounts. The launch
//! works, or prints one line why not and sets its exit code.

use super::job::{Job, text};
use std::path::Path;
use std::process::{Command, Output};

/// Runs a line of a shell, in which `$bcs` is the command.
fn sh(line: &str) -> Output {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .stdin(std::process::Stdio::null())
        .env("bcs", env!("CARGO_BIN_EXE_bcs"))
        .env("XDG_CONFIG_HOME", "/dev/null");
    Job::spawn(command).finish()
}

fn told(line: &str, code: i32, words: &str) {
    let output = sh(line);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {told}");
    assert_eq!(
        told.lines().count(),
        usize::from(!words.is_empty()),
        "{line}: {told}"
    );
    assert!(told.contains(words), "{line}: {told}");
}

/// In some of these a node manager makes the memory, in others the launcher.
const JOBS: [&str; 3] = ["-n 2", "-n 2 --nodes 2", "-n 2 --nodes 2 --fabric udp"];

/// Shared memory is a file. The kernel sends a signal that ends a process which makes it longer
/// than the limit.
#[test]
fn a_limit_of_file_sizes_is_named() {
    for job in JOBS {
        for limit in ["0", "100"] {
            told(
                &format!("ulimit -f {limit}; $bcs run {job} hello"),
                125,
                "(ulimit -f)",
            );
        }
    }
    // A rank has the signal, as in a shell.
    let script = "ulimit -f 1; head -c 4096 /dev/zero > $file";
    let file = tempfile::NamedTempFile::new().unwrap();
    let line = format!("$bcs run -n 1 sh -c 'exec 2>&-; {script}; exit 7'");
    let output = sh(&format!(
        "file={}; export file; {line}",
        file.path().display()
    ));
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let line = "$bcs run -n 1 sh -c 'kill -XFSZ $$'";
    told(
        line,
        153,
        "SIGXFSZ): it wrote beyond the limit of file sizes (ulimit -f)",
    );
    let line = "$bcs run -n 1 sh -c 'kill -XCPU $$'";
    told(
        line,
        152,
        "SIGXCPU): its limit of processor time was over (ulimit -t)",
    );
}

/// Ranks write to a file through the launcher.
#[test]
fn output_beyond_the_limit_of_file_sizes_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let file = file.path().display();
    // The file has reached the limit before the job begins, and the job's own files are below it.
    let line =
        format!("truncate -s 4G {file}; ulimit -f 4194304; $bcs run -n 2 echo hello >> {file}");
    told(
        &line,
        122,
        "failed to write to standard output: File too large",
    );
}

#[test]
fn without_proc_it_says_so() {
    for job in JOBS {
        let line = format!("unshare -m sh -c 'umount -l /proc && $bcs run {job} hello'");
        let can = sh("unshare -m umount -l /proc").status.success();
        if !can {
            eprintln!("skipped: no mount namespace can be made");
            return;
        }
        told(&line, 125, "/proc is not mounted");
    }
    // A world of one needs none of it.
    told(
        "unshare -m sh -c 'umount -l /proc && $bcs app hello'",
        0,
        "",
    );
}

/// The output of ranks is not lost without a message.
#[test]
fn a_closed_standard_output_is_an_error_for_who_writes() {
    for job in JOBS {
        told(
            &format!("$bcs run {job} hello >&-"),
            122,
            "failed to write to standard output: Bad file descriptor",
        );
        told(&format!("$bcs run {job} true >&-"), 0, "");
        told(&format!("$bcs run {job} hello 2>&-"), 0, "");
        told(
            &format!("$bcs run {job} sh -c 'echo error >&2' 2>&-"),
            122,
            "",
        );
        told(&format!("$bcs run {job} hello <&-"), 0, "");
        told(
            &format!("$bcs run {job} hello >/dev/full"),
            122,
            "failed to write to standard output: No space left on device",
        );
        // The user wants to discard the output.
        told(&format!("$bcs run {job} hello >/dev/null"), 0, "");
        told(&format!("$bcs run {job} hello 1<>/dev/null"), 0, "");
    }
    for command in [
        "config",
        "help exit-codes",
        "--help",
        "--version",
        "run --help",
    ] {
        told(
            &format!("$bcs {command} >&-"),
            122,
            "failed to write to standard output: Bad file descriptor",
        );
    }
}

#[test]
fn what_a_job_does_not_need_may_be_missing() {
    for job in JOBS {
        for around in [
            "env -i",
            "env -i PATH=",
            "env -u HOME -u XDG_CACHE_HOME",
            "env -u LANG LC_ALL=nowhere TZ=Strange/Zone",
            "env HOME=/nowhere/at/all XDG_CACHE_HOME=/dev/null",
            "sh -c 'ulimit -l 0; exec \"$@\"' sh",
            "sh -c 'ulimit -c 0; exec \"$@\"' sh",
            "sh -c 'ulimit -n 60; exec \"$@\"' sh",
        ] {
            let line = format!("{around} $bcs run {job} hello");
            let output = sh(&line);
            let said = text(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
            assert_eq!(said.lines().count(), 2, "{line}: {said}");
        }
    }
    let read_only = "unshare -m sh -c 'mount -t tmpfs -o ro none /tmp; umount -l /dev/shm; \
                     HOME=/tmp exec $bcs run -n 2 hello'";
    // A command below /tmp would be covered, too.
    let is_covered = Path::new(env!("CARGO_BIN_EXE_bcs")).starts_with("/tmp");
    if !is_covered && sh("unshare -m true").status.success() {
        assert_eq!(sh(read_only).status.code(), Some(0));
    }
}

#[test]
fn limits_of_memory_and_files_are_named() {
    for (limit, code, words) in [
        ("ulimit -v 100000", 125, "ulimit -v"),
        ("ulimit -n 8", 125, "Too many open files"),
        ("ulimit -n 12", 125, "Too many open files"),
    ] {
        told(&format!("{limit}; $bcs run -n 2 hello"), code, words);
    }
}

/// The working directory of `bcs run` was removed.
#[test]
fn a_directory_that_is_gone() {
    let gone = "mkdir $d/gone && cd $d/gone && rmdir $d/gone";
    let directory = tempfile::tempdir().unwrap();
    let line = |job: &str| {
        let d = directory.path().display();
        format!("d={d}; {gone}; $bcs run {job} hello")
    };
    told(&line("-n 2"), 0, "");
    let words = "the working directory is gone";
    told(&line("-n 2 --nodes 2 --fabric udp"), 125, words);
}
