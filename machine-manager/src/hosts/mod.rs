//! Jobs on several machines: which hosts, how their node managers are started, and how they are
//! joined.
//!
//! A command (`--launcher`) starts a node manager on another machine. This node manager uses its
//! standard input and output to exchange messages with `bcs run`. So the job's key, in the first of
//! these messages, is in no argument and no variable.

mod advice;
mod bad_hosts;
mod handshake;
mod host_list;
mod slurm;
mod startup;

use crate::program::Program;
use crate::quantities::GivenQuantity;
use bcs_core::job::NodeId;
use bcs_fabric::udp::Crypto;
use node_manager::spawn::{Image, SpawnError};
use node_manager::{ADOPTING, FAR_ROLE};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

pub use bad_hosts::BadHosts;
pub use handshake::{JobTopology, await_greetings, run_handshake};
pub(crate) use host_list::name_and_slots;
pub use host_list::{HostList, parse_names};
pub use slurm::{BadSlurm, LAUNCHER as SLURM_LAUNCHER, SlurmAllocation};
pub use startup::{Limits, StartInterruption};

/// The way in which nodes are to be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fabric {
    /// By shared memory where node managers can map it, else by the network.
    Auto,
    /// By shared memory only.
    Shm,
    /// By the network, except for nodes of one host.
    Udp,
}

impl Fabric {
    /// Returns the name that users write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Shm => "shm",
            Self::Udp => "udp",
        }
    }
}

/// The hosts of a job's nodes, and how they are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The host of each node; `None` if all are on this machine.
    pub names: Option<Vec<String>>,
    /// The words of the command that starts a program on a host.
    pub launcher: Vec<String>,
    /// How nodes are joined.
    pub fabric: Fabric,
    /// The interface whose address others use to reach a host.
    pub interface: Option<String>,
    /// The ports from which each process takes one.
    pub ports: (u16, u16),
    /// How datagrams are protected.
    pub crypto: Crypto,
    /// A node that is silent for this long is lost.
    pub node_timeout: GivenQuantity<Duration>,
}

/// A node that answers within less is not silent: its host may be busy.
const LEAST_NODE_TIMEOUT: Duration = Duration::from_millis(100);

impl Hosts {
    /// Returns the hosts of this number of nodes: consecutive ones on one host.
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

    /// Returns the host of a node.
    #[must_use]
    pub fn host_of(&self, node: NodeId) -> Option<&str> {
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

    /// Returns the process that becomes the node manager of a host, or starts it there.
    /// `adopts` is whether another launcher has started its ranks.
    pub(crate) fn image(&self, host: Option<&str>, adopts: bool) -> Result<Image, SpawnError> {
        let Some(host) = host else {
            let own = std::process::id().to_string();
            let mut arguments = vec!["bcs", FAR_ROLE, &own];
            arguments.extend(adopts.then_some(ADOPTING));
            return Image::new("/proc/self/exe".as_ref(), &arguments, [], None);
        };
        let program = self.launcher_program().unwrap_or_default();
        let arguments = self.command_for(host);
        Image::new(&program, &arguments, [], None)
    }

    /// Returns the words of the command that starts this program on a host.
    #[must_use]
    pub fn command_for(&self, host: &str) -> Vec<String> {
        self.command(host, &this_program())
    }

    /// Groups node managers, given by their nodes, into waves. Those of a wave are started
    /// together, when the wave before has greeted.
    #[must_use]
    pub fn waves(&self, parts: Vec<Vec<NodeId>>) -> Vec<Vec<Vec<NodeId>>> {
        let mut waves: Vec<Vec<Vec<NodeId>>> = Vec::new();
        let mut of_host: BTreeMap<Option<String>, usize> = BTreeMap::new();
        for part in parts {
            let host = self.host_of(part[0]).map(str::to_owned);
            let before = of_host.entry(host.clone()).or_default();
            // A node manager of this machine needs no login.
            let wave = host.map_or(0, |_| *before / LOGINS_AT_ONCE);
            *before += 1;
            waves.resize_with(waves.len().max(wave + 1), Vec::new);
            waves[wave].push(part);
        }
        waves
    }

    /// Returns options for ssh that the launcher's own words do not set: never prompt, since the
    /// terminal is not for that, and give up a host that does not answer.
    fn ssh_options(&self) -> Vec<String> {
        let says = |option: &str| {
            let mut words = self.launcher.iter();
            words.any(|word| word.to_lowercase().contains(option))
        };
        let hosts = self.names.as_ref().map_or(1, Vec::len);
        let timeout = CONNECT_TIMEOUT_S + hosts / HOSTS_PER_SECOND;
        let batch = (!says("batchmode")).then(|| "-oBatchMode=yes".to_owned());
        let timeout = (!says("connecttimeout")).then(|| format!("-oConnectTimeout={timeout}"));
        batch.into_iter().chain(timeout).collect()
    }

    /// Returns the words of the command.
    fn command(&self, host: &str, this: &str) -> Vec<String> {
        const PLACE: &str = "{host}";
        let names_it = self.launcher.iter().any(|word| word.contains(PLACE));
        let words = self.launcher.iter().map(|word| word.replace(PLACE, host));
        let mut words: Vec<String> = words.collect();
        if !names_it {
            words.push(host.to_owned());
        }
        let program = Path::new(&self.launcher[0]).file_name();
        if program.is_some_and(|name| name == "ssh") {
            words.splice(1..1, self.ssh_options());
        }
        let is_read_by_a_shell = program.is_some_and(|name| name == "ssh" || name == "rsh");
        words.push(match shlex::try_quote(this) {
            Ok(quoted) if is_read_by_a_shell => quoted.into_owned(),
            _ => this.to_owned(),
        });
        words.push(FAR_ROLE.to_owned());
        words
    }
}

/// The seconds that ssh waits for a host, plus one second for each [`HOSTS_PER_SECOND`] that are
/// started at once. So a host that is down is reported within 5 s, and many logins at once have
/// enough time.
const CONNECT_TIMEOUT_S: usize = 4;

/// See [`CONNECT_TIMEOUT_S`].
const HOSTS_PER_SECOND: usize = 16;

/// The number of node managers of one host that are started at once. An sshd drops some logins when
/// there are ten at once (MaxStartups), and others may log in, too.
const LOGINS_AT_ONCE: usize = 8;

/// Returns the path of this program: on other hosts it is at the same one.
fn this_program() -> String {
    let path = std::env::current_exe();
    path.map_or_else(|_| "bcs".to_owned(), |path| path.display().to_string())
}

/// Splits a command into words.
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
        assert_eq!(
            words,
            ["ip", "netns", "exec", "a", "/opt/b c/bcs", FAR_ROLE]
        );
        let words = hosts("ssh -p 22").command("a", "/opt/b c/bcs");
        let asks_nobody = ["ssh", "-oBatchMode=yes", "-oConnectTimeout=4"];
        let there = ["-p", "22", "a", "'/opt/b c/bcs'", FAR_ROLE];
        assert_eq!(words, [&asks_nobody[..], &there[..]].concat());
        let own = hosts("/usr/bin/ssh -oBatchMode=no -o connecttimeout=9").command("a", "bcs");
        let expected = ["/usr/bin/ssh", "-oBatchMode=no", "-o", "connecttimeout=9"];
        assert_eq!(own, [&expected[..], &["a", "bcs", FAR_ROLE]].concat());
        assert!(parse_launcher("ssh 'x").is_err());
    }

    #[test]
    fn no_host_has_more_logins_at_once_than_its_sshd_takes() {
        let parts = |count| {
            (0..count)
                .map(|node| vec![NodeId(node)])
                .collect::<Vec<_>>()
        };
        let names = [vec!["a".to_owned(); 20], vec!["b".to_owned(); 2]].concat();
        let hosts = Hosts {
            names: Some(names),
            ..hosts("ssh")
        };
        let waves = hosts.waves(parts(22));
        let lengths: Vec<usize> = waves.iter().map(Vec::len).collect();
        assert_eq!(lengths, [8 + 2, 8, 4]);
        assert_eq!(waves[1][0], [NodeId(8)]);
        let here = Hosts {
            names: None,
            ..hosts
        };
        assert_eq!(here.waves(parts(22)).len(), 1);
    }

    #[test]
    fn nodes_are_spread_over_hosts_in_their_order() {
        let names = ["a", "b"].map(String::from);
        assert_eq!(Hosts::spread(&names, 4), ["a", "a", "b", "b"]);
        assert_eq!(Hosts::spread(&names, 3), ["a", "a", "b"]);
        assert_eq!(Hosts::spread(&names, 1), ["a"]);
    }
}
