//! Hosts that are network namespaces, and the network that joins them.

pub(crate) mod error;
pub(crate) mod namespaces;
mod program;
mod switch_process;

use std::env;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::switch::counts::SwitchCounts;
use crate::switch::faults::SwitchFaults;

use error::{NetworkError, NetworkUnavailable};
use namespaces::{Namespaces, NetworkName, sweep};
use program::{ip, ip_lines, nft};
use switch_process::SwitchProcess;

/// The environment variable that makes a test fail if it needs a network and there is none. Without
/// it the test is skipped.
pub const REQUIRED: &str = "BCS_REQUIRE_TEST_NETWORK";

/// The most hosts: a host has one byte of an address.
const HOSTS: usize = 200;

/// The longest wait until both ends of all cables are up. The kernel detects this within
/// milliseconds.
const CARRIERS: Duration = Duration::from_secs(30);

/// The index of the first port. Ports need other indices than the interfaces of hosts: if both ends
/// of a cable have the same index, the kernel treats the end as having no other one, and takes a
/// second to detect that it is up.
const FIRST_INDEX: usize = 1_000;

/// The kind of switch that joins the hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NetworkKind {
    /// A bridge of the kernel, which is fast.
    #[default]
    Bridge,
    /// The lossy switch.
    Lossy(SwitchFaults),
}

/// The properties of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkOptions {
    /// The kind of switch.
    pub joined: NetworkKind,
    /// The most bytes that a frame carries.
    pub mtu: u16,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            joined: NetworkKind::Bridge,
            mtu: 1500,
        }
    }
}

/// Some hosts, each a network namespace with `lo` and `eth0`. They, and all processes on them, end
/// with this value.
#[derive(Debug)]
pub struct TestNetwork {
    // It must be dropped before its namespace.
    switch: Option<Mutex<SwitchProcess>>,
    namespaces: Namespaces,
}

impl TestNetwork {
    /// Makes a network of `hosts` hosts. First removes the networks that killed processes have
    /// left.
    ///
    /// # Errors
    ///
    /// This process may not, or this machine cannot.
    ///
    /// # Panics
    ///
    /// When these are more than 200 hosts.
    pub fn make(hosts: usize, options: NetworkOptions) -> Result<Self, NetworkUnavailable> {
        assert!(hosts <= HOSTS, "{hosts} hosts are more than {HOSTS}");
        sweep()?;
        let namespaces = Namespaces::make(hosts)?;
        join(&namespaces, options)?;
        for (host, namespace) in namespaces.hosts().iter().enumerate() {
            let set_up = set_up(namespaces.name, host, options.joined);
            let others = (0..hosts).filter(|other| *other != host);
            let others: String = others
                .map(|other| neighbour(namespaces.name, other))
                .collect();
            ip_lines(namespace, &(set_up + &others))?;
        }
        for namespace in namespaces.all() {
            wait_for_carriers(namespace)?;
        }
        let switch = match options.joined {
            NetworkKind::Bridge => None,
            NetworkKind::Lossy(faults) => {
                let ethernet = |host| ethernet_address(namespaces.name, host);
                let ports = (0..hosts).map(|host| format!("{}={}", port(host), ethernet(host)));
                let mut switch = SwitchProcess::start(namespaces.switch(), ports)?;
                switch.set_faults(faults)?;
                Some(Mutex::new(switch))
            }
        };
        Ok(Self { switch, namespaces })
    }

    /// Makes a network for a test. If it cannot, it prints the reason on standard error, and the
    /// test is skipped.
    ///
    /// # Panics
    ///
    /// When it cannot be made and the environment has `BCS_REQUIRE_TEST_NETWORK`, as in CI.
    #[must_use]
    pub fn make_or_skip(hosts: usize, options: NetworkOptions) -> Option<Self> {
        match Self::make(hosts, options) {
            Ok(network) => Some(network),
            Err(reason) if env::var_os(REQUIRED).is_some() => panic!("{REQUIRED} is set: {reason}"),
            Err(reason) => {
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

    /// Returns the name of the `host`-th, counted from 0, as `ip netns exec` takes it.
    ///
    /// # Panics
    ///
    /// When there is no such host, as in all methods that take a host.
    #[must_use]
    pub fn host(&self, host: usize) -> &str {
        &self.namespaces.hosts()[host]
    }

    /// Returns all names.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        self.namespaces.hosts()
    }

    /// Returns the IPv4 address of its `eth0`.
    #[must_use]
    pub fn address(&self, host: usize) -> Ipv4Addr {
        address(self.namespaces.name, host)
    }

    /// Returns the IPv6 address of its `eth0`.
    #[must_use]
    pub fn address_v6(&self, host: usize) -> Ipv6Addr {
        address_v6(self.namespaces.name, host)
    }

    /// Returns a command that runs a program there.
    #[must_use]
    pub fn command(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.host(host), program]);
        command
    }

    /// Calls `act` on a thread that is on a host: sockets that it makes stay there.
    ///
    /// # Errors
    ///
    /// The thread cannot enter the namespace.
    ///
    /// # Panics
    ///
    /// As `act` does.
    pub fn on_host<T: Send>(&self, host: usize, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        let namespace = File::open(namespaces::path(self.host(host)))?;
        let there = || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network)?;
            Ok(act())
        };
        let done = thread::scope(|threads| threads.spawn(there).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Returns the processes that run there.
    ///
    /// # Errors
    ///
    /// `ip` cannot list them.
    pub fn processes(&self, host: usize) -> Result<Vec<u32>, NetworkError> {
        namespaces::processes(self.host(host))
    }

    /// Cuts the cable of a host, at the switch. Only the kernels of both ends are notified.
    ///
    /// # Errors
    ///
    /// It is not done.
    pub fn cut(&self, host: usize) -> Result<(), NetworkError> {
        self.set_port(host, "down")
    }

    /// Mends the cable of a host. When this returns, frames pass.
    ///
    /// # Errors
    ///
    /// It is not done.
    pub fn mend(&self, host: usize) -> Result<(), NetworkError> {
        self.set_port(host, "up")?;
        wait_for_carriers(self.host(host))?;
        wait_for_carriers(self.namespaces.switch())
    }

    fn set_port(&self, host: usize, state: &str) -> Result<(), NetworkError> {
        let port = port(host);
        ip_lines(
            self.namespaces.switch(),
            &format!("link set {port} {state}"),
        )
    }

    /// Drops this share of all packets that come to a host from others, of all protocols, from now
    /// on. nftables does it, with random numbers of the kernel that no seed repeats.
    ///
    /// # Errors
    ///
    /// `nft` is not here, or does not do it.
    ///
    /// # Panics
    ///
    /// When it is more than all.
    pub fn drop_share(&self, host: usize, percent: u8) -> Result<(), NetworkError> {
        assert!(percent <= 100, "{percent} % are more than all");
        let dropped = match percent {
            0 => String::new(),
            100 => "iifname \"eth0\" drop".to_owned(),
            _ => format!("iifname \"eth0\" numgen random mod 100 < {percent} drop"),
        };
        let rules = format!(
            "table inet bcs\n\
             delete table inet bcs\n\
             table inet bcs {{\n\
             chain arriving {{\n\
             type filter hook input priority 0\n\
             {dropped}\n\
             }}\n\
             }}\n"
        );
        nft(self.host(host), &rules)
    }

    /// Sets other faults for datagrams that come to the switch after this.
    ///
    /// # Errors
    ///
    /// There is a bridge, or the switch has ended.
    pub fn set_faults(&self, faults: SwitchFaults) -> Result<(), NetworkError> {
        self.switch()?.set_faults(faults)
    }

    /// Returns the counts of the switch so far.
    ///
    /// # Errors
    ///
    /// There is a bridge, or the switch has ended.
    pub fn counts(&self) -> Result<SwitchCounts, NetworkError> {
        self.switch()?.counts()
    }

    fn switch(&self) -> Result<MutexGuard<'_, SwitchProcess>, NetworkError> {
        let switch = self.switch.as_ref().ok_or(NetworkError::Bridge)?;
        Ok(switch.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the name of the switch's end of a host's cable.
fn port(host: usize) -> String {
    format!("port{host}")
}

/// Joins all hosts by cables to ports, and the ports of a bridge with each other.
fn join(
    namespaces: &Namespaces,
    NetworkOptions { joined, mtu }: NetworkOptions,
) -> Result<(), NetworkError> {
    let mut lines = String::new();
    let bridge = match joined {
        NetworkKind::Bridge => {
            lines += "link add bridge0 type bridge\nlink set bridge0 up\n";
            " master bridge0"
        }
        NetworkKind::Lossy(_) => " promisc on",
    };
    for (host, namespace) in namespaces.hosts().iter().enumerate() {
        let port = port(host);
        let index = FIRST_INDEX + host;
        let address = ethernet_address(namespaces.name, host);
        let ends = format!(
            "{port} index {index} mtu {mtu} type veth \
             peer name eth0 address {address} mtu {mtu} netns {namespace}"
        );
        // The ports have no addresses, not even link-local ones of IPv6: so the switch sends no
        // frames of its own.
        let state = format!("{port} addrgenmode none{bridge} up");
        writeln!(lines, "link add {ends}\nlink set {state}").expect("text takes all");
    }
    ip_lines(namespaces.switch(), &lines)
}

/// Returns the commands for `ip` on a host.
fn set_up(name: NetworkName, host: usize, joined: NetworkKind) -> String {
    let (v4, v6) = (address(name, host), address_v6(name, host));
    let segments = match joined {
        NetworkKind::Bridge => "",
        // The switch would see a long segment as one frame.
        NetworkKind::Lossy(_) => " gso_max_segs 1",
    };
    format!(
        "link set lo up\n\
         address add {v4}/24 dev eth0\n\
         address add {v6}/64 dev eth0 nodad\n\
         link set eth0{segments} up\n"
    )
}

/// Returns the commands for `ip` on all other hosts. A host that had to ask for an address would
/// delay its first datagrams until the answer, and send them among later ones. Then no run could be
/// repeated.
fn neighbour(name: NetworkName, host: usize) -> String {
    let (v4, v6) = (address(name, host), address_v6(name, host));
    let behind = format!(
        "lladdr {} dev eth0 nud permanent",
        ethernet_address(name, host)
    );
    format!("neighbour add {v4} {behind}\nneighbour add {v6} {behind}\n")
}

/// Waits until the kernel has detected both ends of each cable in a namespace as up. It does so
/// when it has time, and until then it drops what they send.
fn wait_for_carriers(namespace: &str) -> Result<(), NetworkError> {
    let deadline = Instant::now() + CARRIERS;
    let words = ["-n", namespace, "-br", "link", "show", "up", "type", "veth"];
    loop {
        let ends = ip(&words)?;
        let mut states = ends.lines().map(|end| end.split_whitespace().nth(1));
        if states.all(|state| state == Some("UP")) {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(NetworkError::Refused {
                command: format!("ip {}", words.join(" ")),
                said: format!("not all are UP after {CARRIERS:?}: {ends}"),
            });
        }
    }
}

/// Returns an IPv4 address. The networks of a process have different addresses, and those of most
/// processes do, so that they can be told apart in a log.
fn address(name: NetworkName, host: usize) -> Ipv4Addr {
    let [.., high, low] = name.pid.wrapping_add(name.number).to_be_bytes();
    Ipv4Addr::new(10, high, low, last_byte(host))
}

fn address_v6(name: NetworkName, host: usize) -> Ipv6Addr {
    let [.., high, low] = name.pid.wrapping_add(name.number).to_be_bytes();
    let subnet = u16::from_be_bytes([high, low]);
    let last = u16::from(last_byte(host));
    Ipv6Addr::new(0xfdbc, 0x5000, 0, subnet, 0, 0, 0, last)
}

fn ethernet_address(name: NetworkName, host: usize) -> String {
    let [a, b, c, d] = address(name, host).octets();
    // The 2 marks a locally administered address.
    format!("02:bc:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

fn last_byte(host: usize) -> u8 {
    u8::try_from(host + 1).expect("there are at most 200 hosts")
}
