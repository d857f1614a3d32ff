//! Properties of distributions, on figures of every size.

use mds::Distribution;
use mds::dump::{DistributionDump, RankDump, read_dir, write_rank};
use proptest::collection::vec;
use proptest::prelude::*;

fn dump_of(figures: &[u64]) -> DistributionDump {
    let mut distribution = Distribution::new();
    for figure in figures {
        distribution.record(*figure);
    }
    (&distribution).into()
}

/// Figures of all magnitudes, zero and those beyond the largest bucket included.
fn figure() -> impl Strategy<Value = u64> {
    (0..64_u32, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
}

proptest! {
    #[test]
    fn merged_parts_equal_the_whole(parts in vec(vec(figure(), 0..40), 0..6)) {
        let whole = dump_of(&parts.concat());
        let dumps: Vec<_> = parts.iter().map(|part| dump_of(part)).collect();
        prop_assert_eq!(DistributionDump::merged(&dumps), whole.clone());
        prop_assert_eq!(DistributionDump::merged(dumps.iter().rev()), whole);
    }

    #[test]
    fn sums_are_exact_and_buckets_hold_every_figure(figures in vec(0..1_u64 << 50, 1..100)) {
        let dump = dump_of(&figures);
        prop_assert_eq!(dump.count, figures.len() as u64);
        prop_assert_eq!(dump.total, figures.iter().sum::<u64>());
        prop_assert_eq!(Some(dump.min), figures.iter().copied().min());
        prop_assert_eq!(Some(dump.max), figures.iter().copied().max());
        prop_assert_eq!(dump.histogram.iter().map(|bucket| bucket.1).sum::<u64>(), dump.count);
        prop_assert!(dump.histogram.is_sorted_by(|low, high| low.0 < high.0));
    }

    #[test]
    fn a_dump_gives_the_distribution_back(figures in vec(figure(), 0..100)) {
        let dump = RankDump {
            computation_granularity_ns: dump_of(&figures),
            ..RankDump::default()
        };
        let dir = tempfile::tempdir().unwrap();
        write_rank(dir.path(), &dump).unwrap();
        prop_assert_eq!(read_dir(dir.path()).unwrap().require_complete().unwrap().ranks, [dump]);
    }

    #[test]
    fn buckets_recorded_again_are_the_same_buckets(figures in vec(figure(), 0..100)) {
        let dump = dump_of(&figures);
        let mut again = Distribution::new();
        for (figure, count) in &dump.histogram {
            again.record_many(*figure, *count);
        }
        prop_assert_eq!(again.buckets().collect::<Vec<_>>(), dump.histogram);
    }
}
