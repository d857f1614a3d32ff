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

/// Arrivals that are remembered. A rank that has more of them outstanding says less of itself.
const ARRIVALS: usize = 64;

/// An arrival at a collective, as its NIC is told of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Which collective of the context it is.
    pub(crate) sequence: u64,
    /// It is that of all members of the node,
    pub(crate) for_node: bool,
    /// which have nothing to give, because memory that this world rank named is not there.
    pub(crate) faulty_rank: Option<u32>,
}

impl Arrival {
    /// A rank's own.
    pub(crate) fn own(sequence: u64) -> Self {
        Self {
            sequence,
            for_node: false,
            faulty_rank: None,
        }
    }
}

impl NicTransport {
    /// Posts an arrival, perhaps for all members of the node. Whether it asks for a slice is for the caller to say
    /// ([`arrived_last`](Self::arrived_last)).
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

    /// The rank has entered a collective by this request. Those that are done are forgotten.
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

    /// What the rank has entered by this request, if it is a collective.
    pub(crate) fn entered_by(&self, request: RequestId) -> Option<EnteredCollective> {
        self.requests.if_live(request)?.entered()
    }

    /// What the rank has entered and is not done, the oldest first, as far as it is remembered.
    pub(crate) fn all_entered(&self) -> impl Iterator<Item = EnteredCollective> {
        let under_way = self.arrivals.iter();
        let under_way = under_way.filter(|request| !self.is_completed(**request));
        under_way.filter_map(|&request| self.entered_by(request))
    }
}
