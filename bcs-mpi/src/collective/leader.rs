//! Collectives of communicators that span nodes, and the NICs' part in them.
//!
//! Where the members of a node reach each other's memory they do its part by themselves, and one of
//! them posts to its NIC for all ([`crate::transport::smartmap`], `collective/hierarchical`). A
//! late post bears the number that the collective got when the program called it. NICs take the
//! collectives of a context in the order of their numbers, in whatever order they come.
//!
//! Other nodes do not see how a node arrives. Its NIC sees one arrival or one of each member, and
//! sends the others the same.

use crate::endpoint::{Endpoint, EndpointState, LeaderRequest};
use crate::transport::nic::Arrival;
use crate::transport::smartmap::{NicOrder, SmartMap};
use crate::transport::{TooManyRequests, TransportHandle};
use bcs_core::request::RequestId;

impl Endpoint {
    /// Passes the work of the members of this node to the NIC, and the NIC's results to them.
    /// Returns whether there was any.
    pub(crate) fn lead(&self, state: &mut EndpointState) -> bool {
        let mut any = false;
        let mut index = 0;
        while let Some(leading) = state.leader_requests.get(index) {
            let (group, request) = (leading.group, leading.request);
            // A thread that has taken the group returns it soon, and then comes here.
            let is_here = state
                .mux
                .local
                .as_ref()
                .is_some_and(|near| near.is_here(group));
            if !is_here {
                index += 1;
                continue;
            }
            match state.mux.take(TransportHandle::Nic(request)) {
                None => index += 1,
                Some(outcome) => {
                    any = true;
                    state.leader_requests.swap_remove(index);
                    let near = state.mux.local.as_mut();
                    near.expect("it ordered that").answered(group, outcome);
                }
            }
        }
        while let Some(order) = state.mux.local.as_mut().and_then(SmartMap::take_order) {
            if let Ok(request) = state.post_order(&order) {
                any = true;
                let group = order.number.group;
                state.leader_requests.push(LeaderRequest { group, request });
                continue;
            }
            let near = state.mux.local.as_mut();
            near.expect("it ordered that").put_back(order);
            break; // until a request slot is free
        }
        any
    }
}

impl EndpointState {
    fn post_order(&mut self, order: &NicOrder) -> Result<RequestId, TooManyRequests> {
        let NicOrder {
            number,
            part,
            for_node,
            faulty_rank: spoilt_by,
            ..
        } = *order;
        let arrival = Arrival {
            sequence: number.sequence,
            for_node,
            faulty_rank: spoilt_by,
        };
        let request = self.mux.nic.arrive(number.context, arrival, part)?;
        // All members of this node are there, or will notice that their calls differ.
        self.mux.nic.arrived_last(&part);
        Ok(request)
    }
}
