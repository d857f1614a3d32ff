//! Surveys: what all ranks do now, for requests from outside (`bcs state`, `bcs mds top`). The
//! `surveyor` makes them.

use bcs_core::job::NodeId;
use bcs_core::mapped_code::CodePlace;
use mds::mmds::RecorderSnapshot;
use serde::{Deserialize, Serialize};

/// A part of a node manager's survey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyPart {
    /// The number of the survey.
    pub number: u32,
    /// Whether this is the last part.
    pub is_last: bool,
    /// The time when it was begun, by the clock of the machine.
    pub at_ns: u64,
    /// The number of the slice that had been struck last at that time.
    pub slice: u64,
    /// Some of its ranks.
    pub ranks: Vec<RankSurvey>,
}

/// The state of a rank at one moment.
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
    /// Its wait state ([`WaitState::encode`](bcs_core::wait_state::WaitState::encode)); empty if it
    /// is not blocked.
    pub words: Vec<u64>,
    /// The place of its call, if that is an address.
    pub code: Option<CodePlace>,
    /// The place of its last call, if it is not blocked and that is an address.
    pub last_call: Option<CodePlace>,
    /// Its operations at its NIC that are not matched, and messages that have come there for it, in
    /// the same form.
    pub pending: Vec<u64>,
    /// The number of its requests that its NIC has completed.
    pub completions: u64,
    /// The contents of its recorder, if it records.
    pub recorded: Option<RecorderSnapshot>,
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// It has not called MPI_Init, and perhaps never does.
    Started,
    /// It has called MPI_Init.
    Running,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has called MPI_Finalize.
    Finalized,
    /// Its process has ended.
    Ended,
}
