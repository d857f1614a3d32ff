//! Which ranks are a node: consecutive ones on one host.

use std::fmt::Write as _;

/// Returns what tells hosts apart: the kernel, and the namespaces in which processes of a node have
/// to be together because they name each other by number. The name for users follows.
pub(super) fn own_host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut host = boot.trim().to_owned();
    for kind in ["net", "pid"] {
        let namespace = std::fs::read_link(format!("/proc/self/ns/{kind}"));
        let namespace = namespace.map_or_else(|_| String::new(), |path| path.display().to_string());
        let number: String = namespace.chars().filter(char::is_ascii_digit).collect();
        let _never_fails = write!(host, ".{number}");
    }
    let name = bcs_core::job::handshake::host_name();
    let name = name.chars().map(|letter| match letter {
        ' ' | '=' | ',' | '\n' => '_',
        letter => letter,
    });
    format!("{host}/{}", name.take(LONGEST_NAME).collect::<String>())
}

/// Names of hosts are cut to this length, in characters, so that they fit into a value.
const LONGEST_NAME: usize = 128;

/// The nodes of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The number of ranks of each node.
    counts: Vec<usize>,
    /// The host of each node.
    hosts: Vec<String>,
}

impl Layout {
    /// Makes nodes of the hosts of all ranks. A node has at most `most` ranks, if there is a limit.
    pub(super) fn new(hosts: &[String], most: Option<usize>) -> Self {
        let most = most.unwrap_or(usize::MAX);
        let mut layout = Self {
            counts: Vec::new(),
            hosts: Vec::new(),
        };
        for host in hosts {
            match (layout.counts.last_mut(), layout.hosts.last()) {
                (Some(count), Some(last)) if last == host && *count < most => *count += 1,
                _ => {
                    layout.counts.push(1);
                    layout.hosts.push(host.clone());
                }
            }
        }
        layout
    }

    pub(super) fn node_of(&self, rank: usize) -> usize {
        let mut after = 0;
        let node = self.counts.iter().position(|count| {
            after += count;
            rank < after
        });
        node.expect("each rank is on a node")
    }

    pub(super) fn is_first(&self, rank: usize) -> bool {
        let before: usize = self.counts[..self.node_of(rank)].iter().sum();
        before == rank
    }

    pub(super) fn nodes_of_host(&self, node: usize) -> usize {
        let same = self.hosts.iter().filter(|host| **host == self.hosts[node]);
        same.count()
    }

    /// Returns the numbers of ranks as a list.
    pub(super) fn counts(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(usize::to_string).collect();
        counts.join(",")
    }

    /// Returns the names of the hosts for users as a list. Hosts of one name have numbers.
    pub(super) fn names(&self) -> String {
        let name = |host: &String| host.rsplit('/').next().unwrap_or_default().to_owned();
        let names = self.hosts.iter().enumerate().map(|(node, host)| {
            let first = self.hosts.iter().position(|other| other == host);
            let is_shared = self.hosts[..first.unwrap_or(node)]
                .iter()
                .any(|other| name(other) == name(host));
            match is_shared {
                true => format!("{}#{}", name(host), first.unwrap_or(node)),
                false => name(host),
            }
        });
        names.collect::<Vec<String>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(hosts: &str, most: Option<usize>) -> Layout {
        let hosts: Vec<String> = hosts.chars().map(|host| format!("{host}/h")).collect();
        Layout::new(&hosts, most)
    }

    #[test]
    fn consecutive_ranks_of_a_host_are_a_node() {
        let two = layout("aabbb", None);
        assert_eq!(
            (two.counts(), two.names()),
            ("2,3".to_owned(), "h,h#1".to_owned())
        );
        let nodes: Vec<usize> = (0..5).map(|rank| two.node_of(rank)).collect();
        assert_eq!(nodes, [0, 0, 1, 1, 1]);
        let first: Vec<usize> = (0..5).filter(|&rank| two.is_first(rank)).collect();
        assert_eq!(first, [0, 2]);
        let in_turn = layout("abab", None);
        assert_eq!(in_turn.counts(), "1,1,1,1");
        assert_eq!(in_turn.nodes_of_host(0), 2);
        assert_eq!(layout("aaaaa", Some(2)).counts(), "2,2,1");
    }

    #[test]
    fn a_host_is_the_same_for_all_its_processes() {
        let host = own_host();
        assert_eq!(host, own_host());
        assert!(
            host.len() < 256 && !host.contains([' ', '=', ',']),
            "{host}"
        );
    }
}
