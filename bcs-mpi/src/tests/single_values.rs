//! Calls for one value.
#![expect(
    clippy::cast_possible_truncation,
    reason = "numbers and ranks are small"
)]

use super::run;
use crate::{ErrorClass, Op, Source, UserOp};

#[test]
fn one_value_is_combined() {
    run(4, 2, |universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        assert_eq!(world.allreduce_one(me, Op::Sum).unwrap(), 6);
        let at_root = (me == 2).then_some(3);
        assert_eq!(world.reduce_one(me, Op::Max, 2).unwrap(), at_root);
        assert_eq!(world.scan_one(me, Op::Sum).unwrap(), me * (me + 1) / 2);
        let below = (me > 0).then(|| me * (me - 1) / 2);
        assert_eq!(world.exscan_one(me, Op::Sum).unwrap(), below);
        let last = UserOp::new(|_: u32, right| right);
        assert_eq!(
            world.allreduce_one(me as u32, &last).unwrap(),
            size as u32 - 1
        );
    });
}

#[test]
fn one_value_is_exchanged() {
    run(4, 2, |universe| {
        let world = universe.world();
        let (me, size) = (world.rank(), world.size());
        let all: Vec<usize> = (0..size).map(|rank| rank * 10).collect();
        assert_eq!(world.bcast_one(me, 3).unwrap(), 3);
        assert_eq!(world.allgather_one(me * 10).unwrap(), all);
        let gathered = world.gather_one(me * 10, 1).unwrap();
        assert_eq!(gathered, (me == 1).then(|| all.clone()));
        let own = if me == 2 { &all[..] } else { &[] };
        assert_eq!(world.scatter_one(own, 2).unwrap(), me * 10);
        let to_each: Vec<usize> = (0..size).map(|to| me * size + to).collect();
        let from_each: Vec<usize> = (0..size).map(|from| from * size + me).collect();
        assert_eq!(world.alltoall_one(&to_each).unwrap(), from_each);
        world.send_one(me, (me + 1) % size, 4).unwrap();
        let (value, status) = world.recv_one::<usize>(Source::Any, 4).unwrap();
        assert_eq!((value, status.source), ((me + size - 1) % size, value));
    });
}

#[test]
fn half_a_value_is_none() {
    run(2, 1, |universe| {
        let world = universe.world();
        if world.rank() == 0 {
            world.send_one(1_u32, 1, 4).unwrap();
            world.send(&[0_u8; 5], 1, 4).unwrap();
            return;
        }
        let error = world.recv_one::<u64>(0, 4).unwrap_err();
        assert_eq!(error.class, ErrorClass::Count);
        assert!(error.to_string().contains("4 bytes of rank 0"), "{error}");
        let (bytes, status) = world.recv_vec::<u8>(0, 4).unwrap();
        assert_eq!((bytes, status.bytes), (vec![0; 5], 5));
    });
}
