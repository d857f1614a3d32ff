//! Barrier, broadcast, reductions.

use super::{Machine, run};
use crate::Op;
use bcs_core::job::{IntranodeTransport, Settings};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for intranode in [IntranodeTransport::Smartmap, IntranodeTransport::Nic] {
        let come = AtomicUsize::new(0);
        let settings = Settings {
            intranode,
            ..Settings::default()
        };
        Machine::new(5, 2, settings).run(|universe| {
            for round in 1..=20 {
                come.fetch_add(1, Ordering::SeqCst);
                universe.world().barrier().unwrap();
                assert!(come.load(Ordering::SeqCst) >= round * 5);
            }
        });
    }
}

#[test]
fn everybody_gets_what_the_root_has() {
    run(3, 2, |universe| {
        let world = universe.world();
        for root in 0..3 {
            for len in [0, 1, 8, 9, 10_000] {
                let mut data: Vec<u64> = if world.rank() == root {
                    (0..len).map(|value| value * 3 + root as u64).collect()
                } else {
                    vec![0; usize::try_from(len).unwrap()]
                };
                world.bcast(&mut data, root).unwrap();
                assert!(
                    data.into_iter()
                        .eq((0..len).map(|value| value * 3 + root as u64))
                );
            }
        }
    });
}

#[test]
fn reductions_to_one_and_to_all() {
    run(4, 2, |universe| {
        let world = universe.world();
        let me = world.rank() as i64;
        for len in [0, 1, 8, 9, 3_000] {
            let data: Vec<i64> = (0..len).map(|value| value + me).collect();
            let sums = || (0..len).map(|value| value * 4 + 6);
            let mut result = vec![0; data.len()];
            world.allreduce(&data, &mut result, Op::Sum).unwrap();
            assert!(result.into_iter().eq(sums()));
            let mut in_place = data.clone();
            world.allreduce_in_place(&mut in_place, Op::Max).unwrap();
            assert!(in_place.into_iter().eq((0..len).map(|value| value + 3)));
            for root in 0..4 {
                let wanted = if world.rank() == root { data.len() } else { 0 };
                let mut result = vec![-1; wanted];
                world.reduce(&data, &mut result, Op::Sum, root).unwrap();
                assert!(result.into_iter().eq(sums().take(wanted)));
            }
        }
    });
}

/// Law 8: many collectives at once, and one rank far ahead of the others. No last arrival may go
/// unnoticed.
#[test]
fn collectives_that_do_not_block_proceed_side_by_side() {
    run(3, 1, |universe| {
        let world = universe.world();
        let count = if world.rank() == 0 { 700 } else { 1 };
        for _ in 0..700 / count {
            let mut requests: Vec<_> = (0..count)
                .map(|_| world.untyped().ibarrier().unwrap())
                .collect();
            for result in crate::mpi::request::waitall(&mut requests) {
                result.unwrap();
            }
        }
    });
}
