//! Failures of ssh are reported at once: in one line that names the host, has ssh's own words, and
//! gives advice.

use super::job::{Job, bcs, text};
use super::ssh::over_ssh;
use super::sshd::{HOSTS, STRANGER, Sshd, USER};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

/// A login that does not see the files in `programs`, beside this script.
const HIDES_PROGRAMS: &str = "export HIDDEN=$(dirname $0)/programs
exec unshare -m sh -c 'mount -t tmpfs none $HIDDEN && exec $SSH_ORIGINAL_COMMAND'";

const WITHIN: Duration = Duration::from_secs(5);

/// Checks that the failure is reported in one line of standard error that has all these words.
fn told(command: Command, code: i32, words: &[&str]) {
    let begin = Instant::now();
    let mut job = Job::spawn(command);
    let output = job.output();
    let took = begin.elapsed();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert!(took < WITHIN, "{took:?}: {told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    for word in words {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    job.wait_until_gone();
}

fn with_launcher(launcher: &str, host: &str) -> Command {
    let mut command = bcs("run -n 1 --host-interface lo --hosts");
    command.args([host, "--launcher", launcher, "hello"]);
    command
}

#[test]
fn a_host_that_is_not_reached() {
    let Some(sshd) = Sshd::start_or_skip(&[]) else {
        return;
    };
    let launcher = sshd.launcher(USER);
    let name = "no-such-host.invalid";
    told(
        with_launcher(&launcher, name),
        125,
        &[
            "failed to start the node manager of node 0 on host no-such-host.invalid",
            "Could not resolve hostname",
            "check the names in --hosts",
        ],
    );
    // A port without a listener, until the end of this function.
    let nobody = TcpListener::bind((HOSTS[0], 0)).unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    told(
        with_launcher(&format!("{launcher} -p {port}"), HOSTS[0]),
        125,
        &["on host 127.0.0.2", "Connection refused", "start sshd"],
    );
    // It exists and sends nothing, like a host that is down.
    let silent = TcpListener::bind((HOSTS[1], 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    told(
        with_launcher(&format!("{launcher} -p {port}"), HOSTS[1]),
        125,
        &["on host 127.0.0.3", "timed out", "is 127.0.0.3 up"],
    );
}

#[test]
fn a_host_that_does_not_let_in() {
    let Some(sshd) = Sshd::start_with_or_skip("MaxStartups 5", &[]) else {
        return;
    };
    told(
        with_launcher(&sshd.launcher(STRANGER), HOSTS[0]),
        125,
        &[
            "on host 127.0.0.2",
            "Permission denied",
            "without a password",
        ],
    );
    let knows_none = format!("{} -o UserKnownHostsFile=/dev/null", sshd.launcher(USER));
    told(
        with_launcher(&knows_none, HOSTS[1]),
        125,
        &[
            "on host 127.0.0.3",
            "Host key verification failed",
            "known hosts",
        ],
    );
    // Other logins are under way, as many as the sshd allows, for the time of the test.
    let mut others = Vec::new();
    loop {
        let other = TcpStream::connect((HOSTS[2], sshd.port)).unwrap();
        let mut banner = [0; 4];
        let is_let = std::io::Read::read_exact(&mut &other, &mut banner).is_ok();
        if !is_let || &banner != b"SSH-" {
            break;
        }
        others.push(other);
    }
    told(
        with_launcher(&sshd.launcher(USER), HOSTS[2]),
        125,
        &["on host 127.0.0.4", "Connection", "MaxStartups"],
    );
}

#[test]
fn a_host_that_has_not_what_is_needed() {
    let other_version = "printf '\\nBCS-MPI far-node-manager 0.0.1\\n'; exec cat >/dev/null";
    let scripts = [
        ("empty", "exec /nowhere/bcs far-node-manager"),
        ("old", other_version),
        ("talks", "yes to all"),
        ("hidden", HIDES_PROGRAMS),
    ];
    let Some(sshd) = Sshd::start_or_skip(&scripts) else {
        return;
    };
    told(
        with_launcher(&sshd.launcher("empty"), HOSTS[0]),
        125,
        &[
            "on host 127.0.0.2",
            "ssh exited with code 127",
            "/nowhere/bcs",
            "install bcs on 127.0.0.2 at the same path",
        ],
    );
    told(
        with_launcher(&sshd.launcher("old"), HOSTS[1]),
        125,
        &["on host 127.0.0.3", "0.0.1", "install the same version"],
    );
    told(
        with_launcher(&sshd.launcher("talks"), HOSTS[1]),
        125,
        &["on host 127.0.0.3", ".bashrc"],
    );
    // The program exists here, and not there.
    let programs = sshd.place().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let program = programs.join("program");
    std::fs::copy("/bin/true", &program).unwrap();
    let mut command = over_ssh(&sshd, "hidden", 1, "-n 1");
    command.arg(&program);
    told(
        command,
        126,
        &[
            "rank 0",
            "on host 127.0.0.2",
            "program",
            "same path on all hosts",
        ],
    );
}
