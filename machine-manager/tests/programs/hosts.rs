//! Jobs on several hosts, which are network namespaces. If these cannot be made, the tests are
//! skipped and print why.

use crate::program::fixture;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use test_network::{NetworkKind, NetworkOptions, SwitchFaults, TestNetwork};

/// A network as good as the kernel's.
pub(crate) const BRIDGE: NetworkOptions = NetworkOptions {
    joined: NetworkKind::Bridge,
    mtu: 1500,
};

/// Makes a `bcs run` over all hosts of a network. They share a kernel, so they could share memory,
/// too.
fn bcs(network: &TestNetwork, options: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bcs"));
    command
        .args(["run", "--launcher", "ip netns exec {host}", "--timeout"])
        .args(["120s", "--fabric", "udp", "--hosts"])
        .arg(network.hosts().join(","))
        .args(options.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns the output of a job that ends well.
fn said(mut command: Command) -> String {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.is_empty(),
        "{command:?}: {}\n{told}",
        output.status
    );
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn lossy(hosts: usize, faults: SwitchFaults) -> Option<TestNetwork> {
    let joined = NetworkKind::Lossy(faults);
    TestNetwork::make_or_skip(hosts, NetworkOptions { joined, mtu: 1500 })
}

/// Checks that no process of a job is left on any host.
pub(crate) fn nothing_is_left(network: &TestNetwork) {
    for host in 0..network.hosts().len() {
        let left = network.processes(host).unwrap();
        assert!(left.is_empty(), "on host {host}: {left:?}");
    }
}

const BAD: SwitchFaults = SwitchFaults {
    seed: 17,
    loss_permille: 50,
    duplication_permille: 50,
    reordering_permille: 50,
    reordering_behind: 4,
    reordering_hold_us: 2_000,
    delay_permille: 200,
    delay_us: 500,
    jitter_us: 5_000,
    ..SwitchFaults::NONE
};

#[test]
fn roads_keep_the_rules_between_hosts() {
    for (hosts, options) in [
        (2, "-n 4"),
        (2, "-n 5 --nodes 4 --intranode nic"),
        (3, "-n 6 --strobe fixed --fabric-crypto aead"),
        (
            2,
            "-n 3 --nodes 3 --nic-threads shared --fabric-crypto none",
        ),
        (2, "-n 2 --nic-threads dedicated --eager-limit 0"),
    ] {
        let Some(network) = TestNetwork::make_or_skip(hosts, BRIDGE) else {
            return;
        };
        let mut command = bcs(&network, options);
        command.arg(fixture("conformance")).arg("unwritable");
        assert_eq!(said(command), "16 rules\n", "{options}");
        nothing_is_left(&network);
    }
}

#[test]
fn roads_keep_the_rules_over_a_bad_network() {
    let Some(network) = lossy(2, BAD) else { return };
    let mut command = bcs(&network, "-n 4");
    command.arg(fixture("conformance")).arg("unwritable");
    assert_eq!(said(command), "16 rules\n");
    let counts = network.counts().unwrap();
    assert!(counts.all.lost > 0 && counts.all.repeated > 0, "{counts:?}");
}

/// Returns the computed results: the digest of all, if there is one, else all lines without times.
fn answers(text: &str) -> Vec<&str> {
    if let Some(digest) = text.lines().find(|line| line.starts_with("digest ")) {
        return vec![digest];
    }
    let is_answer = |line: &&str| !(line.contains("time") || line.contains("grind"));
    text.lines().filter(is_answer).collect()
}

#[test]
fn applications_compute_the_same_over_a_network_that_loses_a_tenth() {
    let losses = SwitchFaults {
        seed: 3,
        loss_permille: 100,
        ..SwitchFaults::NONE
    };
    let Some(network) = lossy(4, losses) else {
        return;
    };
    let sage = "sage --deck sedov --levels 2 --cycles 6";
    let sweep3d = "sweep3d";
    for program in [sweep3d, sage] {
        let words = || program.split_whitespace();
        let mut alone = Command::new(env!("CARGO_BIN_EXE_bcs"));
        alone.args(["run", "-n", "4"]).args(words());
        let mut apart = bcs(&network, "-n 4");
        apart.args(words());
        let (alone, apart) = (said(alone), said(apart));
        assert_eq!(answers(&apart), answers(&alone), "{program}");
    }
}

/// Starts a job whose ranks send messages without end, and waits until they do.
fn endless(network: &TestNetwork, options: &str) -> Child {
    let mut command = bcs(network, options);
    command.arg(fixture("endless")).arg("collectives");
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "it began");
    child
}

fn ended(child: Child, within: Duration) -> Output {
    let begin = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(
        begin.elapsed() < within,
        "{:?}: {output:?}",
        begin.elapsed()
    );
    output
}

#[test]
fn a_host_that_is_cut_off_is_named_and_the_job_ends() {
    let Some(network) = TestNetwork::make_or_skip(3, BRIDGE) else {
        return;
    };
    let child = endless(&network, "-n 3 --node-timeout 2s --kill-delay 100ms");
    network.cut(2).unwrap();
    let output = ended(child, Duration::from_secs(8));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{told}");
    let named = format!("(node 2 is on host {})", network.host(2));
    // A host that is cut off gets no messages, and may be the first to report it.
    let by_whom = (0..2).map(|node| format!("(node {node} is on host {})", network.host(node)));
    let is_named = by_whom.chain([named]).any(|named| told.contains(&named));
    assert!(
        told.contains("nothing was heard of it for ") && is_named,
        "{told}"
    );
    nothing_is_left(&network);
}

/// A link that is down for a second, and a node that stands still for a second, lose nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "the second is the point")]
fn after_a_second_of_silence_the_job_goes_on() {
    let Some(network) = TestNetwork::make_or_skip(2, BRIDGE) else {
        return;
    };
    let program = "sage --deck timing_c --levels 1 --cycles 60";
    let mut alone = Command::new(env!("CARGO_BIN_EXE_bcs"));
    alone.args(["run", "-n", "2"]).args(program.split(' '));
    let mut command = bcs(&network, "-n 2");
    let mut child = command.args(program.split(' ')).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_cycle = |line: &String| line.trim_start().starts_with("10 ");
    assert!(
        lines.any(|line| is_cycle(&line.unwrap())),
        "it is in the middle"
    );
    network.cut(1).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    network.mend(1).unwrap();
    let processes = network.processes(1).unwrap();
    assert!(!processes.is_empty(), "it still runs");
    for signal in [Signal::STOP, Signal::CONT] {
        for process in &processes {
            let pid = Pid::from_raw(process.cast_signed()).unwrap();
            kill_process(pid, signal).unwrap();
        }
        if signal == Signal::STOP {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
    assert_eq!(answers(&rest.join("\n")), answers(&said(alone)));
    nothing_is_left(&network);
}

#[test]
fn many_hosts_meet_and_reduce() {
    let Some(network) = TestNetwork::make_or_skip(16, BRIDGE) else {
        return;
    };
    let mut command = bcs(&network, "-n 32 --node-timeout 10s");
    command.args(["bench", "--ops", "allreduce", "--sizes", "8"]);
    let lines = said(command);
    assert!(
        lines.starts_with(r#"{"op":"allreduce","bytes":8,"#),
        "{lines}"
    );
    nothing_is_left(&network);
}
