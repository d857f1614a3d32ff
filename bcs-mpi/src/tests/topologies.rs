//! Graphs that ranks name, and invalid ones. (Grids are with the groups.)

use super::run;
use crate::ErrorClass;
use crate::mpi::topology::Topology;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn every_rank_knows_all_of_a_graph() {
    run(5, 2, |universe| {
        let world = universe.world().untyped();
        assert_eq!(world.topology(), None);
        let (index, edges) = ([2, 3, 4, 6], [1, 3, 0, 3, 0, 2]);
        let graph = world.graph_create(&index, &edges).unwrap();
        assert_eq!(graph.is_some(), world.rank() < 4);
        let mapped = world.graph_map(&index, &edges).unwrap();
        assert_eq!(mapped, (world.rank() < 4).then_some(world.rank()));
        let mapped = world.cart_map(&[2, 1], &[true, false]).unwrap();
        assert_eq!(mapped, (world.rank() < 2).then_some(world.rank()));
        assert_eq!(world.cart_map(&[2, 0], &[true, false]).unwrap(), None);
        let error = world.cart_map(&[3, 2], &[true, false]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Dims);
        let Some(graph) = graph else {
            return;
        };
        let copy = graph.dup().unwrap();
        assert!(matches!(copy.topology(), Some(Topology::Graph(_))));
        assert_eq!(copy.graph(), graph.graph());
        let known = copy.graph().unwrap();
        assert_eq!(
            (known.nodes(), known.index(), known.edges()),
            (4, &index[..], &edges[..])
        );
        assert_eq!(copy.graph_neighbors(3).unwrap(), [0, 2]);
        assert_eq!(copy.graph_neighbors(4).unwrap_err().class, ErrorClass::Rank);
        assert_eq!(copy.cart_coords(0).unwrap_err().class, ErrorClass::Topology);
        assert_eq!(
            copy.dist_graph_neighbors().unwrap_err().class,
            ErrorClass::Topology
        );
        let part = copy.split(Some(0), 0).unwrap().unwrap();
        assert_eq!(part.topology(), None);
    });
}

#[test]
fn a_graph_that_cannot_be_says_why() {
    run(2, 1, |universe| {
        let world = universe.world().untyped();
        let error = world.graph_create(&[1, 2, 3], &[1, 2, 0]).unwrap_err();
        assert!(
            error.to_string().contains("3 nodes in a communicator of 2"),
            "{error}"
        );
        let unknown = world
            .dist_graph_create_adjacent(&[], &[2], None)
            .unwrap_err();
        assert_eq!(unknown.class, ErrorClass::Rank);
        let error = world.dist_graph_create(&[0], &[2], &[1], None).unwrap_err();
        assert!(
            error.to_string().contains("count more than 1 destinations"),
            "{error}"
        );
        let error = world.dist_graph_create(&[0], &[-1], &[], None).unwrap_err();
        assert!(
            error.to_string().contains("degree of rank 0 is -1"),
            "{error}"
        );
        let error = world.dist_graph_create(&[0], &[0], &[1], None).unwrap_err();
        assert!(error.to_string().contains("the degrees make 0"), "{error}");
        let error = world
            .dist_graph_create(&[0], &[1], &[1], Some(&[-5]))
            .unwrap_err();
        assert!(
            error.to_string().contains("weight of an edge is -5"),
            "{error}"
        );
        // An error that shows only in the data of all ranks together is an error on all of them.
        let first = world.rank() == 0;
        let to = if first { &[1, 1][..] } else { &[] };
        let from = if first { &[][..] } else { &[0] };
        let odd = world.dist_graph_create_adjacent(from, to, None).unwrap();
        assert_eq!(odd.dist_graph_neighbors().unwrap().destinations(), to);
        let error = odd.neighbors().unwrap_err();
        assert!(
            error.to_string().contains("do not agree about the edges"),
            "{error}"
        );
        let error = world
            .dist_graph_create(&[], &[], &[], first.then_some(&[]))
            .unwrap_err();
        assert!(
            error.to_string().contains("1 of 2 ranks give weights"),
            "{error}"
        );
        world.barrier().unwrap();
    });
}

/// The rank that names an edge, the edge's source and destination, and its weight.
type TestEdge = (i32, i32, i32, i32);

/// Any rank names any edges. Both ends know each of them, with its weight. Several edges between
/// the same two ranks are in the same order at both.
#[test]
fn edges_may_be_named_by_anybody() {
    for (ranks, nodes) in [(1, 1), (2, 1), (5, 3)] {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            let me = world.rank();
            for seed in 0..10 {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let everybody = 0..world.size();
                let edge = |weight| {
                    let mut rank = || rng.random_range(everybody.clone());
                    (rank(), rank(), rank(), weight)
                };
                let edges: Vec<TestEdge> = (0..30).map(edge).collect();
                let named: Vec<_> = edges.iter().filter(|edge| edge.0 == me).collect();
                // Every other source is named with all of the edges that follow from it.
                let (mut sources, mut degrees) = (Vec::new(), Vec::new());
                for edge in &named {
                    if seed % 2 == 0 && sources.last() == Some(&edge.1) {
                        *degrees.last_mut().unwrap() += 1;
                    } else {
                        sources.push(edge.1);
                        degrees.push(1);
                    }
                }
                let destinations: Vec<i32> = named.iter().map(|edge| edge.2).collect();
                let weights: Vec<i32> = named.iter().map(|edge| edge.3).collect();
                let weighted = seed % 3 != 0;
                let given = weighted.then_some(&weights[..]);
                let comm = world.dist_graph_create(&sources, &degrees, &destinations, given);
                let comm = comm.unwrap().dup().unwrap();
                let graph = comm.dist_graph_neighbors().unwrap();
                let mut by_namer = edges.clone();
                by_namer.sort_by_key(|edge| edge.0); // The sort is stable.
                let ends = |at: fn(&TestEdge) -> (i32, i32)| -> Vec<(i32, i32)> {
                    let mine = by_namer.iter().filter(|edge| at(edge).0 == me);
                    mine.map(|edge| (at(edge).1, edge.3)).collect()
                };
                let (out, into) = (ends(|edge| (edge.1, edge.2)), ends(|edge| (edge.2, edge.1)));
                let ranks =
                    |ends: &[(i32, i32)]| -> Vec<i32> { ends.iter().map(|e| e.0).collect() };
                assert_eq!(graph.sources(), ranks(&into), "seed {seed}");
                assert_eq!(graph.destinations(), ranks(&out), "seed {seed}");
                let weights =
                    |ends: &[(i32, i32)]| -> Vec<i32> { ends.iter().map(|e| e.1).collect() };
                let expected = (weights(&into), weights(&out));
                let expected = weighted.then_some((&expected.0[..], &expected.1[..]));
                assert_eq!(graph.weights(), expected, "seed {seed}");
            }
        });
    }
}
