//! Performance variables (MPI 5.0, 15.3.7): the rank's own figures ([`RankStatistics`]), and the
//! numbers of the program's handles.

use super::categories::Category;
use super::enumerations::Enumeration;
use super::form::Form;
use super::{Refusal, ToolOutcome};
use crate::c::*;
use crate::objects::{
    COMMS, DATATYPES, ERROR_HANDLERS, GROUPS, INFOS, MESSAGES, OPS, REQUESTS, SESSIONS,
};
use crate::state;
use bcs_mpi::mpi::statistics::RankStatistics;
use std::ffi::c_int;

/// A performance variable.
#[derive(Debug)]
pub struct PerformanceVariable {
    pub name: &'static str,
    pub about: &'static str,
    pub category: Category,
    pub class: Class,
    figure: Figure,
}

/// The class of a variable, as the standard defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    State(Enumeration),
    Level,
    Size,
    Generic,
    Counter,
    Aggregate,
    Timer,
}

/// The source of a value.
#[derive(Debug)]
enum Figure {
    /// The rank. Before there is a rank, and where it does not record the figure, the value is 0: a
    /// tool that starts each listed variable gets no error, and `bcs_mds` and `bcs_recording`
    /// explain the zeros.
    OfRank(fn(RankStatistics<'_>) -> Option<u64>),
    /// The tables of handles, which always exist.
    OfTables(fn() -> usize),
}

impl Class {
    pub fn code(self) -> c_int {
        match self {
            Self::State(_) => MPI_T_PVAR_CLASS_STATE,
            Self::Level => MPI_T_PVAR_CLASS_LEVEL,
            Self::Size => MPI_T_PVAR_CLASS_SIZE,
            Self::Generic => MPI_T_PVAR_CLASS_GENERIC,
            Self::Counter => MPI_T_PVAR_CLASS_COUNTER,
            Self::Aggregate => MPI_T_PVAR_CLASS_AGGREGATE,
            Self::Timer => MPI_T_PVAR_CLASS_TIMER,
        }
    }

    pub fn form(self) -> Form {
        match self {
            Self::State(of) => Form::One(of),
            Self::Timer => Form::Seconds,
            _ => Form::Number,
        }
    }

    /// Returns whether it counts from a start on, and can be set; otherwise it shows the current
    /// state.
    pub fn counts(self) -> bool {
        matches!(self, Self::Counter | Self::Aggregate | Self::Timer)
    }
}

const fn of_rank(
    category: Category,
    class: Class,
    name: &'static str,
    about: &'static str,
    figure: fn(RankStatistics<'_>) -> Option<u64>,
) -> PerformanceVariable {
    PerformanceVariable {
        name,
        about,
        category,
        class,
        figure: Figure::OfRank(figure),
    }
}

const fn handles(
    name: &'static str,
    about: &'static str,
    figure: fn() -> usize,
) -> PerformanceVariable {
    PerformanceVariable {
        name,
        about,
        category: Category::Handles,
        class: Class::Level,
        figure: Figure::OfTables(figure),
    }
}

const BEAT: Category = Category::Beat;
const MESSAGE: Category = Category::Messages;
const RECORDER: Category = Category::Recorder;

/// All variables, by their indices.
pub static ALL: &[PerformanceVariable] = &[
    of_rank(
        BEAT,
        Class::Counter,
        "bcs_slices",
        "time slices, up to the one that was last struck",
        |rank| Some(rank.slices()),
    ),
    of_rank(
        BEAT,
        Class::Generic,
        "bcs_slice_length",
        "length of a time slice in nanoseconds, as it is now; 0 where nobody strikes any",
        |rank| Some(rank.slice_ns()),
    ),
    of_rank(
        BEAT,
        Class::Counter,
        "bcs_slice_changes",
        "how often slices have got another length (--strobe auto)",
        |rank| Some(rank.slice_changes()),
    ),
    of_rank(
        BEAT,
        Class::Level,
        "bcs_blocked_ranks",
        "ranks of this machine that are blocked in a call",
        |rank| Some(rank.blocked_ranks()),
    ),
    of_rank(
        BEAT,
        Class::Level,
        "bcs_awake_threads",
        "ranks and OS threads of NICs of this machine that do not sleep",
        |rank| Some(rank.awake_threads()),
    ),
    of_rank(
        BEAT,
        Class::Size,
        "bcs_cores",
        "cores of this machine that the job may use",
        |rank| Some(rank.cores()),
    ),
    of_rank(
        MESSAGE,
        Class::Level,
        "bcs_requests",
        "requests that are open, those that other requests are made of among them",
        |rank| Some(rank.left().requests as u64),
    ),
    of_rank(
        MESSAGE,
        Class::Counter,
        "bcs_refused_requests",
        "how often a request found no slot",
        |rank| Some(rank.held().refusals),
    ),
    of_rank(
        MESSAGE,
        Class::Counter,
        "bcs_nic_completions",
        "requests that the NIC has completed",
        |rank| Some(rank.completions()),
    ),
    of_rank(
        MESSAGE,
        Class::Level,
        "bcs_unexpected",
        "messages that have come and that nobody has received",
        |rank| Some(rank.left().messages),
    ),
    of_rank(
        MESSAGE,
        Class::Level,
        "bcs_unexpected_bytes",
        "bytes of those of this node that are kept by this rank",
        |rank| Some(rank.held().unexpected_bytes as u64),
    ),
    of_rank(
        MESSAGE,
        Class::Counter,
        "bcs_unexpected_so_far",
        "messages of this node that came before their receive",
        |rank| Some(rank.held().unexpected_so_far),
    ),
    of_rank(
        MESSAGE,
        Class::Level,
        "bcs_copied_bytes",
        "bytes of copies of messages to ranks of this node, whose senders did not wait",
        |rank| Some(rank.held().copied_bytes as u64),
    ),
    of_rank(
        MESSAGE,
        Class::Level,
        "bcs_buffered_bytes",
        "bytes of buffered sends that take room in a buffer of the program's",
        |rank| Some(rank.buffered_bytes() as u64),
    ),
    handles(
        "bcs_communicator_handles",
        "communicators that the program has made and not freed",
        || COMMS.held(),
    ),
    handles(
        "bcs_datatype_handles",
        "datatypes that the program has made and not freed",
        || DATATYPES.held(),
    ),
    handles(
        "bcs_errhandler_handles",
        "error handlers that the program has and has not freed",
        || ERROR_HANDLERS.held(),
    ),
    handles(
        "bcs_group_handles",
        "groups that the program has and has not freed",
        || GROUPS.held(),
    ),
    handles(
        "bcs_info_handles",
        "info objects that the program has and has not freed",
        || INFOS.held(),
    ),
    handles(
        "bcs_message_handles",
        "messages that the program has probed and not received",
        || MESSAGES.held(),
    ),
    handles(
        "bcs_op_handles",
        "operations that the program has made and not freed",
        || OPS.held(),
    ),
    handles(
        "bcs_request_handles",
        "requests that the program has and has neither waited for nor freed",
        || REQUESTS.held(),
    ),
    handles(
        "bcs_session_handles",
        "sessions of MPI that the program has and has not finalized",
        || SESSIONS.held(),
    ),
    of_rank(
        RECORDER,
        Class::State(Enumeration::Switch),
        "bcs_recording",
        "whether calls are recorded now (MPI_Pcontrol)",
        |rank| Some(rank.records().into()),
    ),
    of_rank(
        RECORDER,
        Class::Counter,
        "bcs_calls",
        "calls of MPI that have returned",
        |rank| rank.calls(),
    ),
    of_rank(
        RECORDER,
        Class::Timer,
        "bcs_communication_time",
        "time inside blocking calls",
        |rank| rank.times().map(|times| times.communication_ns),
    ),
    of_rank(
        RECORDER,
        Class::Timer,
        "bcs_computation_time",
        "time between blocking calls",
        |rank| rank.times().map(|times| times.computation_ns),
    ),
    of_rank(
        RECORDER,
        Class::Counter,
        "bcs_sent_messages",
        "messages of point-to-point calls that were posted",
        |rank| rank.traffic().map(|traffic| traffic.sent),
    ),
    of_rank(
        RECORDER,
        Class::Aggregate,
        "bcs_sent_bytes",
        "bytes of messages of point-to-point calls that were posted",
        |rank| rank.traffic().map(|traffic| traffic.sent_bytes),
    ),
    of_rank(
        RECORDER,
        Class::Counter,
        "bcs_received_messages",
        "messages of point-to-point calls that were received",
        |rank| rank.traffic().map(|traffic| traffic.received),
    ),
    of_rank(
        RECORDER,
        Class::Aggregate,
        "bcs_received_bytes",
        "bytes of messages of point-to-point calls that were received",
        |rank| rank.traffic().map(|traffic| traffic.received_bytes),
    ),
];

impl PerformanceVariable {
    /// Returns the current value.
    ///
    /// # Errors
    /// If this process is a forked child of the rank.
    pub fn now(&self) -> ToolOutcome<u64> {
        match (&self.figure, state::rank()) {
            (Figure::OfTables(held), _) => Ok(held() as u64),
            (Figure::OfRank(_), None) => Ok(0),
            (Figure::OfRank(figure), Some(rank)) => {
                let figures = rank.statistics().ok_or(Refusal::NotAccessible)?;
                Ok(figure(figures).unwrap_or(0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_variable_each() {
        for (index, variable) in ALL.iter().enumerate() {
            let first = ALL.iter().position(|of| of.name == variable.name);
            assert_eq!(first, Some(index), "{}", variable.name);
        }
    }
}
