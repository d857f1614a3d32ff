//! The ranks of this process's nodes, and the flow of what they write.

use crate::agent::{AgentError, kernel};
use crate::control::{FrameWriter, FromManager, Input, Start, Stream};
use crate::conversation::Conversation;
use crate::limits::{DESCRIPTORS_PER_RANK, OUTPUT_QUEUE_BYTES, OWN_DESCRIPTORS, READ_BYTES};
use crate::output::OutputPipe;
use crate::rank_process::{RankProcess, Stage};
use crate::shared_input::SharedInput;
use crate::spawn::{Image, Setup, SpawnError, Spawner};
use crate::watch::{Source, Watch};
use bcs_core::node::NodeId;
use bcs_core::welcome::SOCKET_VARIABLE;
use rustix::fs::{Mode, OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

/// The ranks.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) ranks: Vec<RankProcess>,
    /// What all of them read, where they all read the same.
    pub(crate) input: SharedInput,
    /// Output that is not read because the launcher does not take what was read before.
    held: Vec<(usize, Stream)>,
}

/// The rank finds its socket at this descriptor: the first one after the standard ones.
const RANK_SOCKET: &str = "3";

/// Starts the ranks. A rank that cannot be started is reported, and the others stay until the
/// launcher has heard of it.
pub(crate) fn start(
    start: &Start,
    watch: &Watch,
) -> Result<(Crew, Option<FromManager>), AgentError> {
    let placed: Vec<(NodeId, u32)> = start
        .nodes
        .iter()
        .flat_map(|&node| start.placement.ranks_of(node).map(move |rank| (node, rank)))
        .collect();
    let mut crew = Crew {
        ranks: Vec::with_capacity(placed.len()),
        input: SharedInput::default(),
        held: Vec::new(),
    };
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(kernel("failed to open /dev/null"))?;
    let mut nursery = match Nursery::new(start, null.as_fd(), placed.len()) {
        Ok(nursery) => nursery,
        Err(error) => {
            let (node, rank) = placed[0];
            return Ok((crew, Some(not_started(start, node, rank, &error))));
        }
    };
    for (node, rank) in placed {
        match nursery.raise(node, rank, &mut crew.input) {
            Ok(process) => {
                crew.add(process, watch)
                    .map_err(kernel("failed to watch a rank"))?;
            }
            Err(error) => return Ok((crew, Some(not_started(start, node, rank, &error)))),
        }
    }
    // Only the rank that reads it holds on to the launcher's input: whoever writes into it learns when it is gone.
    rustix::stdio::dup2_stdin(&null).map_err(kernel("failed to let go of the input"))?;
    Ok((crew, None))
}

/// A rank could not be started.
enum NotRaised {
    Spawn(SpawnError),
    OutputFile(PathBuf, Errno),
}

impl From<SpawnError> for NotRaised {
    fn from(error: SpawnError) -> Self {
        Self::Spawn(error)
    }
}

fn not_started(start: &Start, node: NodeId, rank: u32, error: &NotRaised) -> FromManager {
    let message = match error {
        NotRaised::Spawn(error) => not_spawned(start, rank, *error),
        NotRaised::OutputFile(path, errno) => {
            format!("{} cannot be written: {errno}", path.display())
        }
    };
    FromManager::NotStarted {
        rank,
        node,
        message,
    }
}

fn not_spawned(start: &Start, rank: u32, error: SpawnError) -> String {
    let application = &start.applications[start.application_of(rank)];
    let program = application.program.display();
    match (error.step, error.errno) {
        ("execve", Errno::NOEXEC) => format!(
            "{program} is not in a format that can be executed: if it is a script, \
             its first line must name the interpreter (#!/bin/sh)"
        ),
        ("execve", Errno::NOENT) => {
            format!("{program} or the interpreter that it names is missing")
        }
        ("execve", errno) => format!("{program} cannot be executed: {errno}"),
        ("chdir", errno) => {
            let directory = application.directory.as_deref().unwrap_or("".as_ref());
            format!("it cannot run in {}: {errno}", directory.display())
        }
        (step, errno) => format!("{step}: {errno}"),
    }
}

/// Where ranks come from.
struct Nursery<'a> {
    start: &'a Start,
    spawner: Spawner,
    /// One per application.
    images: Vec<Image>,
    null: BorrowedFd<'a>,
    open_files: Option<(u64, u64)>,
}

impl<'a> Nursery<'a> {
    fn new(start: &'a Start, null: BorrowedFd<'a>, ranks: usize) -> Result<Self, NotRaised> {
        let images = start.applications.iter().map(|application| {
            let socket = (SOCKET_VARIABLE.into(), RANK_SOCKET.into());
            let variables = application.environment.iter().cloned().chain([socket]);
            let directory = application.directory.as_deref();
            Image::new(
                &application.program,
                &application.arguments,
                variables,
                directory,
            )
        });
        Ok(Self {
            start,
            spawner: Spawner::default(),
            images: images.collect::<Result<_, _>>()?,
            null,
            open_files: make_room_for_files(ranks),
        })
    }

    fn raise(
        &mut self,
        node: NodeId,
        rank: u32,
        input: &mut SharedInput,
    ) -> Result<RankProcess, NotRaised> {
        let failed = |step| move |errno| SpawnError { step, errno };
        let (conversation, rank_end) = Conversation::open().map_err(failed("socketpair"))?;
        let (stdout, stdout_end) = self.output(rank, Stream::Out)?;
        let (stderr, stderr_end) = self.output(rank, Stream::Err)?;
        let stdin = std::io::stdin();
        let shared = match self.start.input {
            Input::All => Some(input_pipe().map_err(failed("pipe"))?),
            Input::Rank(_) | Input::None => None,
        };
        let setup = Setup {
            standard: [
                match (self.start.input, &shared) {
                    (_, Some((theirs, _))) => theirs.as_fd(),
                    (Input::Rank(reader), None) if reader == rank => stdin.as_fd(),
                    _ => self.null,
                },
                stdout_end.as_fd(),
                stderr_end.as_fd(),
            ],
            inherited: &[rank_end.as_fd()],
            dies_with_parent: true,
            open_files: self.open_files,
            core: self.start.bindings.get(rank as usize).copied(),
        };
        let image = &self.images[self.start.application_of(rank)];
        let child = self.spawner.spawn(image, &setup)?;
        if let Some((_, ours)) = shared {
            input.add(ours);
        }
        Ok(RankProcess {
            rank,
            node,
            pid: child.pid,
            pidfd: Some(child.pidfd),
            conversation,
            stage: Stage::Started,
            output: [
                OutputPipe::new(stdout, Stream::Out),
                OutputPipe::new(stderr, Stream::Err),
            ],
            failed: false,
        })
    }

    /// Where a rank writes: the end that we read, if we do, and the rank's.
    fn output(&self, rank: u32, stream: Stream) -> Result<(Option<OwnedFd>, OwnedFd), NotRaised> {
        let Some(directory) = &self.start.output_dir else {
            let (ours, theirs) = output_pipe().map_err(|errno| SpawnError {
                step: "pipe",
                errno,
            })?;
            return Ok((Some(ours), theirs));
        };
        let ending = match stream {
            Stream::Out => "out",
            Stream::Err => "err",
        };
        let path = directory.join(format!("rank.{rank}.{ending}"));
        // Appending, so that all that a rank starts writes after what is there.
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => Ok((None, file)),
            Err(errno) => Err(NotRaised::OutputFile(path, errno)),
        }
    }
}

/// A pipe whose write end does not block: the rank's end, and ours.
fn input_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&writer, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// A pipe whose read end does not block; the other end is the rank's, who expects to.
fn output_pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

/// Raises the limit of open files where ranks need it. Gives the limit that they are to keep then.
fn make_room_for_files(ranks: usize) -> Option<(u64, u64)> {
    let needed = ranks as u64 * DESCRIPTORS_PER_RANK + OWN_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    let (soft, hard) = (limit.current?, limit.maximum.unwrap_or(u64::MAX));
    if soft >= needed {
        return None;
    }
    let raised = Rlimit {
        current: Some(hard.min(needed)),
        maximum: limit.maximum,
    };
    // When that is refused or too little, the call that runs out of descriptors says so.
    setrlimit(Resource::Nofile, raised).ok()?;
    Some((soft, hard))
}

impl Crew {
    fn add(&mut self, rank: RankProcess, watch: &Watch) -> Result<(), Errno> {
        let index = self.ranks.len();
        self.ranks.push(rank);
        let rank = &self.ranks[index];
        if let Some(pidfd) = &rank.pidfd {
            watch.add(pidfd, Source::Process(index))?;
        }
        watch.add(rank.conversation.fd(), Source::Conversation(index))?;
        for (pipe, stream) in rank.output.iter().zip([Stream::Out, Stream::Err]) {
            if let Some(fd) = pipe.fd() {
                watch.add(fd, Source::Output(index, stream))?;
            }
        }
        Ok(())
    }

    /// How many processes of ranks have not ended.
    pub(crate) fn running(&self) -> usize {
        self.ranks.iter().filter(|rank| rank.runs()).count()
    }

    /// Whether all ranks have ended and none has failed.
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

    /// Reads once.
    pub(crate) fn read(&mut self, index: usize, stream: Stream, buffer: &mut [u8], watch: &Watch) {
        let (_, pipe) = self.pipe(index, stream);
        pipe.read(&mut buffer[..READ_BYTES], |fd| watch.remove(fd));
    }

    /// Forwards the whole lines that were read.
    pub(crate) fn forward(&mut self, index: usize, stream: Stream, writer: &mut FrameWriter) {
        let (rank, pipe) = self.pipe(index, stream);
        pipe.forward(rank, writer);
    }

    /// The launcher does not keep up: reads no more from a pipe with lines to forward.
    pub(crate) fn hold(&mut self, index: usize, stream: Stream, watch: &Watch) {
        let (_, pipe) = self.pipe(index, stream);
        if pipe.ready() {
            // Taken out, not only masked: an epoll always tells of a closed pipe.
            if let Some(fd) = pipe.fd() {
                watch.remove(fd);
            }
            self.held.push((index, stream));
        }
    }

    /// Lets held pipes flow while there is room. Returns whether one did.
    pub(crate) fn release(&mut self, writer: &mut FrameWriter, watch: &Watch) -> bool {
        let mut released = 0;
        while released < self.held.len() && writer.waiting() < OUTPUT_QUEUE_BYTES {
            let (index, stream) = self.held[released];
            released += 1;
            let (rank, pipe) = self.pipe(index, stream);
            pipe.forward(rank, writer);
            if let Some(fd) = pipe.fd() {
                // It was watched before, so it can be again.
                let _ = watch.add(fd, Source::Output(index, stream));
            }
        }
        self.held.drain(..released);
        released > 0
    }

    /// Reads and forwards what a dead rank has left in a pipe. Bounded by what a pipe may hold:
    /// a grandchild may go on writing.
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

    /// Everything that was written by anyone: when all who could write are gone.
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
