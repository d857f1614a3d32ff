//! One rank's part in a program.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use super::buffer::MessageBuffer;
use super::matching_oracle::{CompletedReceive, check};
use super::program::{
    CommunicatorTraffic, DECOY, Mode, PlannedMessage, PlannedReceive, ReceiveStyle, TrafficProgram,
    random,
};
use bcs_core::lockstep;
use bcs_mpi::mpi::{ANY_SOURCE, Buffer, Comm, Persistent, Request, Result, Status};

/// Does this rank's part, checks it, and returns how many messages it got.
pub(super) fn run(program: &TrafficProgram, comms: &[Comm]) -> Result<usize> {
    let pairs = || program.exchanges.iter().zip(comms);
    if program.threads {
        return lockstep::scope(|scope| {
            let threads: Vec<_> = pairs()
                .map(|(exchange, comm)| scope.spawn(move || run_threaded(program, exchange, comm)))
                .collect();
            let mut got = 0;
            for thread in threads {
                got += thread.join().expect("no thread panics")?;
            }
            Ok(got)
        });
    }
    let mut got = 0;
    let mut parts = Vec::new();
    for (exchange, comm) in pairs() {
        let mut part = ReceivingSide::new(exchange, comm);
        part.post_all()?;
        if program.posted_first {
            comm.barrier()?;
        }
        parts.push(part);
    }
    let mut sends = Vec::new();
    for (exchange, comm) in pairs() {
        for message in outgoing(exchange, comm) {
            sends.push(SendInFlight::start(message, comm)?);
        }
    }
    for part in &mut parts {
        part.receive_all()?;
    }
    for send in sends {
        send.wait()?;
    }
    for part in parts {
        got += part.finish()?;
    }
    Ok(got)
}

/// Does the part on one communicator, with blocking sends in a thread of their own.
fn run_threaded(
    program: &TrafficProgram,
    exchange: &CommunicatorTraffic,
    comm: &Comm,
) -> Result<usize> {
    let mut part = ReceivingSide::new(exchange, comm);
    part.post_all()?;
    if program.posted_first {
        comm.barrier()?;
    }
    lockstep::scope(|scope| {
        let sender = scope.spawn(|| -> Result<()> {
            for message in outgoing(exchange, comm) {
                send(message, comm)?;
            }
            Ok(())
        });
        part.receive_all()?;
        sender.join().expect("the sender does not panic")
    })?;
    part.finish()
}

fn outgoing<'a>(
    exchange: &'a CommunicatorTraffic,
    comm: &Comm,
) -> impl Iterator<Item = &'a PlannedMessage> {
    let me = comm.rank();
    let messages = exchange.messages.iter();
    messages.filter(move |message| message.source == me)
}

/// Makes room for a message, in pieces if there is a seed for them.
fn room(len: usize, pieces: Option<u64>) -> Result<MessageBuffer> {
    MessageBuffer::new(len, pieces.map(|seed| random(seed, 0)))
}

/// Creates a message in its sender's memory.
fn filled(message: &PlannedMessage) -> Result<MessageBuffer> {
    let mut room = room(message.len, message.pieces)?;
    room.fill(&message.bytes());
    Ok(room)
}

/// Sends a message with a blocking call.
fn send(message: &PlannedMessage, comm: &Comm) -> Result<()> {
    let room = filled(message)?;
    let (data, to, tag) = (room.read_only(), message.destination, message.tag);
    let send: unsafe fn(&Comm, Buffer, i32, i32) -> Result<()> = match message.mode {
        Mode::Standard => Comm::send,
        Mode::Synchronous => Comm::ssend,
        Mode::Buffered => Comm::bsend,
        Mode::Ready => Comm::rsend,
    };
    // SAFETY: the room lives until the call returns.
    unsafe { send(comm, data, to, tag)? };
    room.release();
    Ok(())
}

/// A send under way.
#[derive(Debug)]
struct SendInFlight {
    request: Request,
    /// The data, which are read until the request is over.
    room: MessageBuffer,
}

impl SendInFlight {
    fn start(message: &PlannedMessage, comm: &Comm) -> Result<Self> {
        let room = filled(message)?;
        let (data, to, tag) = (room.read_only(), message.destination, message.tag);
        let send: unsafe fn(&Comm, Buffer, i32, i32) -> Result<Request> = match message.mode {
            Mode::Standard => Comm::isend,
            Mode::Synchronous => Comm::issend,
            Mode::Buffered => Comm::ibsend,
            Mode::Ready => Comm::irsend,
        };
        // SAFETY: the room is kept with the request.
        let request = unsafe { send(comm, data, to, tag)? };
        Ok(Self { request, room })
    }

    fn wait(mut self) -> Result<()> {
        self.request.wait()?;
        self.room.release();
        Ok(())
    }
}

#[derive(Debug)]
enum ReceiveInFlight {
    Once(Request),
    Persistent(Persistent),
}

/// The receiving side of a rank on a communicator.
#[derive(Debug)]
struct ReceivingSide<'a> {
    exchange: &'a CommunicatorTraffic,
    comm: &'a Comm,
    capacity: usize,
    posts: usize,
    posted: Vec<(usize, ReceiveInFlight, MessageBuffer)>,
    decoys: Vec<(Request, MessageBuffer)>,
    receipts: Vec<CompletedReceive>,
}

impl<'a> ReceivingSide<'a> {
    fn new(exchange: &'a CommunicatorTraffic, comm: &'a Comm) -> Self {
        let me = comm.rank();
        let incoming = exchange.messages.iter();
        let incoming = incoming.filter(|message| message.destination == me);
        Self {
            exchange,
            comm,
            capacity: incoming.map(|message| message.len).max().unwrap_or(0) + 9,
            posts: 0,
            posted: Vec::new(),
            decoys: Vec::new(),
            receipts: Vec::new(),
        }
    }

    fn me(&self) -> usize {
        usize::try_from(self.comm.rank()).expect("positive")
    }

    fn receives(&self) -> impl Iterator<Item = &'a PlannedReceive> + use<'a> {
        self.exchange.receives[self.me()].iter()
    }

    /// Posts the receives that do not block.
    fn post_all(&mut self) -> Result<()> {
        for _ in 0..self.exchange.decoys[self.me()] {
            let mut room = room(self.capacity, None)?;
            let data = room.writable();
            let request = self.comm.irecv(data, ANY_SOURCE, DECOY)?;
            self.decoys.push((request, room));
        }
        for receive in self.receives() {
            let mut room = room(self.capacity, receive.pieces)?;
            let data = room.writable();
            let posted = match receive.way {
                ReceiveStyle::Irecv => {
                    ReceiveInFlight::Once(self.comm.irecv(data, receive.source, receive.tag)?)
                }
                ReceiveStyle::Persistent => {
                    let mut request = self.comm.recv_init(data, receive.source, receive.tag)?;
                    request.start()?;
                    ReceiveInFlight::Persistent(request)
                }
                _ => continue,
            };
            self.posted.push((self.posts, posted, room));
            self.posts += 1;
        }
        Ok(())
    }

    /// Receives those that block, and waits for the others.
    fn receive_all(&mut self) -> Result<()> {
        for receive in self.receives() {
            let mut room = room(self.capacity, receive.pieces)?;
            let data = room.writable();
            if let Some(status) = receive_now(self.comm, receive, data)? {
                let post = self.posts;
                self.posts += 1;
                self.receipts.push(CompletedReceive { post, status, room });
            } else {
                room.release();
            }
        }
        // The last comes first: waiting need not follow the order of posts.
        while let Some((post, posted, room)) = self.posted.pop() {
            let status = match posted {
                ReceiveInFlight::Once(mut request) => request.wait()?,
                ReceiveInFlight::Persistent(mut request) => request.started().wait()?,
            };
            self.receipts.push(CompletedReceive { post, status, room });
        }
        Ok(())
    }

    /// Cancels the receives without a send, and checks the rest.
    fn finish(self) -> Result<usize> {
        for (mut request, room) in self.decoys {
            request.cancel();
            let status = request.wait()?;
            assert!(
                status.cancelled,
                "nobody sends with tag {DECOY}: {status:?}"
            );
            assert_eq!(room.first_difference(&[]), None, "and nothing came");
            room.release();
        }
        Ok(check(self.comm.rank(), self.exchange, self.receipts))
    }
}

/// Receives a message by one of the blocking methods; `None` for the other methods.
fn receive_now(comm: &Comm, receive: &PlannedReceive, data: Buffer) -> Result<Option<Status>> {
    let &PlannedReceive {
        source, tag, way, ..
    } = receive;
    let take = |found: Status, data: Buffer| comm.recv(data, found.source, found.tag);
    let status = match way {
        ReceiveStyle::Irecv | ReceiveStyle::Persistent => return Ok(None),
        ReceiveStyle::Recv => comm.recv(data, source, tag)?,
        ReceiveStyle::Probe => take(comm.probe(source, tag)?, data)?,
        ReceiveStyle::Iprobe => loop {
            if let Some(found) = comm.iprobe(source, tag)? {
                break take(found, data)?;
            }
        },
        ReceiveStyle::Mprobe => {
            let mut message = comm.mprobe(source, tag)?;
            message.recv(data)?
        }
        ReceiveStyle::Improbe => loop {
            if let Some(mut message) = comm.improbe(source, tag)? {
                break message.recv(data)?;
            }
        },
    };
    Ok(Some(status))
}
