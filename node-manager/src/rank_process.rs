//! A rank as its node manager knows it.

use crate::control::RankFailureKind;
use crate::mpi_libraries;
use crate::output::OutputPipe;
use crate::pmi::{PmiConnection, PmiStage};
use crate::rank_connection::RankConnection;
use crate::recorder::RankRecorder;
use bcs_core::job::{NodeId, SpawnedGroup};
use bcs_core::mapped_code::{CodePlace, LastCall, MappedCode};
use bcs_core::wait_state::{LeakReport, Site};
use rustix::process::{Pid, Signal, WaitIdStatus};
use std::os::fd::OwnedFd;

/// How far a rank has come with MPI.
#[derive(Debug)]
pub(crate) enum RankStage {
    /// It has not called MPI_Init; a program without MPI never does.
    Started,
    /// It has joined the job.
    Received(HelloSender),
    /// It called MPI_Finalize.
    Finalized,
}

/// The process that joined as a rank.
#[derive(Debug)]
pub(crate) enum HelloSender {
    /// The one that was started.
    Started,
    /// A descendant of the started one (which is a shell script), and its pidfd: we are not its
    /// parent, and do not get its death from the kernel otherwise.
    Descendant(OwnedFd),
    /// A descendant that has ended. Its last messages may not have been read yet.
    Gone,
}

/// Where the rank's heap lies.
#[derive(Debug)]
pub(crate) enum SlotState {
    /// It has not said Hello.
    Unknown,
    /// In this slot.
    Slot {
        /// A descriptor that was checked.
        fd: OwnedFd,
        /// The reason if the slot holds other memory of the rank, and not the program's heap.
        without_heap: Option<String>,
    },
    /// In no slot, with the reason if it should be in one.
    None(Option<String>),
}

/// The part of a rank's data that only ranks of another launcher have.
#[derive(Debug)]
pub(crate) struct StartedElsewhere {
    /// The rank is killed when this is closed.
    #[expect(dead_code, reason = "it is only held")]
    pub(crate) lifeline: OwnedFd,
}

/// A rank's process and its data.
#[derive(Debug)]
pub(crate) struct RankProcess {
    pub(crate) rank: u32,
    pub(crate) node: NodeId,
    /// The process that was started, leader of its process group.
    pub(crate) pid: Pid,
    /// Its pidfd, until it is reaped.
    pub(crate) pidfd: Option<OwnedFd>,
    /// The rest, if another launcher has started it.
    pub(crate) elsewhere: Option<StartedElsewhere>,
    pub(crate) conversation: RankConnection,
    pub(crate) stage: RankStage,
    /// Its PMI socket, which a program of another MPI uses.
    pub(crate) pmi: PmiConnection,
    /// How far it has come with PMI.
    pub(crate) pmi_stage: PmiStage,
    pub(crate) slot: SlotState,
    /// The reason if no heap was preloaded into the program.
    pub(crate) no_preload: Option<String>,
    /// Its recorder, if it records, and the time when its end was seen.
    pub(crate) recorder: Option<RankRecorder>,
    pub(crate) ended_ns: Option<u64>,
    /// The files that its code is from, if it has reported them.
    pub(crate) code: MappedCode,
    /// Where in its memory the place of its last call is, if it has reported that.
    pub(crate) last_call_at: Option<u64>,
    /// The leaks of the program on it, if it has reported them.
    pub(crate) left: Option<LeakReport>,
    /// The library of another MPI that it has mapped, if we have seen one.
    pub(crate) foreign_mpi: Option<String>,
    /// Whether it has written anything that we read.
    pub(crate) has_written: bool,
    /// Standard output and standard error.
    pub(crate) output: [OutputPipe; 2],
    /// Whether a failure of it was already reported: only the first one is.
    pub(crate) failed: bool,
    /// The index of its program among those that were started with it.
    pub(crate) application: u32,
    /// The ranks that were spawned with it, if it was.
    pub(crate) spawned: Option<SpawnedGroup>,
    /// Whether it waits for an answer of the launcher.
    pub(crate) asks: bool,
    /// Whether it was dismissed: its end is no failure.
    pub(crate) dismissed: bool,
}

impl RankProcess {
    /// Returns the place of its last call of MPI, which may be over. `pid` is its process.
    pub(crate) fn last_call(&self, pid: u32) -> Option<CodePlace> {
        let called = LastCall::of_process(pid, self.last_call_at?).ok()?;
        self.place_of(&Site::Address(called.address()))
    }

    /// Returns the place of an address of its code. If it runs, this includes code that it has
    /// loaded since its report.
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

    /// Returns whether it has joined the job, by our MPI_Init or that of another MPI.
    pub(crate) fn has_joined(&self) -> bool {
        !matches!(self.stage, RankStage::Started) || self.pmi_stage != PmiStage::Unknown
    }

    /// Checks whether it uses another MPI, as long as it runs and has not joined.
    pub(crate) fn look_for_foreign_mpi(&mut self) {
        if self.runs() && !self.has_joined() && self.foreign_mpi.is_none() {
            self.foreign_mpi = mpi_libraries::mapped(self.pid.as_raw_nonzero().get());
        }
    }

    /// Returns whether the process has not been reaped.
    pub(crate) fn runs(&self) -> bool {
        self.pidfd.is_some()
    }

    /// Signals the whole process group, while its leader keeps the id from being recycled. If
    /// another launcher has started the process, its group may have others.
    pub(crate) fn signal(&self, signal: Signal) {
        if let (Some(pidfd), Some(_)) = (&self.pidfd, &self.elsewhere) {
            let _gone = rustix::process::pidfd_send_signal(pidfd, signal);
        } else if self.runs() {
            // ESRCH is impossible. On EPERM (a set-user-id program) the launcher waits for it.
            let _ = rustix::process::kill_process_group(self.pid, signal);
        }
    }

    /// Returns how the rank has failed, if its end is a failure.
    pub(crate) fn judge(&self, status: &WaitIdStatus) -> Option<RankFailureKind> {
        if let Some(signal) = status.terminating_signal() {
            return Some(RankFailureKind::Killed {
                signal,
                core_dumped: status.dumped(),
            });
        }
        match status.exit_status() {
            Some(0)
                if matches!(self.stage, RankStage::Received(_))
                    || self.pmi_stage == PmiStage::Joined =>
            {
                Some(RankFailureKind::NotFinalized)
            }
            Some(0) | None => None,
            Some(code) => Some(RankFailureKind::Exited(code)),
        }
    }
}
