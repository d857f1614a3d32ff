//! Arrivals at collectives, and the opening and closing of contexts.

use super::NicTransport;
use super::requests::Purpose;
use crate::data::gather;
use crate::steps::CollectiveArguments;
use crate::transport::TooManyRequests;
use bcs_core::descriptor::CollectiveDescriptor;
use bcs_core::limits::INLINE_BYTES;
use bcs_core::request::RequestId;
use bcs_core::wait_state::EnteredCollective;

/// The most arrivals that are remembered. A rank with more of them outstanding reports less of
/// itself.
const ARRIVALS: usize = 64;

/// An arrival at a collective, as the NIC gets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The number of the collective in its context.
    pub(crate) sequence: u64,
    /// Whether it is the arrival of all members of the node.
    pub(crate) for_node: bool,
    /// They have no contribution, because memory that this world rank named is not mapped.
    pub(crate) faulty_rank: Option<u32>,
}

impl Arrival {
    /// Returns the arrival of one rank.
    pub(crate) fn own(sequence: u64) -> Self {
        Self {
            sequence,
            for_node: false,
            faulty_rank: None,
        }
    }
}

impl NicTransport {
    /// Posts an arrival, perhaps for all members of the node. The caller decides whether to request
    /// a slice ([`arrived_last`](Self::arrived_last)).
    pub(crate) fn arrive(
        &mut self,
        context: u32,
        arrival: Arrival,
        part: CollectiveArguments,
    ) -> Result<RequestId, TooManyRequests> {
        let CollectiveArguments {
            kind,
            bytes,
            input,
            output,
        } = part;
        let Arrival {
            sequence,
            for_node,
            faulty_rank: spoilt_by,
        } = arrival;
        let purpose = Purpose::Collective {
            output,
            entered: None,
        };
        let request = self.requests.open(purpose)?;
        let inline = input.filter(|_| bytes <= INLINE_BYTES).map(|input| {
            let mut inline = [0; INLINE_BYTES];
            gather(&input.into(), 0, &mut inline[..bytes]);
            inline
        });
        let descriptor = CollectiveDescriptor {
            request,
            context,
            sequence,
            kind,
            bytes: bytes as u64,
            input: input.unwrap_or_default().address(),
            output: output.address(),
            inline,
            for_node,
            unreadable_member: spoilt_by,
        };
        self.assert_attended();
        self.collectives.post(&descriptor.encode());
        Ok(request)
    }

    /// Records that the rank has entered a collective by this request. Forgets those that are done.
    pub(crate) fn entered(&mut self, request: RequestId, entered: EnteredCollective) {
        self.requests.entered(request, entered);
        let (requests, arrivals, memory) = (&self.requests, &mut self.arrivals, &self.memory);
        let live = |request: &RequestId| {
            requests.if_live(*request).is_some() && !memory.is_complete(*request)
        };
        while arrivals.front().is_some_and(|request| !live(request)) {
            arrivals.pop_front();
        }
        if arrivals.len() >= ARRIVALS {
            arrivals.retain(live);
        }
        if arrivals.len() < ARRIVALS {
            arrivals.push_back(request);
        }
    }

    /// Returns the collective that the rank has entered by this request, if it is one.
    pub(crate) fn entered_by(&self, request: RequestId) -> Option<EnteredCollective> {
        self.requests.if_live(request)?.entered()
    }

    /// Returns the unfinished collectives that the rank has entered, the oldest first, as far as
    /// they are remembered.
    pub(crate) fn all_entered(&self) -> impl Iterator<Item = EnteredCollective> {
        let under_way = self.arrivals.iter();
        let under_way = under_way.filter(|request| !self.is_completed(**request));
        under_way.filter_map(|&request| self.entered_by(request))
    }
}
