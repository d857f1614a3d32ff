//! The places from which MPI is called.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::dump::{DistributionDump, RankDump, SiteDump};
use crate::mmds::Primitive;

/// Returns the call sites of all ranks together, those with the most time first, without unused
/// ones.
#[must_use]
pub fn sites(dumps: &[RankDump]) -> Vec<SiteDump> {
    let mut sites: BTreeMap<(&str, Option<Primitive>), (DistributionDump, u64)> = BTreeMap::new();
    for site in dumps.iter().flat_map(|dump| &dump.sites) {
        let all = sites.entry((&site.place, site.primitive)).or_default();
        all.0.merge(&site.time_ns);
        all.1 = all.1.saturating_add(site.bytes);
    }
    let mut sites: Vec<SiteDump> = sites
        .into_iter()
        .filter(|(_, (time_ns, _))| time_ns.count > 0)
        .map(|((place, primitive), (time_ns, bytes))| SiteDump {
            place: place.to_owned(),
            primitive,
            time_ns,
            bytes,
        })
        .collect();
    sites.sort_by_key(|site| Reverse(site.time_ns.total));
    sites
}
