//! The agent: one OS thread that waits for every event on its nodes.
//!
//! It owns the ranks, the control socket and the NIC host. Its input is the messages of `bcs run`,
//! the deaths of ranks (pidfds), their output and messages, and failures of the NIC. Its output is
//! messages and lines. It sleeps only in one epoll, and has two timers: the kill delay, and the
//! patience with unfinished lines.
//!
//! Invariants: after the launcher is gone, or has sent Terminate, the process ends by itself. It
//! never ends before all its descendants have ended, except those that it may not kill.

use crate::agent_error::{AgentError, kernel};
use crate::control::{
    Frame, FrameReadOutcome, FromManager, JobStart, RankFailure, RankFailureKind, SpawnStart,
    Stream, ToManager, UserSignal,
};
use crate::control_group::{ControlGroup, MemoryReserve};
use crate::event_poll::{EventPoll, EventSource};
use crate::foreign_mpi::ForeignMpi;
use crate::handshake::{HandshakeError, HostHandshake, UdpSetup};
use crate::job_memory::SharedJobMemory;
use crate::launcher_link::LauncherLink;
use crate::leak_collector::LeakCollector;
use crate::limits::{LOST_NODE_PATIENCE, OUTPUT_QUEUE_BYTES};
use crate::local_ranks::{self, LocalRanks};
use crate::nic::LocalNics;
use crate::pmi_service::{PmiNews, PmiService};
use crate::rank_connection::RankReadOutcome;
use crate::rank_process::{HelloSender, RankProcess, RankStage, SlotState};
use crate::recorder::RankRecorder;
use crate::slots;
use crate::surveyor;
use crate::wait_state_report;
use bcs_core::clock::now_ns;
use bcs_core::fingerprint::fingerprint;
use bcs_core::job::handshake::{FromRank, NodeManagerReply, PROTOCOL_VERSION, Welcome};
use bcs_core::job::{RankAnswer, RankRequest};
use bcs_core::wait_state::{LeakReport, Site};
use bcs_nic::driver::NicHostEvent;
use bcs_nic::failure::NicFailure;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// The agent; see the head of this file.
pub(crate) struct Agent {
    pub(crate) link: LauncherLink,
    pub(crate) buffer: Vec<u8>,
    /// The socket through which ranks of another launcher come, if they do.
    pub(crate) rank_listener: Option<OwnedFd>,
}

/// The phase that a job is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgentPhase {
    Running,
    /// The ranks have got SIGTERM, and are killed at this time.
    Terminating(Instant),
    /// The launcher is gone: kill the ranks now.
    Killing,
    /// The job has ended well.
    Finishing,
}

impl Agent {
    /// Waits for the job to start; returns `None` when the launcher is gone.
    fn begin(
        &mut self,
        inherited: Option<SharedJobMemory>,
    ) -> Result<Option<(JobStart, SharedJobMemory, Option<UdpSetup>)>, AgentError> {
        let mut meeting = None;
        let (mut me, mut part) = (0, None);
        loop {
            match self.link.next(&mut self.buffer)? {
                None => return Ok(None),
                Some(ToManager::Subtree(subtree)) => {
                    self.link.become_relayed(&subtree, inherited.as_ref())?;
                }
                Some(ToManager::Party(number)) => me = number,
                Some(ToManager::Part(mine)) => part = Some(*mine),
                Some(ToManager::Handshake(meet)) => {
                    let (begun, met) = HostHandshake::begin(*meet)?;
                    meeting = Some(begun);
                    self.link
                        .writer
                        .message(&FromManager::HandshakeReply(Box::new(met)));
                }
                Some(ToManager::TestSharedMemory(test)) => {
                    let first = HostHandshake::find_shared_memory(&test, me);
                    self.link
                        .writer
                        .message(&FromManager::MappableMemory(first));
                }
                Some(ToManager::Start(start)) => {
                    let start = match part {
                        Some(part) => Box::new(start.with(part)),
                        None => start,
                    };
                    return match (&start.far, meeting, inherited) {
                        (Some(far), Some(meeting), _) => {
                            let (inherited, joined) = meeting.join(far)?;
                            Ok(Some((*start, inherited, Some(joined))))
                        }
                        (None, None, Some(inherited)) => Ok(Some((*start, inherited, None))),
                        _ => Err(HandshakeError::Order.into()),
                    };
                }
                // Nothing has started yet, so there is nothing to end.
                Some(ToManager::Terminate) => return Ok(None),
                Some(_) => (),
            }
            self.link.send_all();
        }
    }

    /// Runs the agent from its start to its end.
    pub(crate) fn run(&mut self, inherited: Option<SharedJobMemory>) -> Result<(), AgentError> {
        crate::reaper::adopt_orphans().map_err(kernel("failed to become a subreaper"))?;
        let Some((start, inherited, joined)) = self.begin(inherited)? else {
            return Ok(());
        };
        let watch = EventPoll::new().map_err(kernel("failed to make an epoll"))?;
        watch
            .add(&self.link.channel.input, EventSource::Control)
            .map_err(kernel("failed to watch the launcher"))?;
        // Ranks first: they load while the NIC starts, and this is still the process's only OS
        // thread.
        let (crew, not_started) = match self.rank_listener.take() {
            Some(rank_listener) => (
                local_ranks::adopt(&start, &watch, &rank_listener, &self.link)?,
                None,
            ),
            None => local_ranks::start(&start, &watch)?,
        };
        let nic = LocalNics::start(&start, inherited, joined)?;
        watch
            .add(nic.news.fd(), EventSource::Nic)
            .map_err(kernel("failed to watch the NIC"))?;
        if let Some(message) = not_started {
            self.link.writer.message(&message);
        }
        let pmi = PmiService::new(&start, &crew.ranks);
        let mut shift = JobRun {
            link: &mut self.link,
            buffer: &mut self.buffer,
            start,
            watch,
            crew,
            nic,
            phase: AgentPhase::Running,
            all_done: false,
            none_joined_said: false,
            sending: false,
            lost_node: None,
            slow_road_said: false,
            slots_said: false,
            foreign: ForeignMpi::default(),
            pmi,
            reserve: ControlGroup::own().and_then(|group| group.reserve()),
        };
        shift.run_until_ended()?;
        shift.report_slots(true);
        shift.end();
        Ok(())
    }
}

/// The time from the start of the ranks to their end.
struct JobRun<'a> {
    link: &'a mut LauncherLink,
    buffer: &'a mut [u8],
    start: JobStart,
    watch: EventPoll,
    crew: LocalRanks,
    nic: LocalNics,
    phase: AgentPhase,
    /// Whether AllDone has been sent since the last rank was started.
    all_done: bool,
    /// Whether NoneJoined has been sent.
    none_joined_said: bool,
    /// Whether the channel to the launcher is full and watched for room.
    sending: bool,
    /// When to end as if the launcher were gone, because a NIC has lost a node.
    lost_node: Option<Instant>,
    /// Whether SlowCopyHint has been sent.
    slow_road_said: bool,
    /// Whether Slots has been sent.
    slots_said: bool,
    /// Whether ranks use another MPI.
    foreign: ForeignMpi,
    /// The PMI server.
    pmi: PmiService,
    /// Memory of the control group, until a rank has failed.
    reserve: Option<MemoryReserve>,
}

impl JobRun<'_> {
    /// Handles events until the ranks have to be gone.
    fn run_until_ended(&mut self) -> Result<(), AgentError> {
        // Terminate may have arrived together with Start, and then no event reports it.
        self.handle_launcher_messages()?;
        loop {
            // Do this before the first wait, too: a rank that could not be started is already
            // reportable.
            self.report_all_done();
            self.send()?;
            let end = match self.phase {
                AgentPhase::Running => self.lost_node,
                AgentPhase::Terminating(_) if self.crew.running() == 0 => return Ok(()),
                AgentPhase::Terminating(deadline) => Some(deadline),
                AgentPhase::Killing | AgentPhase::Finishing => return Ok(()),
            };
            let sources = self
                .watch
                .wait(end.into_iter().chain(self.crew.prompt_due()).min())
                .map_err(kernel("failed to wait"))?;
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) {
                return Ok(());
            }
            self.crew.show_prompts(now, &mut self.link.writer);
            for source in sources {
                self.happened(source)?;
            }
        }
    }

    fn happened(&mut self, source: EventSource) -> Result<(), AgentError> {
        match source {
            EventSource::Control => self.listen_to_launcher()?,
            EventSource::Nic => {
                for news in self.nic.news.take() {
                    self.link.writer.message(&match news {
                        NicHostEvent::Failed(failure) => {
                            if self.start.far.is_some() {
                                self.lost_node = Some(Instant::now() + LOST_NODE_PATIENCE);
                            }
                            nic_failed(failure)
                        }
                        NicHostEvent::Quiesced => FromManager::Quiesced,
                        NicHostEvent::RejectedDatagrams(strays) => FromManager::Strays(strays),
                    });
                }
            }
            EventSource::Process(index) => self.rank_ended(index),
            EventSource::Descendant(index) => self.descendant_ended(index),
            EventSource::Conversation(index) => self.converse(index),
            EventSource::Input(index) => {
                let taken = self.crew.input.go_on(index, &self.watch);
                self.input_taken(taken)?;
            }
            EventSource::Output(index, stream) => self.read_output(index, stream),
            EventSource::Pmi(index) => self.listen_to_pmi(index),
        }
        Ok(())
    }

    fn listen_to_launcher(&mut self) -> Result<(), AgentError> {
        let LauncherLink {
            channel, reader, ..
        } = &mut *self.link;
        match reader.receive(&channel.input, self.buffer) {
            Ok(FrameReadOutcome::Bytes | FrameReadOutcome::Nothing) => {}
            // Kill without SIGTERM: nobody waits for an orderly end.
            Ok(FrameReadOutcome::End) | Err(_) => self.phase = AgentPhase::Killing,
        }
        self.handle_launcher_messages()
    }

    /// Handles the messages that have arrived from the launcher.
    fn handle_launcher_messages(&mut self) -> Result<(), AgentError> {
        while let Some(frame) = self.link.reader.frame()? {
            match frame {
                Frame::Message(ToManager::Quiesce) => self.nic.quiesce(),
                Frame::Message(ToManager::Finish) => self.phase = AgentPhase::Finishing,
                Frame::Message(ToManager::Terminate) => {
                    if self.phase == AgentPhase::Running {
                        self.phase =
                            AgentPhase::Terminating(Instant::now() + self.start.kill_delay);
                        self.crew.signal(Signal::TERM);
                        // A stopped rank handles its SIGTERM only when it continues.
                        self.crew.signal(Signal::CONT);
                    }
                }
                Frame::Message(ToManager::Input(piece)) => {
                    let taken = self.crew.input.offer(piece, &self.watch);
                    self.input_taken(taken)?;
                }
                Frame::Message(ToManager::Signal(signal)) => {
                    self.crew.signal(match signal {
                        UserSignal::Usr1 => Signal::USR1,
                        UserSignal::Usr2 => Signal::USR2,
                    });
                }
                Frame::Message(ToManager::QueryWaitStates(look)) => {
                    self.foreign.look(&mut self.crew.ranks);
                    let seen =
                        wait_state_report::report_wait_states(look, &self.crew.ranks, &self.nic);
                    let seen = FromManager::WaitStates(Box::new(seen));
                    self.link.writer.message(&seen);
                }
                Frame::Message(ToManager::StrikeSlice) => self.nic.demand_slice(),
                Frame::Message(ToManager::Survey(number)) => {
                    for part in surveyor::survey(number, &self.crew.ranks, &self.nic) {
                        let part = FromManager::SurveyPart(Box::new(part));
                        self.link.writer.message(&part);
                    }
                }
                Frame::Message(ToManager::Pmi(answer)) => {
                    let LauncherLink { writer, .. } = &mut *self.link;
                    let news = self.pmi.answer(*answer, &self.crew.ranks, writer);
                    self.pmi_happened(news);
                }
                Frame::Message(ToManager::Spawn(spawn)) => self.spawn(&spawn)?,
                Frame::Message(ToManager::Dismiss(group)) => self.crew.dismiss(group),
                Frame::Message(ToManager::Answer { rank, answer }) => self.answer(rank, *answer),
                Frame::Message(
                    ToManager::Start(_)
                    | ToManager::Part(_)
                    | ToManager::Party(_)
                    | ToManager::Subtree(_)
                    | ToManager::Handshake(_)
                    | ToManager::TestSharedMemory(_),
                )
                | Frame::Output { .. } => {}
            }
        }
        Ok(())
    }

    /// Starts spare ranks.
    fn spawn(&mut self, spawn: &SpawnStart) -> Result<(), AgentError> {
        self.nic.serve(spawn.group);
        let failure = match self.phase {
            AgentPhase::Running => self.crew.spawn(&self.start, spawn, &self.watch)?,
            _ => Some("the job is ending".to_owned()),
        };
        self.all_done = false;
        self.link.writer.message(&FromManager::Spawned {
            number: spawn.group.number,
            failure,
        });
        Ok(())
    }

    /// Passes a request of a rank on to the launcher.
    fn ask(&mut self, index: usize, request: RankRequest) {
        let rank = &mut self.crew.ranks[index];
        let is_received = matches!(rank.stage, RankStage::Received(_));
        let wrong = match request.check() {
            Err(wrong) => Some(wrong),
            Ok(()) if !is_received => Some("a request before it has joined".to_owned()),
            Ok(()) if rank.asks => Some("a request before the last was answered".to_owned()),
            Ok(()) => None,
        };
        if let Some(what) = wrong {
            return self.fail(index, RankFailureKind::MalformedMessage(what));
        }
        rank.asks = true;
        let (rank, request) = (rank.rank, Box::new(request));
        self.link
            .writer
            .message(&FromManager::Asked { rank, request });
    }

    /// Gives a rank the launcher's answer.
    fn answer(&mut self, rank: u32, answer: RankAnswer) {
        let Some(index) = self.crew.index_of(rank) else {
            return;
        };
        let rank = &mut self.crew.ranks[index];
        rank.asks = false;
        if let Err(errno) = rank
            .conversation
            .answer(&NodeManagerReply::Answer(answer), &[])
        {
            let what = format!("a request whose answer it does not take ({errno})");
            self.fail(index, RankFailureKind::MalformedMessage(what));
        }
    }

    /// Requests more input if all ranks have taken the last piece.
    fn input_taken(&mut self, all_have: Result<bool, Errno>) -> Result<(), AgentError> {
        if all_have.map_err(kernel("failed to watch the input of a rank"))? {
            self.link.writer.message(&FromManager::InputTaken);
        }
        Ok(())
    }

    /// Handles the end of a rank. The order is fixed: look at the status, withdraw the pid, and
    /// only then reap, so that the NIC never writes to a process that got a recycled id.
    fn rank_ended(&mut self, index: usize) {
        let rank = &mut self.crew.ranks[index];
        let Some(pidfd) = &rank.pidfd else { return };
        if rank.elsewhere.is_some() {
            return self.elsewhere_ended(index);
        }
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Ok(Some(status)) = rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), look) else {
            return;
        };
        if status.exit_status() != Some(0) {
            self.reserve = None;
        }
        // Report the rank's last messages and output before its death.
        self.converse(index);
        self.listen_to_pmi(index);
        for stream in [Stream::Out, Stream::Err] {
            self.crew
                .drain(index, stream, self.buffer, &mut self.link.writer);
            if status.terminating_signal().is_some() {
                self.crew.cut(index, stream, &mut self.link.writer);
            }
        }
        let rank = &mut self.crew.ranks[index];
        self.nic.withdraw_pid(rank.rank);
        rank.ended_ns = Some(now_ns());
        if let Some(pidfd) = rank.pidfd.take() {
            self.watch.remove(&pidfd);
            let reap = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let _ = rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), reap);
        }
        let end = rank.judge(&status);
        let foreign = self.foreign.ended(index, &self.crew.ranks, &self.start);
        foreign
            .iter()
            .for_each(|news| self.link.writer.message(news));
        if let Some(what) = end {
            self.fail(index, what);
        }
    }

    /// Handles the end of a rank that another launcher has started, and whose exit code it knows.
    fn elsewhere_ended(&mut self, index: usize) {
        self.converse(index);
        let rank = &mut self.crew.ranks[index];
        self.nic.withdraw_pid(rank.rank);
        rank.ended_ns = Some(now_ns());
        if let Some(pidfd) = rank.pidfd.take() {
            self.watch.remove(&pidfd);
        }
        if !matches!(rank.stage, RankStage::Finalized) {
            self.fail(index, RankFailureKind::NotFinalized);
        }
    }

    fn fail(&mut self, index: usize, what: RankFailureKind) {
        let counts = match self.phase {
            AgentPhase::Running => true,
            // We kill only after this phase, so another process did it, and that may be why the job
            // ends.
            AgentPhase::Terminating(_) => matches!(
                what,
                RankFailureKind::Killed {
                    signal: libc::SIGKILL,
                    ..
                }
            ),
            AgentPhase::Killing | AgentPhase::Finishing => false,
        };
        let rank = &mut self.crew.ranks[index];
        if !rank.failed && !rank.dismissed && counts {
            rank.failed = true;
            let pid = rank.pid.as_raw_nonzero().get();
            let failure = RankFailure {
                rank: rank.rank,
                node: rank.node,
                pid,
                what,
            };
            self.link.writer.message(&FromManager::ProcessFail(failure));
        }
    }

    fn report_all_done(&mut self) {
        if !self.all_done && self.phase == AgentPhase::Running && self.crew.all_ended_well() {
            self.all_done = true;
            if !self.crew.ranks.iter().any(RankProcess::has_joined)
                && !std::mem::replace(&mut self.none_joined_said, true)
            {
                self.link.writer.message(&FromManager::NoneJoined);
            }
            self.link.writer.message(&FromManager::AllDone);
        }
    }

    /// Handles the end of a rank that another program had started. We are not its parent, so only
    /// that program learns how it ended.
    fn descendant_ended(&mut self, index: usize) {
        let rank = &mut self.crew.ranks[index];
        if let RankStage::Received(caller) = &mut rank.stage {
            if let HelloSender::Descendant(pidfd) = caller {
                self.watch.remove(pidfd);
            }
            *caller = HelloSender::Gone;
            self.nic.withdraw_pid(rank.rank);
            self.converse(index);
        }
    }

    /// Reads all PMI requests that a rank has sent.
    fn listen_to_pmi(&mut self, index: usize) {
        if self.crew.ranks[index].spawned.is_some() {
            return;
        }
        let LauncherLink { writer, .. } = &mut *self.link;
        let ranks = &self.crew.ranks;
        let (news, is_over) = self.pmi.read(index, ranks, self.buffer, writer);
        if is_over {
            self.watch.remove(ranks[index].pmi.fd());
        }
        self.pmi_happened(news);
    }

    fn pmi_happened(&mut self, news: Vec<PmiNews>) {
        for news in news {
            match news {
                PmiNews::Stage(index, stage) => self.crew.ranks[index].pmi_stage = stage,
                PmiNews::Failed(index, what) => self.fail(index, what),
            }
        }
    }

    /// Reads all messages that a rank has sent.
    fn converse(&mut self, index: usize) {
        self.listen_to_rank(index);
        if matches!(
            self.crew.ranks[index].stage,
            RankStage::Received(HelloSender::Gone)
        ) {
            self.fail(index, RankFailureKind::NotFinalized);
        }
    }

    fn listen_to_rank(&mut self, index: usize) {
        loop {
            let rank = &mut self.crew.ranks[index];
            match rank.conversation.receive(self.buffer) {
                RankReadOutcome::Nothing => return,
                RankReadOutcome::Gone => return self.watch.remove(rank.conversation.fd()),
                RankReadOutcome::Malformed(what) => {
                    self.watch.remove(rank.conversation.fd());
                    return self.fail(index, RankFailureKind::MalformedMessage(what));
                }
                RankReadOutcome::Message(FromRank::Hello { version, no_slot }, pid, descriptor) => {
                    let slot = slots::check_slot(descriptor, no_slot);
                    self.receive_rank(index, version, pid, slot);
                }
                RankReadOutcome::Message(FromRank::Slot { place }, _, _) => {
                    self.hand_over_slot(index, place)
                }
                RankReadOutcome::Message(FromRank::SlowCopies { place }, _, _) => {
                    self.report_slow_copies(index, place)
                }
                RankReadOutcome::Message(FromRank::Code(code), _, _) => rank.code = code,
                RankReadOutcome::Message(FromRank::LastCallAt(at), _, _) => {
                    rank.last_call_at = Some(at)
                }
                // It has joined.
                RankReadOutcome::Message(FromRank::Join { .. }, _, _) => {}
                RankReadOutcome::Message(FromRank::Ask(request), _, _) => self.ask(index, request),
                // Invalid words affect only the rank that sent them.
                RankReadOutcome::Message(FromRank::Leaks(words), _, _) => {
                    rank.left = LeakReport::decode(&words)
                }
                RankReadOutcome::Message(FromRank::Finalized, _, _) => {
                    if let RankStage::Received(HelloSender::Descendant(visitor)) = &rank.stage {
                        self.watch.remove(visitor);
                    }
                    rank.stage = RankStage::Finalized;
                    // No data moves to or from it any more, and its end need not be noticed.
                    self.nic.withdraw_pid(rank.rank);
                }
                RankReadOutcome::Message(
                    FromRank::Abort {
                        code,
                        reason,
                        address,
                    },
                    _,
                    _,
                ) => {
                    let place = address.and_then(|address| rank.place_of(&Site::Address(address)));
                    let end = RankFailureKind::Aborted {
                        code,
                        reason,
                        place,
                    };
                    self.fail(index, end);
                }
            }
        }
    }

    /// Answers Hello.
    fn receive_rank(&mut self, index: usize, version: u32, pid: Pid, slot: SlotState) {
        let number = self.crew.ranks[index].rank;
        let refuse = |why: String| (NodeManagerReply::Refused(why), None);
        let (answer, memory) = if version != PROTOCOL_VERSION {
            refuse(format!(
                "this program speaks version {version} of the protocol and this runtime version \
                 {PROTOCOL_VERSION}: build the program against the library of this runtime"
            ))
        } else if let Some(memory) = self.nic.take_memory(number) {
            let recorder = self.crew.ranks[index].recorder.as_ref();
            let welcome = Welcome {
                rank: number,
                placement: self.start.placement.clone(),
                settings: self.start.settings.clone(),
                record: recorder.map(|_| self.start.record.to_string()),
                application: self.crew.ranks[index].application,
                universe_size: self.start.universe_size,
                job: job_number(&self.start.job),
                spawned: self.crew.ranks[index].spawned,
            };
            (NodeManagerReply::Welcome(Box::new(welcome)), Some(memory))
        } else {
            refuse(format!(
                "rank {number} was received before: MPI is initialised once"
            ))
        };
        let rank = &mut self.crew.ranks[index];
        let answered = match &memory {
            None => rank.conversation.answer(&answer, &[]),
            Some(memory) => {
                // Nobody reports the death of a process that is no child of ours.
                let started = rank.elsewhere.is_none().then_some(rank.pid);
                let caller = caller(started, pid, index, &self.watch);
                if let SlotState::Slot { fd, .. } = &slot {
                    let mut here = self.start.placement.ranks_of(rank.node);
                    let place = here.position(|rank| rank == number);
                    let place = place.expect("a rank is on its node");
                    self.nic.publish_slot(number, place, fd.as_fd());
                }
                // Publish before the rank can post anything that makes the NIC look for it. A
                // process that ended before it was answered has posted nothing. So nobody has an
                // address in the process that may have its id by now.
                match &caller {
                    HelloSender::Started => self.nic.publish_child(number, pid),
                    HelloSender::Descendant(_) => self.nic.publish_descendant(number, pid),
                    HelloSender::Gone => {}
                }
                rank.stage = RankStage::Received(caller);
                rank.slot = slot;
                let node = self.nic.node_memory(rank.node);
                let mut fds = vec![memory.as_fd(), self.nic.page()];
                fds.extend(node);
                fds.extend(rank.recorder.as_ref().map(RankRecorder::fd));
                rank.conversation.answer(&answer, &fds)
            }
        };
        if let Err(errno) = answered {
            let what = format!("a greeting that cannot be answered ({errno})");
            self.fail(index, RankFailureKind::MalformedMessage(what));
        }
        self.report_slots(false);
    }

    /// Sends a rank the slot of another rank of its node.
    fn hand_over_slot(&mut self, index: usize, place: u32) {
        let owner = slots::owner(&self.crew.ranks, &self.start.placement, index, place);
        if let Err(errno) = slots::hand_over(owner, &self.crew.ranks[index].conversation) {
            let what = format!("a question whose answer it does not take ({errno})");
            self.fail(index, RankFailureKind::MalformedMessage(what));
        }
    }

    /// Reports a rank from or to which others copy much outside of its slot.
    fn report_slow_copies(&mut self, index: usize, place: u32) {
        let owner = slots::owner(&self.crew.ranks, &self.start.placement, index, place);
        let news = owner.filter(|_| !self.slow_road_said);
        if let Some(news) = news.and_then(slots::slow_road) {
            self.slow_road_said = true;
            self.link.writer.message(&news);
        }
    }

    /// Reports once whose heaps lie in slots: when all ranks are there, or at the end.
    fn report_slots(&mut self, at_end: bool) {
        if !self.start.verbose || self.slots_said {
            return;
        }
        let report = slots::report(&self.crew.ranks);
        if at_end || report.received == self.crew.ranks.len() {
            self.slots_said = true;
            self.link.writer.message(&FromManager::Slots(report));
        }
    }

    fn read_output(&mut self, index: usize, stream: Stream) {
        // Look now: a short program writes when it ends, and its mappings are gone soon.
        if !self.crew.ranks[index].has_written {
            self.crew.ranks[index].has_written = true;
            self.crew.ranks[index].look_for_foreign_mpi();
        }
        let room = self.link.writer.waiting() < OUTPUT_QUEUE_BYTES;
        self.crew.read(index, stream, self.buffer, &self.watch);
        if room {
            self.crew.forward(index, stream, &mut self.link.writer);
        } else {
            self.crew.pause_reading(index, stream, &self.watch);
        }
    }

    /// Sends what the launcher takes, resumes paused pipes, and watches for room if some is left.
    fn send(&mut self) -> Result<(), AgentError> {
        loop {
            if self.link.send().is_err() {
                // The launcher is gone; its end of the socket will report that, too.
                self.phase = AgentPhase::Killing;
                return Ok(());
            }
            if self.link.writer.waiting() >= OUTPUT_QUEUE_BYTES
                || !self.crew.resume_reading(&mut self.link.writer, &self.watch)
            {
                break;
            }
        }
        let full = self.link.writer.waiting() > 0;
        if full != self.sending {
            self.sending = full;
            let output = &self.link.channel.output;
            match full {
                true => self
                    .watch
                    .add_for_room(output, EventSource::Control)
                    .map_err(kernel("failed to watch for room to the launcher"))?,
                false => self.watch.remove(output),
            }
        }
        Ok(())
    }

    /// Ends everything on these nodes.
    fn end(self) {
        let Self {
            link,
            buffer,
            start,
            mut crew,
            nic,
            phase,
            pmi,
            ..
        } = self;
        crew.signal(Signal::KILL);
        for rank in &crew.ranks {
            nic.withdraw_pid(rank.rank);
        }
        link.end_descendants();
        crew.drain_all(buffer, &mut link.writer);
        // Dump the ranks, however they ended.
        if let Err(message) = crate::dumps::write_ranks(&start, &crew.ranks) {
            link.writer.message(&FromManager::NoDump(message));
        }
        let strays = nic.strays();
        if strays.are_many() || (start.verbose && strays.suspicious() > 0) {
            link.writer.message(&FromManager::StraysInAll(strays));
        }
        let brought = nic.inbound_bytes();
        if start.verbose && brought.all() > 0 {
            link.writer.message(&FromManager::InboundBytes(brought));
        }
        if let Some(traffic) = pmi.traffic().filter(|_| start.verbose) {
            link.writer.message(&FromManager::PmiTraffic(traffic));
        }
        // After a failure the NICs' tables are not empty anyway, and nobody waits without limit for
        // a NIC that may have failed.
        let is_recorded = start.mds.is_some() && start.record.emds.is_some();
        let leftovers =
            (phase == AgentPhase::Finishing).then(|| LeakCollector::collect(&crew.ranks, &nic));
        let recordings = match phase {
            AgentPhase::Finishing => Some(nic.stop()),
            _ if is_recorded => nic.stop_in_time(),
            _ => None,
        };
        if let Some(mut recordings) = recordings {
            let left_over = recordings.left_over.drain(..);
            for left in left_over.filter(|_| phase == AgentPhase::Finishing) {
                link.writer.message(&nic_failed(left));
            }
            let ends = leftovers.map(|left| left.finish(&recordings.left_by_ranks));
            for end in ends.into_iter().flatten() {
                link.writer
                    .message(&FromManager::FinalReport(Box::new(end)));
            }
            if let Err(message) = crate::dumps::write(&start, recordings, brought) {
                link.writer.message(&FromManager::NoDump(message));
            }
        }
        link.writer.message(&FromManager::Goodbye);
        link.send_all();
    }
}

/// Returns a number that stands for the name of a job, which no other job has.
fn job_number(name: &str) -> u64 {
    let words = name.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    fingerprint(words)
}

/// Makes the message to the launcher about a failure of a NIC.
fn nic_failed(failure: NicFailure) -> FromManager {
    FromManager::NicFailed {
        node: failure.node,
        rank: failure.rank(),
        message: failure.to_string(),
    }
}

/// Finds which process has sent Hello for a rank whose process that we have started is `started`.
fn caller(started: Option<Pid>, caller: Pid, index: usize, watch: &EventPoll) -> HelloSender {
    if started == Some(caller) {
        return HelloSender::Started;
    }
    let watched = rustix::process::pidfd_open(caller, PidfdFlags::empty()).and_then(|pidfd| {
        watch
            .add(&pidfd, EventSource::Descendant(index))
            .map(|()| pidfd)
    });
    // It may have ended before its Hello was read.
    watched.map_or(HelloSender::Gone, HelloSender::Descendant)
}
