//! Why a job ended: the message and the exit code.

use crate::standard_output::unwritable;
use crate::{exit_code, signals};
use bcs_core::job::NodeId;
use bcs_core::mapped_code::CodePlace;
use node_manager::control::{RankFailure, RankFailureKind};
use rustix::io::Errno;

/// Why a job ended before all ranks were done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A rank failed.
    Rank(RankFailure),
    /// A rank could not be started.
    NotStarted {
        /// The rank.
        rank: u32,
        /// Its node.
        node: NodeId,
        /// The error message.
        message: String,
    },
    /// A NIC had to end the job.
    Nic {
        /// The node.
        node: NodeId,
        /// The rank at fault, if a single one is.
        rank: Option<u32>,
        /// The error.
        message: String,
    },
    /// A node manager is gone.
    Manager {
        /// Its name, as in [`manager_name`].
        who: String,
        /// Its process.
        pid: i32,
        /// How it ended.
        how: String,
    },
    /// `bcs run` was told to end.
    Signal(i32),
    /// Ranks wait for each other in different collectives: a sentence.
    MismatchedCollectives(String),
    /// No rank can ever go on: the reason, in a sentence without an end.
    Deadlock(String),
    /// The time limit (`--timeout`) as it was given, and the last wait states of the ranks, a line
    /// each.
    TimedOut(String, Vec<String>),
    /// Nobody reads the output: end without a message, as other programs in a pipe do.
    OutputGone,
    /// The output of ranks cannot be written: the stream, and the reason.
    OutputLost(&'static str, Errno),
}

/// Returns the name of a node manager for the user.
#[must_use]
pub fn manager_name(nodes: &[NodeId], nic_host: bool) -> String {
    let role = if nic_host { "NIC host" } else { "node manager" };
    match nodes {
        [node] => format!("the {role} of node {node}"),
        [first, .., last] => format!("the {role} of nodes {first} to {last}"),
        [] => format!("the {role}"),
    }
}

/// Replaces places in files of code by lines: a rank of a checked job names the place of another
/// one.
fn with_lines(text: &str, line: &mut impl FnMut(&CodePlace) -> String) -> String {
    let words = text.split_inclusive(' ').map(|word| {
        let bare = word.trim_end_matches([' ', ',', ';', ')']);
        match bare.parse::<CodePlace>() {
            Ok(place) => line(&place) + &word[bare.len()..],
            Err(()) => word.to_owned(),
        }
    });
    words.collect()
}

impl Verdict {
    /// Returns whether a rank ended by an error that it reported itself.
    #[must_use]
    pub fn is_own_error(&self) -> bool {
        matches!(
            self,
            Self::Rank(RankFailure {
                what: RankFailureKind::Exited(_) | RankFailureKind::Aborted { .. },
                ..
            })
        )
    }

    /// Returns whether a rank has exited with an error.
    #[must_use]
    pub fn is_exit(&self) -> bool {
        matches!(
            self,
            Self::Rank(RankFailure {
                what: RankFailureKind::Exited(_),
                ..
            })
        )
    }

    /// Returns whether a rank was killed.
    #[must_use]
    pub fn is_death(&self) -> bool {
        matches!(
            self,
            Self::Rank(RankFailure {
                what: RankFailureKind::Killed { .. },
                ..
            })
        )
    }

    /// Returns whether a process was killed in a way in which the kernel does that, too.
    #[must_use]
    pub fn may_be_kernel_kill(&self) -> bool {
        match self {
            Self::Rank(failure) => {
                matches!(failure.what, RankFailureKind::Killed { signal, .. } if signal == libc::SIGKILL)
            }
            Self::Manager { .. } => true,
            _ => false,
        }
    }

    /// Makes the verdict of a rank that has failed. If a call ends the job, its place becomes a
    /// line, if that is known.
    pub fn of_rank(mut failure: RankFailure, mut line: impl FnMut(&CodePlace) -> String) -> Self {
        if let RankFailureKind::Aborted { place, reason, .. } = &mut failure.what {
            *reason = with_lines(reason, &mut line);
            if let Some(place) = place.take() {
                let space = if reason.is_empty() { "" } else { ", " };
                *reason = format!("{reason}{space}at {}", line(&place));
            }
        }
        Self::Rank(failure)
    }

    /// Returns the exit code of `bcs run`.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Rank(failure) => match &failure.what {
                RankFailureKind::Exited(code) | RankFailureKind::Aborted { code, .. } => {
                    exit_code::for_code(*code)
                }
                RankFailureKind::Killed { signal, .. } => exit_code::for_signal(*signal),
                RankFailureKind::NotFinalized => exit_code::UNFINISHED,
                RankFailureKind::MalformedMessage(_) => exit_code::RUNTIME,
            },
            Self::NotStarted { .. } => exit_code::NOT_STARTED,
            Self::Nic { .. } | Self::Manager { .. } => exit_code::RUNTIME,
            Self::Signal(signal) => exit_code::for_signal(*signal),
            Self::MismatchedCollectives(_) => exit_code::UNFINISHED,
            Self::Deadlock(_) => exit_code::DEADLOCK,
            Self::TimedOut(..) => exit_code::TIMED_OUT,
            Self::OutputGone => exit_code::for_signal(libc::SIGPIPE),
            Self::OutputLost(..) => exit_code::OUTPUT_LOST,
        }
    }

    /// Returns the message of `bcs run`, if there is one. `reason` is the kernel's reason, if that
    /// has killed a process.
    #[must_use]
    pub fn message(&self, ranks: usize, why: Option<&str>) -> Option<String> {
        let what = match self {
            Self::Rank(failure) => rank_message(failure),
            Self::NotStarted {
                rank,
                node,
                message,
            } => {
                format!("rank {rank} on node {node} could not be started: {message}")
            }
            Self::Nic {
                node,
                rank: None,
                message,
            } => {
                format!("the NIC of node {node} had to give up: {message}")
            }
            Self::Nic {
                node,
                rank: Some(rank),
                message,
            } => {
                format!("the NIC of node {node} had to give up because of rank {rank}: {message}")
            }
            Self::Manager { who, pid, how } => format!("{who} (pid {pid}) {how}"),
            Self::Signal(signal) => format!("bcs run received {}", signals::describe(*signal)),
            Self::MismatchedCollectives(what) | Self::Deadlock(what) => what.clone(),
            Self::TimedOut(time, _) => format!("the time limit of {time} was over"),
            Self::OutputLost(which, errno) => unwritable(which, &errno.to_string()),
            Self::OutputGone => return None,
        };
        let what = match why {
            Some(why) => format!("{what}: {why}"),
            None => what,
        };
        // The verdict comes last: it is what a user sees first, and what scripts look for.
        let mut message = String::new();
        if let Self::TimedOut(_, waiting) = self {
            for line in waiting {
                message.push_str(&format!("bcs: {line}\n"));
            }
        }
        message.push_str(&format!("bcs: {}", job_ended(&what, ranks)));
        Some(message)
    }
}

/// Describes why a job has ended.
#[must_use]
pub fn job_ended(what: &str, ranks: usize) -> String {
    let plural = if ranks == 1 { "" } else { "s" };
    format!("{what}; the job of {ranks} rank{plural} was ended")
}

fn rank_message(failure: &RankFailure) -> String {
    let RankFailure {
        rank,
        node,
        pid,
        what,
    } = failure;
    let what = match what {
        RankFailureKind::Exited(code) => format!("exited with code {code}"),
        RankFailureKind::Killed {
            signal,
            core_dumped,
        } => {
            let core = if *core_dumped { " and dumped core" } else { "" };
            let limit = match *signal {
                libc::SIGXFSZ => ": it wrote beyond the limit of file sizes (ulimit -f)",
                libc::SIGXCPU => ": its limit of processor time was over (ulimit -t)",
                _ => "",
            };
            format!("was killed by {}{core}{limit}", signals::describe(*signal))
        }
        RankFailureKind::NotFinalized => "left without calling MPI_Finalize".into(),
        RankFailureKind::Aborted { code, reason, .. } if reason.is_empty() => {
            format!("called MPI_Abort with code {code}")
        }
        RankFailureKind::Aborted { code, reason, .. } => {
            format!("called MPI_Abort with code {code}: {reason}")
        }
        RankFailureKind::MalformedMessage(what) => format!("sent its node manager {what}"),
    };
    format!("rank {rank} on node {node} (pid {pid}) {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_rank_is_named_with_node_process_and_signal() {
        let what = RankFailureKind::Killed {
            signal: 9,
            core_dumped: false,
        };
        let verdict = Verdict::Rank(RankFailure {
            rank: 3,
            node: NodeId(1),
            pid: 1234,
            what,
        });
        assert_eq!(
            verdict.message(4, None).unwrap(),
            "bcs: rank 3 on node 1 (pid 1234) was killed by signal 9 (SIGKILL); \
             the job of 4 ranks was ended"
        );
        assert!(verdict.may_be_kernel_kill());
        let why = verdict.message(4, Some("the limit was reached")).unwrap();
        assert!(
            why.contains("(SIGKILL): the limit was reached; the job"),
            "{why}"
        );
        assert_eq!(verdict.exit_code(), 137);
    }

    /// As `bcs run --help` documents them: scripts depend on these.
    #[test]
    fn each_verdict_has_its_exit_code() {
        let rank = |what| {
            Verdict::Rank(RankFailure {
                rank: 0,
                node: NodeId(0),
                pid: 1,
                what,
            })
        };
        let abort = |code| RankFailureKind::Aborted {
            code,
            reason: String::new(),
            place: None,
        };
        let (node, message) = (NodeId(0), String::new());
        let starved = |rank| Verdict::Nic {
            node,
            rank,
            message: message.clone(),
        };
        let table = [
            (rank(RankFailureKind::Exited(7)), 7),
            (rank(abort(9)), 9),
            (rank(abort(0)), 1),
            (rank(RankFailureKind::NotFinalized), 1),
            (rank(RankFailureKind::MalformedMessage(String::new())), 125),
            (
                Verdict::NotStarted {
                    rank: 0,
                    node,
                    message: message.clone(),
                },
                126,
            ),
            (starved(None), 125),
            (starved(Some(0)), 125),
            (
                Verdict::Manager {
                    who: String::new(),
                    pid: 1,
                    how: String::new(),
                },
                125,
            ),
            (Verdict::Signal(2), 130),
            (Verdict::MismatchedCollectives(String::new()), 1),
            (Verdict::Deadlock(String::new()), 123),
            (Verdict::TimedOut("1s".to_owned(), Vec::new()), 124),
            (Verdict::OutputLost("standard output", Errno::NOSPC), 122),
            (Verdict::OutputGone, 141),
        ];
        for (verdict, code) in table {
            assert_eq!(verdict.exit_code(), code, "{verdict:?}");
        }
    }

    #[test]
    fn places_in_a_reason_become_lines() {
        let text = "rank 0 has sent by MPI_Send at /home/me/ring+0x11b9, and a+b at /x";
        let said = with_lines(text, &mut |place| format!("ring.c:{}", place.offset));
        assert_eq!(
            said,
            "rank 0 has sent by MPI_Send at ring.c:4537, and a+b at /x"
        );
    }

    #[test]
    fn a_nic_host_is_named_by_its_nodes() {
        let nodes: Vec<NodeId> = (0..4).map(NodeId).collect();
        assert_eq!(manager_name(&nodes, true), "the NIC host of nodes 0 to 3");
        assert_eq!(
            manager_name(&nodes[1..2], false),
            "the node manager of node 1"
        );
    }
}
