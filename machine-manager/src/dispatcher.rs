//! The event loop of a running job.
//!
//! One OS thread and one poll. It owns the node managers' sockets and processes, the standard
//! streams and the signals; [`JobControl`] decides what to do about an event.

use crate::adoption::ForeignLauncher;
use crate::agent_links::{self, LinkNews, ManagerHandle, hand_out, tell};
use crate::deadlock_detector::{DeadlockDetector, DetectorFinding, WaitGraph};
use crate::exit_code;
use crate::foreign_mpi::ForeignMpi;
use crate::hosts::Hosts;
use crate::input_broadcast::InputBroadcast;
use crate::job_control::{Action, JobControl, JobEvent};
use crate::launch::StartedJob;
use crate::launcher_standard_error::StandardError;
use crate::leak_reporter::LeakReporter;
use crate::live::control_socket::{ControlPollSource, ControlSocket};
use crate::output::{Output, OutputError};
use crate::pmi_exchange::{PmiDelivery, PmiExchange};
use crate::quantities::GivenQuantity;
use crate::signals::Signals;
use crate::spawn_service::{SpawnAction, SpawnService};
use crate::standard_output::unwritable;
use crate::strays;
use crate::terminal_input::TerminalInput;
use crate::verdict::Verdict;
use anyhow::Context as _;
use bcs_core::job::{NicThreading, NodeId, RankAnswer};
use node_manager::control::{
    Frame, FrameError, FrameReadOutcome, FromManager, PmiTraffic, RankFailureKind, SlotReport,
    Stream, ToManager, UserSignal,
};
use node_manager::control_group::{ControlGroup, MemoryReserve};
use node_manager::launch_tree::AgentEnd;
use node_manager::limits::{
    IMMORTAL_PATIENCE, MANAGER_GRACE, OUTPUT_QUEUE_BYTES, READ_BYTES, RECORDING_GRACE,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use rustix::time::Timespec;
use source_lines::SourceLines;
use std::iter;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The time that the other ranks have to print their errors when a rank has exited with one. A rank
/// that learns of an error from another one may be a few milliseconds faster than that one; on a
/// crowded machine it may be a turn of the scheduler for each process.
const ERRORS_OF_OTHERS: Duration = Duration::from_millis(200);

/// The time that node managers have to say what their ranks do when a signal ends the job. 1,000
/// ranks take 0.3 s where two cores run them all.
const ANSWERS_TO_SIGNAL: Duration = Duration::from_millis(500);

/// A running job.
#[derive(Debug)]
pub struct Dispatcher {
    control: JobControl,
    managers: Vec<ManagerHandle>,
    hosts: Option<Hosts>,
    nic_host: bool,
    output: Output,
    signals: Signals,
    ranks: usize,
    timeout: Option<(Instant, GivenQuantity<Duration>)>,
    /// The deadlock detector, while the job runs.
    lookout: Option<DeadlockDetector>,
    /// A signal that is about to end the job, and when it does even if node managers do not answer
    /// what their ranks do.
    ends_by: Option<(i32, Instant)>,
    /// The time from SIGTERM to SIGKILL for ranks.
    kill_delay: Duration,
    /// The time that node managers have after that, until they are killed.
    grace: Duration,
    /// When to kill node managers that were told to end.
    deadline: Option<Instant>,
    /// Children that this process had before the job.
    spared: Vec<Pid>,
    /// The control socket, if there is one.
    door: Option<ControlSocket>,
    /// The input of the rank that reads it, when standard input is a terminal.
    input: Option<TerminalInput>,
    /// The input of all ranks, when they all read standard input.
    shared_input: Option<InputBroadcast>,
    /// The policy for a deadlock.
    on_deadlock: DeadlockPolicy,
    /// Collects the leaks of the program.
    at_finalize: LeakReporter,
    /// Whether ranks use another MPI.
    foreign_mpi: ForeignMpi,
    /// The data that programs of other MPIs have put.
    pmi: PmiExchange,
    /// The launcher that has started the ranks, if it is another one.
    foreign_launcher: Option<ForeignLauncher>,
    /// The requests of ranks.
    spawns: SpawnService,
    /// The control group that limits the memory of processes here.
    control_group: Option<ControlGroup>,
    /// Memory of that group, until a rank has failed.
    reserve: Option<MemoryReserve>,
    /// Finds lines of programs whose places are addresses.
    source: SourceLines,
    /// Whether to print more hints.
    hints: bool,
    /// Whether to print the processes of node managers that others start.
    is_verbose: bool,
    /// Whether the job is over and the user does not want to read the rest of its output.
    impatient: bool,
    /// Whether the final message was printed.
    is_told: bool,
    buffer: Vec<u8>,
}

/// The parts of a job that `bcs run` provides.
#[derive(Debug)]
pub struct DispatcherOptions {
    /// The output.
    pub output: Output,
    /// The input, when standard input is a terminal.
    pub input: Option<TerminalInput>,
    /// The control socket, if there is one.
    pub door: Option<ControlSocket>,
    /// The input, when all ranks read standard input.
    pub shared_input: Option<InputBroadcast>,
    /// The policy for a deadlock.
    pub on_deadlock: DeadlockPolicy,
    /// Collects the leaks of the program, to report them.
    pub at_finalize: LeakReporter,
    /// Whether to print hints.
    pub hints: bool,
    /// Whether to print the processes of node managers that others start.
    pub is_verbose: bool,
    /// Signals.
    pub signals: Signals,
    /// Children that this process had before the job: a shell may have had them before it became
    /// `bcs run`.
    pub spared: Vec<Pid>,
    /// The launcher that has started the ranks, if it is another one.
    pub foreign_launcher: Option<ForeignLauncher>,
    /// The requests of ranks.
    pub spawns: SpawnService,
}

/// The policy for a job in which no rank can ever go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockPolicy {
    /// Whether the job ends.
    pub aborts: bool,
    /// Files for the graph, for programs.
    pub files: Vec<PathBuf>,
}

/// The owner of a descriptor in the poll set.
#[derive(Clone, Copy, Debug)]
enum DispatcherPollSource {
    Signals,
    Output,
    Input,
    SharedInput,
    Door(ControlPollSource),
    Control(usize),
    StandardError(usize),
    Process(usize),
}

impl Dispatcher {
    /// Takes over a job that was just started, with its time limit.
    #[must_use]
    pub fn new(
        launched: StartedJob,
        surroundings: DispatcherOptions,
        ranks: usize,
        timeout: Option<(Instant, GivenQuantity<Duration>)>,
    ) -> Self {
        let DispatcherOptions {
            output,
            input,
            door,
            shared_input,
            on_deadlock,
            at_finalize,
            hints,
            is_verbose,
            signals,
            spared,
            foreign_launcher,
            spawns,
        } = surroundings;
        let managers = launched.managers.len();
        let control_group = ControlGroup::own();
        let lookout = DeadlockDetector::new(
            managers,
            Instant::now(),
            timeout.as_ref().map(|(end, _)| *end),
        );
        Self {
            control: JobControl::new(managers),
            lookout: Some(lookout),
            ends_by: None,
            // With one OS thread for all NICs one process manages all nodes.
            nic_host: launched.settings.driver == NicThreading::Shared,
            managers: launched.managers,
            hosts: launched.hosts,
            output,
            signals,
            ranks,
            timeout,
            kill_delay: launched.kill_delay,
            grace: if launched.records {
                RECORDING_GRACE
            } else {
                MANAGER_GRACE
            },
            deadline: None,
            spared,
            door,
            input,
            shared_input,
            on_deadlock,
            at_finalize,
            foreign_mpi: ForeignMpi::default(),
            pmi: PmiExchange::default(),
            foreign_launcher,
            spawns,
            reserve: control_group.as_ref().and_then(ControlGroup::reserve),
            control_group,
            source: SourceLines::default(),
            hints,
            is_verbose,
            impatient: false,
            is_told: false,
            buffer: vec![0; READ_BYTES],
        }
    }

    /// Runs the job to its end. Returns the exit code.
    ///
    /// # Errors
    /// When the kernel does not let us wait.
    pub fn run(mut self) -> anyhow::Result<u8> {
        // Show the output that was held while the job was started.
        (0..self.managers.len()).for_each(|index| self.show_standard_error(index));
        while !self.control.over() {
            self.step()?;
        }
        // End orphans of a node manager that was killed: the kernel made them our children. So are
        // those that it may not kill.
        let immortal = node_manager::reaper::end_descendants(&self.spared, IMMORTAL_PATIENCE);
        self.say(&immortal.iter().map(describe_immortal).collect::<Vec<_>>());
        if self.control.verdict().is_none() {
            let lines = self.at_finalize.lines(&mut self.source);
            self.say(&lines);
        }
        let line = self.foreign_mpi.line(self.ranks);
        let foreign = self.foreign_mpi.outcome(self.managers.len(), self.ranks);
        let code = match self.control.verdict() {
            None => {
                let (line, code) = foreign.unzip();
                self.say(line.as_slice());
                match immortal.is_empty() {
                    true => code.unwrap_or(exit_code::SUCCESS),
                    false => exit_code::RUNTIME,
                }
            }
            Some(verdict) => {
                if let Verdict::Rank(_) = verdict
                    && let Some(line) = &line
                {
                    let line = format!("bcs: {line}\n").into_bytes();
                    self.output.add(None, Stream::Err, line);
                }
                let group = self
                    .control_group
                    .as_ref()
                    .filter(|_| verdict.may_be_kernel_kill());
                let why = group.and_then(ControlGroup::why_killed);
                if let Some(message) = verdict.message(self.ranks, why.as_deref())
                    && !self.is_told
                {
                    self.output
                        .add(None, Stream::Err, (message + "\n").into_bytes());
                }
                verdict.exit_code()
            }
        };
        self.output.end();
        // A signal ends the wait for a user who does not read.
        while self.output.waiting() > 0 && !self.impatient {
            self.step()?;
        }
        // Even a job that has gone well may have lost its last lines.
        match self.output.lost() {
            Some((which, errno)) if code == exit_code::SUCCESS => {
                let lost = Verdict::OutputLost(which, errno);
                eprintln!("bcs: {}", unwritable(which, &errno.to_string()));
                Ok(lost.exit_code())
            }
            _ => Ok(code),
        }
    }

    /// Waits for the next events and handles them.
    fn step(&mut self) -> anyhow::Result<()> {
        let mut fds = Vec::with_capacity(3 + 2 * self.managers.len());
        let mut watched = Vec::with_capacity(fds.capacity());
        let mut watch = |fd, what| {
            fds.push(fd);
            watched.push(what);
        };
        watch(
            PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN),
            DispatcherPollSource::Signals,
        );
        if let Some(fd) = self.output.poll_fd() {
            watch(fd, DispatcherPollSource::Output);
        }
        if let Some(fd) = self.input.as_ref().and_then(TerminalInput::poll_fd) {
            watch(fd, DispatcherPollSource::Input);
        }
        if let Some(fd) = self.shared_input.as_ref().and_then(InputBroadcast::poll_fd) {
            watch(fd, DispatcherPollSource::SharedInput);
        }
        for (fd, guest) in self.door.iter().flat_map(ControlSocket::poll_fds) {
            watch(fd, DispatcherPollSource::Door(guest));
        }
        // A user who does not read stops the ranks that write, not us. The rest of the output of an
        // ending job is bounded, and pausing it would keep node managers from ending.
        let listening = self.output.waiting() < OUTPUT_QUEUE_BYTES || self.control.ending();
        for (index, manager) in self.managers.iter().enumerate() {
            if let Some(control) = &manager.control {
                let mut flags = PollFlags::empty();
                flags.set(PollFlags::IN, listening);
                flags.set(PollFlags::OUT, manager.writer.waiting() > 0);
                // Even without flags, poll would report a hang-up again and again.
                if !flags.is_empty() {
                    watch(
                        PollFd::new(control, flags),
                        DispatcherPollSource::Control(index),
                    );
                }
            }
            if let Some(fd) = manager.standard_error.as_ref().and_then(StandardError::fd)
                && listening
            {
                let fd = PollFd::from_borrowed_fd(fd, PollFlags::IN);
                watch(fd, DispatcherPollSource::StandardError(index));
            }
            if let Some(pidfd) = &manager.pidfd {
                watch(
                    PollFd::new(pidfd, PollFlags::IN),
                    DispatcherPollSource::Process(index),
                );
            }
        }
        let timer = self
            .timeout
            .as_ref()
            .map(|(end, _)| *end)
            .into_iter()
            .chain(self.deadline)
            .chain(self.ends_by.map(|(_, end)| end))
            .chain(self.lookout.as_ref().and_then(DeadlockDetector::due))
            .chain(self.door.as_ref().and_then(ControlSocket::due))
            .min();
        let left = timer.map(|timer| {
            let left = timer.saturating_duration_since(Instant::now());
            Timespec::try_from(left).unwrap_or(Timespec {
                tv_sec: i64::MAX,
                tv_nsec: 0,
            })
        });
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).context("failed to wait for the job"),
        }
        let ready: Vec<DispatcherPollSource> = fds
            .iter()
            .zip(watched)
            .filter(|(fd, _)| !fd.revents().is_empty())
            .map(|(_, what)| what)
            .collect();
        for what in ready {
            self.handle_ready(what);
        }
        self.handle_timeouts();
        Ok(())
    }

    fn handle_ready(&mut self, what: DispatcherPollSource) {
        match what {
            DispatcherPollSource::Signals => {
                while let Some(signal) = self.signals.next() {
                    match signal {
                        libc::SIGUSR1 => self.handle(JobEvent::UserSignal(UserSignal::Usr1)),
                        libc::SIGUSR2 => self.handle(JobEvent::UserSignal(UserSignal::Usr2)),
                        _ => self.receive_ending_signal(signal),
                    }
                }
            }
            DispatcherPollSource::Output => {
                if let Err(lost) = self.output.write() {
                    self.handle(JobEvent::Failure(match lost {
                        OutputError::Gone => Verdict::OutputGone,
                        OutputError::Unwritable(which, errno) => Verdict::OutputLost(which, errno),
                    }));
                }
            }
            DispatcherPollSource::Input => {
                if let Some(input) = &mut self.input {
                    input.pass_on();
                }
            }
            DispatcherPollSource::SharedInput => {
                let input = self.shared_input.as_mut();
                if let Some(piece) = input.and_then(|input| input.read(&mut self.buffer)) {
                    self.tell_all(&ToManager::Input(piece));
                }
            }
            DispatcherPollSource::Door(guest) => {
                if let Some(door) = &mut self.door {
                    door.happened(guest, Instant::now());
                }
            }
            DispatcherPollSource::Control(index) => {
                self.managers[index].send();
                self.listen(index);
            }
            DispatcherPollSource::StandardError(index) => self.show_standard_error(index),
            DispatcherPollSource::Process(index) => self.manager_ended(index),
        }
    }

    /// Handles a signal that ends the job. The first one asks what the ranks do, for the report.
    /// The second one ends the job without the answers.
    fn receive_ending_signal(&mut self, signal: i32) {
        let is_first = self.ends_by.is_none();
        match self.lookout.as_mut().filter(|_| is_first) {
            Some(lookout) => {
                let look = lookout.ask_at_the_end();
                self.ends_by = Some((signal, Instant::now() + ANSWERS_TO_SIGNAL));
                self.tell_all(&ToManager::QueryWaitStates(look));
            }
            None => {
                self.end_by_signal();
                self.impatient |= self.control.over();
                self.handle(JobEvent::Signal(signal));
            }
        }
    }

    /// Ends the job if a signal has told so.
    fn end_by_signal(&mut self) {
        let Some((signal, _)) = self.ends_by.take() else {
            return;
        };
        if let Some(lookout) = &self.lookout {
            let lines = lookout.lines(&mut self.source);
            self.say(&lines);
        }
        // If the job has failed meanwhile, it is ending, and this is no second signal.
        if self.control.verdict().is_none() {
            self.handle(JobEvent::Signal(signal));
        }
    }

    fn handle_timeouts(&mut self) {
        let now = Instant::now();
        if let Some((_, time)) = self.timeout.take_if(|(end, _)| now >= *end) {
            let lookout = self.lookout.as_ref();
            let waiting = lookout.map(|lookout| lookout.lines(&mut self.source));
            let verdict = Verdict::TimedOut(time.to_string(), waiting.unwrap_or_default());
            self.handle(JobEvent::Failure(verdict));
        }
        if self.ends_by.is_some_and(|(_, end)| now >= end) {
            self.end_by_signal();
        }
        let look = self.lookout.as_mut().and_then(|lookout| lookout.ask(now));
        if let Some(look) = look {
            self.tell_all(&ToManager::QueryWaitStates(look));
        }
        if let Some(door) = &mut self.door {
            door.handle_timeouts(now);
            if let Some((number, asked)) = door.ask(now) {
                let survey = ToManager::Survey(number);
                agent_links::tell_several(&mut self.managers, &asked, &survey);
            }
        }
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.deadline = None;
            self.handle(JobEvent::Deadline);
        }
    }

    /// Shows the standard error of a node manager's command, as it is.
    fn show_standard_error(&mut self, index: usize) {
        if let Some(words) = &mut self.managers[index].standard_error {
            words.read(&mut self.buffer);
            self.output.add(None, Stream::Err, words.take());
        }
    }

    /// Handles what comes over the link of a node manager. Returns whether there may be more.
    fn listen(&mut self, index: usize) -> bool {
        if self.managers[index].control.is_none() {
            return false;
        }
        let received = self.managers[index].receive(&mut self.buffer);
        let more = matches!(received, Ok(FrameReadOutcome::Bytes));
        match hand_out(&mut self.managers, index) {
            Ok(news) => {
                for news in news {
                    self.handle_news(news);
                }
                self.end_elsewhere(index);
                more
            }
            Err(error) => {
                self.invalid(index, &error);
                false
            }
        }
    }

    fn invalid(&mut self, index: usize, error: &FrameError) {
        self.managers[index].control = None;
        let how = format!("sent an invalid message: {error}");
        let verdict = self.manager_verdict(index, how);
        self.handle(JobEvent::Failure(verdict));
    }

    /// Handles what a link has brought of a node manager.
    fn handle_news(&mut self, news: LinkNews) {
        match news {
            LinkNews::Frames(index) => loop {
                match self.managers[index].reader.frame() {
                    Ok(Some(frame)) => self.handle_message(index, frame),
                    Ok(None) => return,
                    Err(error) => return self.invalid(index, &error),
                }
            },
            LinkNews::Started(index) if self.is_verbose => {
                let manager = &self.managers[index];
                let (who, process) = (manager.name(self.nic_host), manager.process());
                self.say(&[format!("{who} is process {process}")]);
            }
            LinkNews::Started(_) => {}
            LinkNews::StandardError(index) => self.show_standard_error(index),
            LinkNews::Failed(index, why) => {
                let verdict = self.manager_verdict(index, why);
                self.handle(JobEvent::Failure(verdict));
            }
            LinkNews::Ended(index, end) => self.ended(index, fate(end)),
        }
    }

    /// Handles the end of a node manager, whose messages were all read. Nothing is heard any more
    /// from those that it has started: they end by themselves.
    fn ended(&mut self, index: usize, how: Option<String>) {
        let how = match how {
            None if self.control.may_end() => Ok(()),
            None => Err(self.manager_verdict(index, "left too early".into())),
            Some(how) => Err(self.manager_verdict(index, how)),
        };
        self.has_ended(index, how);
        for below in self.managers[index].below(index) {
            self.has_ended(below, Ok(()));
        }
    }

    fn has_ended(&mut self, index: usize, how: Result<(), Verdict>) {
        if !std::mem::replace(&mut self.managers[index].has_ended, true) {
            self.door.iter_mut().for_each(|door| door.gone(index));
            self.handle(JobEvent::ManagerEnded(index, how));
        }
    }

    /// Handles the end of a node manager that is no child of ours, if its connection is over.
    fn end_elsewhere(&mut self, index: usize) {
        let manager = &mut self.managers[index];
        if manager.is_elsewhere && manager.control.is_none() {
            manager.is_elsewhere = false;
            let is_early = !self.control.may_end();
            self.ended(index, is_early.then(|| "has closed its connection".into()));
        }
    }

    fn handle_message(&mut self, index: usize, frame: Frame<FromManager>) {
        let verdict = match frame {
            Frame::Output {
                rank,
                stream,
                bytes,
                is_beginning,
            } => {
                return match is_beginning {
                    true => self.output.begin(rank, stream, bytes),
                    false => self.output.add(Some(rank), stream, bytes),
                };
            }
            // These come before there is a job.
            Frame::Message(FromManager::HandshakeReply(_) | FromManager::MappableMemory(_)) => {
                return;
            }
            Frame::Message(FromManager::ForeignMpi {
                rank,
                node,
                library,
            }) => return self.foreign_mpi.found(rank, node, library),
            Frame::Message(FromManager::Goodbye) => return self.managers[index].leave(),
            Frame::Message(FromManager::NoneJoined) => return self.foreign_mpi.none_joined(),
            Frame::Message(FromManager::AllDone) => return self.handle(JobEvent::AllDone(index)),
            Frame::Message(FromManager::Quiesced) => return self.handle(JobEvent::Quiesced),
            Frame::Message(FromManager::InputTaken) => {
                return self.shared_input.iter_mut().for_each(InputBroadcast::taken);
            }
            Frame::Message(FromManager::WaitStates(seen)) => {
                let mut lookout = self.lookout.as_mut();
                let found = lookout
                    .as_mut()
                    .and_then(|lookout| lookout.handle_report(index, *seen, Instant::now()));
                if self.ends_by.is_some() {
                    if lookout.is_some_and(|lookout| lookout.is_answered()) {
                        self.end_by_signal();
                    }
                    return;
                }
                match found {
                    None => return,
                    Some(DetectorFinding::Possible(line)) => {
                        let waits = lookout.map(|it| it.lines(&mut self.source));
                        let waits = waits.into_iter().flatten();
                        let lines = waits.map(|wait| format!("  {wait}"));
                        return self.say(&iter::once(line).chain(lines).collect::<Vec<_>>());
                    }
                    Some(DetectorFinding::StalledNic(line)) => {
                        self.tell_all(&ToManager::StrikeSlice);
                        return self.say(&[line]);
                    }
                    Some(DetectorFinding::Livelock(graph, false)) => {
                        let graph = graph.with_lines(&mut self.source);
                        return self.say(&graph.lines());
                    }
                    Some(
                        DetectorFinding::Deadlock(graph) | DetectorFinding::Livelock(graph, true),
                    ) => {
                        let graph = graph.with_lines(&mut self.source);
                        return self.deadlock(&graph);
                    }
                    Some(DetectorFinding::MismatchedCollectives(what, graph)) => {
                        let graph = graph.with_lines(&mut self.source);
                        self.write(&graph);
                        Verdict::MismatchedCollectives(what + &graph.places_text())
                    }
                }
            }
            Frame::Message(FromManager::SurveyPart(part)) => {
                if let Some(door) = &mut self.door {
                    door.heard(index, *part);
                }
                return;
            }
            Frame::Message(FromManager::FinalReport(end)) => {
                return self.at_finalize.add_report(*end);
            }
            Frame::Message(FromManager::Slots(report)) => {
                let who = self.managers[index].name(self.nic_host);
                return self.say(&[describe(&who, &report)]);
            }
            Frame::Message(FromManager::Strays(strays)) => {
                let who = self.managers[index].name(self.nic_host);
                return self.say(&[strays::first_stray_text(&who, &strays)]);
            }
            Frame::Message(FromManager::StraysInAll(strays)) => {
                let who = self.managers[index].name(self.nic_host);
                return self.say(&[strays::stray_total_text(&who, &strays)]);
            }
            Frame::Message(FromManager::InboundBytes(brought)) => {
                let who = self.managers[index].name(self.nic_host);
                return self.say(&[format!("{who} has received {brought}")]);
            }
            Frame::Message(FromManager::SlowCopyHint { rank, why }) => {
                // Print only that of the first rank: it is seldom the only one.
                if std::mem::take(&mut self.hints) {
                    self.say(&[slow_road(rank, why.as_deref())]);
                }
                return;
            }
            Frame::Message(FromManager::Pmi(request)) => {
                return match self.pmi.handle(*request) {
                    None => {}
                    Some(PmiDelivery::All(answer)) => {
                        self.tell_all(&ToManager::Pmi(Box::new(answer)));
                    }
                    Some(PmiDelivery::Asker(answer)) => {
                        tell(&mut self.managers, index, &ToManager::Pmi(Box::new(answer)));
                    }
                };
            }
            Frame::Message(FromManager::Asked { rank, request }) => {
                let may_spawn = self.control.may_spawn();
                let actions = self.spawns.handle(index, rank, *request, may_spawn);
                return self.serve(actions);
            }
            Frame::Message(FromManager::Spawned { number, failure }) => {
                self.handle(JobEvent::HasSpawned(index));
                let actions = self.spawns.started(index, number, failure);
                return self.serve(actions);
            }
            Frame::Message(FromManager::PmiTraffic(PmiTraffic { gets, upward })) => {
                let who = self.managers[index].name(self.nic_host);
                return self.say(&[format!(
                    "{who} has answered {gets} PMI gets, and has sent {upward} PMI requests on"
                )]);
            }
            Frame::Message(FromManager::NoDump(why)) => {
                self.say(&[why]);
                return;
            }
            Frame::Message(FromManager::ProcessFail(failure)) => {
                self.reserve = None;
                let source = &mut self.source;
                Verdict::of_rank(failure, |place| source.site_of_place(place).to_string())
            }
            Frame::Message(FromManager::NotStarted {
                rank,
                node,
                message,
            }) => Verdict::NotStarted {
                rank,
                node,
                message: self.with_host(node, message),
            },
            Frame::Message(FromManager::NicFailed {
                node,
                rank,
                message,
            }) => Verdict::Nic {
                node,
                rank,
                message: self.with_host(node, message),
            },
            Frame::Message(FromManager::ManagerFailed { message }) => {
                self.manager_verdict(index, format!("failed: {message}"))
            }
        };
        self.handle(JobEvent::Failure(verdict));
    }

    /// Does what ranks have asked for.
    fn serve(&mut self, actions: Vec<SpawnAction>) {
        for action in actions {
            match action {
                SpawnAction::Start(manager, start) => {
                    self.handle(JobEvent::Spawns(manager));
                    tell(&mut self.managers, manager, &ToManager::Spawn(start));
                }
                SpawnAction::Dismiss(manager, group) => {
                    tell(&mut self.managers, manager, &ToManager::Dismiss(group));
                }
                SpawnAction::Answer(manager, rank, answer) => {
                    if let RankAnswer::Spawned(group) = &answer {
                        let ranks = group.ranks as usize;
                        self.ranks += ranks;
                        let door = self.door.iter_mut();
                        door.for_each(|door| door.has_spawned(ranks));
                    }
                    let answer = Box::new(answer);
                    let answer = ToManager::Answer { rank, answer };
                    tell(&mut self.managers, manager, &answer);
                }
            }
        }
    }

    /// Adds the host to a message about a node.
    fn with_host(&self, node: NodeId, message: String) -> String {
        match self.hosts.as_ref().and_then(|hosts| hosts.host_of(node)) {
            Some(host) => format!("{message} (node {node} is on host {host})"),
            None => message,
        }
    }

    /// Handles a deadlock.
    fn deadlock(&mut self, graph: &WaitGraph) {
        self.say(&graph.lines());
        self.write(graph);
        let why = graph.reason();
        if self.on_deadlock.aborts {
            self.handle(JobEvent::Failure(Verdict::Deadlock(why)));
        } else {
            self.say(&[why]);
        }
    }

    /// Writes who waits for whom into the files for programs.
    fn write(&mut self, graph: &WaitGraph) {
        for file in &self.on_deadlock.files {
            // The job ends in any case; report a file that cannot be written.
            if let Err(error) = std::fs::write(file, format!("{:#}\n", graph.json())) {
                let line = format!("failed to write {}: {error}", file.display());
                self.output
                    .add(None, Stream::Err, format!("bcs: {line}\n").into_bytes());
            }
        }
    }

    fn manager_ended(&mut self, index: usize) {
        let Some(pidfd) = self.managers[index].pidfd.take() else {
            return;
        };
        let reap = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = match rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), reap) {
            Ok(Some(status)) => Some(status),
            Ok(None) => {
                self.managers[index].pidfd = Some(pidfd);
                return;
            }
            Err(_) => None,
        };
        // Its last messages.
        while self.listen(index) {}
        self.show_standard_error(index);
        self.managers[index].control = None;
        let end = status.as_ref().map(|status| AgentEnd {
            signal: status.terminating_signal(),
            code: status.exit_status(),
        });
        self.ended(index, end.and_then(fate));
    }

    fn manager_verdict(&self, index: usize, how: String) -> Verdict {
        let manager = &self.managers[index];
        let who = manager.name(self.nic_host);
        Verdict::Manager {
            who,
            pid: manager.process(),
            how,
        }
    }

    fn handle(&mut self, event: JobEvent) {
        match self.control.handle(event) {
            Action::Nothing => {}
            Action::Quiesce => {
                self.lookout = None;
                self.tell_all(&ToManager::Quiesce);
            }
            Action::Finish => {
                self.timeout = None;
                self.tell_all(&ToManager::Finish);
            }
            Action::AwaitErrors => {
                self.lookout = None;
                self.deadline = Some(Instant::now() + ERRORS_OF_OTHERS);
            }
            Action::Terminate => {
                self.door.iter_mut().for_each(ControlSocket::job_ends);
                self.timeout = None;
                self.lookout = None;
                self.deadline = Some(Instant::now() + self.kill_delay + self.grace);
                self.tell_foreign_launcher();
                self.tell_all(&ToManager::Terminate);
            }
            Action::PassOn(signal) => self.tell_all(&ToManager::Signal(signal)),
            Action::Kill => {
                let children = self.managers.iter().filter(|one| one.pidfd.is_some());
                for pid in children.filter_map(|one| one.pid) {
                    let _ = rustix::process::kill_process(pid, Signal::KILL);
                }
                // Others end when they find their connection closed.
                for index in 0..self.managers.len() {
                    if self.managers[index].is_elsewhere {
                        self.managers[index].control = None;
                        self.end_elsewhere(index);
                    }
                }
            }
        }
    }

    /// Tells the launcher that has started the ranks why and how the job ends. If a rank has ended
    /// by itself, it finds that itself.
    fn tell_foreign_launcher(&mut self) {
        let (Some(launcher), Some(verdict)) = (&self.foreign_launcher, self.control.verdict())
        else {
            return;
        };
        if let Verdict::Rank(failure) = verdict
            && !matches!(failure.what, RankFailureKind::Aborted { .. })
        {
            return;
        }
        // It ends the job at once, and with it what reads our output. So we write before that.
        let message = verdict.message(self.ranks, None);
        // A piece is one line or less. The ranks' own streams do not pass here, so little waits.
        while self.output.waiting() > 0 && self.output.write().is_ok() {}
        if let Some(message) = message {
            launcher.print(&message);
        }
        self.is_told = true;
        launcher.abort(verdict.exit_code());
    }

    /// Prints lines to the user.
    fn say(&mut self, lines: &[String]) {
        for line in lines {
            let line = format!("bcs: {line}\n").into_bytes();
            self.output.add(None, Stream::Err, line);
        }
    }

    fn tell_all(&mut self, message: &ToManager) {
        agent_links::tell_all(&mut self.managers, message);
    }
}

/// Describes, for `-v`, whose heaps lie in slots.
fn describe(who: &str, report: &SlotReport) -> String {
    let SlotReport {
        received,
        with_slot,
        refused,
    } = report;
    let line = format!("{who}: {with_slot} of {received} ranks have their heap in a slot");
    match refused {
        None => line,
        Some((rank, why)) => format!("{line}; rank {rank} has not: {why}"),
    }
}

/// Returns the hint that a rank could have its heap in a slot.
fn slow_road(rank: u32, why: Option<&str>) -> String {
    let what = format!(
        "hint: the heap of rank {rank} is in no slot, so others of its node take longer to copy from and to it"
    );
    match why {
        Some(why) => format!("{what}: {why}"),
        None => what,
    }
}

/// Describes a process that a rank has started, and that this user may not kill.
fn describe_immortal(pid: &Pid) -> String {
    let pid = pid.as_raw_nonzero();
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    let line = line.trim_end();
    format!(
        "process {pid} ({line}), which a rank has started, may not be killed by this user and is left"
    )
}

/// Describes how a process ended, if not well.
fn fate(end: AgentEnd) -> Option<String> {
    if let Some(signal) = end.signal {
        return Some(format!(
            "was killed by {}",
            crate::signals::describe(signal)
        ));
    }
    match end.code {
        Some(0) | None => None,
        Some(code) => Some(format!("exited with code {code}")),
    }
}
