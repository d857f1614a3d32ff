//! Leaks of programs, in a job whose ranks have all ended well.
//!
//! No single process knows them all. A rank knows its requests, its objects, and the messages of
//! its node that came before it finalized. Its NIC knows the messages from other nodes. A message
//! that came later lies in a queue of the node: its sender has reported it, and here we find out
//! whether it was taken.

use crate::control::RankFinalReport;
use crate::nic::LocalNics;
use crate::rank_process::RankProcess;
use bcs_core::mapped_code::CodePlace;
use bcs_core::wait_state::{Leak, LeakReport, MessagePeer, Site, WaitState};
use std::collections::BTreeMap;

/// Returns the places of the addresses in a rank's leaks,
/// and in the labels of its communicators.
fn code_of(rank: &RankProcess, last: Option<&WaitState>) -> Vec<(u64, CodePlace)> {
    let places = rank.left.iter().flat_map(|left| &left.places);
    let labels = last.iter().flat_map(|last| &last.labels);
    let made = labels.filter_map(|label| label.site.as_ref());
    let sites = places.map(|(_, site)| site).chain(made);
    let known = sites.filter_map(|site| match *site {
        Site::Address(address) => Some((address, rank.place_of(site)?)),
        Site::Line(_) | Site::Code { .. } => None,
    });
    let by_address: BTreeMap<u64, CodePlace> = known.collect();
    by_address.into_iter().collect()
}

/// The leaks, by rank.
#[derive(Debug)]
pub(crate) struct LeakCollector {
    by_rank: BTreeMap<u32, LeakReport>,
    /// The last wait states of the ranks.
    ended: Vec<RankFinalReport>,
}

impl LeakCollector {
    /// Collects the leaks that are known without the tables of the NICs.
    pub(crate) fn collect(ranks: &[RankProcess], nic: &LocalNics) -> Self {
        let mut by_rank: BTreeMap<u32, LeakReport> = BTreeMap::new();
        for (rank, left) in ranks
            .iter()
            .filter_map(|it| Some((it.rank, it.left.as_ref()?)))
        {
            by_rank.entry(rank).or_default().join(left);
            for sent in &left.untaken_sends {
                let message = MessagePeer {
                    rank: Some(rank),
                    ..sent.message
                };
                if let Some(to) = nic.not_taken(rank, sent) {
                    by_rank
                        .entry(to)
                        .or_default()
                        .add(Leak::Message(message), 1);
                }
            }
        }
        let ended = ranks.iter().map(|rank| {
            let last = nic.wait_state(rank.rank).map(|(_, last)| last);
            RankFinalReport {
                rank: rank.rank,
                node: rank.node,
                left: Vec::new(),
                code: code_of(rank, last.as_ref()),
                last: last.map_or_else(Vec::new, |last| last.encode()),
            }
        });
        Self {
            ended: ended.collect(),
            by_rank,
        }
    }

    /// Adds those of the NICs; returns a report for each rank.
    pub(crate) fn finish(mut self, of_nics: &[(u32, LeakReport)]) -> Vec<RankFinalReport> {
        for (rank, left) in of_nics {
            self.by_rank.entry(*rank).or_default().join(left);
        }
        for end in &mut self.ended {
            let left = self.by_rank.get(&end.rank);
            end.left = left.map_or_else(Vec::new, LeakReport::encode);
        }
        self.ended
    }
}
