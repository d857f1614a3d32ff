//! Partitioned communication (MPI 5.0, chapter 4): a message whose parts are sent one by one, by
//! the threads that have made them.
//!
//! The order of the inits defines which send belongs to which receive. So each init of a send
//! *offers*: it sends the number of parts, their length, and the tag of the first, in the
//! communicator's context with [`PART_OFFERS`] added and the tag of the call. Each init of a
//! receive takes the next offer. After that each part is a message of its own, with
//! [`PART_MESSAGES`] added, whose tag is the offer's tag plus the part's number
//! ([`part_tags`](crate::mpi::objects::part_tags)). A sender's part is in flight as soon as the
//! program calls it ready. A receiver's part has arrived when all of the sender's parts in it have.
//! Both sides may divide the message as they like.
//!
//! Each start is an async operation ([`AsyncOperation`](crate::endpoint::AsyncOperation)), so that
//! parts come and go in every call of the rank.
//!
//! If a receiver's data do not lie side by side, and the sender's parts end within an element, the
//! receiver stores the parts in memory of its own first, and unpacks all of them at the end.
//!
//! [`PART_OFFERS`]: crate::mpi::objects::context_ids::PART_OFFERS
//! [`PART_MESSAGES`]: crate::mpi::objects::context_ids::PART_MESSAGES

mod offer;
mod receiving;
mod sending;

use crate::bcs::DataView;
use crate::checked::{UsedMemory, UsingCall};
use crate::mpi::buffer_claims::BufferClaims;
use crate::mpi::comm::{checked_tag, exhausted};
use crate::mpi::error::{ErrorClass, Operation, Peer, Result};
use crate::mpi::request::CompletionKind;
use crate::mpi::{Buffer, Comm, PROC_NULL, Request, Status};
use crate::recording::{CallStart, Primitive, RecordedOperation, Site};
use bcs_core::lockstep;
use receiving::{PartitionedReceive, ReceiveOperation};
use sending::{PartitionedSend, ReadyError, SendOperation};
use std::sync::{Arc, Mutex, Weak};

/// A partitioned message that can be started again and again.
#[derive(Debug)]
pub(super) struct Partitioned {
    comm: Comm,
    /// The call that made it.
    operation: Operation,
    partitions: usize,
    /// Bytes of an element.
    element: usize,
    way: PartitionedEnd,
    /// The parts in use, in a checked job. The started request owns them.
    claims: Mutex<Weak<BufferClaims>>,
}

#[derive(Debug)]
enum PartitionedEnd {
    Nowhere,
    To(Arc<PartitionedSend>),
    From(Arc<PartitionedReceive>),
}

impl Drop for Partitioned {
    fn drop(&mut self) {
        let process = self.comm.process();
        if process.is_finalized() {
            return;
        }
        match &self.way {
            PartitionedEnd::Nowhere => {}
            PartitionedEnd::To(sending) => sending.give_up(process.endpoint()),
            PartitionedEnd::From(receiving) => receiving.give_up(process.endpoint()),
        }
    }
}

/// Returns the data of a partitioned message, each part of which is a buffer like this, and checks
/// that they are in the address space.
fn whole(data: &Buffer, partitions: usize, operation: Operation) -> Result<Buffer> {
    let count = data.count().saturating_mul(partitions);
    let whole = data.part(0, count);
    whole.piece(&operation)?;
    Ok(whole)
}

impl Partitioned {
    /// Makes a message of this many parts to a peer.
    pub(super) fn send(
        comm: &Comm,
        partitions: usize,
        data: &Buffer,
        (to, tag): (i32, i32),
    ) -> Result<Self> {
        let operation = Operation::message("MPI_Psend_init", data.bytes(), Peer::To(to), tag);
        comm.usable(&operation)?;
        let tag = checked_tag(tag, &operation)?;
        whole(data, partitions, operation)?;
        let way = match to {
            PROC_NULL => PartitionedEnd::Nowhere,
            to => {
                let to = comm.world_rank(to, &operation)?;
                let places = (0..partitions).map(|part| {
                    let distance = data.datatype().extent().1;
                    let distance = isize::try_from(distance).unwrap_or(isize::MAX);
                    let elements = isize::try_from(part * data.count()).unwrap_or(isize::MAX);
                    let from = distance.saturating_mul(elements);
                    data.part(from, data.count()).piece(&operation)
                });
                let places = places.collect::<Result<Vec<_>>>()?;
                let process = comm.process();
                let tags = process.part_tags.clone();
                let sending = PartitionedSend::new((comm.0.context, to), tags, places);
                let sending = sending.ok_or_else(|| {
                    let reason = "2^31 partitioned messages wait for their receivers: free some";
                    operation.error(ErrorClass::Other, reason)
                })?;
                let offer = sending.offer(process.endpoint(), tag);
                offer.map_err(exhausted(&operation))?;
                PartitionedEnd::To(Arc::new(sending))
            }
        };
        Ok(Self {
            comm: comm.clone(),
            operation,
            partitions,
            element: data.datatype().size(),
            way,
            claims: Mutex::default(),
        })
    }

    /// Makes the receive of a message from a peer.
    pub(super) fn receive(
        comm: &Comm,
        partitions: usize,
        data: &Buffer,
        (from, tag): (i32, i32),
    ) -> Result<Self> {
        let operation = Operation::message("MPI_Precv_init", data.bytes(), Peer::From(from), tag);
        comm.usable(&operation)?;
        let tag = checked_tag(tag, &operation)?;
        let whole = whole(data, partitions, operation)?;
        let way = match from {
            PROC_NULL => PartitionedEnd::Nowhere,
            rank => {
                let from = comm.world_rank(rank, &operation)?;
                let cut = (partitions, data.bytes().unwrap_or(0));
                let process = comm.process();
                let tags = process.part_tags.clone();
                let on = (comm.0.context, from);
                let receiving = PartitionedReceive::new(on, (rank, tag), tags, cut, whole);
                let asked = receiving.ask(process.endpoint());
                asked.map_err(exhausted(&operation))?;
                PartitionedEnd::From(Arc::new(receiving))
            }
        };
        Ok(Self {
            comm: comm.clone(),
            operation,
            partitions,
            element: data.datatype().size(),
            way,
            claims: Mutex::default(),
        })
    }
}

impl Partitioned {
    /// Returns the name of the call that made it.
    pub(super) fn init(&self) -> &'static str {
        self.operation.call
    }

    pub(super) fn comm(&self) -> &Comm {
        &self.comm
    }

    /// Begins the message.
    pub(super) fn post(&self, begun: CallStart, site: Site) -> Result<Request> {
        let mut operation = self.operation;
        operation.call = "MPI_Start";
        self.comm.usable(&operation)?;
        let claims = self.claim_parts(operation, site)?;
        let endpoint = self.comm.process().endpoint();
        let (primitive, posted, what) = match &self.way {
            PartitionedEnd::Nowhere => {
                let told = RecordedOperation::started(begun.of(Primitive::Isend), Primitive::Isend);
                let status = match operation.peer {
                    Some(Peer::From(_)) => Status::PROC_NULL,
                    _ => Status::EMPTY,
                };
                return Ok(Request::done(Ok(status), 0, &self.comm, told));
            }
            PartitionedEnd::To(sending) => {
                sending.start();
                let posted = endpoint.undertake(Box::new(SendOperation(sending.clone())));
                (Primitive::Isend, posted, CompletionKind::Nothing)
            }
            PartitionedEnd::From(receiving) => {
                receiving.start();
                let posted = endpoint.undertake(Box::new(ReceiveOperation(receiving.clone())));
                (
                    Primitive::Irecv,
                    posted,
                    CompletionKind::Other(receiving.clone()),
                )
            }
        };
        let told = RecordedOperation::started(begun.of(primitive), primitive);
        let request = Request::posted(posted, what, &self.comm, &operation, told);
        Ok(request.holding(claims))
    }

    /// Claims the parts of a receive that starts, in a checked job. A send claims a part when the
    /// program marks it as ready: until then the program may write it.
    fn claim_parts(&self, operation: Operation, site: Site) -> Result<Option<Arc<BufferClaims>>> {
        if !self.comm.process().is_checked() {
            return Ok(None);
        }
        let claims = BufferClaims::none_of(self.comm.process(), operation, site);
        if let PartitionedEnd::From(receiving) = &self.way {
            let name = operation.call;
            for part in 0..self.partitions {
                let place = receiving.place(part).unwrap_or(DataView::EMPTY);
                let memory = UsedMemory::writes(place, self.element);
                claims.add(part, memory, UsingCall { name, site }, false)?;
            }
        }
        *lockstep::lock(&self.claims) = Arc::downgrade(&claims);
        Ok(Some(claims))
    }

    /// Returns the parts in use, in a checked job.
    fn claims(&self) -> Option<Arc<BufferClaims>> {
        let is_checked = self.comm.process().is_checked();
        let claims = is_checked.then(|| lockstep::lock(&self.claims).upgrade());
        claims.flatten()
    }

    fn checked(&self, partition: usize, operation: Operation) -> Result<()> {
        if partition < self.partitions {
            return Ok(());
        }
        let last = self.partitions.saturating_sub(1);
        let reason = format!("there is no partition {partition}, but 0 to {last}");
        Err(operation.error(ErrorClass::Arg, reason))
    }

    /// Marks parts as ready to be sent.
    #[track_caller]
    fn ready(&self, parts: &[usize], operation: Operation) -> Result<()> {
        let site = Site::here();
        parts
            .iter()
            .try_for_each(|&part| self.checked(part, operation))?;
        match &self.way {
            PartitionedEnd::Nowhere => Ok(()),
            PartitionedEnd::To(sending) => {
                match sending.ready(parts) {
                    Ok(()) => self.comm.process().endpoint().nudge(),
                    Err(ReadyError::Inactive) => {
                        let reason = "the request is not active";
                        return Err(operation.error(ErrorClass::Request, reason));
                    }
                    Err(ReadyError::Before(part)) => {
                        let reason = format!("partition {part} was ready before");
                        return Err(operation.error(ErrorClass::Arg, reason));
                    }
                }
                let claims = self.claims();
                let name = operation.call;
                claims.map_or(Ok(()), |claims| {
                    parts.iter().try_for_each(|&part| {
                        let memory = UsedMemory::reads(sending.place(part), self.element);
                        claims.add(part, memory, UsingCall { name, site }, true)
                    })
                })
            }
            PartitionedEnd::From(_) => {
                Err(operation.error(ErrorClass::Request, "the request receives"))
            }
        }
    }

    /// Returns whether a part has arrived.
    fn arrived(&self, partition: usize, operation: Operation) -> Result<bool> {
        self.checked(partition, operation)?;
        match &self.way {
            PartitionedEnd::Nowhere => Ok(true),
            PartitionedEnd::From(receiving) => {
                let arrived = receiving.arrived(self.comm.process().endpoint(), partition);
                if arrived && let Some(claims) = self.claims() {
                    claims.release(|part| part == partition);
                }
                Ok(arrived)
            }
            PartitionedEnd::To(_) => Err(operation.error(ErrorClass::Request, "the request sends")),
        }
    }
}

/// The message of a partitioned persistent request. Any thread may mark parts as ready, and test
/// whether one has arrived, while another thread waits for all.
#[derive(Clone, Debug)]
pub struct PartitionedMessage(pub(super) Arc<Partitioned>);

impl PartitionedMessage {
    /// Returns the number of its parts.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.0.partitions
    }

    /// `MPI_Pready`, `MPI_Pready_range`, `MPI_Pready_list`: these parts of a message that was
    /// started may be sent.
    ///
    /// # Errors
    /// When it is received or was not started, or a part does not exist or was ready before.
    /// Nothing has changed then.
    #[track_caller]
    pub fn ready(&self, parts: &[usize]) -> Result<()> {
        self.0.ready(parts, Operation::plain("MPI_Pready"))
    }

    /// `MPI_Parrived`: returns whether a part has come; true if the message is not in progress.
    ///
    /// # Errors
    /// When it is sent, or there is no such part.
    pub fn arrived(&self, part: usize) -> Result<bool> {
        self.0.arrived(part, Operation::plain("MPI_Parrived"))
    }
}
