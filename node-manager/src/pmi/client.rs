//! The state of one rank, as the server knows it.

use bcs_core::job::NodeId;
use bcs_core::pmi::LineReader;
use std::collections::BTreeSet;

/// How far a rank has come with PMI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PmiStage {
    /// It has not sent `init`; a program without this protocol never does.
    #[default]
    Unknown,
    /// It has joined the job.
    Joined,
    /// It has finalized. It may join again, since a script may start one program after the other.
    Finalized,
}

/// The request that a rank waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PmiWait {
    /// A barrier of this group.
    Barrier(String),
    /// A name, and the command of the reply.
    Name(&'static str),
}

/// A rank as the server knows it.
#[derive(Debug)]
pub(crate) struct PmiClient {
    pub(crate) rank: u32,
    pub(crate) node: NodeId,
    pub(crate) reader: LineReader,
    pub(crate) waits: Option<PmiWait>,
    /// Whether a block of lines of a `spawn` is not over.
    pub(crate) in_spawn: bool,
    /// The bytes that it has put.
    pub(crate) put_bytes: usize,
    /// Whether its stream has ended or makes no sense.
    pub(crate) is_closed: bool,
}

impl PmiClient {
    pub(crate) fn new(rank: u32, node: NodeId) -> Self {
        Self {
            rank,
            node,
            reader: LineReader::default(),
            waits: None,
            in_spawn: false,
            put_bytes: 0,
            is_closed: false,
        }
    }
}

/// The ranks that have to enter a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PmiGroup {
    /// All ranks of the job.
    World,
    /// All ranks of the caller's node.
    Node,
    /// These ranks.
    Ranks(BTreeSet<u32>),
}

impl PmiGroup {
    /// Reads the `group` of a barrier: `WORLD`, `NODE`, or ranks and ranges between commas, and a
    /// tag behind a colon. Returns the tag, too.
    pub(crate) fn parse(text: &str, ranks: usize) -> Option<(Self, &str)> {
        let (who, tag) = text.split_once(':').unwrap_or((text, "0"));
        let group = match who {
            "" | "WORLD" => Self::World,
            "NODE" => Self::Node,
            list => {
                let mut members = BTreeSet::new();
                for part in list.split(',') {
                    let (first, last) = part.split_once('-').unwrap_or((part, part));
                    let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
                    if first > last || last as usize >= ranks {
                        return None;
                    }
                    members.extend(first..=last);
                }
                Self::Ranks(members)
            }
        };
        Some((group, tag))
    }
}
