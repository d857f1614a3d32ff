//! The control socket of a running job, and its clients.
//!
//! It never blocks, and never trusts: see the module above. The most that a client can make `bcs
//! run` do is to read eight bytes, and to survey its ranks once.

use super::name::JobName;
use super::question::{AnswerPart, JobFacts, QUESTION_BYTES, Question};
use super::survey_rounds::{SurveyResult, SurveyRounds};
use bcs_core::job::NodeId;
use node_manager::control::FrameWriter;
use node_manager::survey::SurveyPart;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use rustix::net::{accept_with, bind, listen, recv, socket_with};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The most clients at a time. A person has one or two; others wait in the kernel until there is
/// room.
const MOST_CLIENTS: usize = 8;

/// Connections that wait in the kernel.
const BACKLOG: i32 = 16;

/// The time for a client to send its question, and then to take the answer. The answer has some
/// megabytes for a job of many thousand ranks, which any reader takes in a fraction of this time.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time without accepting clients after one of another user, so that repeated attempts cost the
/// job next to nothing.
const REST: Duration = Duration::from_millis(20);

/// The owner of a descriptor in the poll set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlPollSource {
    /// A client that wants to connect.
    Listener,
    /// A client.
    Client(usize),
}

/// The control socket; see the module.
#[derive(Debug)]
pub struct ControlSocket {
    listener: OwnedFd,
    /// The user of this process.
    user: u32,
    /// The time until which no client is accepted.
    rests_until: Option<Instant>,
    clients: [Option<Client>; MOST_CLIENTS],
    facts: JobFacts,
    opened: Instant,
    inquiry: SurveyRounds,
    /// The nodes of each node manager.
    nodes: Vec<Vec<NodeId>>,
}

#[derive(Debug)]
struct Client {
    socket: OwnedFd,
    stage: ClientStage,
    /// The time at which its connection is closed.
    until: Instant,
}

#[derive(Debug)]
enum ClientStage {
    /// It sends its question.
    Asking([u8; QUESTION_BYTES], usize),
    /// The survey of this round will be its answer.
    Waiting(u32),
    /// It gets its answer.
    Hearing(FrameWriter),
}

/// The client is gone, or must be dropped.
struct ClientGone;

impl ControlSocket {
    /// Opens the socket of a job.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open(name: &JobName, facts: JobFacts, nodes: Vec<Vec<NodeId>>) -> Result<Self, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&listener, &name.address()?)?;
        listen(&listener, BACKLOG)?;
        Ok(Self {
            listener,
            user: name.user,
            rests_until: None,
            clients: Default::default(),
            facts: facts.shortened(),
            opened: Instant::now(),
            inquiry: SurveyRounds::new(nodes.len()),
            nodes,
        })
    }

    /// Counts ranks that were started in the running job.
    pub fn has_spawned(&mut self, ranks: usize) {
        self.facts.ranks += ranks;
    }

    /// Returns the descriptors to poll.
    pub fn poll_fds(&self) -> impl Iterator<Item = (PollFd<'_>, ControlPollSource)> {
        let has_room = self.clients.iter().any(Option::is_none) && self.rests_until.is_none();
        let door = PollFd::new(&self.listener, PollFlags::IN);
        let clients = self.clients.iter().enumerate();
        let inside = clients.filter_map(|(index, client)| {
            let client = client.as_ref()?;
            let flags = match client.stage {
                ClientStage::Asking(..) => PollFlags::IN,
                // A hang-up is reported in any case.
                ClientStage::Waiting(_) => PollFlags::empty(),
                ClientStage::Hearing(_) => PollFlags::OUT,
            };
            Some((
                PollFd::new(&client.socket, flags),
                ControlPollSource::Client(index),
            ))
        });
        let door = has_room.then_some((door, ControlPollSource::Listener));
        door.into_iter().chain(inside)
    }

    /// Returns the next timeout.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let clients = self.clients.iter().flatten().map(|client| client.until);
        let others = [self.rests_until, self.inquiry.due()];
        clients.chain(others.into_iter().flatten()).min()
    }

    /// Handles a descriptor that poll reports.
    pub fn happened(&mut self, guest: ControlPollSource, now: Instant) {
        match guest {
            ControlPollSource::Listener => self.let_in(now),
            ControlPollSource::Client(index) => {
                if let Some(Err(ClientGone)) = self.clients[index].as_mut().map(Client::attend) {
                    self.clients[index] = None;
                }
                self.hear(index, now);
            }
        }
    }

    /// Handles timeouts.
    pub fn handle_timeouts(&mut self, now: Instant) {
        self.rests_until.take_if(|until| now >= *until);
        for client in &mut self.clients {
            client.take_if(|client| now >= client.until);
        }
        if let Some(found) = self.inquiry.over(now) {
            self.tell(&found, now);
        }
    }

    /// Returns the number of a survey, and the node managers to ask, if a survey has to be made.
    pub fn ask(&mut self, now: Instant) -> Option<(u32, Vec<usize>)> {
        self.inquiry.begin(now)
    }

    /// Handles the answer of a node manager.
    pub fn heard(&mut self, manager: usize, part: SurveyPart) {
        self.inquiry.heard(manager, part);
    }

    /// Handles the end of a node manager.
    pub fn gone(&mut self, manager: usize) {
        self.inquiry.gone(manager);
    }

    /// Handles the end of the job.
    pub fn job_ends(&mut self) {
        self.facts.is_ending = true;
    }

    fn let_in(&mut self, now: Instant) {
        let Some(place) = self.clients.iter_mut().find(|client| client.is_none()) else {
            return;
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let Ok(socket) = accept_with(&self.listener, flags) else {
            // The client has left again, or there are no descriptors left, which poll would report
            // again and again.
            self.rests_until = Some(now + REST);
            return;
        };
        let is_known = socket_peercred(&socket).is_ok_and(|peer| {
            let user = peer.uid.as_raw();
            user == self.user || user == 0
        });
        if !is_known {
            self.rests_until = Some(now + REST);
            return;
        }
        *place = Some(Client {
            socket,
            stage: ClientStage::Asking([0; QUESTION_BYTES], 0),
            until: now + PATIENCE,
        });
    }

    /// Answers a client that has sent its question.
    fn hear(&mut self, index: usize, now: Instant) {
        let Some(client) = &mut self.clients[index] else {
            return;
        };
        let ClientStage::Asking(bytes, QUESTION_BYTES) = &client.stage else {
            return;
        };
        let answers = match Question::decode(bytes) {
            Err(bad) => vec![AnswerPart::Refused(bad.to_string())],
            Ok(Question::Job) => vec![self.job(now), AnswerPart::Done(Vec::new())],
            Ok(Question::State) => {
                client.stage = ClientStage::Waiting(self.inquiry.want());
                // Each round ends in time, and the client waits for two of them at most.
                client.until = now + 2 * PATIENCE;
                return;
            }
        };
        self.answer(index, &answers, now);
    }

    fn job(&self, now: Instant) -> AnswerPart {
        let age = now.saturating_duration_since(self.opened).as_millis();
        AnswerPart::Job(Box::new(JobFacts {
            age_ms: u64::try_from(age).unwrap_or(u64::MAX),
            ..self.facts.clone()
        }))
    }

    /// Sends the result of a round to the clients that wait for it.
    fn tell(&mut self, found: &SurveyResult, now: Instant) {
        let silent = found.silent.iter().filter_map(|&it| self.nodes.get(it));
        let silent = silent.flatten().copied().collect();
        let mut answers = vec![self.job(now)];
        let parts = found.parts.iter().cloned();
        answers.extend(parts.map(|part| AnswerPart::Part(Box::new(part))));
        answers.push(AnswerPart::Done(silent));
        for index in 0..MOST_CLIENTS {
            let stage = self.clients[index].as_ref().map(|client| &client.stage);
            if matches!(stage, Some(ClientStage::Waiting(number)) if *number == found.number) {
                self.answer(index, &answers, now);
            }
        }
    }

    fn answer(&mut self, index: usize, answers: &[AnswerPart], now: Instant) {
        let Some(client) = &mut self.clients[index] else {
            return;
        };
        let mut writer = FrameWriter::default();
        answers.iter().for_each(|answer| writer.message(answer));
        client.stage = ClientStage::Hearing(writer);
        client.until = now + PATIENCE;
        if client.attend().is_err() {
            self.clients[index] = None;
        }
    }
}

impl Client {
    /// Reads or writes what its socket allows.
    fn attend(&mut self) -> Result<(), ClientGone> {
        match &mut self.stage {
            ClientStage::Asking(bytes, len) => {
                match recv(&self.socket, &mut bytes[*len..], RecvFlags::DONTWAIT) {
                    Ok((0, _)) => Err(ClientGone),
                    Ok((more, _)) => {
                        *len += more;
                        Ok(())
                    }
                    Err(Errno::AGAIN | Errno::INTR) => Ok(()),
                    Err(_) => Err(ClientGone),
                }
            }
            // Poll reports nothing but a hang-up of it.
            ClientStage::Waiting(_) => Err(ClientGone),
            ClientStage::Hearing(writer) => match writer.send(&self.socket) {
                Ok(()) if writer.waiting() > 0 => Ok(()),
                Ok(()) | Err(_) => Err(ClientGone),
            },
        }
    }
}
