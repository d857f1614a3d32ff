//! Jobs on hosts that a real ssh reaches.

use super::job::{GONE_WITHIN, Job, bcs, text};
use super::program::fixture;
use super::sshd::{HOSTS, Sshd, USER};
use rustix::process::Signal;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// Makes a `bcs run` over some of the hosts.
pub(crate) fn over_ssh(sshd: &Sshd, key: &str, hosts: usize, options: &str) -> Command {
    let mut command = bcs("run --fabric udp --host-interface lo --hosts");
    command.arg(HOSTS[..hosts].join(","));
    command.args(["--launcher", &sshd.launcher(key)]);
    command.args(options.split_whitespace());
    command
}

fn ends_well(command: Command) -> String {
    let output = Job::spawn(command).finish();
    let told = text(&output.stderr);
    assert_eq!((output.status.code(), &*told), (Some(0), ""), "{output:?}");
    text(&output.stdout)
}

#[test]
fn four_ranks_on_four_hosts_talk_and_collect() {
    let Some(sshd) = Sshd::start_or_skip(&[]) else {
        return;
    };
    let said = ends_well({
        let mut command = over_ssh(&sshd, USER, 4, "-n 4 -l");
        command.arg("hello");
        command
    });
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..4)
        .map(|rank| format!("[{rank}] hello from rank {rank} of 4"))
        .collect();
    assert_eq!(lines, expected);
    for options in [
        "-n 4",
        "-n 4 --intranode nic",
        "-n 8 --nodes 8 --nic-threads shared",
        "-n 4 --launch-degree 2",
        "-n 8 --nodes 8 --launch-degree 2",
    ] {
        let mut command = over_ssh(&sshd, USER, 4, options);
        command.arg(fixture("conformance")).arg("unwritable");
        assert_eq!(ends_well(command), "16 rules\n", "{options}");
    }
    // Ranks that ranks start are on all hosts.
    for options in ["-n 2", "-n 4 --launch-degree 2"] {
        let mut command = over_ssh(&sshd, USER, 2, options);
        command.arg(fixture("spawner")).args(["4", "ends"]);
        assert_eq!(ends_well(command), "", "{options}");
    }
}

#[test]
fn standard_streams_files_and_exit_codes_come_through_ssh() {
    let Some(sshd) = Sshd::start_or_skip(&[]) else {
        return;
    };
    let script = |options: &str, script: &str| {
        let mut command = over_ssh(&sshd, USER, 2, options);
        command.args(["sh", "-c", script]);
        command
    };
    // More than the pipes on the path can hold.
    let said = ends_well(script("-n 2", "yes 0123456789abcde | head -n 100000"));
    assert_eq!(said.len(), 2 * 1_600_000);
    assert!(said.lines().all(|line| line == "0123456789abcde"));
    let output = Job::spawn(script("-n 2 -l", "echo out; echo err >&2")).finish();
    let mut told: Vec<String> = text(&output.stderr).lines().map(str::to_owned).collect();
    told.sort_unstable();
    assert_eq!(told, ["[0] err", "[1] err"]);

    let mut command = script("-n 2 --stdin 1 -l", "md5sum | cut -c1-32");
    let file = tempfile::tempfile().unwrap();
    {
        use std::io::Seek as _;
        let mut file = &file;
        file.write_all(&vec![b'x'; 1 << 20]).unwrap();
        file.rewind().unwrap();
    }
    command.stdin(Stdio::from(file));
    let said = ends_well(command);
    assert!(
        said.contains("[0] d41d8cd98f00b204e9800998ecf8427e\n"),
        "{said}"
    );
    assert!(
        said.contains("[1] b561f87202d04959e37588ee05cf5b10"),
        "{said}"
    );

    let files = sshd.place().join("files");
    let options = format!("-n 2 --output-dir {}", files.display());
    assert_eq!(ends_well(script(&options, "echo here")), "");
    for rank in 0..2 {
        let file = files.join(format!("rank.{rank}.out"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), "here\n");
    }

    let output = Job::spawn(script("-n 2", "exit 5")).finish();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let output = Job::spawn(script("-n 2", "kill -SEGV $$")).finish();
    assert_eq!(output.status.code(), Some(139), "{output:?}");
}

/// A shell that prints a greeting at login must not keep a job from starting.
#[test]
fn what_a_login_says_is_no_answer_of_a_node_manager() {
    let scripts = [(
        "chatty",
        "printf 'Welcome!\\nno newline'; exec $SSH_ORIGINAL_COMMAND",
    )];
    let Some(sshd) = Sshd::start_or_skip(&scripts) else {
        return;
    };
    let mut command = over_ssh(&sshd, "chatty", 2, "-n 2");
    command.arg("hello");
    assert_eq!(ends_well(command).lines().count(), 2);
}

/// Node managers that are connected to the launcher by plain pipes.
#[test]
fn a_launcher_may_stand_between_with_pipes() {
    let mut command = bcs("run -n 2 --hosts a,b --host-interface lo --fabric udp");
    let launcher = "sh -c 'cat | \"$2\" \"$3\" | cat' sh {host}";
    command.args(["--launcher", launcher, "--timeout", "20s", "sh", "-c"]);
    command.arg("yes 0123456789abcde | head -n 50000");
    assert_eq!(ends_well(command).len(), 2 * 800_000);
}

fn ended_early(mut job: Job, code: i32, words: &str) -> Output {
    let begin = Instant::now();
    let output = job.output();
    let took = begin.elapsed();
    let told = text(&output.stderr);
    assert!(took < GONE_WITHIN, "{took:?}: {told}");
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains(words), "{told}");
    job.wait_until_gone();
    output
}

/// A start handles signals and the time limit whatever it waits for: a host that does not answer, a
/// login that never ends, and a node manager that has greeted and sends nothing more.
#[test]
fn a_start_ends_by_a_signal_or_its_time_limit_whatever_it_waits_for() {
    let greeting = format!(
        "printf '\\nBCS-MPI far-node-manager {}\\n'; exec cat >/dev/null",
        env!("CARGO_PKG_VERSION")
    );
    let scripts = [("slow", "exec cat >/dev/null"), ("silent", &greeting)];
    let Some(sshd) = Sshd::start_or_skip(&scripts) else {
        return;
    };
    // It accepts connections, and sends nothing.
    let silent = TcpListener::bind((HOSTS[0], 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let waits = |key: &str, options: &str| {
        let mut command = match key {
            "" => {
                let mut command = bcs("run -n 1 --hosts 127.0.0.2 --launcher");
                let launcher = format!("{} -p {port}", sshd.launcher(USER));
                command.arg(launcher).args(options.split_whitespace());
                command
            }
            key => over_ssh(&sshd, key, 2, options),
        };
        command.arg("hello");
        Job::spawn(command)
    };
    for key in ["", "slow", "silent"] {
        for (signal, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
            let job = waits(key, "");
            job.find(|process| match key {
                "" => process.line.starts_with("ssh "),
                _ => process.line.starts_with("cat"),
            });
            super::job::signal(job.pid(), signal);
            let words = format!("bcs: bcs run received signal {number} (");
            ended_early(job, 128 + number, &words);
        }
        let job = waits(key, "--timeout 700ms");
        let words =
            "the time limit of 700ms was over, and the node manager of node 0 on host 127.0.0.2";
        ended_early(job, 124, words);
    }
}

/// A launcher that is killed sends no message. The job ends because its node managers notice.
#[test]
fn a_launcher_that_is_killed_while_it_starts_leaves_nothing() {
    let scripts = [("slow", "exec cat >/dev/null")];
    let Some(sshd) = Sshd::start_or_skip(&scripts) else {
        return;
    };
    let mut command = over_ssh(&sshd, "slow", 2, "-n 2");
    command.arg("hello");
    let mut job = Job::spawn(command);
    let ssh = job.find_all(2, |process| process.line.starts_with("ssh "));
    job.child().kill().unwrap();
    assert!(ssh.iter().all(|ssh| ssh.parent == job.pid()));
    let status = job.finish_later();
    assert_eq!(status.signal(), Some(9));
}

/// By default an sshd drops logins when ten are under way. With more than ten at once, it would
/// drop one and end this job.
#[test]
fn a_host_of_many_node_managers_is_not_asked_by_all_at_once() {
    let Some(sshd) = Sshd::start_with_or_skip("MaxStartups 10", &[]) else {
        return;
    };
    let mut command = over_ssh(&sshd, USER, 1, "-n 24 --nodes 24 --nic-threads coprocessor");
    command.arg("hello");
    assert_eq!(ends_well(command).lines().count(), 24);
}
