//! The contents of this end's tables when its rank ends (see [`crate::endpoint`], `leaks`).

use super::NicTransport;
use super::requests::Purpose;
use bcs_core::request::RequestId;
use bcs_core::wait_state::{EnteredCollective, Leak, LeakReport, MessagePeer};
use std::collections::HashSet;

impl NicTransport {
    /// Returns the requests of the other transport that are the same as requests of this one.
    pub(crate) fn twins(&self) -> HashSet<RequestId> {
        let open = self.requests.iter();
        open.filter_map(|(_, purpose)| match purpose {
            Purpose::Receive { twin, .. } => *twin,
            _ => None,
        })
        .collect()
    }

    /// Adds requests of the program. Returns the collectives that are not over. Collectives that
    /// are `parts` of others are not the program's.
    pub(crate) fn add_requests(
        &self,
        left: &mut LeakReport,
        parts: &[EnteredCollective],
    ) -> Vec<EnteredCollective> {
        let mut under_way = Vec::new();
        for (request, purpose) in self.requests.iter() {
            let is_done = self.is_completed(request);
            match purpose {
                Purpose::Receive { pattern, twin, .. } => {
                    let peer = MessagePeer::from(*pattern);
                    let has_met = is_done || twin.is_some() && self.is_claimed_by_rank(request);
                    match has_met {
                        _ if !peer.is_of_program() => {}
                        true => left.add(Leak::Request, 1),
                        false => left.add(Leak::Receive(peer), 1),
                    }
                }
                Purpose::Send { to, .. } if to.is_of_program() => left.add(Leak::Request, 1),
                Purpose::Collective {
                    entered: Some(entered),
                    ..
                } if !parts.contains(entered) => match is_done {
                    true => left.add(Leak::Request, 1),
                    false => under_way.push(*entered),
                },
                _ => {}
            }
        }
        under_way
    }
}
