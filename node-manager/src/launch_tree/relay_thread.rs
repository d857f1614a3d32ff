//! The OS thread of a relay: it starts the children, and moves bytes between their links, the
//! parent's, and the own agent's. [`Relay`] decides what goes where.
//!
//! It is a thread of its own because the agent does not read its link while it makes memory, starts
//! ranks or writes dumps, and the subtree must not wait for that.
//!
//! Queues are bounded. While much waits for the parent, nothing is read from below or from the own
//! agent, so ranks that write block on their pipes. While much waits for a child, nothing is read
//! from the parent.

use super::relay::{Relay, RelayAction, RelayEvent};
use super::relay_frame::{AgentEnd, downward};
use super::starter::AgentStarter;
use crate::control::{FrameReadOutcome, FrameReader, FrameWriter, Greeting};
use crate::job_memory::{ControlChannel, SharedJobMemory};
use crate::limits::{OUTPUT_QUEUE_BYTES, READ_BYTES, RELAY_QUEUE_BYTES, SUBTREE_END};
use crate::subtree::Subtree;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use rustix::time::Timespec;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The processes of an agent's children. They are children of its process, too, and must not be
/// ended with what its ranks have left. The relay holds the lock while it starts or reaps one.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChildAgents(Arc<Mutex<Vec<Pid>>>);

impl ChildAgents {
    /// Returns them. While the caller holds the guard none is started or reaped.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A relay that runs.
#[derive(Debug)]
pub(crate) struct RunningRelay {
    pub(crate) agents: ChildAgents,
    thread: JoinHandle<()>,
}

impl RunningRelay {
    /// Waits until all children have ended, after the own agent has closed its link.
    pub(crate) fn join(self) {
        // Its panic is printed already, and it has closed all links.
        let _panicked = self.thread.join();
    }
}

/// Makes the relay of an agent that has got its subtree over this channel. The reader holds the
/// frames that came with the subtree, and the writer those that wait for the parent. Returns the
/// channel that the agent has from now on.
///
/// # Errors
/// The kernel gives no descriptor or no OS thread.
pub(crate) fn start(
    parent: ControlChannel,
    (parent_reader, parent_writer): (FrameReader, FrameWriter),
    subtree: &Subtree,
    memory: Option<&SharedJobMemory>,
) -> io::Result<(ControlChannel, RunningRelay)> {
    let starter = AgentStarter::new(subtree, memory)?;
    let flags = SocketFlags::CLOEXEC;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let relay = Relay::new(subtree);
    let children = relay.children().map(|_| ChildLink::default()).collect();
    let agents = ChildAgents::default();
    let thread = RelayThread {
        hosts: subtree.hosts.clone(),
        first: subtree.me,
        relay,
        starter: Some(starter),
        start_cost: subtree.start_cost,
        next_start: Instant::now() + subtree.start_cost,
        parent: Some(parent),
        parent_reader,
        parent_writer,
        own: Some(near),
        own_reader: FrameReader::default(),
        own_writer: FrameWriter::default(),
        children,
        agents: agents.clone(),
        deadline: None,
        buffer: vec![0; READ_BYTES],
    };
    let builder = std::thread::Builder::new().name("bcs-relay".to_owned());
    let thread = builder.spawn(move || thread.run())?;
    let output = far.try_clone()?;
    let own = ControlChannel { input: far, output };
    Ok((own, RunningRelay { agents, thread }))
}

#[derive(Debug, Default)]
struct ChildLink {
    link: Option<OwnedFd>,
    reader: FrameReader,
    writer: FrameWriter,
    has_greeted: bool,
    process: Option<(Pid, OwnedFd)>,
    standard_error: Option<OwnedFd>,
}

/// The owner of a descriptor in the poll set.
#[derive(Clone, Copy, Debug)]
enum Source {
    Parent,
    ParentRoom,
    Own,
    Child(usize),
    StandardError(usize),
    Process(usize),
}

struct RelayThread {
    relay: Relay,
    /// The hosts of the parties from `first` on.
    hosts: Vec<Option<String>>,
    first: u32,
    /// It holds the inheritance of the children, until all are started.
    starter: Option<AgentStarter>,
    start_cost: Duration,
    next_start: Instant,
    /// The link to the parent, until it ends.
    parent: Option<ControlChannel>,
    parent_reader: FrameReader,
    parent_writer: FrameWriter,
    own: Option<OwnedFd>,
    own_reader: FrameReader,
    own_writer: FrameWriter,
    children: Vec<ChildLink>,
    agents: ChildAgents,
    /// When to kill children that are left after the parent.
    deadline: Option<Instant>,
    buffer: Vec<u8>,
}

impl RelayThread {
    fn run(mut self) {
        // Frames may have come together with the subtree.
        self.read_parent_frames();
        loop {
            self.start_due();
            self.send();
            if self.relay.is_over() && (self.parent.is_none() || self.parent_writer.waiting() == 0)
            {
                return;
            }
            for (source, flags) in self.wait() {
                self.happened(source, flags);
            }
            if self
                .deadline
                .take_if(|end| *end <= Instant::now())
                .is_some()
            {
                for (_, pidfd) in self.children.iter().filter_map(|it| it.process.as_ref()) {
                    let _may_have_ended = pidfd_send_signal(pidfd, Signal::KILL);
                }
            }
        }
    }

    /// Starts the next child, if it is time. Only one, so that links are served between starts.
    fn start_due(&mut self) {
        let due = self.relay.due();
        let (Some(place), Some(starter)) = (due, &mut self.starter) else {
            self.starter = None;
            return;
        };
        if Instant::now() < self.next_start {
            return;
        }
        let parties = self.relay.children().nth(place).expect("it is due").clone();
        let host = self.hosts[(parties.start - self.first) as usize].clone();
        let mut agents = self.agents.lock();
        let started = starter.start(&parties, host.as_deref());
        agents.extend(started.iter().map(|started| started.process.pid));
        drop(agents);
        self.next_start = Instant::now() + self.start_cost;
        match started {
            Ok(started) => {
                let child = &mut self.children[place];
                let standard_error = started.standard_error;
                child.standard_error =
                    standard_error.filter(|pipe| fcntl_setfl(pipe, OFlags::NONBLOCK).is_ok());
                child.link = Some(started.link);
                let pid = started.process.pid;
                child.process = Some((pid, started.process.pidfd));
                let pid = pid.as_raw_nonzero().get();
                self.handle(RelayEvent::ChildStarted(place, pid));
            }
            Err(why) => self.handle(RelayEvent::ChildNotStarted(place, why)),
        }
    }

    fn handle(&mut self, event: RelayEvent<'_>) {
        let actions = self.relay.handle(event);
        self.act(actions);
    }

    fn act(&mut self, actions: Vec<RelayAction>) {
        for action in actions {
            match action {
                RelayAction::ToParent(bytes) => self.parent_writer.append(&bytes),
                RelayAction::ToOwn(bytes) if self.own.is_some() => self.own_writer.append(&bytes),
                RelayAction::ToOwn(_) => {}
                RelayAction::ToChild(place, bytes) => self.children[place].writer.append(&bytes),
                RelayAction::CloseOwn => self.close_own(),
                RelayAction::CloseChild(place) => {
                    self.children[place].link = None;
                    self.children[place].writer = FrameWriter::default();
                }
            }
        }
    }

    /// Closes the link to the own agent, which has ended or is to end.
    fn close_own(&mut self) {
        self.own_writer = FrameWriter::default();
        if self.own.take().is_some() {
            self.handle(RelayEvent::OwnEnded);
        }
    }

    /// Sends what the links take.
    fn send(&mut self) {
        if let Some(parent) = &self.parent
            && self.parent_writer.send(&parent.output).is_err()
        {
            self.parent_ended();
        }
        if let Some(own) = &self.own
            && self.own_writer.send(own).is_err()
        {
            self.own_writer = FrameWriter::default();
        }
        for child in &mut self.children {
            // The end of its process says what has happened.
            if let Some(link) = &child.link
                && child.writer.send(link).is_err()
            {
                child.writer = FrameWriter::default();
            }
        }
    }

    fn parent_ended(&mut self) {
        self.parent = None;
        self.parent_writer = FrameWriter::default();
        self.deadline = Some(Instant::now() + SUBTREE_END);
        self.handle(RelayEvent::ParentEnded);
    }

    /// Returns whether frames may be read from below.
    fn reads_up(&self) -> bool {
        self.parent.is_none() || self.parent_writer.waiting() < OUTPUT_QUEUE_BYTES
    }

    /// Returns whether frames may be read from the parent.
    fn reads_down(&self) -> bool {
        let mut writers = self.children.iter().map(|child| &child.writer);
        self.own_writer.waiting() <= RELAY_QUEUE_BYTES
            && writers.all(|writer| writer.waiting() <= RELAY_QUEUE_BYTES)
    }

    /// Sleeps until something happens, and returns what.
    fn wait(&self) -> Vec<(Source, PollFlags)> {
        let mut fds = Vec::with_capacity(3 + 3 * self.children.len());
        let mut sources = Vec::with_capacity(fds.capacity());
        let mut watch = |fd, source| {
            fds.push(fd);
            sources.push(source);
        };
        let (up, down) = (self.reads_up(), self.reads_down());
        let room = |waiting: usize, reads: bool| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, reads);
            flags.set(PollFlags::OUT, waiting > 0);
            flags
        };
        if let Some(parent) = &self.parent {
            let flags = room(0, down) | PollFlags::RDHUP;
            watch(PollFd::new(&parent.input, flags), Source::Parent);
            if self.parent_writer.waiting() > 0 {
                let output = PollFd::new(&parent.output, PollFlags::OUT);
                watch(output, Source::ParentRoom);
            }
        }
        // Without flags, poll would report the end of a link again and again.
        if let Some(own) = &self.own {
            let flags = room(self.own_writer.waiting(), up);
            if !flags.is_empty() {
                watch(PollFd::new(own, flags), Source::Own);
            }
        }
        for (place, child) in self.children.iter().enumerate() {
            let flags = room(child.writer.waiting(), up);
            if let Some(link) = child.link.as_ref().filter(|_| !flags.is_empty()) {
                watch(PollFd::new(link, flags), Source::Child(place));
            }
            if let Some(pipe) = child.standard_error.as_ref().filter(|_| up) {
                watch(
                    PollFd::new(pipe, PollFlags::IN),
                    Source::StandardError(place),
                );
            }
            if let Some((_, pidfd)) = &child.process {
                watch(PollFd::new(pidfd, PollFlags::IN), Source::Process(place));
            }
        }
        let start = self.relay.due().map(|_| self.next_start);
        let end = start.into_iter().chain(self.deadline).min();
        let left = end.map(|end| {
            let left = end.saturating_duration_since(Instant::now());
            Timespec::try_from(left).expect("a start costs less than years")
        });
        // An interrupted wait has found nothing.
        let _interrupted = poll(&mut fds, left.as_ref());
        let ready = fds.iter().zip(sources);
        let ready = ready.filter(|(fd, _)| !fd.revents().is_empty());
        ready.map(|(fd, source)| (source, fd.revents())).collect()
    }

    fn happened(&mut self, source: Source, flags: PollFlags) {
        match source {
            Source::Parent => self.read_parent(flags),
            // `send` comes next.
            Source::ParentRoom => {}
            Source::Own => self.read_own(),
            Source::Child(place) => {
                let _more = self.read_child(place);
            }
            Source::StandardError(place) => self.read_standard_error(place),
            Source::Process(place) => self.child_ended(place),
        }
    }

    fn read_parent(&mut self, flags: PollFlags) {
        let Some(parent) = &self.parent else { return };
        if !self.reads_down() {
            let ends = PollFlags::HUP | PollFlags::RDHUP | PollFlags::ERR | PollFlags::NVAL;
            if flags.intersects(ends) {
                self.parent_ended();
            }
            return;
        }
        match self.parent_reader.receive(&parent.input, &mut self.buffer) {
            Ok(FrameReadOutcome::Bytes) => self.read_parent_frames(),
            Ok(FrameReadOutcome::Nothing) => {}
            Ok(FrameReadOutcome::End) | Err(_) => self.parent_ended(),
        }
    }

    fn read_parent_frames(&mut self) {
        loop {
            match self.parent_reader.raw() {
                Ok(None) => return,
                Ok(Some(frame)) => match downward(&frame) {
                    Ok((address, inner)) => self.handle(RelayEvent::Down(address, inner)),
                    Err(_) => return self.parent_ended(),
                },
                // A parent that sends rubbish cannot tell us when to end.
                Err(_) => return self.parent_ended(),
            }
        }
    }

    fn read_own(&mut self) {
        let Some(own) = &self.own else { return };
        match self.own_reader.receive(own, &mut self.buffer) {
            Ok(FrameReadOutcome::Bytes) => {
                while let Ok(Some(frame)) = self.own_reader.raw() {
                    self.handle(RelayEvent::Own(frame.bytes()));
                }
            }
            Ok(FrameReadOutcome::Nothing) => {}
            Ok(FrameReadOutcome::End) | Err(_) => self.close_own(),
        }
    }

    /// Reads from a child. Returns whether there may be more.
    fn read_child(&mut self, place: usize) -> bool {
        let child = &mut self.children[place];
        let Some(link) = &child.link else {
            return false;
        };
        match child.reader.receive(link, &mut self.buffer) {
            Ok(FrameReadOutcome::Bytes) => {
                self.read_child_frames(place);
                true
            }
            Ok(FrameReadOutcome::Nothing) => false,
            Ok(FrameReadOutcome::End) | Err(_) => {
                self.handle(RelayEvent::ChildLinkEnded(place));
                false
            }
        }
    }

    fn read_child_frames(&mut self, place: usize) {
        if !self.children[place].has_greeted && self.relay.has_greetings() {
            match self.children[place].reader.greeting() {
                Greeting::Awaited => return,
                greeting => {
                    self.children[place].has_greeted = true;
                    self.handle(RelayEvent::ChildGreeted(place, greeting));
                }
            }
        }
        loop {
            match self.children[place].reader.raw() {
                Ok(None) => return,
                Ok(Some(frame)) => self.handle(RelayEvent::ChildFrame(place, &frame)),
                Err(error) => {
                    let why = error.to_string();
                    return self.handle(RelayEvent::ChildInvalid(place, why));
                }
            }
        }
    }

    fn read_standard_error(&mut self, place: usize) {
        let Some(pipe) = &self.children[place].standard_error else {
            return;
        };
        match rustix::io::read(pipe, &mut self.buffer[..]) {
            Ok(len) if len > 0 => {
                let bytes = self.buffer[..len].to_vec();
                self.handle(RelayEvent::ChildStandardError(place, bytes));
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(_) | Err(_) => self.children[place].standard_error = None,
        }
    }

    fn child_ended(&mut self, place: usize) {
        let Some((pid, pidfd)) = self.children[place].process.take() else {
            return;
        };
        let mut agents = self.agents.lock();
        let reap = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = match waitid(WaitId::PidFd(pidfd.as_fd()), reap) {
            Ok(None) => {
                drop(agents);
                self.children[place].process = Some((pid, pidfd));
                return;
            }
            status => status.ok().flatten(),
        };
        agents.retain(|&agent| agent != pid);
        drop(agents);
        // Its last words and messages.
        self.read_standard_error(place);
        while self.read_child(place) {}
        let status = status.as_ref();
        let end = AgentEnd {
            signal: status.and_then(|it| it.terminating_signal()),
            code: status.and_then(|it| it.exit_status()),
        };
        self.handle(RelayEvent::ChildEnded(place, end));
    }
}
