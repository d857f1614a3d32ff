//! Nodes on this machine that are joined by a network: what may be requested, what is printed, and
//! what is refused. With hosts: `programs/hosts.rs`.

use super::job::{Job, bcs, run, text};
use std::process::Stdio;

#[test]
fn nodes_of_one_machine_may_be_joined_by_udp() {
    let output = run("run -v -n 3 --nodes 3 --fabric udp hello", "");
    let (told, said) = (text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(said.lines().count(), 3, "{said}");
    for node in 0..3 {
        let line = format!("bcs: machine of nodes {node}: 127.0.0.1:");
        assert!(told.contains(&line), "{told}");
    }
    let line =
        "bcs: machines are joined by udp, as --fabric udp says; datagrams are guarded by Tag";
    assert!(told.contains(line), "{told}");
}

/// The launcher has to start a program on a host: this one starts it here, whatever the host.
#[test]
fn hosts_that_can_share_memory_do() {
    let output = run("run -v -n 2 --hosts a,b --launcher env hello", "");
    let told = text(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(127 - 2),
        "env takes a for a program: {told}"
    );
    let launcher = "sh -c \"exec \\\"$1\\\" \\\"$2\\\"\" {host}";
    let mut command = bcs("run -v -n 2 --hosts a,b --host-interface lo");
    command.args(["--launcher", launcher, "hello"]);
    let output = Job::spawn(command).finish();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(
        told.contains("bcs: machine of nodes 0, 1 on host a: 127.0.0.1:"),
        "{told}"
    );
    assert!(told.contains("joined by shared memory"), "{told}");
    assert!(!told.contains("joined by udp"), "{told}");
    let mut command = bcs("run -v -n 2 --hosts a,b --host-interface lo --fabric udp");
    command.args(["--launcher", launcher, "hello"]);
    let output = Job::spawn(command).finish();
    let told = text(&output.stderr);
    assert!(
        told.contains("bcs: the node manager of node 1 on host b is process"),
        "{told}"
    );
    assert!(told.contains("machines are joined by udp"), "{told}");
}

/// Standard input comes through the launcher, whichever host the rank is on.
#[test]
fn a_rank_elsewhere_reads_the_standard_input() {
    let mut command = bcs("run -n 2 --nodes 2 --fabric udp --stdin 1 -l sh -c");
    command.arg("cat");
    let file = tempfile::tempfile().unwrap();
    {
        use std::io::{Seek as _, Write as _};
        let mut file = &file;
        file.write_all(b"one\ntwo\n").unwrap();
        file.rewind().unwrap();
    }
    command.stdin(Stdio::from(file));
    let output = Job::spawn(command).finish();
    assert_eq!(text(&output.stdout), "[1] one\n[1] two\n", "{output:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (arguments, words) in [
        ("--hosts a,,b", "--hosts a,,b names a host without a name"),
        (
            "--hosts a --launcher nowhere-at-all",
            "--launcher: program nowhere-at-all is neither",
        ),
        (
            "--nodes 2 --fabric udp --node-timeout 1ms",
            "--node-timeout 1ms is out of range",
        ),
        ("--host-ports 9-1", "these are no ports"),
    ] {
        let output = run(&format!("run -n 2 {arguments} hello"), "");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words), "{told}");
    }
    let output = run(
        "run -n 2 --nodes 2 --fabric udp --host-interface nowhere0 hello",
        "",
    );
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{told}");
    assert!(
        told.contains("--host-interface nowhere0 is no interface"),
        "{told}"
    );
    // Any of the node managers may report it first.
    assert!(told.contains("node manager of node "), "{told}");
}
