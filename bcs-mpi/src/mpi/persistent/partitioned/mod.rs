//! Partitioned communication (MPI 5.0, chapter 4): a message whose parts are sent one by one, by whoever has made them.
//!
//! Which send belongs to which receive is said by the order of their inits. So each init of a send *offers*: it sends
//! how many parts there are, how long they are, and the tag of the first, in the communicator's context with
//! [`PART_OFFERS`] added and the tag of the call; each init of a receive takes the next offer. After that each part is a
//! message of its own, with [`PART_MESSAGES`] added, whose tag is the offer's and its number. A sender's part is on its
//! way as soon as the program says that it is ready, and a receiver's has arrived when all of the sender's that are in it
//! have. Both sides may have cut the message as they like.
//!
//! Each start is an undertaking ([`Undertaking`](crate::endpoint::Undertaking)), so that parts come and go in every call
//! of the rank.
//!
//! A receiver whose data do not lie side by side, and whose partner's parts end within an element, has its parts in
//! memory of its own first, and all of them are unpacked at the end.
//!
//! [`PART_OFFERS`]: crate::mpi::objects::context_ids::PART_OFFERS
//! [`PART_MESSAGES`]: crate::mpi::objects::context_ids::PART_MESSAGES

mod receiving;
mod sending;

pub(in crate::mpi) use receiving::Receiving;

use super::request::{Persistent, Starts};
use crate::data::Plain;
use crate::mpi::comm::{checked_tag, exhausted};
use crate::mpi::error::{ErrorClass, Operation, Peer, Result};
use crate::mpi::request::What;
use crate::mpi::{Buffer, Comm, PROC_NULL, Request, Status};
use crate::recording::{Begun, Primitive, Recorded};
use receiving::Receives;
use sending::{NotReady, Sending, Sends};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a sender offers: the tag of its first part, how many parts there are, and how long each is.
type Offer = [u64; 3];

/// The tag of a part.
fn tag_of(first: u64, part: usize) -> i32 {
    let tag = first.wrapping_add(part as u64) & u64::from(i32::MAX.cast_unsigned());
    i32::try_from(tag).expect("it has 31 bits")
}

/// A message in parts that can be started again and again.
#[derive(Debug)]
pub(super) struct Partitioned {
    comm: Comm,
    /// The call that made it.
    operation: Operation,
    partitions: usize,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Nowhere,
    To(Arc<Sending>),
    From(Arc<Receiving>),
}

/// The data of a message in parts, each of which is a buffer like this; and whether they are in the address space.
fn whole(data: &Buffer, partitions: usize, operation: Operation) -> Result<Buffer> {
    let count = data.count().saturating_mul(partitions);
    let whole = data.part(0, count);
    whole.piece(operation)?;
    Ok(whole)
}

impl Comm {
    /// `MPI_Psend_init`: a message of so many parts, each of which is as long as the buffer, which is the first; the others
    /// follow.
    ///
    /// # Errors
    /// When an argument is wrong, or all request slots are in use.
    pub fn psend_init(
        &self,
        partitions: usize,
        data: &Buffer,
        to: i32,
        tag: i32,
    ) -> Result<Persistent> {
        let peer = Peer::To(to);
        let operation = Operation::message("MPI_Psend_init", data.bytes(), peer, tag);
        self.usable(operation)?;
        let tag = checked_tag(tag, operation)?;
        whole(data, partitions, operation)?;
        let way = match to {
            PROC_NULL => Way::Nowhere,
            to => {
                let to = self.world_rank(to, operation)?;
                let places = (0..partitions).map(|part| {
                    let distance = data.datatype().extent().1;
                    let distance = isize::try_from(distance).unwrap_or(isize::MAX);
                    let elements = isize::try_from(part * data.count()).unwrap_or(isize::MAX);
                    let from = distance.saturating_mul(elements);
                    data.part(from, data.count()).piece(operation)
                });
                let places = places.collect::<Result<Vec<_>>>()?;
                let process = self.process();
                let number = u32::try_from(partitions).unwrap_or(u32::MAX);
                let first = process.next_part.fetch_add(number, Ordering::Relaxed);
                let sending = Sending::new((self.0.context, to), first.into(), places);
                let offer = sending.offer(process.endpoint(), tag);
                offer.map_err(exhausted(operation))?;
                Way::To(Arc::new(sending))
            }
        };
        Ok(self.in_parts(operation, partitions, way))
    }

    /// `MPI_Precv_init`.
    ///
    /// # Errors
    /// As [`psend_init`](Self::psend_init).
    pub fn precv_init(
        &self,
        partitions: usize,
        data: &Buffer,
        from: i32,
        tag: i32,
    ) -> Result<Persistent> {
        let peer = Peer::From(from);
        let operation = Operation::message("MPI_Precv_init", data.bytes(), peer, tag);
        self.usable(operation)?;
        let tag = checked_tag(tag, operation)?;
        let whole = whole(data, partitions, operation)?;
        let way = match from {
            PROC_NULL => Way::Nowhere,
            rank => {
                let from = self.world_rank(rank, operation)?;
                let cut = (partitions, data.bytes().unwrap_or(0));
                let receiving = Receiving::new((self.0.context, from), (rank, tag), cut, whole);
                let asked = receiving.ask(self.process().endpoint());
                asked.map_err(exhausted(operation))?;
                Way::From(Arc::new(receiving))
            }
        };
        Ok(self.in_parts(operation, partitions, way))
    }

    fn in_parts(&self, operation: Operation, partitions: usize, way: Way) -> Persistent {
        let message = Partitioned {
            comm: self.clone(),
            operation,
            partitions,
            way,
        };
        Persistent::of(Starts::Partitioned(Arc::new(message)))
    }
}

impl Partitioned {
    /// The name of the call that made it.
    pub(super) fn init(&self) -> &'static str {
        self.operation.call
    }

    pub(super) fn comm(&self) -> &Comm {
        &self.comm
    }

    /// Begins it.
    pub(super) fn post(&self, begun: Begun) -> Result<Request> {
        let mut operation = self.operation;
        operation.call = "MPI_Start";
        self.comm.usable(operation)?;
        let endpoint = self.comm.process().endpoint();
        let (primitive, posted, what) = match &self.way {
            Way::Nowhere => {
                let told = Recorded::started(begun.of(Primitive::Isend), Primitive::Isend);
                let status = match operation.peer {
                    Some(Peer::From(_)) => Status::PROC_NULL,
                    _ => Status::EMPTY,
                };
                return Ok(Request::done(Ok(status), 0, &self.comm, told));
            }
            Way::To(sending) => {
                sending.start();
                let posted = endpoint.undertake(Box::new(Sends(sending.clone())));
                (Primitive::Isend, posted, What::Nothing)
            }
            Way::From(receiving) => {
                receiving.start();
                let posted = endpoint.undertake(Box::new(Receives(receiving.clone())));
                (Primitive::Irecv, posted, What::Parts(receiving.clone()))
            }
        };
        let told = Recorded::started(begun.of(primitive), primitive);
        Ok(Request::posted(posted, what, &self.comm, operation, told))
    }

    fn checked(&self, partition: usize, operation: Operation) -> Result<()> {
        if partition < self.partitions {
            return Ok(());
        }
        let last = self.partitions.saturating_sub(1);
        let reason = format!("there is no partition {partition}, but 0 to {last}");
        Err(operation.error(ErrorClass::Arg, reason))
    }

    /// Parts are ready to be sent.
    fn ready(&self, parts: &[usize], operation: Operation) -> Result<()> {
        parts
            .iter()
            .try_for_each(|&part| self.checked(part, operation))?;
        match &self.way {
            Way::Nowhere => Ok(()),
            Way::To(sending) => {
                match sending.ready(parts) {
                    Ok(()) => self.comm.process().endpoint().nudge(),
                    Err(NotReady::Inactive) => {
                        let reason = "the request is not active";
                        return Err(operation.error(ErrorClass::Request, reason));
                    }
                    Err(NotReady::Before(part)) => {
                        let reason = format!("partition {part} was ready before");
                        return Err(operation.error(ErrorClass::Arg, reason));
                    }
                }
                Ok(())
            }
            Way::From(_) => Err(operation.error(ErrorClass::Request, "the request receives")),
        }
    }

    /// Whether a part has arrived.
    fn arrived(&self, partition: usize, operation: Operation) -> Result<bool> {
        self.checked(partition, operation)?;
        match &self.way {
            Way::Nowhere => Ok(true),
            Way::From(receiving) => {
                Ok(receiving.arrived(self.comm.process().endpoint(), partition))
            }
            Way::To(_) => Err(operation.error(ErrorClass::Request, "the request sends")),
        }
    }
}

impl Persistent {
    /// Its message, if that is in parts.
    #[must_use]
    pub fn in_parts(&self) -> Option<InParts> {
        match &self.starts {
            Starts::Partitioned(partitioned) => Some(InParts(partitioned.clone())),
            _ => None,
        }
    }
}

/// The message of a persistent request that is in parts. Any thread may say that some are ready, and ask whether one has
/// arrived, while another one waits for all.
#[derive(Clone, Debug)]
pub struct InParts(Arc<Partitioned>);

impl InParts {
    /// `MPI_Pready`, `MPI_Pready_range`, `MPI_Pready_list`: these parts of a message that was started may be sent.
    ///
    /// # Errors
    /// When it is received or was not started, or a part is not there or was ready before: then nothing has changed.
    pub fn ready(&self, parts: &[usize]) -> Result<()> {
        self.0.ready(parts, Operation::plain("MPI_Pready"))
    }

    /// `MPI_Parrived`: whether a part has come. Of a message that is not under way all have.
    ///
    /// # Errors
    /// When it is sent, or there is no such part.
    pub fn arrived(&self, part: usize) -> Result<bool> {
        self.0.arrived(part, Operation::plain("MPI_Parrived"))
    }
}

/// Words as memory of a message, which whoever has them keeps until it is over, or for ever.
#[expect(unsafe_code, reason = "messages name their data by address")]
fn memory(words: &mut Offer) -> Plain {
    let address = words.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the owner keeps them, and looks at them when the message is over.
    unsafe { Plain::new(address, size_of_val(words)) }
}
