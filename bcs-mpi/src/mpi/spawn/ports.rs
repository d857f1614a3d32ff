//! Ports: two groups of a job that have no communicator in common make one (MPI 5.0, 11.9).
//!
//! A port's name holds the number of the job, of the rank that has opened it, and of the port. The
//! root of a connect sends its number and that of the connection to that rank, with the port's
//! number as the tag. The root of an accept receives it from anyone. Then each knows the other one,
//! and both groups agree as in a spawn. A connection of two ranks has a tag that no other
//! connection of these two has.
#![expect(unsafe_code, reason = "a socket of the program is named by its number")]

use super::SPAWN_TAG;
use crate::call_site;
use crate::mpi::constants::ANY_SOURCE;
use crate::mpi::create_group::AgreementGroup;
use crate::mpi::error::{ErrorClass, Operation};
use crate::mpi::objects::members::Members;
use crate::mpi::point_to_point::MessageCall;
use crate::mpi::{Comm, Process, Result};
use crate::recording::{CallTiming, Primitive, Site};
use bcs_core::lockstep;
use std::io::{Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The tags of ports: this and the number of the port.
const PORT_TAG: i32 = 1 << 28;

/// The numbers of ports and connections.
const NUMBERS: u32 = 1 << 26;

const ACCEPT: MessageCall = MessageCall::standard("MPI_Comm_accept", Primitive::IntercommCreate);
const CONNECT: MessageCall = MessageCall::standard("MPI_Comm_connect", Primitive::IntercommCreate);

/// The parts of a port's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Port {
    job: u64,
    rank: u32,
    number: u32,
}

impl Port {
    fn name(self) -> String {
        format!("bcs-port:{:016x}:{}:{}", self.job, self.rank, self.number)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut words = name.strip_prefix("bcs-port:")?.split(':');
        let port = Self {
            job: u64::from_str_radix(words.next()?, 16).ok()?,
            rank: words.next()?.parse().ok()?,
            number: words.next()?.parse().ok()?,
        };
        (words.next().is_none() && port.name() == name).then_some(port)
    }
}

/// Returns the tag of a connection that `from` makes to `to`.
fn connection_tag(number: u32, from: u32, to: u32) -> i32 {
    ((number % NUMBERS) << 1 | u32::from(from > to)).cast_signed()
}

impl Process {
    /// `MPI_Open_port`: returns the name of a new port of this rank.
    ///
    /// # Errors
    /// After finalize, or when there is no launcher.
    pub fn open_port(&self) -> Result<String> {
        let operation = Operation::plain("MPI_Open_port");
        self.alive(&operation)?;
        if self.link.is_none() {
            let reason = "this process is alone: start it with bcs run";
            return Err(operation.error(ErrorClass::Other, reason));
        }
        let mut open = lockstep::lock(&self.universe.ports);
        // Numbers wrap, and those of open ports are skipped.
        let number = loop {
            let next = self.universe.next_port.fetch_add(1, Ordering::Relaxed) % NUMBERS;
            if open.insert(next) {
                break next;
            }
        };
        let (job, rank) = (self.universe.start.job, self.world_rank());
        Ok(Port { job, rank, number }.name())
    }

    /// `MPI_Close_port`.
    ///
    /// # Errors
    /// When it is no open port of this rank.
    pub fn close_port(&self, name: &str) -> Result<()> {
        let operation = Operation::plain("MPI_Close_port");
        self.alive(&operation)?;
        let port = self.own_port(name, &operation)?;
        lockstep::lock(&self.universe.ports).remove(&port.number);
        Ok(())
    }

    /// Returns an open port of this rank.
    fn own_port(&self, name: &str, operation: &Operation) -> Result<Port> {
        let job = self.universe.start.job;
        let is_own = |port: &Port| {
            let open = lockstep::lock(&self.universe.ports);
            (port.job, port.rank) == (job, self.world_rank()) && open.contains(&port.number)
        };
        Port::parse(name).filter(is_own).ok_or_else(|| {
            let reason = format!("{name:?} is no open port of this rank");
            operation.error(ErrorClass::Port, reason)
        })
    }

    /// Waits for a rank that connects to a port. Returns its number, and that of the connection.
    fn await_connection(self: &Arc<Self>, port: Port) -> Result<(u32, u32)> {
        let capacity = self.placement.capacity();
        let all = (0..u32::try_from(capacity).expect("MAX_RANKS fits u32")).collect();
        let anyone = self.in_universe(Members::new(all, self.world_rank() as usize));
        let circle = AgreementGroup {
            call: ACCEPT,
            comm: anyone,
            tag: PORT_TAG | port.number.cast_signed(),
        };
        let mut words = [0; 1];
        let from = circle.receive_words(&mut words, ANY_SOURCE)?;
        // The number is of another rank: any will do, if both use the same.
        let number = u32::try_from(words[0] % u64::from(NUMBERS)).expect("it is small");
        Ok((from.cast_unsigned(), number))
    }

    /// Tells the rank of a port that this one connects. Returns the number of the connection.
    fn begin_connection(self: &Arc<Self>, port: Port) -> Result<u32> {
        let number = self
            .universe
            .next_connection
            .fetch_add(1, Ordering::Relaxed)
            % NUMBERS;
        let circle = AgreementGroup {
            call: CONNECT,
            comm: self.pair(port.rank),
            tag: PORT_TAG | port.number.cast_signed(),
        };
        circle.send_to_other(&[u64::from(number)])?;
        Ok(number)
    }

    /// Returns the port to connect to.
    fn other_port(&self, name: &str, operation: &Operation) -> Result<Port> {
        let fail = |class, reason: String| operation.error(class, reason);
        let port = Port::parse(name)
            .ok_or_else(|| fail(ErrorClass::Port, format!("{name:?} is no name of a port")))?;
        if port.job != self.universe.start.job {
            let reason = "the port is of another job, and jobs cannot connect".to_owned();
            return Err(fail(ErrorClass::UnsupportedOperation, reason));
        }
        let is_there = (port.rank as usize) < self.placement.capacity();
        if !is_there || port.rank == self.world_rank() {
            let reason = format!("{name:?} is no port of another rank");
            return Err(fail(ErrorClass::Port, reason));
        }
        Ok(port)
    }
}

impl Comm {
    /// `MPI_Comm_accept`: makes a communicator with the group that connects to a port of the root.
    ///
    /// # Errors
    /// When it is no open port of the root, or the groups have a member in common.
    #[track_caller]
    pub fn accept(&self, port: &str, root: i32) -> Result<Self> {
        let find = |operation: &Operation| {
            let process = self.process();
            let port = process.own_port(port, operation)?;
            let (from, number) = process.await_connection(port)?;
            Ok((from, connection_tag(number, from, process.world_rank())))
        };
        self.meet_at_port(ACCEPT, root, find)
    }

    /// `MPI_Comm_connect`: makes a communicator with the group that accepts at a port.
    ///
    /// # Errors
    /// When it is no name of a port, or that of another job.
    #[track_caller]
    pub fn connect(&self, port: &str, root: i32) -> Result<Self> {
        let find = |operation: &Operation| {
            let process = self.process();
            let port = process.other_port(port, operation)?;
            let number = process.begin_connection(port)?;
            Ok((
                port.rank,
                connection_tag(number, process.world_rank(), port.rank),
            ))
        };
        self.meet_at_port(CONNECT, root, find)
    }

    #[track_caller]
    fn meet_at_port(
        &self,
        call: MessageCall,
        root: i32,
        find: impl FnOnce(&Operation) -> Result<(u32, i32)>,
    ) -> Result<Self> {
        let operation = Operation::plain(call.name);
        let site = Site::here();
        let _at = call_site::enter(site);
        self.record_call((call.primitive, CallTiming::Waits), &operation, |_| {
            self.usable_within(&operation)?;
            self.world_rank(root, &operation)?;
            let found = (self.rank() == root).then(|| find(&operation));
            let mut class = [match &found {
                Some(Err(error)) => u64::from(error.class.code().unsigned_abs()),
                Some(Ok(_)) | None => 0,
            }];
            self.share(&mut class, root, operation)?;
            let found = found.transpose()?;
            if class != [0] {
                let class = i32::try_from(class[0]).ok().and_then(ErrorClass::from_code);
                let class = class.unwrap_or(ErrorClass::Port);
                let reason = format!(
                    "the root, rank {root}, has found {}: see its error",
                    class.text()
                );
                return Err(operation.error(class, reason));
            }
            self.unite(root, found, call, operation, site)
        })
    }

    /// `MPI_Comm_join`: makes a communicator of this rank, which is alone in this one, and the one
    /// at the other end of a socket.
    ///
    /// # Errors
    /// When the descriptor is no socket, or the other one is of another job, or is this rank.
    #[track_caller]
    pub fn join_over(&self, socket: i32) -> Result<Self> {
        let call = MessageCall::standard("MPI_Comm_join", Primitive::IntercommCreate);
        let operation = Operation::plain(call.name);
        self.usable_within(&operation)?;
        let mine = JoinWords::own(self.process());
        let theirs = exchange(socket, mine.encode()).map_err(|error| {
            let reason = format!("the words of the other end of socket {socket}: {error}");
            operation.error(ErrorClass::Other, reason)
        })?;
        let theirs = JoinWords::decode(theirs);
        if theirs.job != mine.job || theirs.rank == mine.rank {
            let reason = "the other end of the socket is no other rank of this job";
            return Err(operation.error(ErrorClass::UnsupportedOperation, reason));
        }
        if theirs.rank as usize >= self.process().placement.capacity() {
            let reason = "the other end of the socket claims to be a rank that is not there";
            return Err(operation.error(ErrorClass::Other, reason));
        }
        let (first, second) = if theirs.rank < mine.rank {
            (theirs, mine)
        } else {
            (mine, theirs)
        };
        // The number is one of connections that the first makes.
        let tag = connection_tag(first.number, first.rank, second.rank);
        let site = Site::here();
        let _at = call_site::enter(site);
        self.record_call((call.primitive, CallTiming::Waits), &operation, |_| {
            self.unite(0, Some((theirs.rank, tag)), call, operation, site)
        })
    }
}

/// Sends bytes over a connected socket of the program, and receives as many.
fn exchange(
    socket: i32,
    mut bytes: [u8; JoinWords::BYTES],
) -> std::io::Result<[u8; JoinWords::BYTES]> {
    if socket < 0 {
        return Err(rustix::io::Errno::BADF.into());
    }
    // SAFETY: it is only duplicated. If the number is not open, the kernel says so.
    let lent = unsafe { BorrowedFd::borrow_raw(socket) };
    let mut stream = UnixStream::from(rustix::io::fcntl_dupfd_cloexec(lent, 0)?);
    stream.write_all(&bytes)?;
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The words that two processes exchange over a socket before they join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct JoinWords {
    job: u64,
    rank: u32,
    number: u32,
}

impl JoinWords {
    /// The number of bytes.
    const BYTES: usize = 16;

    /// Returns those of this rank.
    fn own(process: &Process) -> Self {
        let universe = &process.universe;
        Self {
            job: universe.start.job,
            rank: process.world_rank(),
            number: universe.next_connection.fetch_add(1, Ordering::Relaxed) % NUMBERS,
        }
    }

    /// Returns them as bytes.
    fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.job.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.rank.to_le_bytes());
        bytes[12..].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// Returns those of these bytes.
    fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        Self {
            job: u64::from(word(0)) | u64::from(word(4)) << 32,
            rank: word(8),
            number: word(12),
        }
    }
}

const _: () = assert!((NUMBERS as i64) << 1 <= PORT_TAG as i64 && PORT_TAG < SPAWN_TAG);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_known_by_its_name_alone() {
        let port = Port {
            job: 0x12ab,
            rank: 7,
            number: 3,
        };
        assert_eq!(port.name(), "bcs-port:00000000000012ab:7:3");
        assert_eq!(Port::parse(&port.name()), Some(port));
        for wrong in [
            "",
            "bcs-port:",
            "bcs-port:12ab:7:3",
            "bcs-port:00000000000012ab:7:3:1",
            "tag#0",
        ] {
            assert_eq!(Port::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn connections_of_two_ranks_have_tags_of_their_own() {
        let mut tags: Vec<i32> = (0..100)
            .flat_map(|number| [connection_tag(number, 1, 2), connection_tag(number, 2, 1)])
            .collect();
        tags.sort_unstable();
        tags.dedup();
        assert_eq!(tags.len(), 200);
        assert!(tags.iter().all(|tag| (0..PORT_TAG).contains(tag)));
        assert!((0..PORT_TAG).contains(&connection_tag(u32::MAX, 2, 1)));
    }

    #[test]
    fn what_is_said_over_a_socket_is_understood() {
        let words = JoinWords {
            job: u64::MAX - 5,
            rank: 17,
            number: 9,
        };
        assert_eq!(JoinWords::decode(words.encode()), words);
    }
}
