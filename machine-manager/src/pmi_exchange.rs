//! PMI between node managers: what the ranks of all nodes have put is merged, and sent to all. A
//! state machine without sockets.
//!
//! A node manager sends one message for each barrier. The number of its connections and messages
//! grows with the nodes, not with the ranks.

use node_manager::control::{PmiAnswer, PmiRequest};
use node_manager::limits::PMI_NAMES;
use std::collections::BTreeMap;

/// A barrier that some ranks of its group have not entered.
#[derive(Debug, Default)]
struct OpenBarrier {
    entered: usize,
    pairs: Vec<(String, String)>,
}

/// The receivers of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PmiDelivery {
    /// All node managers.
    All(PmiAnswer),
    /// The node manager that has asked.
    Asker(PmiAnswer),
}

/// Open barriers, and names that ranks have published.
#[derive(Debug, Default)]
pub struct PmiExchange {
    /// By group. Each rank is in one barrier at a time, so there are at most as many as ranks.
    barriers: BTreeMap<String, OpenBarrier>,
    names: BTreeMap<String, String>,
}

impl PmiExchange {
    /// Handles a request of a node manager, and returns what to send.
    pub fn handle(&mut self, request: PmiRequest) -> Option<PmiDelivery> {
        let named = |rank, port: Result<String, &str>| {
            let port = port.map_err(str::to_owned);
            Some(PmiDelivery::Asker(PmiAnswer::Name { rank, port }))
        };
        match request {
            PmiRequest::Barrier {
                group,
                members,
                entered,
                pairs,
            } => self.enter(group, members, entered, pairs),
            PmiRequest::Publish {
                rank,
                service,
                port,
            } => {
                let is_known = self.names.contains_key(&service);
                let result = match (is_known, self.names.len() < PMI_NAMES) {
                    (true, _) => Err("the_name_is_published_already"),
                    (false, false) => Err("too_many_names_are_published"),
                    (false, true) => {
                        self.names.insert(service, port.clone());
                        Ok(port)
                    }
                };
                named(rank, result)
            }
            PmiRequest::Lookup { rank, service } => {
                named(rank, self.names.get(&service).cloned().ok_or(UNKNOWN))
            }
            PmiRequest::Unpublish { rank, service } => {
                named(rank, self.names.remove(&service).ok_or(UNKNOWN))
            }
        }
    }

    fn enter(
        &mut self,
        group: String,
        members: usize,
        entered: usize,
        pairs: Vec<(String, String)>,
    ) -> Option<PmiDelivery> {
        let barrier = self.barriers.entry(group.clone()).or_default();
        barrier.entered += entered;
        barrier.pairs.extend(pairs);
        if barrier.entered < members {
            return None;
        }
        let pairs = self.barriers.remove(&group)?.pairs;
        Some(PmiDelivery::All(PmiAnswer::Released { group, pairs }))
    }
}

/// Why a name is not found.
const UNKNOWN: &str = "no_such_name";

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str) -> (String, String) {
        (key.to_owned(), "v".to_owned())
    }

    fn enter(group: &str, members: usize, entered: usize, key: &str) -> PmiRequest {
        PmiRequest::Barrier {
            group: group.to_owned(),
            members,
            entered,
            pairs: vec![pair(key)],
        }
    }

    #[test]
    fn a_barrier_is_over_when_all_ranks_are_in_and_brings_all_pairs() {
        let mut exchange = PmiExchange::default();
        for round in 0..2 {
            assert_eq!(exchange.handle(enter("", 6, 4, "a")), None, "{round}");
            assert_eq!(exchange.handle(enter("1,5", 2, 1, "c")), None);
            let released = exchange.handle(enter("", 6, 2, "b"));
            let expected = PmiAnswer::Released {
                group: String::new(),
                pairs: vec![pair("a"), pair("b")],
            };
            assert_eq!(released, Some(PmiDelivery::All(expected)));
            assert!(exchange.handle(enter("1,5", 2, 1, "d")).is_some());
        }
        assert!(exchange.barriers.is_empty());
    }

    #[test]
    fn names_are_known_to_all_ranks_until_they_are_withdrawn() {
        let mut exchange = PmiExchange::default();
        let service = || "n".to_owned();
        let publish = || PmiRequest::Publish {
            rank: 1,
            service: service(),
            port: "p".to_owned(),
        };
        let lookup = || PmiRequest::Lookup {
            rank: 2,
            service: service(),
        };
        let unpublish = || PmiRequest::Unpublish {
            rank: 3,
            service: service(),
        };
        let mut is_found = |request| match exchange.handle(request) {
            Some(PmiDelivery::Asker(PmiAnswer::Name { port, .. })) => port.is_ok(),
            other => panic!("{other:?}"),
        };
        assert!(!is_found(lookup()));
        assert!(is_found(publish()) && !is_found(publish()) && is_found(lookup()));
        assert!(is_found(unpublish()) && !is_found(unpublish()) && !is_found(lookup()));
        let many = (0..=PMI_NAMES).filter(|number| {
            is_found(PmiRequest::Publish {
                rank: 0,
                service: number.to_string(),
                port: String::new(),
            })
        });
        assert_eq!(many.count(), PMI_NAMES);
    }
}
