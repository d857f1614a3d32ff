//! A rank as its node manager knows it.

use crate::control::RankFailureKind;
use crate::foreign_mpi;
use crate::output::OutputPipe;
use crate::rank_connection::RankConnection;
use crate::recorder::RankRecorder;
use bcs_core::job::NodeId;
use bcs_core::mapped_code::{CodePlace, MappedCode};
use bcs_core::wait_state::{LeakReport, Site};
use rustix::process::{Pid, Signal, WaitIdStatus};
use std::os::fd::OwnedFd;

/// How far a rank has come with MPI.
#[derive(Debug)]
pub(crate) enum RankStage {
    /// It has not called MPI_Init; a program that is none of MPI never does.
    Started,
    /// It was received.
    Received(HelloSender),
    /// It called MPI_Finalize.
    Finalized,
}

/// The process that was received as a rank.
#[derive(Debug)]
pub(crate) enum HelloSender {
    /// The one that was started.
    Started,
    /// One that the started one has started (it is a shell script), and its pidfd: its death is
    /// nothing that we are told as its parent.
    Descendant(OwnedFd),
    /// Such a one, and it has ended. What it had said before may not have been heard yet.
    Gone,
}

/// Where the rank's heap lies.
#[derive(Debug)]
pub(crate) enum SlotState {
    /// It has not said hello.
    Unknown,
    /// In this slot.
    Slot {
        /// A descriptor that was checked.
        fd: OwnedFd,
        /// Why the program's heap is not in it, if so: it has other memory of the rank.
        without_heap: Option<String>,
    },
    /// In no slot: why, if it was to be in one.
    None(Option<String>),
}

/// A rank's process and all that belongs to it.
#[derive(Debug)]
pub(crate) struct RankProcess {
    pub(crate) rank: u32,
    pub(crate) node: NodeId,
    /// The process that was started, leader of its process group.
    pub(crate) pid: Pid,
    /// Its pidfd, until it is reaped.
    pub(crate) pidfd: Option<OwnedFd>,
    pub(crate) conversation: RankConnection,
    pub(crate) stage: RankStage,
    pub(crate) slot: SlotState,
    /// Why no heap was preloaded into the program, if none was.
    pub(crate) no_preload: Option<String>,
    /// What it records, if it does, and when it was seen to have ended.
    pub(crate) recorder: Option<RankRecorder>,
    pub(crate) ended_ns: Option<u64>,
    /// Which files its code is of, if it has said so.
    pub(crate) code: MappedCode,
    /// What the program has left on it, if it has said so.
    pub(crate) left: Option<LeakReport>,
    /// The library of another MPI that it has mapped, if it was seen to.
    pub(crate) foreign_mpi: Option<String>,
    /// Whether it has written anything that we read.
    pub(crate) has_written: bool,
    /// Standard output and standard error.
    pub(crate) output: [OutputPipe; 2],
    /// Whether a failure of it was already reported: one is enough.
    pub(crate) failed: bool,
}

impl RankProcess {
    /// The place of an address of its code. Of a running one also what it has loaded since it said so.
    pub(crate) fn place_of(&self, site: &Site) -> Option<CodePlace> {
        let Site::Address(address) = *site else {
            return None;
        };
        let now = || {
            MappedCode::of_process(self.pid.as_raw_nonzero().get())
                .ok()?
                .place(address)
        };
        let said = self.code.place(address);
        // A wrapper's code is not the rank's.
        let is_rank =
            matches!(self.stage, RankStage::Received(HelloSender::Started)) && self.runs();
        said.or_else(|| if is_rank { now() } else { None })
    }

    /// Whether it has called our MPI_Init.
    pub(crate) fn has_joined(&self) -> bool {
        !matches!(self.stage, RankStage::Started)
    }

    /// Looks whether it is a program of another MPI, as long as it runs and has not joined.
    pub(crate) fn look_for_foreign_mpi(&mut self) {
        if self.runs() && !self.has_joined() && self.foreign_mpi.is_none() {
            self.foreign_mpi = foreign_mpi::mapped(self.pid.as_raw_nonzero().get());
        }
    }

    /// Whether the process has not been reaped.
    pub(crate) fn runs(&self) -> bool {
        self.pidfd.is_some()
    }

    /// Signals the whole process group, while its leader keeps the id from being recycled.
    pub(crate) fn signal(&self, signal: Signal) {
        if self.runs() {
            // ESRCH is impossible, and EPERM (a set-user-id program) leaves it to the launcher to wait
            // for it.
            let _ = rustix::process::kill_process_group(self.pid, signal);
        }
    }

    /// What its end means, if it is a failure.
    pub(crate) fn judge(&self, status: &WaitIdStatus) -> Option<RankFailureKind> {
        if let Some(signal) = status.terminating_signal() {
            return Some(RankFailureKind::Killed {
                signal,
                core_dumped: status.dumped(),
            });
        }
        match status.exit_status() {
            Some(0) if matches!(self.stage, RankStage::Received(_)) => {
                Some(RankFailureKind::NotFinalized)
            }
            Some(0) | None => None,
            Some(code) => Some(RankFailureKind::Exited(code)),
        }
    }
}
