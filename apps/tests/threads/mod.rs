//! The processes of a job as threads: message passing without a runtime, for tests.
//!
//! Sends buffer as little as the standard allows: a blocking send waits until its message is
//! received. An application that relies on buffering hangs here, and the test fails after a while.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use apps::MessagePassing;

/// The time after which a waiting operation reports that the job hangs.
const HUNG: Duration = Duration::from_secs(60);

/// Tag of the messages of collectives; applications do not use negative tags.
const COLLECTIVE: i32 = -1;

#[derive(Debug)]
pub(crate) struct Failure(String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

struct Message {
    tag: i32,
    data: Vec<f64>,
    received: Sender<()>,
}

/// The mailbox for the messages of one source.
struct Mailbox {
    arrivals: Receiver<Message>,
    unexpected: RefCell<VecDeque<Message>>,
}

/// A rank.
pub(crate) struct Rank {
    rank: usize,
    to: Vec<Sender<Message>>,
    from: Vec<Mailbox>,
}

pub(crate) enum Request {
    Send {
        data: Vec<f64>,
        received: Receiver<()>,
    },
    Receive {
        data: Vec<f64>,
        source: usize,
        tag: i32,
    },
}

/// Runs `main` as every rank of a job of `size` ranks and returns the results in the order of
/// ranks. Messages that no rank received are a failure.
pub(crate) fn run<T: Send>(size: usize, main: impl Fn(&Rank) -> T + Sync) -> Vec<T> {
    let mut to: Vec<Vec<Sender<Message>>> = (0..size).map(|_| Vec::new()).collect();
    let mut from: Vec<Vec<Mailbox>> = (0..size).map(|_| Vec::new()).collect();
    for to in &mut to {
        for from in &mut from {
            let (sender, arrivals) = channel();
            to.push(sender);
            from.push(Mailbox {
                arrivals,
                unexpected: RefCell::default(),
            });
        }
    }
    let ranks = to.into_iter().zip(from).enumerate();
    thread::scope(|scope| {
        let threads: Vec<_> = ranks
            .map(|(rank, (to, from))| {
                let main = &main;
                scope.spawn(move || {
                    let rank = Rank { rank, to, from };
                    let result = main(&rank);
                    rank.barrier().expect("the others end, too");
                    let left: usize = rank.from.iter().map(Mailbox::left).sum();
                    assert_eq!(left, 0, "rank {} left messages", rank.rank);
                    result
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no rank panics"))
            .collect()
    })
}

impl Mailbox {
    fn take(&self, tag: i32) -> Result<Message, Failure> {
        let index = self.find(tag)?;
        let mut unexpected = self.unexpected.borrow_mut();
        Ok(unexpected.remove(index).expect("just found"))
    }

    /// Waits for a message and returns its index among the unexpected messages.
    fn find(&self, tag: i32) -> Result<usize, Failure> {
        let mut unexpected = self.unexpected.borrow_mut();
        let mut index = 0;
        loop {
            let rest = unexpected.iter().skip(index);
            if let Some(further) = rest.into_iter().position(|message| message.tag == tag) {
                return Ok(index + further);
            }
            index = unexpected.len();
            let message = self
                .arrivals
                .recv_timeout(HUNG)
                .map_err(|error| Failure(format!("receive of tag {tag}: {error}")))?;
            unexpected.push_back(message);
        }
    }

    fn left(&self) -> usize {
        self.unexpected.borrow().len() + self.arrivals.try_iter().count()
    }
}

impl Rank {
    /// Combines the data of all ranks on rank 0 in the order of ranks, and sends the result to all.
    fn allreduce(
        &self,
        data: &mut [f64],
        combine: impl Fn(f64, f64) -> f64,
    ) -> Result<(), Failure> {
        if self.rank == 0 {
            for source in 1..self.size() {
                let mut other = vec![0.0; data.len()];
                self.recv(&mut other, source, COLLECTIVE)?;
                for (data, other) in data.iter_mut().zip(other) {
                    *data = combine(*data, other);
                }
            }
        } else {
            self.send(data, 0, COLLECTIVE)?;
        }
        self.bcast(data, 0)
    }
}

impl MessagePassing for Rank {
    type Error = Failure;
    type Request = Request;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn send(&self, data: &[f64], destination: usize, tag: i32) -> Result<(), Failure> {
        let request = self.isend(data.to_vec(), destination, tag)?;
        self.wait(request).map(drop)
    }

    fn recv(&self, data: &mut [f64], source: usize, tag: i32) -> Result<(), Failure> {
        let message = self.from[source].take(tag)?;
        if message.data.len() != data.len() {
            let (found, wanted) = (message.data.len(), data.len());
            return Err(Failure(format!(
                "tag {tag}: {found} elements, not {wanted}"
            )));
        }
        data.copy_from_slice(&message.data);
        // The sender may have ended without waiting; the sender's own checks report that mistake.
        let _ = message.received.send(());
        Ok(())
    }

    fn isend(&self, data: Vec<f64>, destination: usize, tag: i32) -> Result<Request, Failure> {
        let (sender, received) = channel();
        let message = Message {
            tag,
            data: data.clone(),
            received: sender,
        };
        self.to[destination]
            .send(message)
            .map_err(|_| Failure(format!("rank {destination} has ended")))?;
        Ok(Request::Send { data, received })
    }

    fn irecv(&self, data: Vec<f64>, source: usize, tag: i32) -> Result<Request, Failure> {
        Ok(Request::Receive { data, source, tag })
    }

    fn wait(&self, request: Request) -> Result<Vec<f64>, Failure> {
        match request {
            Request::Send { data, received } => {
                received
                    .recv_timeout(HUNG)
                    .map_err(|e| Failure(format!("send: {e}")))?;
                Ok(data)
            }
            Request::Receive {
                mut data,
                source,
                tag,
            } => {
                self.recv(&mut data, source, tag)?;
                Ok(data)
            }
        }
    }

    fn barrier(&self) -> Result<(), Failure> {
        self.allreduce(&mut [0.0], f64::max)
    }

    fn bcast(&self, data: &mut [f64], root: usize) -> Result<(), Failure> {
        if self.rank != root {
            return self.recv(data, root, COLLECTIVE);
        }
        for destination in (0..self.size()).filter(|&rank| rank != root) {
            self.send(data, destination, COLLECTIVE)?;
        }
        Ok(())
    }

    fn allreduce_max(&self, data: &mut [f64]) -> Result<(), Failure> {
        self.allreduce(data, f64::max)
    }

    fn allreduce_sum(&self, data: &mut [f64]) -> Result<(), Failure> {
        self.allreduce(data, |one, other| one + other)
    }

    fn allreduce_sum_i64(&self, data: &mut [i64]) -> Result<(), Failure> {
        // Integers travel as the bits of doubles.
        let mut bits: Vec<f64> = data
            .iter()
            .map(|value| f64::from_bits(value.cast_unsigned()))
            .collect();
        self.allreduce(&mut bits, |one, other| {
            f64::from_bits(one.to_bits().wrapping_add(other.to_bits()))
        })?;
        for (value, bits) in data.iter_mut().zip(bits) {
            *value = bits.to_bits().cast_signed();
        }
        Ok(())
    }

    fn probe(&self, source: usize, tag: i32) -> Result<usize, Failure> {
        let index = self.from[source].find(tag)?;
        Ok(self.from[source].unexpected.borrow()[index].data.len())
    }

    fn allgather(&self, data: &[f64], result: &mut [f64]) -> Result<(), Failure> {
        let blocks = data.repeat(self.size());
        self.alltoall(&blocks, result)
    }

    fn alltoall(&self, data: &[f64], result: &mut [f64]) -> Result<(), Failure> {
        let block = data.len() / self.size();
        let blocks = data.chunks_exact(block).enumerate();
        let sends: Result<Vec<Request>, Failure> = blocks
            .map(|(to, block)| self.isend(block.to_vec(), to, COLLECTIVE))
            .collect();
        for (from, block) in result.chunks_exact_mut(block).enumerate() {
            self.recv(block, from, COLLECTIVE)?;
        }
        sends?
            .into_iter()
            .try_for_each(|send| self.wait(send).map(drop))
    }
}
