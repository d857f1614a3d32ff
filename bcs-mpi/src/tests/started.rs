//! Operations that the safe layer starts and waits for later: reductions in a scope, barriers, and
//! persistent messages and collectives that own their memory.

use super::run;
use crate::{Blocks, Communicator, ErrorClass, Op, Source, Tag, UserOp};

/// Returns the sum of `of` over all ranks.
fn total(ranks: usize, of: impl Fn(usize) -> u64) -> u64 {
    (0..ranks).map(of).sum()
}

#[test]
fn reductions_are_under_way_in_a_scope() {
    run(3, 2, |universe| {
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        let value = |rank: usize, at: u64| rank as u64 * 1_000 + at;
        let data: Vec<u64> = (0..900).map(|at| value(me, at)).collect();
        let (mut told, mut sums, mut all) = (vec![0; 900], vec![0; 900], vec![0; 900]);
        let (mut own, mut at_root) = (data.clone(), data.clone());
        if me == 1 {
            told.copy_from_slice(&data);
        }
        let op = UserOp::new(|left: u64, right: u64| left + right);
        crate::scope(|scope| {
            world.ibcast(scope, &mut told, 1)?;
            world.ireduce(scope, &data, &mut sums, Op::Sum, 2)?;
            let everybodys = world.iallreduce(scope, &data, &mut all, &op)?;
            world.iallreduce_in_place(scope, &mut own, Op::Sum)?;
            world.ireduce_in_place(scope, &mut at_root, Op::Sum, 0)?;
            let found = everybodys.wait()?;
            assert_eq!(found[899], total(ranks, |rank| value(rank, 899)));
            Ok(())
        })
        .unwrap();
        let summed = |at| total(ranks, |rank| value(rank, at));
        let right = |data: &[u64], of: &dyn Fn(u64) -> u64| {
            data.iter().zip(0..).all(|(&found, at)| found == of(at))
        };
        assert!(right(&told, &|at| value(1, at)));
        assert!(right(&sums, &|at| if me == 2 { summed(at) } else { 0 }));
        assert!(right(&all, &summed) && right(&own, &summed));
        assert!(right(&at_root, &|at| if me == 0 {
            summed(at)
        } else {
            value(me, at)
        }));
        let mut blocking = data;
        world.reduce_in_place(&mut blocking, Op::Sum, 1).unwrap();
        assert!(right(&blocking, &|at| if me == 1 {
            summed(at)
        } else {
            value(me, at)
        }));
    });
}

#[test]
fn a_barrier_ends_when_all_have_started_it() {
    run(3, 2, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            let mut barrier = world.ibarrier().unwrap();
            assert!(!barrier.test().unwrap());
            // The others wait for this message before they start theirs.
            for rank in 1..world.size() {
                world.send(&[1u8], rank, 0).unwrap();
            }
            barrier.wait().unwrap();
        } else {
            let mut byte = [0u8];
            world.recv(&mut byte, Source::Rank(0), Tag::Is(0)).unwrap();
            world.ibarrier().unwrap().wait().unwrap();
        }
        drop(world.ibarrier().unwrap());
        let mut again = world.barrier_init().unwrap();
        for _ in 0..3 {
            again.start().unwrap().wait().unwrap();
        }
    });
}

/// Starts every persistent collective once, in round after round.
fn every_persistent_collective(world: &Communicator) {
    let (me, ranks) = (world.rank(), world.size());
    let op = UserOp::new(|left: usize, right: usize| left.max(right));
    let counts: Vec<usize> = (0..ranks).map(|rank| rank + 1).collect();
    let displacements: Vec<usize> = (0..ranks).map(|rank| rank * (rank + 1) / 2).collect();
    let blocks = Blocks {
        counts: &counts,
        displacements: &displacements,
    };
    let all: usize = counts.iter().sum();
    // Each rank gets as many as this one.
    let mine: Vec<usize> = vec![me + 1; ranks];
    let places: Vec<usize> = (0..ranks).map(|rank| rank * (me + 1)).collect();
    let into = Blocks {
        counts: &mine,
        displacements: &places,
    };
    let room = |len: usize| vec![usize::MAX; len];
    let mut scatter = world.scatter_init(room(2 * ranks), room(2), 0).unwrap();
    let mut scatterv = world
        .scatterv_init(room(all), room(me + 1), blocks, 1)
        .unwrap();
    let mut gather = world.gather_init(room(2), room(2 * ranks), 0).unwrap();
    let mut gatherv = world
        .gatherv_init(room(me + 1), room(all), blocks, 2)
        .unwrap();
    let mut allgatherv = world
        .allgatherv_init(room(me + 1), room(all), blocks)
        .unwrap();
    let alltoallv = world.alltoallv_init(room(all), room(ranks * (me + 1)), blocks, into);
    let mut alltoallv = alltoallv.unwrap();
    let block = world.reduce_scatter_block_init(room(2 * ranks), room(2), Op::Sum);
    let mut block = block.unwrap();
    let parts = world.reduce_scatter_init(room(all), room(me + 1), &counts, Op::Sum);
    let mut parts = parts.unwrap();
    let mut root = world.reduce_init(room(3), room(3), &op, 1).unwrap();
    let mut scan = world.scan_init(room(3), room(3), &op).unwrap();
    let mut exscan = world.exscan_init(room(3), room(3), Op::Sum).unwrap();
    for round in 0..4 {
        let fill = |data: &mut [usize]| {
            let numbers = data.iter_mut().enumerate();
            numbers.for_each(|(at, number)| *number = 100 * me + at + round);
        };
        let from = |rank: usize, at: usize| 100 * rank + at + round;
        let lists = [
            &mut scatter,
            &mut scatterv,
            &mut gather,
            &mut gatherv,
            &mut allgatherv,
            &mut alltoallv,
            &mut block,
            &mut parts,
            &mut root,
            &mut scan,
            &mut exscan,
        ];
        let started: Vec<_> = lists
            .into_iter()
            .map(|collective| {
                fill(collective.input());
                collective.start().unwrap()
            })
            .collect();
        started
            .into_iter()
            .for_each(|started| started.wait().unwrap());
        let first = displacements[me];
        assert_eq!(scatter.output(), [from(0, 2 * me), from(0, 2 * me + 1)]);
        assert_eq!(scatterv.output()[me], from(1, first + me));
        let gathered = |root: usize, found: &[usize], at: usize, rank: usize, index: usize| {
            root != me || found[at] == from(rank, index)
        };
        assert!(gathered(0, gather.output(), 5, 2, 1));
        assert!(gathered(2, gatherv.output(), displacements[2] + 2, 2, 2));
        assert_eq!(allgatherv.output()[displacements[1] + 1], from(1, 1));
        for (rank, place) in places.iter().enumerate() {
            assert_eq!(alltoallv.output()[place + me], from(rank, first + me));
        }
        let sum = |at: usize| (0..ranks).map(|rank| from(rank, at)).sum::<usize>();
        assert_eq!(block.output(), [sum(2 * me), sum(2 * me + 1)]);
        assert_eq!(parts.output()[me], sum(first + me));
        assert!(me != 1 || root.output()[2] == from(ranks - 1, 2));
        assert_eq!(scan.output()[2], from(me, 2));
        let below = (0..me).map(|rank| from(rank, 1)).sum::<usize>();
        assert_eq!(exscan.output()[1], if me == 0 { usize::MAX } else { below });
    }
}

#[test]
fn every_collective_can_be_started_again() {
    run(3, 2, |universe| {
        every_persistent_collective(universe.world())
    });
}

#[test]
fn neighbours_of_different_counts_are_started_again() {
    run(3, 2, |universe| {
        let world = universe.world();
        let ring = world.cart_create(&[3], &[true]).unwrap().unwrap();
        let (me, below, above) = (ring.rank(), (ring.rank() + 2) % 3, (ring.rank() + 1) % 3);
        // One number goes up, two go down.
        let [out, into] = [([2, 1], [0, 2]), ([1, 2], [2, 0])];
        fn blocks<'a>(of: &'a ([usize; 2], [usize; 2])) -> Blocks<'a> {
            Blocks {
                counts: &of.0,
                displacements: &of.1,
            }
        }
        let both =
            ring.neighbor_alltoallv_init(vec![0; 3], vec![0; 3], blocks(&out), blocks(&into));
        let mut both = both.unwrap();
        let same = ([1, 1], [1, 0]);
        let same = ring.neighbor_allgatherv_init(vec![0; 1], vec![0; 2], blocks(&same));
        let mut same = same.unwrap();
        for round in 0..3 {
            both.input()
                .copy_from_slice(&[me, me + 10, me + 20 + round]);
            same.input().fill(me + round);
            let (one, two) = (both.start().unwrap(), same.start().unwrap());
            two.wait().unwrap();
            one.wait().unwrap();
            assert_eq!(both.output(), [above, above + 10, below + 20 + round]);
            assert_eq!(same.output(), [above + round, below + round]);
        }
    });
}

#[test]
fn persistent_messages_own_their_data() {
    run(2, 2, |universe| {
        let world = universe.world();
        let (me, peer) = (world.rank(), 1 - world.rank());
        universe.attach_buffer(100_000).unwrap();
        for len in [1, 700, 40_000] {
            let room = || vec![usize::MAX; len];
            let mut sends = vec![
                world.send_init(room(), peer, 0).unwrap(),
                world.ssend_init(room(), peer, 1).unwrap(),
                world.rsend_init(room(), peer, 2).unwrap(),
            ];
            if len < 1_000 {
                sends.push(world.bsend_init(room(), peer, 3).unwrap());
            }
            let receive = |tag| world.recv_init(room(), Source::Rank(peer), Tag::Is(tag));
            let mut receives: Vec<_> = (0..)
                .take(sends.len())
                .map(|tag| receive(tag).unwrap())
                .collect();
            for round in 0..3 {
                let coming: Vec<_> = receives
                    .iter_mut()
                    .map(|into| into.start().unwrap())
                    .collect();
                world.barrier().unwrap(); // A ready send finds its receive.
                for send in &mut sends {
                    send.data().fill(me + 10 * round);
                }
                let going: Vec<_> = sends.iter_mut().map(|send| send.start().unwrap()).collect();
                for (mut coming, nth) in coming.into_iter().zip(0..) {
                    if nth == 1 {
                        // A result that a test has found is not lost.
                        while !coming.test().unwrap() {}
                    }
                    let status = coming.wait().unwrap();
                    assert_eq!((status.source, status.tag), (peer, nth));
                    assert_eq!(status.count::<usize>(), Some(len));
                }
                going.into_iter().for_each(|going| going.wait().unwrap());
                for into in &mut receives {
                    assert!(into.data().iter().all(|&found| found == peer + 10 * round));
                }
            }
        }
        universe.detach_buffer().unwrap();
    });
}

#[test]
fn a_persistent_message_that_nobody_waits_for_does_no_harm() {
    run(2, 1, |universe| {
        let world = universe.world();
        let (me, peer) = (world.rank(), 1 - world.rank());
        let mut out = world.send_init(vec![me; 20_000], peer, 0).unwrap();
        let mut into = world
            .recv_init(vec![9; 20_000], Source::Rank(peer), Tag::Is(0))
            .unwrap();
        let coming = into.start().unwrap();
        std::mem::forget(out.start().unwrap());
        std::mem::forget(coming);
        // The next access waits.
        assert!(into.data().iter().all(|&found| found == peer));
        out.data()[0] = 7;
        // A dropped receive is cancelled: the message goes to the receive after it.
        drop(into.start().unwrap());
        world.barrier().unwrap(); // An earlier message would rightly go to the dropped receive.
        let mut last = [0];
        world
            .sendrecv(
                (&[me + 5], peer, 0),
                (&mut last, Source::Rank(peer), Tag::Is(0)),
            )
            .unwrap();
        assert_eq!(last, [peer + 5]);
        std::mem::forget(into.start().unwrap());
        drop(into);
        let error = world.send_init(vec![0u8; 1], 2, 0).unwrap_err();
        assert_eq!(error.class, ErrorClass::Rank);
    });
}
