//! Neighbourhood collectives: random graphs, with several edges between two ranks and from a rank
//! to itself.
#![expect(unsafe_code, reason = "the untyped core takes buffers by address")]

use bcs_core::reduction::Datatype;
use bcs_mpi::mpi::{Buffer, Comm, Request, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The most edges that lead from a rank.
const MOST_EDGES: usize = 4;

/// Exchanges data with neighbours several times in each of `graphs` graphs.
pub(super) fn run(world: &Comm, seed: u64, graphs: usize) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..graphs {
        let edges = draw(world.size(), &mut random);
        let me = world.rank();
        let out: Vec<i32> = edges
            .iter()
            .filter(|edge| edge.0 == me)
            .map(|edge| edge.1)
            .collect();
        let into: Vec<i32> = edges
            .iter()
            .filter(|edge| edge.1 == me)
            .map(|edge| edge.0)
            .collect();
        let graph = world.dist_graph_create_adjacent(&into, &out, None)?;
        for _ in 0..random.random_range(1..4) {
            let long = random.random_bool(0.2);
            let elements = if long {
                9_000
            } else {
                random.random_range(1..30)
            };
            let (blocking, to_all) = (random.random_bool(0.5), random.random_bool(0.5));
            exchange(&graph, (&into, &out), &edges, (elements, blocking, to_all))?;
        }
        graph.free()?;
    }
    Ok(())
}

/// Draws the edges (from, to) of a graph. Those that come to a rank are in the order of their
/// sources.
fn draw(ranks: i32, random: &mut ChaCha8Rng) -> Vec<(i32, i32)> {
    let mut edges = Vec::new();
    for from in 0..ranks {
        for _ in 0..random.random_range(0..=MOST_EDGES) {
            edges.push((from, random.random_range(0..ranks)));
        }
    }
    edges
}

/// Returns the data that go along the `nth` edge from a rank to another, or along all edges from
/// it.
fn given(from: i32, to: i32, nth: usize, elements: usize) -> Vec<u64> {
    let edge = (u64::from(from.cast_unsigned()) << 40) | (u64::from(to.cast_unsigned()) << 32);
    let first = edge | (nth as u64) << 24;
    (0..elements as u64)
        .map(|at| (first | at).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect()
}

/// Sends the same block to all neighbours, or one to each.
fn exchange(
    graph: &Comm,
    (into, out): (&[i32], &[i32]),
    edges: &[(i32, i32)],
    (elements, blocking, alike): (usize, bool, bool),
) -> Result<()> {
    let me = graph.rank();
    let everybody = i32::from(u8::MAX);
    // The order distinguishes several edges to one rank.
    let nth = |list: &[i32], at: usize| list[..at].iter().filter(|&&rank| rank == list[at]).count();
    let mut data: Vec<u64> = if alike {
        given(me, everybody, 0, elements)
    } else {
        let blocks = (0..out.len()).map(|at| given(me, out[at], nth(out, at), elements));
        blocks.flatten().collect()
    };
    let mut got = vec![0_u64; into.len() * elements];
    // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
    let input = unsafe { Buffer::new(data.as_mut_ptr(), elements, Datatype::Uint64) };
    // SAFETY: the buffer exists until the operation is over, and nobody else uses it.
    let output = unsafe { Buffer::new(got.as_mut_ptr(), elements, Datatype::Uint64) };
    let over = |()| Request::inactive();
    let posted = match (alike, blocking) {
        (true, true) => graph.neighbor_allgather(input, output).map(over),
        (false, true) => graph.neighbor_alltoall(input, output).map(over),
        (true, false) => graph.ineighbor_allgather(input, output),
        (false, false) => graph.ineighbor_alltoall(input, output),
    };
    posted?.wait()?;
    let expected = (0..into.len()).flat_map(|at| {
        if alike {
            given(into[at], everybody, 0, elements)
        } else {
            given(into[at], me, nth(into, at), elements)
        }
    });
    assert!(
        got.into_iter().eq(expected),
        "rank {me}: blocks along {edges:?}"
    );
    Ok(())
}
