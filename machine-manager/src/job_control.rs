//! Decides how a job reacts to events: a state machine without processes or clock.
//!
//! ```text
//!            all node managers send AllDone       one sends Quiesced             all gone
//!   Running ─────────────────────────────► Quiescing ────────────► Finishing ──────────► (exit 0)
//!      │ failure, signal, timeout              │ the same              │ failure, signal
//!      ▼                                       ▼                       ▼
//!   Ending ── signal, or deadline ──► Killed   Ending                  Ending
//!      ▲
//!      │ another failure, signal, deadline
//!   Failing ◄── a rank exits with an error ── Running
//! ```
//!
//! **Failing.** A rank that exits with an error may have learned of this error from another rank,
//! which knows the cause and is about to print it. So the other ranks have a moment before they are
//! ended.
//!
//! While the job is quiescing, the NICs take what ranks have posted at their end. If we stopped
//! them before that, one after the other, a message could be in flight from a running NIC to a
//! stopped one, and nobody would report it.
//!
//! Invariants: the first verdict stands. The exception is a rank's own error: the death of a rank
//! replaces it if it came before, or at least before any process was told to end. The reason is
//! that the memory of a dead rank is gone before its death is reported, and a rank that reads this
//! memory may exit with an error that has no other cause. A job that is ending never goes back;
//! after Killed nothing more is sent to any process.

use crate::verdict::Verdict;
use node_manager::control::UserSignal;

/// An event of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEvent {
    /// A node manager reports that all its ranks have ended well.
    AllDone(usize),
    /// A node manager is told to start further ranks.
    Spawns(usize),
    /// A node manager has started further ranks, or has failed to.
    HasSpawned(usize),
    /// The Strobe Sender reports that it is idle.
    Quiesced,
    /// A failure ends the job.
    Failure(Verdict),
    /// A node manager's process has ended, and all its messages were read. `Err` holds the verdict
    /// if this end, or the way of it, is a failure.
    ManagerEnded(usize, Result<(), Verdict>),
    /// `bcs run` received a signal that ends it.
    Signal(i32),
    /// `bcs run` received a signal for the program.
    UserSignal(UserSignal),
    /// The time that node managers had to end is over.
    Deadline,
}

/// A reaction to an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Tell node managers that all ranks have ended well.
    Quiesce,
    /// Tell node managers that nothing moves any more.
    Finish,
    /// Set a short deadline, until which the other ranks may print what they know.
    AwaitErrors,
    /// Tell node managers to end their ranks, and set the deadline.
    Terminate,
    /// Tell node managers to pass a signal on to their ranks.
    PassOn(UserSignal),
    /// Kill the node managers: the kernel kills their ranks.
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobPhase {
    Running,
    Quiescing,
    Finishing,
    Failing,
    Ending,
    Killed,
}

/// The state of a job.
#[derive(Debug)]
pub struct JobControl {
    phase: JobPhase,
    done: Vec<bool>,
    /// The number of spawns that each node manager has not answered. Until then its reports that
    /// all its ranks have ended do not count: it may have sent them before it was told.
    spawning: Vec<u32>,
    ended: Vec<bool>,
    verdict: Option<Verdict>,
}

impl JobControl {
    /// Makes the state of a job with this number of node managers.
    #[must_use]
    pub fn new(managers: usize) -> Self {
        Self {
            phase: JobPhase::Running,
            done: vec![false; managers],
            spawning: vec![0; managers],
            ended: vec![false; managers],
            verdict: None,
        }
    }

    /// Handles an event, and returns the action.
    #[must_use]
    pub fn handle(&mut self, event: JobEvent) -> Action {
        match event {
            JobEvent::Spawns(manager) => {
                self.done[manager] = false;
                self.spawning[manager] += 1;
                Action::Nothing
            }
            JobEvent::HasSpawned(manager) => {
                self.spawning[manager] = self.spawning[manager].saturating_sub(1);
                Action::Nothing
            }
            JobEvent::AllDone(manager) => {
                self.done[manager] = self.spawning[manager] == 0;
                if self.phase == JobPhase::Running && self.done.iter().all(|&done| done) {
                    self.phase = JobPhase::Quiescing;
                    return Action::Quiesce;
                }
                Action::Nothing
            }
            JobEvent::Quiesced if self.phase == JobPhase::Quiescing => {
                self.phase = JobPhase::Finishing;
                Action::Finish
            }
            JobEvent::Quiesced => Action::Nothing,
            JobEvent::Failure(verdict) => self.end(verdict),
            JobEvent::ManagerEnded(manager, how) => {
                self.ended[manager] = true;
                match how {
                    Ok(()) if self.may_end() => Action::Nothing,
                    Ok(()) => unreachable!("a node manager that ends early has failed"),
                    Err(verdict) => self.end(verdict),
                }
            }
            JobEvent::Signal(_) | JobEvent::Deadline if self.phase == JobPhase::Ending => {
                self.phase = JobPhase::Killed;
                Action::Kill
            }
            // A job that is ending has got its signal already.
            JobEvent::UserSignal(signal) if self.phase == JobPhase::Running => {
                Action::PassOn(signal)
            }
            JobEvent::UserSignal(_) => Action::Nothing,
            JobEvent::Signal(signal) => self.end(Verdict::Signal(signal)),
            JobEvent::Deadline if self.phase == JobPhase::Failing => {
                self.phase = JobPhase::Ending;
                Action::Terminate
            }
            JobEvent::Deadline => Action::Nothing,
        }
    }

    fn end(&mut self, verdict: Verdict) -> Action {
        match self.phase {
            JobPhase::Running if verdict.is_exit() => {
                self.phase = JobPhase::Failing;
                self.verdict = Some(verdict);
                Action::AwaitErrors
            }
            JobPhase::Running | JobPhase::Quiescing | JobPhase::Finishing => {
                self.phase = JobPhase::Ending;
                self.verdict = Some(verdict);
                Action::Terminate
            }
            JobPhase::Failing if verdict.is_exit() => Action::Nothing,
            JobPhase::Failing => {
                self.phase = JobPhase::Ending;
                self.replace_by(verdict);
                Action::Terminate
            }
            JobPhase::Ending | JobPhase::Killed => {
                self.replace_by(verdict);
                Action::Nothing
            }
        }
    }

    /// Replaces a rank's own error by a death, which explains it.
    fn replace_by(&mut self, verdict: Verdict) {
        let explained = self.verdict.as_ref().is_some_and(Verdict::is_own_error);
        if explained && verdict.is_death() {
            self.verdict = Some(verdict);
        }
    }

    /// Returns whether ranks can be started.
    #[must_use]
    pub fn may_spawn(&self) -> bool {
        self.phase == JobPhase::Running
    }

    /// Returns whether a node manager may end now.
    #[must_use]
    pub fn may_end(&self) -> bool {
        !matches!(
            self.phase,
            JobPhase::Running | JobPhase::Quiescing | JobPhase::Failing
        )
    }

    /// Returns whether the job is ending before its time.
    #[must_use]
    pub fn ending(&self) -> bool {
        matches!(self.phase, JobPhase::Ending | JobPhase::Killed)
    }

    /// Returns whether all node managers have ended.
    #[must_use]
    pub fn over(&self) -> bool {
        self.ended.iter().all(|&ended| ended)
    }

    /// Returns why the job failed, if it did.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::NodeId;
    use node_manager::control::{RankFailure, RankFailureKind};

    fn failure(rank: u32) -> Verdict {
        Verdict::NotStarted {
            rank,
            node: NodeId(0),
            message: String::new(),
        }
    }

    #[test]
    fn a_job_finishes_when_all_nodes_are_done() {
        let mut job = JobControl::new(2);
        assert_eq!(job.handle(JobEvent::AllDone(1)), Action::Nothing);
        assert!(!job.may_end());
        assert_eq!(job.handle(JobEvent::AllDone(0)), Action::Quiesce);
        assert!(!job.may_end(), "before nothing moves any more");
        assert_eq!(job.handle(JobEvent::Quiesced), Action::Finish);
        assert!(job.may_end());
        assert_eq!(job.handle(JobEvent::Quiesced), Action::Nothing);
        assert_eq!(
            job.handle(JobEvent::ManagerEnded(0, Ok(()))),
            Action::Nothing
        );
        assert!(!job.over());
        assert_eq!(
            job.handle(JobEvent::ManagerEnded(1, Ok(()))),
            Action::Nothing
        );
        assert!(job.over() && job.verdict().is_none());
    }

    #[test]
    fn a_job_goes_on_while_ranks_are_started_in_it() {
        let mut job = JobControl::new(2);
        assert_eq!(job.handle(JobEvent::AllDone(1)), Action::Nothing);
        assert!(job.may_spawn());
        let _ = job.handle(JobEvent::Spawns(1));
        // It was on its way when the node manager was told.
        assert_eq!(job.handle(JobEvent::AllDone(1)), Action::Nothing);
        assert_eq!(job.handle(JobEvent::AllDone(0)), Action::Nothing);
        let _ = job.handle(JobEvent::HasSpawned(1));
        assert_eq!(job.handle(JobEvent::AllDone(0)), Action::Nothing);
        assert_eq!(job.handle(JobEvent::AllDone(1)), Action::Quiesce);
        assert!(!job.may_spawn());
    }

    #[test]
    fn the_first_failure_is_the_verdict() {
        let mut job = JobControl::new(1);
        assert_eq!(job.handle(JobEvent::Failure(failure(3))), Action::Terminate);
        assert_eq!(job.handle(JobEvent::Failure(failure(4))), Action::Nothing);
        assert_eq!(job.handle(JobEvent::AllDone(0)), Action::Nothing);
        assert_eq!(job.handle(JobEvent::Deadline), Action::Kill);
        assert_eq!(
            job.handle(JobEvent::ManagerEnded(0, Err(failure(5)))),
            Action::Nothing
        );
        assert_eq!(job.verdict(), Some(&failure(3)));
    }

    #[test]
    fn a_death_explains_the_errors_of_others() {
        let of_rank = |rank, what| {
            Verdict::Rank(RankFailure {
                rank,
                node: NodeId(0),
                pid: 7,
                what,
            })
        };
        let error = of_rank(1, RankFailureKind::Exited(1));
        let death = |rank| {
            let (signal, core_dumped) = (9, false);
            of_rank(
                rank,
                RankFailureKind::Killed {
                    signal,
                    core_dumped,
                },
            )
        };
        let mut job = JobControl::new(1);
        for (failure, action) in [
            (error.clone(), Action::AwaitErrors),
            (of_rank(3, RankFailureKind::Exited(2)), Action::Nothing),
            (death(2), Action::Terminate),
            (death(4), Action::Nothing),
            (error.clone(), Action::Nothing),
        ] {
            assert_eq!(job.handle(JobEvent::Failure(failure)), action);
        }
        assert_eq!(job.verdict(), Some(&death(2)));
        let mut ended = JobControl::new(1);
        let _ = ended.handle(JobEvent::Failure(error.clone()));
        assert_eq!(ended.handle(JobEvent::Deadline), Action::Terminate);
        assert_eq!(ended.handle(JobEvent::Failure(death(2))), Action::Nothing);
        assert_eq!(ended.verdict(), Some(&death(2)));
        let mut told = JobControl::new(1);
        let _ = told.handle(JobEvent::Signal(2));
        let _ = told.handle(JobEvent::Failure(death(2)));
        assert_eq!(told.verdict(), Some(&Verdict::Signal(2)));
    }

    #[test]
    fn a_rank_that_exits_with_an_error_leaves_the_others_a_moment() {
        let exit = |rank| {
            Verdict::Rank(RankFailure {
                rank,
                node: NodeId(0),
                pid: 7,
                what: RankFailureKind::Exited(1),
            })
        };
        let mut job = JobControl::new(2);
        assert_eq!(job.handle(JobEvent::Failure(exit(1))), Action::AwaitErrors);
        assert!(!job.may_end() && !job.may_spawn());
        assert_eq!(job.handle(JobEvent::AllDone(1)), Action::Nothing);
        assert_eq!(job.handle(JobEvent::Failure(exit(0))), Action::Nothing);
        assert_eq!(job.handle(JobEvent::Deadline), Action::Terminate);
        assert_eq!(job.handle(JobEvent::Deadline), Action::Kill);
        assert_eq!(job.verdict(), Some(&exit(1)));
        let mut interrupted = JobControl::new(1);
        let _ = interrupted.handle(JobEvent::Failure(exit(1)));
        assert_eq!(interrupted.handle(JobEvent::Signal(2)), Action::Terminate);
        assert_eq!(interrupted.verdict(), Some(&exit(1)));
    }

    #[test]
    fn the_second_signal_kills() {
        let mut job = JobControl::new(1);
        assert_eq!(job.handle(JobEvent::Signal(2)), Action::Terminate);
        assert_eq!(job.handle(JobEvent::Signal(2)), Action::Kill);
        assert_eq!(job.handle(JobEvent::Signal(2)), Action::Nothing);
        assert_eq!(job.verdict(), Some(&Verdict::Signal(2)));
    }

    #[test]
    fn user_signals_are_passed_on_while_the_job_runs() {
        let mut job = JobControl::new(1);
        let usr1 = UserSignal::Usr1;
        assert_eq!(job.handle(JobEvent::UserSignal(usr1)), Action::PassOn(usr1));
        assert_eq!(job.handle(JobEvent::Signal(2)), Action::Terminate);
        assert_eq!(job.handle(JobEvent::UserSignal(usr1)), Action::Nothing);
        assert_eq!(
            job.handle(JobEvent::Signal(2)),
            Action::Kill,
            "it is no second Ctrl-C"
        );
    }

    #[test]
    fn a_failure_while_finishing_is_not_lost() {
        let mut job = JobControl::new(2);
        let _ = job.handle(JobEvent::AllDone(0));
        let _ = job.handle(JobEvent::AllDone(1));
        let _ = job.handle(JobEvent::Quiesced);
        assert_eq!(
            job.handle(JobEvent::ManagerEnded(1, Err(failure(1)))),
            Action::Terminate
        );
        assert_eq!(job.verdict(), Some(&failure(1)));
    }
}
