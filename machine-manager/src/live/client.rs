//! The client's side of a question to a running job.

use super::name::JobName;
use super::question::{AnswerPart, JobFacts, Question};
use bcs_core::job::NodeId;
use bcs_core::limits::MAX_RANKS;
use node_manager::control::{Frame, FrameError, FrameReadOutcome, FrameReader};
use node_manager::limits::READ_BYTES;
use node_manager::survey::SurveyPart;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, connect, send, socket_with};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The time that a job has to answer: it does so within a second, unless its machine is loaded.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to a job.
#[derive(Debug)]
pub struct JobConnection {
    socket: OwnedFd,
    reader: FrameReader,
}

/// There is no answer.
#[derive(Debug, thiserror::Error)]
pub enum JobQueryError {
    /// There is no such job any more.
    #[error("job {0} has ended")]
    Ended(JobName),
    /// Its `bcs run` does not answer.
    #[error(
        "job {0} does not answer: its bcs run is stopped, or many ask at once; `bcs kill` ends it in \
         any case"
    )]
    Silent(JobName),
    /// Another process has taken the name.
    #[error("what calls itself job {0} is another process, or another user's: it is not asked")]
    Impostor(JobName),
    /// It refuses to answer.
    #[error("job {0} does not say: {1}")]
    Refused(JobName, String),
    /// The answer is invalid.
    #[error("job {0} sent an invalid answer: {1}")]
    Rubbish(JobName, String),
    /// Something else.
    #[error("failed to ask job {0}: {1}")]
    Kernel(JobName, Errno),
}

/// The answer of a job.
#[derive(Debug, Default)]
pub struct JobAnswer {
    /// The job.
    pub facts: JobFacts,
    /// The survey of its ranks, if that was the question.
    pub parts: Vec<SurveyPart>,
    /// Nodes that have not answered.
    pub silent: Vec<NodeId>,
}

impl JobConnection {
    /// Connects, and makes sure that the job's `bcs run` is the listener.
    ///
    /// # Errors
    /// See [`JobQueryError`].
    pub fn connect(name: &JobName) -> Result<Self, JobQueryError> {
        let failed = |errno| match errno {
            Errno::CONNREFUSED => JobQueryError::Ended(name.clone()),
            // The listener accepts no client, and its queue is full.
            Errno::AGAIN => JobQueryError::Silent(name.clone()),
            errno => JobQueryError::Kernel(name.clone(), errno),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.map_err(failed)?;
        let address = name.address().map_err(failed)?;
        connect(&socket, &address).map_err(failed)?;
        let peer = socket_peercred(&socket).map_err(failed)?;
        let is_it = peer.uid.as_raw() == name.user && peer.pid.as_raw_nonzero().get() == name.pid;
        if !is_it {
            return Err(JobQueryError::Impostor(name.clone()));
        }
        let reader = FrameReader::default();
        Ok(Self { socket, reader })
    }

    /// Sends a question. If it is lost because the listener is gone, [`hear`](Self::hear) finds
    /// that out.
    pub fn ask(&self, question: Question) {
        // Eight bytes fit into any empty socket.
        let _sent = send(&self.socket, &question.encode(), SendFlags::NOSIGNAL);
    }

    /// Returns whether the listening process still exists.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        let mut fds = [PollFd::new(&self.socket, PollFlags::empty())];
        let at_once = Timespec::default();
        poll(&mut fds, Some(&at_once)) == Ok(0)
    }

    /// Waits for the whole answer.
    ///
    /// # Errors
    /// See [`JobQueryError`].
    pub fn hear(mut self, name: &JobName, until: Instant) -> Result<JobAnswer, JobQueryError> {
        let mut answered = JobAnswer::default();
        let mut buffer = vec![0; READ_BYTES];
        let rubbish = |error: FrameError| JobQueryError::Rubbish(name.clone(), error.to_string());
        loop {
            while let Some(frame) = self.reader.frame::<AnswerPart>().map_err(rubbish)? {
                match frame {
                    Frame::Message(AnswerPart::Refused(why)) => {
                        return Err(JobQueryError::Refused(name.clone(), printable(&why)));
                    }
                    Frame::Message(AnswerPart::Job(facts)) => {
                        // We know these facts ourselves, and do not trust the job about them.
                        answered.facts = JobFacts {
                            id: name.id.clone(),
                            pid: name.pid,
                            user: name.user,
                            ..*facts
                        };
                    }
                    Frame::Message(AnswerPart::Part(part)) => answered.add(*part, name)?,
                    Frame::Message(AnswerPart::Done(silent)) => {
                        answered.silent = silent;
                        return Ok(answered);
                    }
                    Frame::Output { .. } => {
                        return Err(JobQueryError::Rubbish(name.clone(), "output".to_owned()));
                    }
                }
            }
            match self.reader.receive(&self.socket, &mut buffer) {
                Ok(FrameReadOutcome::Bytes) => {}
                Ok(FrameReadOutcome::Nothing) => self.wait(name, until)?,
                Ok(FrameReadOutcome::End) => return Err(JobQueryError::Ended(name.clone())),
                Err(errno) => return Err(JobQueryError::Kernel(name.clone(), errno)),
            }
        }
    }

    fn wait(&self, name: &JobName, until: Instant) -> Result<(), JobQueryError> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(JobQueryError::Silent(name.clone()));
        }
        let left = Timespec::try_from(left).unwrap_or_default();
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(JobQueryError::Kernel(name.clone(), errno)),
        }
    }
}

/// Replaces control characters. Any user may answer a root user, who prints the answer on a
/// terminal.
pub(super) fn printable(text: &str) -> String {
    let printed = |one: char| if one.is_control() { '\u{fffd}' } else { one };
    text.chars().map(printed).collect()
}

impl JobAnswer {
    fn add(&mut self, part: SurveyPart, name: &JobName) -> Result<(), JobQueryError> {
        let known: usize = self.parts.iter().map(|part| part.ranks.len()).sum();
        // Each node manager has at most one part without ranks.
        if known + part.ranks.len() > MAX_RANKS || self.parts.len() > 2 * MAX_RANKS {
            let too_many = "more ranks than a job can have".to_owned();
            return Err(JobQueryError::Rubbish(name.clone(), too_many));
        }
        self.parts.push(part);
        Ok(())
    }
}

/// Asks a job and waits for its answer.
///
/// # Errors
/// See [`JobQueryError`].
pub fn ask(name: &JobName, question: Question) -> Result<JobAnswer, JobQueryError> {
    let call = JobConnection::connect(name)?;
    call.ask(question);
    call.hear(name, Instant::now() + PATIENCE)
}
