//! The registry of acceptance checks.

mod abi_mpich;
mod abi_race;
mod beat_cost;
mod beat_peers;
mod blocked_cpu;
mod bugs_initiative;
mod c_speed;
mod c_threads;
mod check;
mod checked_cost;
mod clients;
mod comments;
mod compute_only_cpu;
mod constants;
mod crates;
mod documents;
mod elastic_pingpong;
mod first_touch;
mod fixed_gaps;
mod fixed_time;
mod flood;
mod fortran_mpich;
mod hello_startup;
mod innocents;
mod launch_tree;
mod layers;
mod manual;
mod mds_barrier;
mod mds_overhead;
mod mds_scale;
mod mini_apps;
mod mpich_abi_cost;
mod names;
mod node_scale;
mod one_sided;
mod oracle;
mod packages;
mod page;
mod pieces;
mod portable;
mod readme;
mod reduce_bits;
mod sage_grind;
mod sage_peer;
mod sage_vtu;
mod sandbox;
mod scope_rate;
mod simulator;
mod simulator_mpi;
mod simulator_udp;
mod slice_cpu;
mod smartmap;
mod smartmap_fresh;
mod smartmap_hierarchical;
mod smartmap_oversubscribed;
mod smartmap_roads;
mod soak;
mod soft_float;
mod sweep3d_beat;
mod sweep3d_identity;
mod sweep3d_oversubscribed;
mod sweep3d_peer;
mod sweep3d_published;
mod threads_beside;
mod tune;
mod udp_apps;
mod udp_copies;
mod udp_faults;
mod udp_mixed;
mod udp_peers;
mod udp_strangers;
mod udp_strobes;
mod writers;

pub use self::check::Check;

/// All checks, in the order of the list.
pub const ALL: &[Check] = &[
    sweep3d_published::CHECK,
    sweep3d_identity::CHECK,
    simulator::CHECK,
    simulator_mpi::CHECK,
    simulator_udp::CHECK,
    fixed_time::SEND,
    fixed_time::PINGPONG,
    fixed_gaps::IDLE,
    fixed_gaps::BUSY,
    mds_barrier::CHECK,
    mds_overhead::CHECK,
    mds_scale::CHECK,
    elastic_pingpong::EAGER,
    elastic_pingpong::RENDEZVOUS,
    compute_only_cpu::CHECK,
    beat_cost::CHECK,
    slice_cpu::CHECK,
    blocked_cpu::CHECK,
    beat_peers::CHECK,
    beat_peers::RATE,
    beat_peers::OVERSUBSCRIBED,
    reduce_bits::CHECK,
    sweep3d_beat::CHECK,
    sweep3d_beat::TWO_JOBS,
    sweep3d_oversubscribed::CHECK,
    hello_startup::OF_2,
    hello_startup::OF_64,
    launch_tree::CHECK,
    flood::CHECK,
    fortran_mpich::CHECK,
    oracle::COLLECTIVES,
    oracle::MESSAGES,
    packages::CHECK,
    writers::CHECK,
    soft_float::CHECK,
    smartmap::LATENCY,
    smartmap::LARGE,
    smartmap::RATE,
    smartmap::COLLECTIVES,
    smartmap_fresh::CHECK,
    smartmap_oversubscribed::CHECK,
    scope_rate::CHECK,
    clients::CHECK,
    c_speed::CHECK,
    c_threads::CHECK,
    smartmap::LATENCY_IN_C,
    smartmap::LARGE_IN_C,
    smartmap::RATE_IN_C,
    smartmap::COLLECTIVES_IN_C,
    smartmap_oversubscribed::IN_C,
    smartmap_hierarchical::CHECK,
    smartmap_roads::CHECK,
    node_scale::CHECK,
    first_touch::CHECK,
    sage_grind::CHECK,
    sage_peer::CHECK,
    sage_vtu::CHECK,
    sandbox::CHECK,
    pieces::CHECK,
    innocents::CHECK,
    bugs_initiative::CHECK,
    soak::CHECK,
    checked_cost::CHECK,
    one_sided::NODE,
    one_sided::NODES,
    one_sided::COUNTER,
    one_sided::COMPUTING,
    threads_beside::CHECK,
    threads_beside::OPERATION,
    tune::CHECK,
    udp_strangers::CHECK,
    udp_faults::CHECK,
    udp_mixed::CHECK,
    udp_strobes::CHECK,
    udp_copies::CHECK,
    udp_peers::LATENCY,
    udp_peers::RATE,
    udp_peers::BANDWIDTH,
    udp_peers::BANDWIDTH_OF_JUMBO_FRAMES,
    udp_apps::SWEEP3D,
    udp_apps::SAGE,
    sweep3d_peer::CHECK,
    abi_mpich::CHECK,
    mini_apps::CHECK,
    mpich_abi_cost::CHECK,
    page::CHECK,
    documents::CHECK,
    readme::CHECK,
    layers::CHECK,
    names::CHECK,
    comments::CHECK,
    portable::CHECK,
    constants::CHECK,
    crates::CHECK,
    manual::CHECK,
];

/// Lists all checks, one line for each: its name, whether it measures time, and its property.
#[must_use]
pub fn listing() -> String {
    let width = ALL
        .iter()
        .map(|check| check.name.len())
        .max()
        .unwrap_or_default();
    let line = |check: &Check| {
        let kind = match (check.about_time, check.quick) {
            (true, _) => "time ",
            (false, true) => "quick",
            (false, false) => "long ",
        };
        format!("{:width$}  {kind}  {}\n", check.name, check.about)
    };
    ALL.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_a_name_of_its_own_and_one_line_about_it() {
        let listing = listing();
        assert_eq!(listing.lines().count(), ALL.len());
        for (index, check) in ALL.iter().enumerate() {
            assert!(
                ALL[..index].iter().all(|other| other.name != check.name),
                "{}",
                check.name
            );
            assert!(
                !check.about.is_empty() && !check.about.contains('\n'),
                "{}",
                check.name
            );
        }
    }
}
