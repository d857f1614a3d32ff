//! Ranks that post valid descriptors in a wrong order get errors; their NIC goes on, and so do the
//! others.
//!
//! `BCS_DISORDER_SEEDS` sets the number of seeds (200).

#[path = "../../fixtures/src/bin/rubbish/disorder.rs"]
mod disorder;

use bcs_core::descriptor::CollectiveKind;
use bcs_core::request::RequestFailure;
use bcs_nic::bounds::Bounds;
use bcs_nic::simulator::workbench::Workbench;
use disorder::{DisorderGenerator, Entry};

/// Ranks 0 and 3, each on a node with an honest rank beside it, post in disorder.
const HOSTILE: [u32; 2] = [0, 3];
/// The context of the honest ranks.
const HONEST: u32 = 20;

fn seeds() -> u64 {
    let asked = std::env::var("BCS_DISORDER_SEEDS").ok();
    asked.and_then(|seeds| seeds.parse().ok()).unwrap_or(200)
}

#[test]
fn descriptors_in_disorder_are_errors_of_their_rank_and_the_others_go_on() {
    let small = Bounds {
        outgoing: 4,
        descriptors: 3,
        completions: 2,
        credits: 1,
        contexts: 24,
        ..Bounds::default()
    };
    for seed in 0..seeds() {
        let bounds = if seed % 2 == 0 {
            small
        } else {
            Bounds::default()
        };
        let mut bench = Workbench::new(4, 2, bounds);
        let opened = [1, 2].map(|rank| (rank, bench.open(rank, HONEST, &[2, 1])));
        bench.settle();
        for (rank, request) in opened {
            assert_eq!(
                bench.expect_completion(rank, request).failure,
                RequestFailure::None
            );
        }
        let mut hostile = HOSTILE.map(|rank| (rank, DisorderGenerator::new(seed, rank, 4, 4096)));
        for round in 0..40 {
            for (rank, disorder) in &mut hostile {
                for _ in 0..=(seed + round) % 6 {
                    match disorder.entry() {
                        Entry::Send(words) => bench.push_send(*rank, &words),
                        Entry::Receive(words) => bench.push_receive(*rank, &words),
                        Entry::Collective(words) => bench.push_collective(*rank, &words),
                    }
                }
            }
            let barrier = [1, 2].map(|rank| {
                let request = bench.call(rank, HONEST, round, CollectiveKind::Barrier);
                (rank, request)
            });
            let tag = i32::try_from(round).expect("few rounds");
            let received = bench.receive(1, Some(2), Some(tag));
            let sent = bench.send(2, 1, tag, true);
            let is_over = |bench: &Workbench| {
                let [first, second] = barrier;
                let all = [first, second, (1, received), (2, sent)];
                let mut all = all.iter();
                all.all(|&(rank, request)| bench.completion(rank, request).is_some())
            };
            bench.run(is_over);
            for (rank, request) in barrier.into_iter().chain([(1, received), (2, sent)]) {
                let failure = bench.expect_completion(rank, request).failure;
                assert_eq!(failure, RequestFailure::None, "seed {seed}, round {round}");
            }
        }
        assert_eq!(bench.failures(), [], "seed {seed}");
    }
}
