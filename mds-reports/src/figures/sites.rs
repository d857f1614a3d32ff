//! The places from which MPI is called.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use mds::dump::{DistributionDump, NONE, RankDump, SiteDump};
use mds::mmds::Primitive;

/// Returns the call sites of all ranks together, those with the most time first, without unused
/// ones.
///
/// A recorder keeps the times of a site in wide buckets. Where it also kept all calls of a rank,
/// their times are put into the buckets of all other distributions, so that percentiles agree.
#[must_use]
pub fn sites(dumps: &[RankDump]) -> Vec<SiteDump> {
    let mut sites: BTreeMap<(&str, Option<Primitive>), (DistributionDump, u64)> = BTreeMap::new();
    for dump in dumps {
        let rows = times_of_rows(dump);
        for (number, site) in dump.sites.iter().enumerate() {
            let all = sites.entry((&site.place, site.primitive)).or_default();
            let kept = rows.get(&(number as u64));
            let kept = kept.filter(|times_ns| times_ns.len() as u64 == site.time_ns.count);
            match kept {
                Some(times_ns) => {
                    let times_ns = times_ns.iter().copied();
                    all.0.merge(&DistributionDump::as_recorded(times_ns));
                }
                None => all.0.merge(&site.time_ns),
            }
            all.1 = all.1.saturating_add(site.bytes);
        }
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

/// Returns the times of the calls that have returned, by their site.
fn times_of_rows(dump: &RankDump) -> BTreeMap<u64, Vec<u64>> {
    let mut times_ns: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for call in dump.calls.iter().filter(|call| call.ended_ns != NONE) {
        let of_site = times_ns.entry(call.site).or_default();
        of_site.push(call.ended_ns.saturating_sub(call.begun_ns));
    }
    times_ns
}

/// Returns whether the recorder kept all calls, so that the times of sites are as exact as all
/// other distributions.
#[must_use]
pub fn sites_are_exact(dumps: &[RankDump]) -> bool {
    dumps.iter().all(|dump| {
        let rows = times_of_rows(dump);
        let mut sites = dump.sites.iter().enumerate();
        sites.all(|(number, site)| {
            let kept = rows.get(&(number as u64)).map_or(0, Vec::len);
            kept as u64 == site.time_ns.count
        })
    })
}
