//! The ranks of this process's nodes, and the flow of their output.

use crate::adoption;
use crate::agent_error::{AgentError, kernel};
use crate::control::{FrameWriter, FromManager, JobStart, SpawnStart, Stream, application_of};
use crate::event_poll::{EventPoll, EventSource};
use crate::input_pipes::InputPipes;
use crate::launcher_link::LauncherLink;
use crate::limits::{OUTPUT_QUEUE_BYTES, PROMPT_PATIENCE, READ_BYTES};
use crate::output::OutputPipe;
use crate::rank_process::RankProcess;
use crate::rank_spawner::{RankSpawner, not_started, reason};
use bcs_core::job::{NodeId, SpawnedGroup};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// The ranks.
#[derive(Debug)]
pub(crate) struct LocalRanks {
    pub(crate) ranks: Vec<RankProcess>,
    /// The input pipes, if all ranks read the same input.
    pub(crate) input: InputPipes,
    /// Pipes that are not read, because the launcher has not taken what was read before.
    held: Vec<(usize, Stream)>,
    /// Lines that may be prompts, with the time to show them, by rank and stream.
    prompts: BTreeMap<(usize, Stream), Instant>,
}

/// Returns the ranks of this node manager, with their nodes.
fn placed(start: &JobStart) -> Vec<(NodeId, u32)> {
    start
        .nodes
        .iter()
        .flat_map(|&node| {
            start
                .placement
                .starting_on(node)
                .map(move |rank| (node, rank))
        })
        .collect()
}

/// Takes the ranks that another launcher has started, and that come through the rank listener.
pub(crate) fn adopt(
    start: &JobStart,
    watch: &EventPoll,
    rank_listener: &OwnedFd,
    link: &LauncherLink,
) -> Result<LocalRanks, AgentError> {
    let mut crew = LocalRanks::with_room(0);
    for rank in adoption::adopt(start, &placed(start), rank_listener, link)? {
        crew.add(rank, watch)
            .map_err(kernel("failed to watch a rank"))?;
    }
    Ok(crew)
}

/// Starts the ranks. If one cannot be started, returns the report; the others stay until the
/// launcher has got it.
pub(crate) fn start(
    start: &JobStart,
    watch: &EventPoll,
) -> Result<(LocalRanks, Option<FromManager>), AgentError> {
    let placed = placed(start);
    let mut crew = LocalRanks::with_room(placed.len());
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(kernel("failed to open /dev/null"))?;
    let mut nursery = match RankSpawner::new(start, null.as_fd(), placed.len()) {
        Ok(nursery) => nursery,
        Err(error) => {
            let (node, rank) = placed[0];
            return Ok((crew, Some(not_started(start, node, rank, &error))));
        }
    };
    for (node, rank) in placed {
        match nursery.spawn_rank(node, rank, &mut crew.input) {
            Ok(process) => {
                crew.add(process, watch)
                    .map_err(kernel("failed to watch a rank"))?;
            }
            Err(error) => return Ok((crew, Some(not_started(start, node, rank, &error)))),
        }
    }
    // Only the rank that reads the launcher's input holds it, so that the writer notices its end.
    rustix::stdio::dup2_stdin(&null).map_err(kernel("failed to let go of the input"))?;
    Ok((crew, None))
}

impl LocalRanks {
    fn with_room(ranks: usize) -> Self {
        Self {
            ranks: Vec::with_capacity(ranks),
            input: InputPipes::default(),
            held: Vec::new(),
            prompts: BTreeMap::new(),
        }
    }

    /// Starts spare ranks of these nodes. Returns why one could not be started, if so; those before
    /// it run.
    pub(crate) fn spawn(
        &mut self,
        start: &JobStart,
        spawn: &SpawnStart,
        watch: &EventPoll,
    ) -> Result<Option<String>, AgentError> {
        let group = spawn.group;
        let all = group.first..group.first.saturating_add(group.ranks);
        let here = all.filter_map(|rank| {
            let node = start.placement.node_of(rank)?;
            start.nodes.contains(&node).then_some((node, rank))
        });
        let here: Vec<(NodeId, u32)> = here.collect();
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .map_err(kernel("failed to open /dev/null"))?;
        let failed = |rank: u32, error| {
            let place = (rank - group.first) as usize;
            let application = &spawn.applications[application_of(&spawn.applications, place)];
            Ok(Some(reason(start, application, &error)))
        };
        let most = self.ranks.len() + here.len();
        let mut nursery = match RankSpawner::of_spare(start, spawn, null.as_fd(), most) {
            Ok(nursery) => nursery,
            Err(error) => return failed(group.first, error),
        };
        for (node, rank) in here {
            match nursery.spawn_rank(node, rank, &mut self.input) {
                Ok(process) => self
                    .add(process, watch)
                    .map_err(kernel("failed to watch a rank"))?,
                Err(error) => return failed(rank, error),
            }
        }
        Ok(None)
    }

    /// Kills the ranks of a group that could not be started as a whole.
    pub(crate) fn dismiss(&mut self, group: SpawnedGroup) {
        for rank in self
            .ranks
            .iter_mut()
            .filter(|rank| group.contains(rank.rank))
        {
            rank.dismissed = true;
            rank.signal(Signal::KILL);
        }
    }

    /// Returns the index of a rank.
    pub(crate) fn index_of(&self, rank: u32) -> Option<usize> {
        self.ranks.iter().position(|process| process.rank == rank)
    }

    fn add(&mut self, rank: RankProcess, watch: &EventPoll) -> Result<(), Errno> {
        let index = self.ranks.len();
        self.ranks.push(rank);
        let rank = &self.ranks[index];
        if let Some(pidfd) = &rank.pidfd {
            watch.add(pidfd, EventSource::Process(index))?;
        }
        watch.add(rank.conversation.fd(), EventSource::Conversation(index))?;
        if rank.spawned.is_none() {
            watch.add(rank.pmi.fd(), EventSource::Pmi(index))?;
        }
        for (pipe, stream) in rank.output.iter().zip([Stream::Out, Stream::Err]) {
            if let Some(fd) = pipe.fd() {
                watch.add(fd, EventSource::Output(index, stream))?;
            }
        }
        Ok(())
    }

    /// Returns how many processes of ranks have not ended.
    pub(crate) fn running(&self) -> usize {
        self.ranks.iter().filter(|rank| rank.runs()).count()
    }

    /// Returns whether all ranks have ended and none has failed.
    pub(crate) fn all_ended_well(&self) -> bool {
        self.ranks.iter().all(|rank| !rank.runs() && !rank.failed)
    }

    /// Signals the process groups of all ranks that run.
    pub(crate) fn signal(&self, signal: Signal) {
        self.ranks.iter().for_each(|rank| rank.signal(signal));
    }

    fn pipe(&mut self, index: usize, stream: Stream) -> (u32, &mut OutputPipe) {
        let rank = &mut self.ranks[index];
        let [out, err] = &mut rank.output;
        (rank.rank, if stream == Stream::Out { out } else { err })
    }

    /// Reads once from a pipe of a rank.
    pub(crate) fn read(
        &mut self,
        index: usize,
        stream: Stream,
        buffer: &mut [u8],
        watch: &EventPoll,
    ) {
        let (_, pipe) = self.pipe(index, stream);
        pipe.read(&mut buffer[..READ_BYTES], |fd| watch.remove(fd));
        match pipe.waits() {
            true => {
                _ = self
                    .prompts
                    .insert((index, stream), Instant::now() + PROMPT_PATIENCE)
            }
            false => _ = self.prompts.remove(&(index, stream)),
        }
    }

    /// Returns when the first prompt has to be shown.
    pub(crate) fn prompt_due(&self) -> Option<Instant> {
        self.prompts.values().min().copied()
    }

    /// Forwards lines that have waited long enough for their end. A line stays if lines before it
    /// wait for room.
    pub(crate) fn show_prompts(&mut self, now: Instant, writer: &mut FrameWriter) {
        let due = self.prompts.extract_if(.., |_, at| *at <= now);
        let due: Vec<(usize, Stream)> = due.map(|(which, _)| which).collect();
        for (index, stream) in due {
            let (rank, pipe) = self.pipe(index, stream);
            if !pipe.ready() {
                pipe.forward_beginning(rank, writer);
            }
        }
    }

    /// Forwards the whole lines that were read.
    pub(crate) fn forward(&mut self, index: usize, stream: Stream, writer: &mut FrameWriter) {
        let (rank, pipe) = self.pipe(index, stream);
        pipe.forward(rank, writer);
    }

    /// Reads no more from a pipe with lines to forward, because the launcher does not keep up.
    pub(crate) fn pause_reading(&mut self, index: usize, stream: Stream, watch: &EventPoll) {
        let (_, pipe) = self.pipe(index, stream);
        if pipe.ready() {
            // Remove it, do not only mask it: an epoll always reports a closed pipe.
            if let Some(fd) = pipe.fd() {
                watch.remove(fd);
            }
            self.held.push((index, stream));
        }
    }

    /// Reads paused pipes again while there is room. Returns whether there was one.
    pub(crate) fn resume_reading(&mut self, writer: &mut FrameWriter, watch: &EventPoll) -> bool {
        let mut released = 0;
        while released < self.held.len() && writer.waiting() < OUTPUT_QUEUE_BYTES {
            let (index, stream) = self.held[released];
            released += 1;
            let (rank, pipe) = self.pipe(index, stream);
            pipe.forward(rank, writer);
            if let Some(fd) = pipe.fd() {
                // It was watched before, so it can be again.
                let _ = watch.add(fd, EventSource::Output(index, stream));
            }
        }
        self.held.drain(..released);
        released > 0
    }

    /// Reads and forwards the rest of a dead rank's pipe. At most the capacity of a pipe is read: a
    /// grandchild may go on writing.
    pub(crate) fn drain(
        &mut self,
        index: usize,
        stream: Stream,
        buffer: &mut [u8],
        writer: &mut FrameWriter,
    ) {
        const LARGEST_PIPE: usize = 1 << 20;
        let (rank, pipe) = self.pipe(index, stream);
        for _ in 0..LARGEST_PIPE / READ_BYTES {
            pipe.forward(rank, writer);
            if !pipe.read(&mut buffer[..READ_BYTES], |_| ()) {
                break;
            }
        }
        pipe.forward(rank, writer);
    }

    /// Marks the lines that a killed rank has left unfinished.
    pub(crate) fn cut(&mut self, index: usize, stream: Stream, writer: &mut FrameWriter) {
        let (rank, pipe) = self.pipe(index, stream);
        pipe.cut();
        pipe.forward(rank, writer);
    }

    /// Reads and forwards the rest of all pipes, when all writers are gone.
    pub(crate) fn drain_all(&mut self, buffer: &mut [u8], writer: &mut FrameWriter) {
        for index in 0..self.ranks.len() {
            for stream in [Stream::Out, Stream::Err] {
                self.drain(index, stream, buffer, writer);
                let (rank, pipe) = self.pipe(index, stream);
                pipe.end();
                pipe.forward(rank, writer);
            }
        }
    }
}
