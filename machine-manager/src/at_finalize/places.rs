//! Where in the program was posted what is left.

use super::Entry;
use bcs_core::mapped_code::CodePlace;
use bcs_core::whereabouts::{Left, Posted, Site, Thing};
use node_manager::control::AtEnd;
use source_lines::{SourceLines, site_of};
use std::collections::{BTreeMap, BTreeSet};

/// Places that are named in a line at most.
const NAMED: usize = 3;

/// The places of all ranks, as they have said them.
pub(super) struct Places<'a> {
    by_rank: BTreeMap<u32, OfRank>,
    source: &'a mut SourceLines,
}

struct OfRank {
    posted: Vec<(Posted, Site)>,
    code: BTreeMap<u64, CodePlace>,
}

impl<'a> Places<'a> {
    pub(super) fn of(ends: &[AtEnd], source: &'a mut SourceLines) -> Self {
        let of_rank = |end: &AtEnd| {
            let left = Left::decode(&end.left).unwrap_or_default();
            let code = end.code.iter().cloned().collect();
            let posted = left.places;
            (end.rank, OfRank { posted, code })
        };
        Self {
            by_rank: ends.iter().map(of_rank).collect(),
            source,
        }
    }

    /// An addition to what is said of these: ", sent at ring.c:20"
    pub(super) fn words(&mut self, entries: &[Entry]) -> String {
        let mut places = BTreeSet::new();
        for entry in entries {
            places.extend(self.places_of(entry));
        }
        let Some(Entry { thing, .. }) = entries.first().filter(|_| !places.is_empty()) else {
            return String::new();
        };
        let how = match thing {
            Thing::Message(_) => "sent",
            _ => "posted",
        };
        let more = match places.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} other places"),
        };
        let named: Vec<String> = places.into_iter().take(NAMED).collect();
        format!(", {how} at {}{more}", named.join(" or "))
    }

    fn places_of(&mut self, entry: &Entry) -> Vec<String> {
        let (who, posted) = match entry.thing {
            Thing::Message(peer) if peer.is_of_program() => {
                let (Some(sender), Some(tag)) = (peer.rank, peer.tag) else {
                    return Vec::new();
                };
                let context = peer.context;
                (sender, Posted::Sent { context, tag })
            }
            Thing::Collective(entered) => {
                let (context, number) = (entered.context, entered.number);
                (entry.rank, Posted::Collective { context, number })
            }
            Thing::Request => (entry.rank, Posted::Request),
            Thing::Receive(peer) => (entry.rank, Posted::Receive(peer)),
            Thing::Message(_) | Thing::Truncated(_) | Thing::Communicator(_) | Thing::Object(_) => {
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
                    place.map_or_else(|| site.clone(), |place| site_of(place.clone()))
                }
                known => known.clone(),
            })
            .collect();
        sites.iter_mut().for_each(|site| self.source.look_up(site));
        sites.iter().map(Site::to_string).collect()
    }
}
