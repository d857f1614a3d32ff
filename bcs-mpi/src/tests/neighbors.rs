//! Neighbours in the safe layer.

use super::run;
use crate::Blocks;

/// Blocks of two lengths go round a ring, one length in each direction.
#[test]
fn slices_of_different_lengths_go_round_a_ring() {
    run(4, 2, |universe| {
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        let ring = world.cart_create(&[ranks], &[true]).unwrap().unwrap();
        let (below, above) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
        // One number goes to the rank below and two go to the rank above, so they come from the
        // other sides.
        let out = Blocks {
            counts: &[1, 2],
            displacements: &[0, 1],
        };
        let into = Blocks {
            counts: &[2, 1],
            displacements: &[1, 3],
        };
        let data = [10 * me, 10 * me + 1, 10 * me + 2];
        let expected = [99, 10 * below + 1, 10 * below + 2, 10 * above];
        let mut result = [99; 4];
        ring.neighbor_alltoallv(&data, &mut result, out, into)
            .unwrap();
        assert_eq!(result, expected);
        let (mut again, mut gathered) = ([99; 4], [99; 4]);
        let one = Blocks {
            counts: &[1, 1],
            displacements: &[3, 0],
        };
        crate::scope(|scope| {
            let first = ring.ineighbor_alltoallv(scope, &data, &mut again, out, into)?;
            let second = ring.ineighbor_allgatherv(scope, &data[..1], &mut gathered, one)?;
            assert_eq!(first.wait()?, expected);
            assert_eq!(second.wait()?, [10 * above, 99, 99, 10 * below]);
            Ok(())
        })
        .unwrap();
        let mut started = ring
            .neighbor_allgather_init(vec![0; 2], vec![99; 4])
            .unwrap();
        for round in 0..3 {
            started.input().copy_from_slice(&[me, round]);
            started.start().unwrap().wait().unwrap();
            assert_eq!(started.output(), [below, round, above, round]);
        }
    });
}

/// On a ring and on a star, blocking and in a scope.
#[test]
fn slices_are_exchanged_with_neighbours() {
    run(4, 2, |universe| {
        let world = universe.world();
        let (me, ranks) = (world.rank(), world.size());
        let line = world.cart_create(&[4], &[false]).unwrap().unwrap();
        let (below, above) = (me.checked_sub(1), Some(me + 1).filter(|&at| at < ranks));
        let pair = vec![below, above];
        assert_eq!(line.neighbors().unwrap(), (pair.clone(), pair));
        let mut result = [99; 4];
        line.neighbor_alltoall(&[me, 1, me, 2], &mut result)
            .unwrap();
        let from = |rank: Option<usize>, way| rank.map_or([99; 2], |rank| [rank, way]);
        let expected = [from(below, 2), from(above, 1)].concat();
        assert_eq!(result[..], expected);

        // All ranks send to rank 0, and one edge leads from rank 0 to itself.
        let (everybody, centre) = (vec![0, 0, 1, 2, 3], vec![0; 1 + usize::from(me == 0)]);
        let sources = if me == 0 { &everybody[..] } else { &[] };
        let star = world.dist_graph_create_adjacent(sources, &centre).unwrap();
        let mut result = vec![0; 2 * sources.len()];
        let expected: Vec<usize> = sources.iter().flat_map(|&rank| [rank, 7]).collect();
        star.neighbor_allgather(&[me, 7], &mut result).unwrap();
        assert_eq!(result, expected);
        result.fill(0);
        let mine = [me, 7];
        crate::scope(|scope| {
            let request = star.ineighbor_allgather(scope, &mine, &mut result)?;
            assert_eq!(request.wait()?, expected);
            Ok(())
        })
        .unwrap();
        let counts: Vec<usize> = sources.iter().map(|&rank| rank + 1).collect();
        let displacements = [0, 5, 10, 15, 20];
        let blocks = Blocks {
            counts: &counts,
            displacements: &displacements[..sources.len()],
        };
        let mut result = vec![99; 5 * sources.len()];
        star.neighbor_allgatherv(&vec![me; me + 1], &mut result, blocks)
            .unwrap();
        for (&rank, block) in sources.iter().zip(result.chunks(5)) {
            assert!(block[..=rank].iter().all(|&value| value == rank));
            assert!(block[rank + 1..].iter().all(|&value| value == 99));
        }
        let error = star.neighbor_allgather(&[1], &mut [0; 7]).unwrap_err();
        let said = "no whole number for each of";
        assert!(error.to_string().contains(said), "{error}");
        let part = world.group().include(&[2, 1]).unwrap();
        let part = world.create_group(&part, 3).unwrap();
        assert_eq!(
            part.map(|part| part.rank()),
            [None, Some(1), Some(0), None][me]
        );
    });
}
