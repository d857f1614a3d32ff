//! Jobs on several machines: which hosts, how their node managers are started, and how they are joined.
//!
//! A node manager of another machine is started by a command (`--launcher`), and talks to `bcs run` by its standard input
//! and output: so the job's key, the first that it is told, is in no argument and no variable.

mod meeting;

use crate::program::Program;
use crate::quantities::Given;
use bcs_core::job::NodeId;
use bcs_fabric::udp::Crypto;
use node_manager::spawn::{Image, SpawnError};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

pub use meeting::{Machines, join};

/// How nodes are to be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fabric {
    /// By shared memory where node managers can map it, else by the network.
    Auto,
    /// By shared memory.
    Shm,
    /// By the network, but for nodes of one host.
    Udp,
}

impl Fabric {
    /// As users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Shm => "shm",
            Self::Udp => "udp",
        }
    }
}

/// Where the nodes of a job are, and how they are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The host of each node; none where all are on this machine.
    pub names: Option<Vec<String>>,
    /// The words of the command that starts a program on a host.
    pub launcher: Vec<String>,
    /// How nodes are joined.
    pub fabric: Fabric,
    /// By which address a host is reached.
    pub interface: Option<String>,
    /// The ports from which each process takes one.
    pub ports: (u16, u16),
    /// How datagrams are guarded.
    pub crypto: Crypto,
    /// A node that is silent for so long is lost.
    pub node_timeout: Given<Duration>,
}

/// What is wrong with hosts.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHosts {
    /// There is a comma too many, or nothing.
    #[error(
        "--hosts {0} names a host without a name, or slots that are no number from 1: give names \
         between commas, as in a,b or a:4,b:2"
    )]
    NoName(String),
    /// A word of the launcher has a quote without its other half.
    #[error("--launcher {0} cannot be taken apart into words: a quote is not closed")]
    Words(String),
    /// There is no such program.
    #[error("--launcher: {0}")]
    Launcher(String),
    /// A node must be given some time.
    #[error("--node-timeout {0} is out of range: choose one from 100ms")]
    TooShort(Given<Duration>),
}

/// A node that answers within less is not silent: its host may be busy.
const LEAST_NODE_TIMEOUT: Duration = Duration::from_millis(100);

impl Hosts {
    /// Where so many nodes are: consecutive ones on one host.
    #[must_use]
    pub fn spread(names: &[String], nodes: usize) -> Vec<String> {
        let host = |node: usize| names[node * names.len() / nodes.max(1)].clone();
        match nodes < names.len() {
            true => names[..nodes].to_vec(),
            false => (0..nodes).map(host).collect(),
        }
    }

    /// Checks what can be checked here.
    ///
    /// # Errors
    /// [`BadHosts`].
    pub fn check(&self) -> Result<(), BadHosts> {
        if self.node_timeout.value < LEAST_NODE_TIMEOUT {
            return Err(BadHosts::TooShort(self.node_timeout.clone()));
        }
        match self.names {
            Some(_) => self.launcher_program().map(drop),
            None => Ok(()),
        }
    }

    /// The host of a node.
    #[must_use]
    pub fn of(&self, node: NodeId) -> Option<&str> {
        let names = self.names.as_ref()?;
        names.get(node.index()).map(String::as_str)
    }

    fn launcher_program(&self) -> Result<OsString, BadHosts> {
        let first = OsStr::new(&self.launcher[0]);
        let path = std::env::var_os("PATH");
        let found = Program::find(&[first.to_owned()], path.as_deref());
        match found {
            Ok(program) => Ok(program.file),
            Err(error) => Err(BadHosts::Launcher(error.to_string())),
        }
    }

    /// The process that becomes the node manager of a host, or starts it there.
    pub(crate) fn image(&self, host: Option<&str>) -> Result<Image, SpawnError> {
        let Some(host) = host else {
            let arguments = ["bcs", ROLE];
            return Image::new("/proc/self/exe".as_ref(), &arguments, [], None);
        };
        let program = self.launcher_program().unwrap_or_default();
        let arguments = self.command(host, &this_program());
        Image::new(&program, &arguments, [], None)
    }

    /// The words of the command.
    fn command(&self, host: &str, this: &str) -> Vec<String> {
        const PLACE: &str = "{host}";
        let names_it = self.launcher.iter().any(|word| word.contains(PLACE));
        let words = self.launcher.iter().map(|word| word.replace(PLACE, host));
        let mut words: Vec<String> = words.collect();
        if !names_it {
            words.push(host.to_owned());
        }
        let program = Path::new(&self.launcher[0]).file_name();
        let is_read_by_a_shell = program.is_some_and(|name| name == "ssh" || name == "rsh");
        words.push(match shlex::try_quote(this) {
            Ok(quoted) if is_read_by_a_shell => quoted.into_owned(),
            _ => this.to_owned(),
        });
        words.push(ROLE.to_owned());
        words
    }
}

/// The hidden role of a node manager that is told all by its standard input.
pub const ROLE: &str = "far-node-manager";

/// This program, as a path: on other hosts it is at the same one.
fn this_program() -> String {
    let path = std::env::current_exe();
    path.map_or_else(|_| "bcs".to_owned(), |path| path.display().to_string())
}

/// Hosts that a job may have, and how many ranks each of them takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// As they were named.
    pub names: Vec<String>,
    /// The slots of each; none where nobody has said any.
    pub slots: Option<Vec<usize>>,
}

impl Named {
    /// Whether all of them are this machine, which needs no launcher.
    #[must_use]
    pub fn are_here(&self) -> bool {
        let uname = rustix::system::uname();
        let own = uname.nodename().to_str().unwrap_or_default();
        let is_here = |name: &String| ["localhost", "127.0.0.1", "::1", own].contains(&&**name);
        self.names.iter().all(is_here)
    }
}

/// Names between commas, with slots as in `a:4`. A host without is one of one slot, if any has some.
///
/// # Errors
/// [`BadHosts::NoName`].
pub fn parse_names(text: &str) -> Result<Named, BadHosts> {
    let parts = text.split(',').map(|part| name_and_slots(part.trim()));
    let parts: Option<Vec<_>> = parts.collect();
    let parts = parts.ok_or_else(|| BadHosts::NoName(text.to_owned()))?;
    let any = parts.iter().any(|(_, slots)| slots.is_some());
    let slots = any.then(|| parts.iter().map(|(_, slots)| slots.unwrap_or(1)).collect());
    let names = parts.into_iter().map(|(name, _)| name.to_owned());
    Ok(Named {
        names: names.collect(),
        slots,
    })
}

/// A host, and its slots if they stand behind a colon. An address with more colons (IPv6) has none.
pub(crate) fn name_and_slots(text: &str) -> Option<(&str, Option<usize>)> {
    let (name, slots) = match text.split_once(':') {
        Some((name, slots)) if !slots.contains(':') => {
            let slots = slots.parse().ok().filter(|&slots| slots > 0)?;
            (name, Some(slots))
        }
        _ => (text, None),
    };
    (!name.is_empty()).then_some((name, slots))
}

/// The words of a command.
///
/// # Errors
/// [`BadHosts::Words`].
pub fn parse_launcher(text: &str) -> Result<Vec<String>, BadHosts> {
    let words = shlex::split(text).filter(|words| !words.is_empty());
    words.ok_or_else(|| BadHosts::Words(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantities::{given, parse_duration};

    fn hosts(launcher: &str) -> Hosts {
        Hosts {
            names: None,
            launcher: parse_launcher(launcher).unwrap(),
            fabric: Fabric::Auto,
            interface: None,
            ports: (0, 0),
            crypto: Crypto::Tag,
            node_timeout: given(parse_duration)("3s").unwrap(),
        }
    }

    #[test]
    fn a_launcher_is_told_the_host_where_it_wants_it() {
        let words = hosts("ip netns exec {host}").command("a", "/opt/b c/bcs");
        assert_eq!(words, ["ip", "netns", "exec", "a", "/opt/b c/bcs", ROLE]);
        let words = hosts("ssh -p 22").command("a", "/opt/b c/bcs");
        assert_eq!(words, ["ssh", "-p", "22", "a", "'/opt/b c/bcs'", ROLE]);
        assert!(parse_launcher("ssh 'x").is_err());
        for bad in ["a,,b", "a:0", "a:x", ":2", ""] {
            assert!(parse_names(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn hosts_have_slots_if_one_of_them_has() {
        let named = |text| parse_names(text).unwrap();
        assert_eq!(named("a, b").slots, None);
        assert_eq!(named("a:4,b").slots, Some(vec![4, 1]));
        assert_eq!(named("fe80::1:4").names, ["fe80::1:4"], "an address");
        assert!(named("localhost:2,127.0.0.1").are_here());
        assert!(!named("localhost,no-such-host").are_here());
    }

    #[test]
    fn nodes_are_spread_over_hosts_in_their_order() {
        let names = ["a", "b"].map(String::from);
        assert_eq!(Hosts::spread(&names, 4), ["a", "a", "b", "b"]);
        assert_eq!(Hosts::spread(&names, 3), ["a", "a", "b"]);
        assert_eq!(Hosts::spread(&names, 1), ["a"]);
    }
}
