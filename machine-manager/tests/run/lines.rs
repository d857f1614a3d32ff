//! Output arrives whole line by whole line.

use super::job::{Job, run, signal, text};
use rustix::process::Signal;
use std::io::{Read as _, Write as _};

/// Checks that every line of output is one letter, with the requested length.
fn check(stdout: &[u8], ranks: usize, lines: usize, len: usize) {
    let stdout = text(stdout);
    assert_eq!(stdout.lines().count(), ranks * lines);
    for line in stdout.lines() {
        assert_eq!(line.len(), len, "{:.60}", line);
        let first = line.as_bytes()[0];
        assert!(
            line.bytes().all(|byte| byte == first),
            "{:.60} is of several ranks",
            line
        );
    }
}

/// Writes lines of a letter that differs between neighbouring process ids, in small pieces.
fn script(lines: usize, len: usize) -> String {
    format!(
        "c=$(printf 'abcdefghij' | cut -c $(($$ % 10 + 1)))
         line=$(head -c {len} /dev/zero | tr '\\0' $c)
         for i in $(seq {lines}); do printf '%s\\n' \"$line\"; done"
    )
}

#[test]
fn long_lines_of_several_ranks_are_never_split() {
    let output = run("run -n 6 --nodes 2", &script(20, 100_000));
    assert!(output.status.success(), "{:?}", output.status);
    check(&output.stdout, 6, 20, 100_000);
}

#[test]
fn short_lines_of_several_ranks_are_never_split() {
    let output = run(
        "run -n 4 --nodes 2 --nic-threads coprocessor",
        &script(2_000, 79),
    );
    check(&output.stdout, 4, 2_000, 79);
}

#[test]
fn lines_of_a_megabyte_work() {
    let output = run("run -n 3", &script(5, 1 << 20));
    check(&output.stdout, 3, 5, 1 << 20);
}

#[test]
fn both_streams_into_one_file_do_not_mix_within_lines() {
    let mut command = super::job::bcs("run -n 4 sh -c");
    command.arg(
        "for i in $(seq 500); do echo oooooooooooooooooooo; echo eeeeeeeeeeeeeeeeeeee >&2; done",
    );
    let mut file = tempfile::tempfile().unwrap();
    command
        .stdout(file.try_clone().unwrap())
        .stderr(file.try_clone().unwrap());
    assert!(command.status().unwrap().success());
    std::io::Seek::rewind(&mut file).unwrap();
    let mut all = Vec::new();
    file.read_to_end(&mut all).unwrap();
    check(&all, 4, 1_000, 20);
}

#[test]
fn a_last_line_without_newline_arrives_as_it_is() {
    assert_eq!(text(&run("run -n 1", "printf 'a\\nb'").stdout), "a\nb");
    let both = text(&run("run -n 2", "printf b").stdout);
    assert_eq!(both, "b\nb", "and is not continued by another rank");
}

/// The program waits for an answer, which nobody would give without its prompt.
#[test]
fn a_prompt_without_newline_is_shown() {
    for nodes in [1, 2] {
        let mut command = super::job::bcs(&format!("run -n 2 --nodes {nodes} sh -c"));
        command
            .arg(
                "read line || exit 0; echo start; printf 'name? '; read name; echo \"hello $name\"",
            )
            .stdin(std::process::Stdio::piped());
        let mut job = Job::spawn(command);
        let mut stdin = job.child().stdin.take().unwrap();
        let mut stdout = job.child().stdout.take().unwrap();
        stdin.write_all(b"go\n").unwrap();
        let mut asked = [0; "start\nname? ".len()];
        stdout.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"start\nname? ");
        stdin.write_all(b"you\n").unwrap();
        drop(stdin);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "hello you\n");
        assert!(job.finish().status.success());
    }
}

#[test]
fn with_labels_a_line_waits_for_its_end() {
    // The data in the pipe between them shows that the first half was there for long.
    let script = "if read go; then printf half; sleep 0.2; echo ' and half'; else echo whole; fi";
    let mut command = super::job::bcs("run -n 2 -l sh -c");
    command.arg(script).stdin(std::process::Stdio::piped());
    let mut job = Job::spawn(command);
    job.child()
        .stdin
        .take()
        .unwrap()
        .write_all(b"go\n")
        .unwrap();
    let output = job.finish();
    let mut lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] half and half", "[1] whole"]);
}

#[test]
fn a_line_that_a_killed_rank_has_left_is_marked_as_cut() {
    for (options, marked) in [("", "half [cut]\n"), ("-l", "[0] half [cut]\n")] {
        let output = run(&format!("run {options} -n 1"), "printf half; kill -KILL $$");
        assert_eq!(text(&output.stdout), marked);
        assert_eq!(output.status.code(), Some(137));
    }
    let output = run("run -n 1", "echo whole; kill -KILL $$");
    assert_eq!(text(&output.stdout), "whole\n");
}

#[test]
fn a_reader_who_is_slow_stops_the_ranks_and_takes_no_memory() {
    let mut job = Job::start("run -n 4 --nodes 2 yes", "");
    let mut stdout = job.child().stdout.take().unwrap();
    let mut buffer = vec![0; 1 << 20];
    for _ in 0..50 {
        stdout.read_exact(&mut buffer).unwrap();
    }
    let managers = job.find_all(1, super::job::managers_of(&job));
    for pid in managers
        .iter()
        .map(|manager| manager.pid)
        .chain([job.pid()])
    {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let peak: usize = peak.trim().strip_suffix(" kB").unwrap().parse().unwrap();
        assert!(peak < 64 << 10, "process {pid} took {peak} KiB");
    }
    // Nobody reads any more: the job ends as a program in a shell's pipeline would.
    drop(stdout);
    let output = job.finish();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_reader_who_does_not_read_keeps_no_rank_alive() {
    let mut job = Job::start("run -n 2 yes", "");
    let mut stdout = job.child().stdout.take().unwrap();
    stdout.read_exact(&mut [0; 4096]).unwrap();
    signal(job.pid(), Signal::TERM);
    job.wait_until_gone();
    // `bcs run` itself still holds output from before.
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    let output = job.finish();
    assert_eq!(output.status.code(), Some(143));
    assert!(rest.ends_with(b"y\n"), "whole lines to the last");
}
