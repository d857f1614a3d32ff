//! Places in the program where leaks were posted.

use super::entry::LeakEntry;
use bcs_core::mapped_code::CodePlace;
use bcs_core::wait_state::{Leak, LeakReport, PostedOperation, Site};
use node_manager::control::RankFinalReport;
use source_lines::{SourceLines, unresolved_site};
use std::collections::{BTreeMap, BTreeSet};

/// The most places that a line names.
const NAMED: usize = 3;

/// The places of all ranks, as they have reported them.
pub(super) struct LeakPlaces<'a> {
    by_rank: BTreeMap<u32, RankPlaces>,
    source: &'a mut SourceLines,
}

struct RankPlaces {
    posted: Vec<(PostedOperation, Site)>,
    code: BTreeMap<u64, CodePlace>,
}

impl<'a> LeakPlaces<'a> {
    pub(super) fn of(ends: &[RankFinalReport], source: &'a mut SourceLines) -> Self {
        let of_rank = |end: &RankFinalReport| {
            let left = LeakReport::decode(&end.left).unwrap_or_default();
            let code = end.code.iter().cloned().collect();
            let posted = left.places;
            (end.rank, RankPlaces { posted, code })
        };
        Self {
            by_rank: ends.iter().map(of_rank).collect(),
            source,
        }
    }

    /// Returns the addition to a line about these leaks: ", sent at ring.c:20"
    pub(super) fn words(&mut self, entries: &[LeakEntry]) -> String {
        let mut places = BTreeSet::new();
        for entry in entries {
            places.extend(self.places_of(entry));
        }
        let Some(LeakEntry { thing, .. }) = entries.first().filter(|_| !places.is_empty()) else {
            return String::new();
        };
        let how = match thing {
            Leak::Message(_) => "sent",
            Leak::Object(_) => "made",
            _ => "posted",
        };
        let more = match places.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} other places"),
        };
        let named: Vec<String> = places.into_iter().take(NAMED).collect();
        format!(", {how} at {}{more}", named.join(" or "))
    }

    fn places_of(&mut self, entry: &LeakEntry) -> Vec<String> {
        let (who, posted) = match entry.thing {
            Leak::Message(peer) if peer.is_of_program() => {
                let (Some(sender), Some(tag)) = (peer.rank, peer.tag) else {
                    return Vec::new();
                };
                let context = peer.context;
                (sender, PostedOperation::Sent { context, tag })
            }
            Leak::Collective(entered) => {
                let (context, number) = (entered.context, entered.number);
                (entry.rank, PostedOperation::Collective { context, number })
            }
            Leak::Request => (entry.rank, PostedOperation::Request),
            Leak::Receive(peer) => (entry.rank, PostedOperation::Receive(peer)),
            Leak::Object(object) => (entry.rank, PostedOperation::Object(object)),
            Leak::Message(_) | Leak::Truncated(_) | Leak::Communicator(_) => {
                return Vec::new();
            }
        };
        let Some(of_rank) = self.by_rank.get(&who) else {
            return Vec::new();
        };
        let mut sites: Vec<Site> = (of_rank.posted.iter())
            .filter(|(it, _)| *it == posted)
            .map(|(_, site)| match site {
                Site::Address(address) => {
                    let place = of_rank.code.get(address);
                    place.map_or_else(|| site.clone(), |place| unresolved_site(place.clone()))
                }
                known => known.clone(),
            })
            .collect();
        sites.iter_mut().for_each(|site| self.source.look_up(site));
        sites.iter().map(Site::to_string).collect()
    }
}
