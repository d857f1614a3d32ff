//! Thresholds from the profiles of machines that differ as much as real ones do.

use super::*;

/// Some machines: a description of each, and its profile.
const MACHINES: [(&str, Profile); 9] = [
    ("a server of one's own", machine(200, 1_200, 5_000, 1_500)),
    (
        "a guest whose idle cores halt",
        machine(680, 2_400, 58_000, 3_500),
    ),
    (
        "a guest of a busy host",
        machine(900, 4_000, 120_000, 6_000),
    ),
    (
        "mitigations for everything",
        machine(2_000, 7_000, 9_000, 6_000),
    ),
    ("a fast desktop", machine(150, 700, 1_000, 600)),
    (
        "a laptop at its lowest clock",
        machine(1_400, 6_000, 60_000, 8_000),
    ),
    ("one core", machine(300, 1_500, 2_000, 2_000)),
    ("two threads of one core", machine(450, 1_800, 3_000, 2_500)),
    ("128 cores", machine(350, 2_200, 15_000, 2_500)),
];

const fn machine(yield_ns: u32, shared_yield_ns: u32, wake_ns: u32, switch_ns: u32) -> Profile {
    Profile {
        yield_ns,
        shared_yield_ns,
        wake_ns,
        switch_ns,
    }
}

#[test]
fn a_yield_alone_is_never_taken_for_a_shared_one_nor_the_other_way_round() {
    for (what, profile) in MACHINES {
        let from = profile.thresholds().shared_from_ns;
        assert!(
            u64::from(profile.yield_ns) * 13 / 10 < from,
            "{what}: {from}"
        );
        assert!(
            from * 13 / 10 < u64::from(profile.shared_yield_ns),
            "{what}: {from}"
        );
    }
}

#[test]
fn who_shares_a_core_with_some_that_wait_is_not_taken_for_one_beside_somebody_who_computes() {
    for (what, profile) in MACHINES {
        let from = profile.thresholds().late_from_ns;
        assert!(
            from > 8 * u64::from(profile.shared_yield_ns),
            "{what}: {from}"
        );
        assert!(from <= SHORTEST_COMPUTING_NS, "{what}: {from}");
    }
}

#[test]
fn who_spins_loses_no_more_than_some_wakes_and_never_more_than_two_slices() {
    for (what, profile) in MACHINES {
        let wake = u64::from(profile.wake_ns);
        assert_eq!(
            profile.thresholds().ns(RelativeTime::Wakes(4)),
            4 * wake,
            "{what}"
        );
        assert!(
            profile.thresholds().ns(RelativeTime::Wakes(200)) <= 1_000_000,
            "{what}"
        );
        assert!(
            profile.thresholds().ns(RelativeTime::Wakes(200)) >= (20 * wake).min(1_000_000),
            "{what}"
        );
    }
}

#[test]
fn a_profile_that_cannot_be_true_is_brought_into_bounds() {
    let nothing = machine(0, 0, 0, 0).within_bounds();
    let endless = machine(u32::MAX, u32::MAX, u32::MAX, u32::MAX).within_bounds();
    assert_eq!([nothing, endless], Profile::BOUNDS);
    for profile in [nothing, endless] {
        let thresholds = profile.thresholds();
        assert!(thresholds.shared_from_ns > u64::from(profile.yield_ns));
        assert!(thresholds.late_from_ns >= 175_000);
        assert!(thresholds.ns(RelativeTime::Wakes(u32::MAX)) <= 1_000_000);
    }
    for (what, profile) in MACHINES {
        assert_eq!(profile.within_bounds(), profile, "{what}");
    }
    assert_eq!(Profile::UNKNOWN.within_bounds(), Profile::UNKNOWN);
}

/// If a yield was measured beside another thread (its core was never free), not all yields count as
/// unshared.
#[test]
fn a_shared_yield_that_was_not_shared_still_tells_the_two_apart() {
    let odd = machine(500, 500, 5_000, 1_000);
    assert_eq!(odd.thresholds().shared_from_ns, 707);
}
