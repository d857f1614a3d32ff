//! Communication: gets a block's inflows from the upstream neighbours, and sends its outflows to
//! the downstream neighbours.
//!
//! The buffer of a message is the face on which the kernel works: it arrives as inflow, becomes
//! outflow in place and is sent on, without a copy. Messages are whole blocks even if the last
//! block of planes is short.

use std::collections::VecDeque;

use super::deck::Deck;
use super::decomposition::Decomposition;
use super::octant::{Axis, SweepStep};
use crate::MessagePassing;

/// The sends of an axis that may be in flight while the next block is computed: buffers are double.
const SENDS_UNDER_WAY: usize = 2;

/// How neighbours exchange their messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Communication {
    /// Receive, compute, send: the original, which waits for every message.
    #[default]
    Blocking,
    /// The receives of the next block are posted before the current block is computed, and sends
    /// complete while later blocks are computed: section 6.3 of the paper.
    #[value(name = "nonblocking")]
    NonBlocking,
}

/// The messages of a process.
pub(super) struct BlockExchange<'a, M: MessagePassing> {
    mpi: &'a M,
    communication: Communication,
    decomposition: &'a Decomposition,
    lanes: [AxisMessages<M::Request>; 2],
    /// Messages sent so far.
    sent: i64,
}

/// The buffers of an axis.
struct AxisMessages<Request> {
    axis: Axis,
    /// Elements of a message.
    length: usize,
    /// Free buffers.
    spare: Vec<Vec<f64>>,
    /// The receive of the next block.
    posted: Option<Request>,
    /// Sends that may be incomplete, oldest first.
    under_way: VecDeque<Request>,
}

impl<Request> AxisMessages<Request> {
    fn new(axis: Axis, length: usize) -> AxisMessages<Request> {
        AxisMessages {
            axis,
            length,
            spare: Vec::new(),
            posted: None,
            under_way: VecDeque::new(),
        }
    }

    fn buffer(&mut self) -> Vec<f64> {
        self.spare.pop().unwrap_or_else(|| vec![0.0; self.length])
    }
}

impl<'a, M: MessagePassing> BlockExchange<'a, M> {
    /// Makes the exchange of a deck fitted to the number of processes.
    pub(super) fn new(
        mpi: &'a M,
        communication: Communication,
        deck: &Deck,
        decomposition: &'a Decomposition,
    ) -> BlockExchange<'a, M> {
        let [it, jt, _] = decomposition.extent();
        let lanes = [
            AxisMessages::new(Axis::I, jt * deck.mk * deck.mmi),
            AxisMessages::new(Axis::J, it * deck.mk * deck.mmi),
        ];
        BlockExchange {
            mpi,
            communication,
            decomposition,
            lanes,
            sent: 0,
        }
    }

    /// Returns the number of messages that this process has sent so far.
    pub(super) fn sent(&self) -> i64 {
        self.sent
    }

    /// Prepares for the first step of an iteration.
    pub(super) fn begin(&mut self, first: &SweepStep) -> Result<(), M::Error> {
        self.post_receives(first)
    }

    /// Returns the I- and J-inflows of a step. At a face of the global grid there is no neighbour,
    /// and the buffer's content is meaningless. `next` is the step after this one.
    pub(super) fn inflows(
        &mut self,
        step: &SweepStep,
        next: Option<&SweepStep>,
    ) -> Result<[Vec<f64>; 2], M::Error> {
        let mut inflows = [Vec::new(), Vec::new()];
        for (lane, inflow) in self.lanes.iter_mut().zip(&mut inflows) {
            *inflow = match (
                lane.posted.take(),
                self.decomposition.upstream(lane.axis, &step.octant),
            ) {
                (Some(request), _) => self.mpi.wait(request)?,
                (None, Some(source)) => {
                    let mut buffer = lane.buffer();
                    self.mpi
                        .recv(&mut buffer, source, step.octant.tag(lane.axis))?;
                    buffer
                }
                (None, None) => lane.buffer(),
            };
        }
        if let Some(next) = next {
            self.post_receives(next)?;
        }
        Ok(inflows)
    }

    /// Sends the I- and J-outflows of a step to the neighbours.
    pub(super) fn outflows(
        &mut self,
        step: &SweepStep,
        outflows: [Vec<f64>; 2],
    ) -> Result<(), M::Error> {
        for (lane, outflow) in self.lanes.iter_mut().zip(outflows) {
            let Some(destination) = self.decomposition.downstream(lane.axis, &step.octant) else {
                lane.spare.push(outflow);
                continue;
            };
            let tag = step.octant.tag(lane.axis);
            self.sent += 1;
            match self.communication {
                Communication::Blocking => {
                    self.mpi.send(&outflow, destination, tag)?;
                    lane.spare.push(outflow);
                }
                Communication::NonBlocking => {
                    if lane.under_way.len() == SENDS_UNDER_WAY
                        && let Some(oldest) = lane.under_way.pop_front()
                    {
                        lane.spare.push(self.mpi.wait(oldest)?);
                    }
                    lane.under_way
                        .push_back(self.mpi.isend(outflow, destination, tag)?);
                }
            }
        }
        Ok(())
    }

    /// Waits for the sends of an iteration.
    pub(super) fn finish(&mut self) -> Result<(), M::Error> {
        for lane in &mut self.lanes {
            for request in lane.under_way.drain(..) {
                lane.spare.push(self.mpi.wait(request)?);
            }
        }
        Ok(())
    }

    fn post_receives(&mut self, step: &SweepStep) -> Result<(), M::Error> {
        if self.communication == Communication::Blocking {
            return Ok(());
        }
        for lane in &mut self.lanes {
            if let Some(source) = self.decomposition.upstream(lane.axis, &step.octant) {
                let buffer = lane.buffer();
                lane.posted = Some(self.mpi.irecv(buffer, source, step.octant.tag(lane.axis))?);
            }
        }
        Ok(())
    }
}
