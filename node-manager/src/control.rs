//! What `bcs run` and a node manager say to each other, over a stream socket pair.
//!
//! A frame is its length (4 bytes, little-endian), a kind (1 byte), and a body: a message encoded
//! with postcard, or output (rank, stream, bytes as they are). Both ends are non-blocking: bytes
//! wait in a [`FrameWriter`] until the socket takes them.

use crate::limits::MAX_FRAME_BYTES;
use crate::rank_cores::RankCores;
use crate::survey::Survey;
use bcs_core::job::{Cores, NodeId, Placement, Settings};
use bcs_core::mapped_code::CodePlace;
use bcs_fabric::udp::{Brought, Crypto, JobKey, Strays};
use mds::Selection;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

/// A node manager inherits its end of the control socket as this descriptor.
pub const CONTROL_FD: i32 = 3;
/// ... the machine page as this one,
pub const PAGE_FD: i32 = 4;
/// ... and the segment of the fabric as this one.
pub const SEGMENT_FD: i32 = 5;

/// What the launcher says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToManager {
    /// To a node manager of several machines, before all else: say how others reach you.
    Meet(Box<Meet>),
    /// Then: say of which of these, by party, you can map the shared memory.
    Reach(Vec<Option<Keeps>>),
    /// Start the ranks of your nodes: the first message to a node manager of this machine.
    Start(Box<Start>),
    /// All ranks of the job have ended well: whoever strobes strikes what is still wanted, and then no more.
    Rest,
    /// Nothing moves any more: stop the NIC, write the dumps, exit.
    Finish,
    /// End the ranks: SIGTERM, and SIGKILL after [`Start::kill_delay`].
    Terminate,
    /// Pass a signal on to the ranks, which go on otherwise.
    Signal(UserSignal),
    /// With [`Input::All`] and [`Input::Through`]: what every rank, or that one, is to read next; nothing at the end. The next comes
    /// after [`FromManager::InputTaken`], so no more than one waits anywhere.
    Input(Vec<u8>),
    /// Say where your ranks are.
    Look(Look),
    /// Have a slice struck: a NIC holds what only a slice can move on, and has not asked for one.
    Strike,
    /// Say all that is known of them: the survey of this number.
    Survey(u32),
}

/// What a node manager needs to know before the machines of a job can be joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meet {
    /// The launcher's version: who is of another one cannot go on.
    pub version: String,
    /// The job's key. It is said here and nowhere else.
    pub key: JobKey,
    /// How datagrams are guarded.
    pub crypto: Crypto,
    /// The job, as far as 32 bits tell.
    pub epoch: u32,
    /// Nodes of the job.
    pub nodes: usize,
    /// Ranks of the job.
    pub ranks: usize,
    /// The address to be reached by, or the interface or network that it is of, if the user says it.
    pub interface: Option<String>,
    /// The ports from which to take one.
    pub ports: (u16, u16),
    /// Where the job runs.
    pub directory: PathBuf,
}

/// Where a node manager keeps shared memory open: words of
/// [`Deposit`](bcs_fabric::shm::Deposit).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeps {
    /// The machine page.
    pub page: [u64; 2],
    /// The segment of the fabric.
    pub segment: [u64; 2],
}

/// How a node manager is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Met {
    /// Its socket.
    pub address: SocketAddr,
    /// What its socket holds, in bytes.
    pub receive_bytes: usize,
    /// Its shared memory.
    pub keeps: Keeps,
    /// Which machine it is on, as the kernel names a start of it.
    pub boot: String,
    /// The cores that it may use.
    pub cores: Cores,
}

/// How the machines of a job are joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarStart {
    /// The nodes of each node manager.
    pub parties: Vec<Vec<NodeId>>,
    /// Which of them this one is.
    pub me: usize,
    /// The nodes of each machine, among which memory is shared.
    pub machines: Vec<Vec<NodeId>>,
    /// How many nodes are on this one's host, whether or not they share memory.
    pub on_this_host: usize,
    /// The others that share memory with the node manager of node 0.
    pub beside_first: Vec<usize>,
    /// Whose page and segment that is, if it is another node manager's.
    pub leader: Option<Keeps>,
    /// Where each is reached.
    pub addresses: Vec<SocketAddr>,
    /// What each socket holds, in bytes.
    pub receive_bytes: Vec<usize>,
    /// A node that is silent for so long is lost.
    pub node_timeout: Duration,
}

impl FarStart {
    /// All nodes with which this node manager's share memory.
    #[must_use]
    pub fn machine(&self) -> &[NodeId] {
        let is_this = |machine: &&Vec<NodeId>| machine.contains(&self.parties[self.me][0]);
        self.machines
            .iter()
            .find(is_this)
            .map_or(&[], Vec::as_slice)
    }
}

/// A look at the ranks of all node managers. Only one is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Which look.
    pub number: u32,
    /// Whether to look at the threads of the ranks, too, if nothing else moves.
    pub closely: bool,
}

/// A signal that means what the program wants it to mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserSignal {
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
}

/// A program of a job, and what belongs to it. A job has one, or several (MPMD): world ranks
/// follow their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// How many ranks run it.
    pub ranks: usize,
    /// The file to execute; absolute if `directory` is set.
    pub program: OsString,
    /// Its arguments, the name first.
    pub arguments: Vec<OsString>,
    /// Variables that are set beside those that the node manager inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs, if not where `bcs run` does.
    pub directory: Option<PathBuf>,
}

/// Who reads the standard input of `bcs run`. The others find it empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// One rank.
    Rank(u32),
    /// One rank, through us.
    Through(u32),
    /// Every rank, through us.
    All,
    /// Nobody.
    None,
}

/// What a node manager needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The name of this run, in dumps.
    pub job: String,
    /// Which ranks run where.
    pub placement: Placement,
    /// How the runtime is set.
    pub settings: Settings,
    /// The nodes that this node manager manages.
    pub nodes: Vec<NodeId>,
    /// Whether the Strobe Sender runs in this process.
    pub strobe_sender: bool,
    /// The cores of the job.
    pub cores: Cores,
    /// What the ranks run, in the order of the ranks.
    pub applications: Vec<Application>,
    /// Who reads the standard input.
    pub input: Input,
    /// Where ranks write instead of to us, if anywhere: `rank.N.out` and `rank.N.err`.
    pub output_dir: Option<PathBuf>,
    /// Which cores ranks may use.
    pub rank_cores: RankCores,
    /// From SIGTERM to SIGKILL, when ranks are told to end.
    pub kill_delay: Duration,
    /// Whether to say how many ranks have a slot ([`FromManager::Slots`]), and how messages from other machines came
    /// ([`FromManager::Brought`]).
    pub verbose: bool,
    /// The directory for dumps of the MDS.
    pub mds: Option<PathBuf>,
    /// What is recorded, if there is one.
    pub record: Selection,
    /// Whether a heap in slots is preloaded into programs that it suits.
    pub preload: bool,
    /// How machines are joined, if there are several.
    pub far: Option<FarStart>,
}

impl Start {
    /// The index of a rank's application.
    pub(crate) fn application_of(&self, rank: u32) -> usize {
        let mut after = 0;
        self.applications
            .iter()
            .position(|application| {
                after += application.ranks;
                (rank as usize) < after
            })
            .expect("applications have as many ranks as the job")
    }
}

/// What a node manager says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromManager {
    /// How it is reached: the answer to [`ToManager::Meet`].
    Met(Box<Met>),
    /// Whose shared memory it can map, by party: the answer to [`ToManager::Reach`].
    Reached(Vec<bool>),
    /// All its ranks have ended well.
    AllDone,
    /// Its Strobe Sender rests: the answer to [`ToManager::Rest`] of the one that has it.
    Rests,
    /// A rank failed (ScELA's PROCESS_FAIL).
    ProcessFail(RankFailure),
    /// A rank could not be started.
    NotStarted {
        /// The rank.
        rank: u32,
        /// Its node.
        node: NodeId,
        /// What failed.
        message: String,
    },
    /// A NIC found something that ends the job.
    NicFailed {
        /// The node.
        node: NodeId,
        /// The rank at fault, if it is one rank's.
        rank: Option<u32>,
        /// What was found and what to do.
        message: String,
    },
    /// All its ranks have taken the last [`ToManager::Input`].
    InputTaken,
    /// Where its ranks are, for [`ToManager::Look`].
    Seen(Box<Seen>),
    /// A part of what it was asked by [`ToManager::Survey`].
    Surveyed(Box<Survey>),
    /// How a rank of a job that has ended well has ended: one for each, at the end.
    AtEnd(Box<AtEnd>),
    /// How many of its ranks have a slot: once, when all have said hello, or at the end.
    Slots(SlotReport),
    /// Others have fetched much from a rank that has no slot: once, of the first one.
    SlowRoad {
        /// The rank.
        rank: u32,
        /// Why it has none, where that is known.
        why: Option<String>,
    },
    /// Datagrams come to it that are not of the job: once, when it has begun.
    Strays(Strays),
    /// How many that were: at the end, if there were any.
    StraysInAll(Strays),
    /// How bytes of messages from other machines came to its ranks: at the end, if there were any.
    Brought(Brought),
    /// What was recorded of its ranks or nodes is lost, or some of it: why. The job has not failed by that.
    NoDump(String),
    /// The node manager itself failed.
    ManagerFailed {
        /// What failed.
        message: String,
    },
}

/// How a rank has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtEnd {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// What the program has left on it, if anything ([`Left::encode`](bcs_core::whereabouts::Left::encode)).
    pub left: Vec<u64>,
    /// What the rank said last, if it has finalized.
    pub last: Vec<u64>,
    /// The places of the addresses in what is left.
    pub code: Vec<(u64, CodePlace)>,
}

/// Whose heaps lie in slots ([`bcs_core::memory::slot`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotReport {
    /// Ranks that have called MPI_Init.
    pub received: usize,
    /// Those of them whose program has its heap in one.
    pub with_slot: usize,
    /// The first that has not, and why, where that is known.
    pub refused: Option<(u32, String)>,
}

/// What a look at the ranks of a node manager saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Which look.
    pub look: u32,
    /// How many of its ranks have neither ended nor finalized.
    pub running: usize,
    /// How often all these ranks, and the OS threads of its NICs, have gone to sleep, if all sleep until
    /// somebody rings.
    pub naps: Option<u64>,
    /// What a NIC holds that only a slice can move on, though no slice is wanted: looked for if all sleep.
    pub forgotten: Option<String>,
    /// What other threads these ranks have.
    pub threads: Threads,
    /// Those of the ranks that are blocked in a call.
    pub blocked: Vec<Sighting>,
    /// Ranks that have finalized or ended; only after a close look.
    pub gone: Vec<Gone>,
}

/// The threads of a node manager's ranks beside those that sleep in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Threads {
    /// At least one runs, or a rank is stopped, or nobody has looked.
    #[default]
    Running,
    /// There are some, and all sleep. The number changes when one of them has run.
    Asleep(u64),
    /// There are none.
    None,
}

/// A rank that is blocked in a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// The same only as long as it is in the same call.
    pub number: u64,
    /// Where it says it is ([`Whereabouts::encode`](bcs_core::whereabouts::Whereabouts::encode)).
    pub words: Vec<u64>,
    /// The place of its call, if that is an address.
    pub code: Option<CodePlace>,
    /// The same of the places of its titles.
    pub made_at: Vec<Option<CodePlace>>,
}

/// A rank from which nothing comes any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// Whether it has called MPI_Finalize; otherwise its process has ended without MPI_Init.
    pub finalized: bool,
    /// What it said last, if it has finalized.
    pub words: Vec<u64>,
}

/// How a rank failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFailure {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: NodeId,
    /// Its process.
    pub pid: i32,
    /// What it did.
    pub what: RankEnd,
}

/// What a failing rank did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankEnd {
    /// Exited with a code that is not 0.
    Exited(i32),
    /// Was killed by a signal.
    Killed {
        /// The signal's number.
        signal: i32,
        /// Whether a core was dumped.
        core_dumped: bool,
    },
    /// Was received, and left with exit code 0 but without MPI_Finalize.
    NotFinalized,
    /// Called MPI_Abort.
    Aborted {
        /// With this code.
        code: i32,
        /// Why, if the library called it.
        reason: String,
        /// The place of the call, if the program says it by an address.
        place: Option<CodePlace>,
    },
    /// Said something to its node manager that makes no sense.
    Rubbish(String),
}

/// Standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What arrives: a message, or output of a rank.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<T> {
    /// A message.
    Message(T),
    /// Whole lines of a rank; the last of a stream may lack its newline.
    Output {
        /// The rank.
        rank: u32,
        /// Where it wrote them.
        stream: Stream,
        /// The lines.
        bytes: Vec<u8>,
        /// Whether this is only the beginning of a line. The rest comes later, or word that there is none: an
        /// output without bytes.
        is_beginning: bool,
    },
}

/// A peer that does not keep to the frames above: a bug, for both ends are the same binary.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A length beyond [`MAX_FRAME_BYTES`], or a body too short for its kind.
    #[error("a frame of kind {kind} with {len} bytes makes no sense")]
    Shape {
        /// The kind.
        kind: u8,
        /// The length of the body.
        len: usize,
    },
    /// A body that cannot be decoded.
    #[error("a message cannot be decoded: {0}")]
    Message(#[from] postcard::Error),
}

const KIND_MESSAGE: u8 = 0;
const KIND_OUT: u8 = 1;
const KIND_ERR: u8 = 2;
const KIND_BEGINNING_OUT: u8 = 3;
const KIND_BEGINNING_ERR: u8 = 4;
const HEADER_BYTES: usize = 5;

/// Frames on their way out.
#[derive(Debug, Default)]
pub struct FrameWriter {
    bytes: Vec<u8>,
    sent: usize,
}

impl FrameWriter {
    /// Bytes that still wait for the socket.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Adds a message.
    pub fn message(&mut self, message: &impl Serialize) {
        let body = postcard::to_stdvec(message).expect("our messages can be encoded");
        self.header(KIND_MESSAGE, body.len());
        self.bytes.extend_from_slice(&body);
    }

    /// Adds output of a rank.
    pub fn output(&mut self, rank: u32, stream: Stream, lines: &[u8]) {
        let kind = match stream {
            Stream::Out => KIND_OUT,
            Stream::Err => KIND_ERR,
        };
        self.lines(kind, rank, lines);
    }

    /// Adds the beginning of a line of a rank.
    pub fn beginning(&mut self, rank: u32, stream: Stream, bytes: &[u8]) {
        let kind = match stream {
            Stream::Out => KIND_BEGINNING_OUT,
            Stream::Err => KIND_BEGINNING_ERR,
        };
        self.lines(kind, rank, bytes);
    }

    fn lines(&mut self, kind: u8, rank: u32, bytes: &[u8]) {
        self.header(kind, bytes.len() + 4);
        self.bytes.extend_from_slice(&rank.to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    fn header(&mut self, kind: u8, len: usize) {
        assert!(len <= MAX_FRAME_BYTES, "a frame of {len} bytes is not sent");
        let len = u32::try_from(len).expect("MAX_FRAME_BYTES fits u32");
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.push(kind);
    }

    /// Sends what the socket takes without blocking.
    ///
    /// # Errors
    /// The kernel's answer; EPIPE when the peer is gone.
    pub fn send(&mut self, socket: impl AsFd) -> Result<(), Errno> {
        while self.waiting() > 0 {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match send(&socket, &self.bytes[self.sent..], flags) {
                Ok(sent) => self.sent += sent,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(errno),
            }
        }
        if self.waiting() == 0 {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }
}

/// What a read from the control socket brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// Some bytes.
    Bytes,
    /// Nothing for now.
    Nothing,
    /// The peer is gone, and everything it sent has been read.
    End,
}

/// Frames on their way in.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    taken: usize,
}

impl FrameReader {
    /// Reads once, without blocking, through a buffer that is lent for the time of the call.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn receive(&mut self, socket: impl AsFd, buffer: &mut [u8]) -> Result<Arrived, Errno> {
        loop {
            match recv(&socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(Arrived::End),
                Ok((len, _)) => {
                    self.bytes.extend_from_slice(&buffer[..len]);
                    return Ok(Arrived::Bytes);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(Arrived::Nothing),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// The next whole frame, if it has arrived.
    ///
    /// # Errors
    /// [`FrameError`] when the bytes are not frames.
    pub fn frame<T: DeserializeOwned>(&mut self) -> Result<Option<Frame<T>>, FrameError> {
        let waiting = &self.bytes[self.taken..];
        let Some((&[a, b, c, d, kind], rest)) = waiting.split_first_chunk::<HEADER_BYTES>() else {
            self.compact();
            return Ok(None);
        };
        let len = u32::from_le_bytes([a, b, c, d]) as usize;
        if len > MAX_FRAME_BYTES {
            return Err(FrameError::Shape { kind, len });
        }
        let Some(body) = rest.get(..len) else {
            self.compact();
            return Ok(None);
        };
        let frame = decode(kind, body)?;
        self.taken += HEADER_BYTES + len;
        Ok(Some(frame))
    }

    /// Moves the rest to the front, once per batch of frames.
    fn compact(&mut self) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
    }
}

fn decode<T: DeserializeOwned>(kind: u8, body: &[u8]) -> Result<Frame<T>, FrameError> {
    let stream = match kind {
        KIND_MESSAGE => return Ok(Frame::Message(postcard::from_bytes(body)?)),
        KIND_OUT | KIND_BEGINNING_OUT => Stream::Out,
        KIND_ERR | KIND_BEGINNING_ERR => Stream::Err,
        _ => {
            return Err(FrameError::Shape {
                kind,
                len: body.len(),
            });
        }
    };
    let Some((&rank, lines)) = body.split_first_chunk::<4>() else {
        return Err(FrameError::Shape {
            kind,
            len: body.len(),
        });
    };
    Ok(Frame::Output {
        rank: u32::from_le_bytes(rank),
        stream,
        bytes: lines.to_vec(),
        is_beginning: matches!(kind, KIND_BEGINNING_OUT | KIND_BEGINNING_ERR),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn frames_arrive_whole_and_in_order_whatever_the_socket_takes_at_a_time() {
        let pair = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let (near, far) = pair.unwrap();
        let long = vec![b'x'; 3 << 20];
        let mut writer = FrameWriter::default();
        writer.message(&FromManager::AllDone);
        writer.output(7, Stream::Err, &long);
        writer.message(&FromManager::ManagerFailed {
            message: "no".into(),
        });
        let mut reader = FrameReader::default();
        let mut buffer = vec![0; 1000];
        let mut frames = Vec::new();
        while frames.len() < 3 {
            writer.send(&near).unwrap();
            reader.receive(&far, &mut buffer).unwrap();
            while let Some(frame) = reader.frame::<FromManager>().unwrap() {
                frames.push(frame);
            }
        }
        assert_eq!(frames[0], Frame::Message(FromManager::AllDone));
        assert_eq!(
            frames[1],
            Frame::Output {
                rank: 7,
                stream: Stream::Err,
                bytes: long,
                is_beginning: false,
            }
        );
        drop(near);
        assert_eq!(reader.receive(&far, &mut buffer), Ok(Arrived::End));
    }

    #[test]
    fn a_length_that_makes_no_sense_is_refused_before_memory_is_taken_for_it() {
        let mut reader = FrameReader {
            bytes: vec![0xff, 0xff, 0xff, 0xff, 0],
            taken: 0,
        };
        assert!(matches!(
            reader.frame::<FromManager>(),
            Err(FrameError::Shape { .. })
        ));
        let mut reader = FrameReader {
            bytes: vec![1, 0, 0, 0, KIND_OUT, 5],
            taken: 0,
        };
        assert!(matches!(
            reader.frame::<FromManager>(),
            Err(FrameError::Shape { .. })
        ));
    }
}
