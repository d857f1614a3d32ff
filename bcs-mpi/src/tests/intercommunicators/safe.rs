//! Two groups in the safe layer.

use super::super::run;
use crate::{Communicator, ErrorClass, Intercommunicator, Op, Root, Source, Tag, UserOp};

/// Returns an intercommunicator of the even and the odd ranks.
fn halves(world: &Communicator) -> Intercommunicator {
    let side = world.rank() % 2;
    let color = u32::try_from(side).unwrap();
    let local = world.split(Some(color), 0).unwrap().unwrap();
    let remote = (local.rank() == 0).then_some((world, 1 - side));
    local.intercomm_create(0, remote, 2).unwrap()
}

#[test]
fn groups_exchange_slices() {
    run(5, 2, |universe| {
        let world = universe.world();
        let pair = halves(world);
        let (side, me) = (world.rank() % 2, pair.rank());
        let (here, there) = if side == 0 { (3, 2) } else { (2, 3) };
        assert_eq!((pair.size(), pair.remote_size()), (here, there));
        assert_eq!(pair.remote_group().unwrap().size() + pair.group().size(), 5);
        let theirs: Vec<usize> = (0..5).filter(|rank| rank % 2 != side).collect();
        let own = [world.rank()];

        let mut all = vec![9; there];
        pair.allgather(&own, &mut all).unwrap();
        assert_eq!(all, theirs);
        let blocks: Vec<usize> = (0..there).map(|to| 10 * world.rank() + to).collect();
        pair.alltoall(&blocks, &mut all).unwrap();
        let expected: Vec<usize> = theirs.iter().map(|from| 10 * from + me).collect();
        assert_eq!(all, expected);
        let mut sum = [0];
        pair.allreduce(&own, &mut sum, Op::Sum).unwrap();
        assert_eq!(sum[0], theirs.iter().sum::<usize>());
        let digits = UserOp::new(|left: usize, right: usize| 10 * left + right);
        pair.allreduce(&own, &mut sum, &digits).unwrap();
        assert_eq!(
            sum[0],
            theirs.iter().fold(0, |left, right| 10 * left + right)
        );

        // The root is rank 1 of the even ranks, which is 2 in the world.
        let root = match (side, me) {
            (0, 1) => Root::Here,
            (0, _) => Root::Beside,
            _ => Root::Remote(1),
        };
        let mut data = [own[0], 7];
        pair.bcast(&mut data, root).unwrap();
        assert_eq!(data, [if side == 1 { 2 } else { own[0] }, 7]);
        let mut part = [9];
        let blocks: &[usize] = if root == Root::Here { &[70, 71] } else { &[] };
        pair.scatter(blocks, &mut part, root).unwrap();
        assert_eq!(part, [if side == 1 { 70 + me } else { 9 }]);
        let mut all = if root == Root::Here {
            vec![0; 2]
        } else {
            vec![]
        };
        pair.gather(&own, &mut all, root).unwrap();
        assert!(all.is_empty() || all == [1, 3]);
        let mut sum = [9];
        pair.reduce(&own, &mut sum, Op::Sum, root).unwrap();
        assert_eq!(sum, [if root == Root::Here { 4 } else { 9 }]);

        let merged = pair.merge(side == 0).unwrap();
        assert_eq!(merged.rank(), merged_rank(world.rank()));
        pair.barrier().unwrap();
        // Three elements are no whole number for each of two ranks. The other group is notified.
        let mut all = vec![0; there];
        let error = pair.alltoall(&[0usize; 3], &mut all).unwrap_err();
        assert_eq!(error.class, ErrorClass::Count);
        let is_told = error.reason.contains("called MPI_Alltoall with");
        assert_eq!(is_told, there == 3, "{error}");
        pair.dup().unwrap().barrier().unwrap();
    });
}

/// Returns a rank in the merged communicator, where the odd ranks come first.
fn merged_rank(world: usize) -> usize {
    if world % 2 == 1 {
        world / 2
    } else {
        2 + world / 2
    }
}

#[test]
fn ranks_of_two_groups_send_and_receive() {
    run(4, 2, |universe| {
        let world = universe.world();
        let pair = halves(world);
        let me = pair.rank();
        let (out, mut into) = ([world.rank()], [9]);
        let tag = Tag::Is(3);
        let received = pair
            .sendrecv((&out, 1 - me, 3), (&mut into, Source::Any, tag))
            .unwrap();
        let expected = 2 * (1 - me) + 1 - world.rank() % 2;
        assert_eq!((received.source, into), (1 - me, [expected]));
        let part = pair.split(Some(u32::from(me == 0)), 0).unwrap().unwrap();
        if world.rank() % 2 == 0 {
            part.send(&out, 0, 3).unwrap();
        } else {
            let found = part.probe(Source::Any, Tag::Any).unwrap();
            assert_eq!((found.source, found.tag), (0, 3));
            part.recv(&mut into, Source::Rank(0), tag).unwrap();
            assert_eq!(into, [world.rank() - 1]);
        }
    });
}
