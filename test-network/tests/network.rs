//! Networks of namespaces, between real sockets. Where they cannot be made these tests are skipped,
//! and print why.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, geteuid, pidfd_open};
use rustix::thread::{Uid, set_thread_uid};
use test_network::{
    NetworkError, NetworkKind, NetworkOptions, REQUIRED, SwitchCounts, SwitchFaults, TestNetwork,
};

/// The longest wait. It is only reached if something is broken.
const LIMIT: Duration = Duration::from_secs(20);

const LOSSY: NetworkOptions = NetworkOptions {
    joined: NetworkKind::Lossy(SwitchFaults::NONE),
    mtu: 1500,
};

const BRIDGE: NetworkOptions = NetworkOptions {
    joined: NetworkKind::Bridge,
    mtu: 1500,
};

/// Makes a network with these options, if possible.
fn network(hosts: usize, options: NetworkOptions) -> Option<TestNetwork> {
    TestNetwork::make_or_skip(hosts, options)
}

fn lossy(faults: SwitchFaults) -> Option<TestNetwork> {
    let joined = NetworkKind::Lossy(faults);
    network(2, NetworkOptions { joined, ..LOSSY })
}

/// Makes a socket on a host, and returns its address, too.
fn socket(network: &TestNetwork, host: usize, v6: bool) -> (UdpSocket, SocketAddr) {
    let address: IpAddr = if v6 {
        network.address_v6(host).into()
    } else {
        network.address(host).into()
    };
    let bound = network.on_host(host, || UdpSocket::bind((address, 0)));
    let socket = bound.unwrap().unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Waits until something can be read.
fn happens(what: impl AsFd, event: &str) {
    let limit = Timespec::try_from(LIMIT).unwrap();
    let ready = poll(&mut [PollFd::new(&what, PollFlags::IN)], Some(&limit));
    assert_eq!(ready, Ok(1), "{event}");
}

/// Waits until the counts of the switch are `right`, and returns them.
fn counts_when(network: &TestNetwork, right: impl Fn(&SwitchCounts) -> bool) -> SwitchCounts {
    let deadline = Instant::now() + LIMIT;
    loop {
        let counts = network.counts().unwrap();
        if right(&counts) {
            return counts;
        }
        assert!(Instant::now() < deadline, "{counts:?}");
    }
}

/// Checks that a datagram arrives, and that the first one does.
fn arrives(network: &TestNetwork, from: usize, to: usize) {
    let (sender, _) = socket(network, from, false);
    let (receiver, address) = socket(network, to, false);
    sender.send_to(b"hello", address).unwrap();
    assert_eq!(receiver.recv(&mut [0; 8]).unwrap(), 5);
}

/// Sends some datagrams, and checks that none arrives.
fn nothing_arrives(network: &TestNetwork, from: usize, to: usize) {
    let (sender, _) = socket(network, from, false);
    let (receiver, address) = socket(network, to, false);
    let wait = Duration::from_millis(50);
    receiver.set_read_timeout(Some(wait)).unwrap();
    for _ in 0..3 {
        sender.send_to(b"hello", address).unwrap();
        let error = receiver.recv(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn hosts_send_each_other_datagrams() {
    for joined in [NetworkKind::Bridge, NetworkKind::Lossy(SwitchFaults::NONE)] {
        for (mtu, longest) in [(1500, 1452), (9000, 8952)] {
            let Some(network) = network(3, NetworkOptions { joined, mtu }) else {
                return;
            };
            for v6 in [false, true] {
                let (asking, _) = socket(&network, 0, v6);
                let (answering, address) = socket(&network, 2, v6);
                // In frames, and in fragments.
                for length in [0, 1, longest, longest + 1, 30_001] {
                    let sent: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
                    let mut buffer = vec![0; length + 1];
                    asking.send_to(&sent, address).unwrap();
                    let (arrived, from) = answering.recv_from(&mut buffer).unwrap();
                    answering.send_to(&buffer[..arrived], from).unwrap();
                    let arrived = asking.recv(&mut buffer).unwrap();
                    assert!(buffer[..arrived] == sent, "{joined:?} {mtu} {length}");
                }
            }
        }
    }
}

/// Sends `length` bytes by TCP from the second host to the first.
fn by_tcp(network: &TestNetwork, length: usize) {
    let address = (network.address(0), 0);
    let bound = network.on_host(0, || TcpListener::bind(address));
    let listener = bound.unwrap().unwrap();
    let address = listener.local_addr().unwrap();
    let sent: Vec<u8> = (0..=250).cycle().take(length).collect();
    let arrived = std::thread::scope(|threads| {
        threads.spawn(|| {
            let connected = network.on_host(1, || TcpStream::connect_timeout(&address, LIMIT));
            connected.unwrap().unwrap().write_all(&sent).unwrap();
        });
        happens(&listener, "a connection comes");
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut arrived = Vec::new();
        stream.read_to_end(&mut arrived).unwrap();
        arrived
    });
    assert!(arrived == sent);
}

#[test]
fn tcp_passes_a_switch_that_loses_all_datagrams() {
    let faults = SwitchFaults {
        loss_permille: 1000,
        ..SwitchFaults::NONE
    };
    let Some(network) = lossy(faults) else { return };
    let (sender, _) = socket(&network, 0, false);
    let (receiver, address) = socket(&network, 1, false);
    for _ in 0..50 {
        sender.send_to(b"hello", address).unwrap();
    }
    counts_when(&network, |counts| counts.all.lost == 50);
    receiver.set_nonblocking(true).unwrap();
    let error = receiver.recv(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    by_tcp(&network, 3_000_000);
    let counts = network.counts().unwrap();
    assert_eq!((counts.all.datagrams, counts.all.lost), (50, 50));
    // Faults end while it runs.
    network.set_faults(SwitchFaults::NONE).unwrap();
    receiver.set_nonblocking(false).unwrap();
    sender.send_to(b"again", address).unwrap();
    assert_eq!(receiver.recv(&mut [0; 8]).unwrap(), 5);
}

#[test]
fn tcp_passes_a_bridge() {
    let Some(network) = network(2, BRIDGE) else {
        return;
    };
    by_tcp(&network, 30_000_000);
    let error = network.counts().unwrap_err();
    assert!(matches!(error, NetworkError::Bridge), "{error}");
}

/// Returns the datagrams that arrive, with the number of times. All have room in the socket.
fn arrived(seed: u64, v6: bool) -> Option<BTreeMap<Vec<u8>, u32>> {
    const COUNT: u32 = 150;
    let faults = SwitchFaults {
        seed,
        loss_permille: 200,
        duplication_permille: 200,
        reordering_permille: 100,
        reordering_hold_us: 1000,
        delay_permille: 500,
        delay_us: 100,
        jitter_us: 1000,
        corruption_permille: 200,
        ..SwitchFaults::NONE
    };
    let network = lossy(faults)?;
    let (sender, _) = socket(&network, 0, v6);
    let (receiver, address) = socket(&network, 1, v6);
    for nth in 0..COUNT {
        let datagram = [nth.to_le_bytes(); 8].concat();
        sender.send_to(&datagram, address).unwrap();
        // A thread that moves from core to core may overtake what it has sent.
        counts_when(&network, |counts| {
            counts.all.datagrams == u64::from(nth) + 1
        });
    }
    let counts = counts_when(&network, |counts| counts.all.held == 0);
    assert_eq!((counts.refused, counts.overrun), (0, 0));
    let all = counts.all;
    let mut arrived = BTreeMap::new();
    for _ in 0..all.datagrams - all.lost + all.repeated {
        let mut buffer = [0; 33];
        let length = receiver.recv(&mut buffer).unwrap();
        *arrived.entry(buffer[..length].to_vec()).or_default() += 1;
    }
    // The kernel checks checksums: a changed datagram has come with a right one.
    let changed = arrived
        .keys()
        .filter(|bytes| bytes.chunks(4).any(|word| word != &bytes[..4]));
    assert!(changed.count() > 5);
    Some(arrived)
}

#[test]
fn a_seed_tells_a_run_again() {
    let [Some(one), Some(same), Some(other)] = [7, 7, 8].map(|seed| arrived(seed, false)) else {
        return;
    };
    assert_eq!(one, same);
    assert_ne!(one, other);
    assert_eq!(arrived(7, true).unwrap(), one, "addresses do not matter");
}

#[test]
#[expect(unsafe_code, reason = "no library of ours knows UDP_SEGMENT")]
fn datagrams_that_are_sent_in_one_call_have_their_fates_each() {
    let Some(network) = network(2, LOSSY) else {
        return;
    };
    let (sender, _) = socket(&network, 0, false);
    let (receiver, address) = socket(&network, 1, false);
    let length: libc::c_int = 100;
    // SAFETY: the kernel reads as many bytes as `length` has.
    let done = unsafe {
        libc::setsockopt(
            sender.as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_SEGMENT,
            (&raw const length).cast(),
            4,
        )
    };
    assert_eq!(done, 0);
    let sent: Vec<u8> = (0..=u8::MAX).cycle().take(4050).collect();
    sender.send_to(&sent, address).unwrap();
    for part in sent.chunks(100) {
        let mut buffer = [0; 101];
        let length = receiver.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], part);
    }
    assert_eq!(network.counts().unwrap().all.datagrams, 41);
}

#[test]
fn a_cable_is_cut_and_mended() {
    for options in [BRIDGE, LOSSY] {
        let Some(network) = network(3, options) else {
            return;
        };
        arrives(&network, 0, 1);
        network.cut(1).unwrap();
        nothing_arrives(&network, 0, 1);
        arrives(&network, 0, 2);
        network.mend(1).unwrap();
        arrives(&network, 0, 1);
        arrives(&network, 1, 2);
    }
}

#[test]
fn a_share_of_packets_is_dropped() {
    let Some(network) = network(2, BRIDGE) else {
        return;
    };
    arrives(&network, 0, 1);
    match network.drop_share(1, 100) {
        Err(reason @ NetworkError::Absent { .. }) if env::var_os(REQUIRED).is_none() => {
            eprintln!("skipped: {reason}");
            return;
        }
        done => done.unwrap(),
    }
    nothing_arrives(&network, 0, 1);
    arrives(&network, 1, 0);
    network.drop_share(1, 50).unwrap();
    let (sender, _) = socket(&network, 0, false);
    let (receiver, address) = socket(&network, 1, false);
    for nth in 0..300_u32 {
        sender.send_to(&nth.to_le_bytes(), address).unwrap();
    }
    network.drop_share(1, 0).unwrap();
    sender.send_to(b"last one", address).unwrap();
    let mut buffer = [0; 9];
    let mut came = 0;
    while receiver.recv(&mut buffer).unwrap() == 4 {
        came += 1;
    }
    // Six standard deviations.
    assert!((98..=202).contains(&came), "{came} of 300");
}

#[test]
fn programs_run_on_hosts() {
    let Some(network) = network(2, LOSSY) else {
        return;
    };
    let mut command = network.command(1, "ip");
    let output = command.args(["-br", "address"]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(&network.address(1).to_string()), "{said}");
    let mut sleeping = asleep(network.command(1, "sleep"));
    assert!(network.processes(0).unwrap().is_empty());
    assert_eq!(network.processes(1).unwrap(), [sleeping.id()]);
    drop(network);
    let program = pidfd_open(Pid::from_child(&sleeping), PidfdFlags::empty()).unwrap();
    happens(&program, "it ends with its host");
    sleeping.wait().unwrap();
}

/// Starts a program that sleeps, and waits until it runs. If a test fails it ends by itself.
fn asleep(mut command: Command) -> Child {
    let child = command
        .arg("60")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = child.spawn().unwrap();
    let deadline = Instant::now() + LIMIT;
    let line = format!("/proc/{}/comm", child.id());
    while std::fs::read_to_string(&line).unwrap() != "sleep\n" {
        assert!(
            Instant::now() < deadline,
            "`ip netns exec` does not start it"
        );
    }
    child
}

/// The namespaces of a network, and its switch's process.
struct NetworkResources {
    namespaces: Vec<String>,
    switch: Vec<Pid>,
}

impl NetworkResources {
    fn of(hosts: &[String]) -> Self {
        let (network, _) = hosts[0].rsplit_once('-').unwrap();
        let switch = format!("{network}-switch");
        let output = Command::new("ip").args(["netns", "pids", &switch]).output();
        let pids = String::from_utf8(output.unwrap().stdout).unwrap();
        let pids = pids.lines().map(|pid| pid.parse().unwrap());
        Self {
            switch: pids.map(|pid| Pid::from_raw(pid).unwrap()).collect(),
            namespaces: [hosts, &[switch]].concat(),
        }
    }

    fn assert_there(&self, processes: usize) {
        assert_eq!(self.switch.len(), processes);
        for name in &self.namespaces {
            assert!(Path::new("/run/netns").join(name).exists(), "{name}");
        }
    }

    fn assert_gone(&self) {
        for pid in &self.switch {
            let found = Path::new("/proc").join(pid.to_string()).exists();
            assert!(!found, "the switch, process {pid}, is left");
        }
        for name in &self.namespaces {
            assert!(
                !Path::new("/run/netns").join(name).exists(),
                "{name} is left"
            );
        }
    }
}

#[test]
fn nothing_is_left_of_a_network_that_was_dropped() {
    for (options, processes) in [(BRIDGE, 0), (LOSSY, 1)] {
        let Some(network) = network(2, options) else {
            return;
        };
        let parts = NetworkResources::of(network.hosts());
        parts.assert_there(processes);
        drop(network);
        parts.assert_gone();
    }
}

#[test]
fn nothing_is_left_of_a_network_whose_test_has_panicked() {
    let Some(network) = network(2, LOSSY) else {
        return;
    };
    let parts = NetworkResources::of(network.hosts());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _network = network;
        parts.assert_there(7);
    }));
    assert!(panicked.is_err());
    parts.assert_gone();
}

/// Starts `lossy-switch hosts`, and returns the names that it prints.
fn keeper(words: &[&str]) -> (Child, Vec<String>) {
    let mut keeper = Command::new(env!("CARGO_BIN_EXE_lossy-switch"))
        .args(["hosts", "2"])
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(keeper.stdout.as_mut().unwrap()).lines();
    let first = |line: Result<String, _>| line.unwrap().split(' ').next().unwrap().to_owned();
    let names = lines.take(2).map(first).collect();
    (keeper, names)
}

#[test]
fn what_a_killed_process_leaves_the_next_network_removes() {
    if network(1, BRIDGE).is_none() {
        return;
    }
    let (mut keeper, names) = keeper(&["--faults", "{}"]);
    let parts = NetworkResources::of(&names);
    parts.assert_there(1);
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &names[1], "sleep"]);
    let mut sleeping = asleep(command);
    let switch = pidfd_open(parts.switch[0], PidfdFlags::empty()).unwrap();
    let program = pidfd_open(Pid::from_child(&sleeping), PidfdFlags::empty()).unwrap();
    keeper.kill().unwrap();
    keeper.wait().unwrap();
    // The end of its standard input ends the switch, without any other action.
    happens(&switch, "the switch ends");
    let _next = network(1, BRIDGE).unwrap();
    happens(&program, "what ran on a host ends");
    sleeping.wait().unwrap();
    for name in &parts.namespaces {
        assert!(
            !Path::new("/run/netns").join(name).exists(),
            "{name} is left"
        );
    }
}

#[test]
fn hosts_by_hand_end_with_standard_input() {
    if network(1, BRIDGE).is_none() {
        return;
    }
    let (mut keeper, names) = keeper(&["--faults", "{\"seed\": 3}"]);
    let parts = NetworkResources::of(&names);
    let mut stdin = keeper.stdin.take().unwrap();
    stdin
        .write_all(b"{\"loss_permille\": 5}\ncounts\n")
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(keeper.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    assert_eq!(
        serde_json::from_str::<SwitchCounts>(&line)
            .unwrap()
            .all
            .lost,
        0
    );
    parts.assert_there(1);
    drop(stdin);
    assert!(keeper.wait().unwrap().success());
    parts.assert_gone();
}

#[test]
fn sweep_takes_nobody_what_is_used() {
    let Some(network) = network(2, LOSSY) else {
        return;
    };
    let swept = Command::new(env!("CARGO_BIN_EXE_lossy-switch"))
        .arg("sweep")
        .output();
    let swept = String::from_utf8(swept.unwrap().stdout).unwrap();
    for host in network.hosts() {
        assert!(!swept.contains(host.as_str()), "{swept}");
        File::open(Path::new("/run/netns").join(host)).unwrap();
    }
}

#[test]
fn who_may_not_make_networks_is_told_so() {
    let refused = std::thread::spawn(|| {
        if geteuid().is_root() {
            set_thread_uid(Uid::from_raw(65534)).unwrap();
        }
        TestNetwork::make(2, BRIDGE).unwrap_err()
    });
    let reason = refused.join().unwrap().to_string();
    assert!(reason.contains("CAP_NET_ADMIN"), "{reason}");
}
