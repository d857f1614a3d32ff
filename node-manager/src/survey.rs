//! Surveys: what all ranks do now, for whoever asks from outside (`bcs state`, `bcs mds top`). The `surveyor` makes
//! them.

use bcs_core::job::NodeId;
use bcs_core::mapped_code::CodePlace;
use mds::mmds::RecorderSnapshot;
use serde::{Deserialize, Serialize};

/// A part of what a node manager has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyPart {
    /// Which survey.
    pub number: u32,
    /// Whether no other part of it follows.
    pub is_last: bool,
    /// When it was begun, by the clock of the machine.
    pub at_ns: u64,
    /// The number of the slice that was last struck then.
    pub slice: u64,
    /// Some of its ranks.
    pub ranks: Vec<RankSurvey>,
}

/// A rank at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSurvey {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// Its process.
    pub pid: i32,
    /// How far it has come.
    pub progress: Progress,
    /// Where it says that it is blocked
    /// ([`WaitState::encode`](bcs_core::whereabouts::WaitState::encode)); nothing if it does not.
    pub words: Vec<u64>,
    /// The place of its call, if that is an address.
    pub code: Option<CodePlace>,
    /// What it has posted at its NIC that has not met its other half, and what has come there for it, in the same
    /// form.
    pub pending: Vec<u64>,
    /// Requests of it that its NIC has completed.
    pub completions: u64,
    /// What it has recorded, if it does.
    pub recorded: Option<RecorderSnapshot>,
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// It has not called MPI_Init, and perhaps never does.
    Started,
    /// It has.
    Running,
    /// Somebody has stopped it: a signal, or a debugger.
    Stopped,
    /// It has called MPI_Finalize.
    Finalized,
    /// Its process has ended.
    Ended,
}
