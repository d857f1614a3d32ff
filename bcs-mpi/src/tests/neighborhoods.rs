//! Neighbourhood collectives against an oracle that knows every rank's neighbours: in all call
//! forms, on grids and on random graphs.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use super::run;
use crate::ErrorClass;
use crate::mpi::{Blocks, Buffer, Comm, Datatype};
use bcs_core::reduction;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The value in memory that was not received into.
const NOTHING: u64 = 99;

/// The form of a call.
#[derive(Clone, Copy, Debug)]
enum Style {
    Blocking,
    Nonblocking,
    Persistent,
}

const STYLES: [Style; 3] = [Style::Blocking, Style::Nonblocking, Style::Persistent];

/// The block that a rank receives: of which rank, for which of its neighbours; `None` from no
/// process.
type Source = Option<(usize, usize)>;

/// One rank's part.
struct NeighborhoodCase<'a> {
    comm: &'a Comm,
    style: Style,
    seed: u64,
    count: usize,
    /// The source of each received block.
    sources: &'a [Source],
    /// For each sent block, whether a rank receives it.
    destinations: &'a [bool],
}

/// Blocks one behind the other, with a gap after each.
struct GappedBlocks {
    counts: Vec<i64>,
    displacements: Vec<i64>,
    data: Vec<u64>,
}

impl GappedBlocks {
    fn new(lens: impl Iterator<Item = usize>) -> Self {
        let (mut counts, mut displacements, mut end) = (Vec::new(), Vec::new(), 0);
        for len in lens {
            let len = i64::try_from(len).unwrap();
            counts.push(len);
            displacements.push(end);
            end += len + 1;
        }
        let data = vec![NOTHING; usize::try_from(end).unwrap()];
        Self {
            counts,
            displacements,
            data,
        }
    }

    fn fill(&mut self, block: usize, values: impl Iterator<Item = u64>) {
        let at = usize::try_from(self.displacements[block]).unwrap();
        for (place, value) in self.data[at..].iter_mut().zip(values) {
            *place = value;
        }
    }

    fn blocks(&mut self) -> Blocks<'_> {
        let (counts, displacements) = (&self.counts, &self.displacements);
        let data = self.data.as_mut_ptr();
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        unsafe { Blocks::new(data, counts, displacements, reduction::Datatype::Uint64) }
    }
}

macro_rules! call {
    ($part:expr, $blocking:ident, $nonblocking:ident, $init:ident, $($argument:expr),*) => {
        {
            let comm = $part.comm;
            match $part.style {
                Style::Blocking => comm.$blocking($($argument),*).unwrap(),
                Style::Nonblocking => {
                    comm.$nonblocking($($argument),*).unwrap().wait().unwrap();
                }
                Style::Persistent => {
                    let mut request = comm.$init($($argument),*).unwrap();
                    for _ in 0..2 {
                        request.start().unwrap();
                        request.started().wait().unwrap();
                    }
                }
            }
        }
    };
}

impl NeighborhoodCase<'_> {
    fn value(&self, (rank, block): (usize, usize), index: usize) -> u64 {
        let place = (rank as u64 * 1_009 + block as u64) * 100_003 + index as u64;
        (self.seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place
    }

    fn values(&self, block: (usize, usize), count: usize) -> impl Iterator<Item = u64> {
        (0..count).map(move |index| self.value(block, index))
    }

    /// Returns the length of a rank's block for a neighbour.
    fn len(&self, block: (usize, usize)) -> usize {
        let drawn = ChaCha8Rng::seed_from_u64(self.value(block, 7)).random_range(0..4);
        [0, 1, 7, self.count][drawn]
    }

    fn me(&self) -> usize {
        usize::try_from(self.comm.rank()).unwrap()
    }

    fn compare(&self, found: &[u64], expected: &[u64], what: &str) {
        let place = found
            .iter()
            .zip(expected)
            .position(|(one, other)| one != other);
        assert_eq!(found.len(), expected.len());
        assert!(
            place.is_none(),
            "{what} on rank {}, {:?}, seed {}, count {}: from {place:?}",
            self.me(),
            self.style,
            self.seed,
            self.count
        );
    }

    /// The number of a block that this rank sends to all neighbours.
    const TO_ALL: usize = 999;

    fn gathers(&self) {
        let (me, count) = (self.me(), self.count);
        let from = |source: &Source| source.map(|(rank, _)| (rank, Self::TO_ALL));
        let input: Vec<u64> = self.values((me, Self::TO_ALL), count).collect();
        let mut output = vec![NOTHING; count * self.sources.len()];
        let expected = self.sources.iter().flat_map(|source| match from(source) {
            Some(block) => self.values(block, count).collect::<Vec<_>>(),
            None => vec![NOTHING; count],
        });
        let expected: Vec<u64> = expected.collect();
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let data = unsafe { Buffer::read_only(input.as_ptr(), count, reduction::Datatype::Uint64) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let into = unsafe { Buffer::new(output.as_mut_ptr(), count, reduction::Datatype::Uint64) };
        call!(
            self,
            neighbor_allgather,
            ineighbor_allgather,
            neighbor_allgather_init,
            data,
            into
        );
        self.compare(&output, &expected, "allgather");

        let len = self.len((me, Self::TO_ALL));
        let input: Vec<u64> = self.values((me, Self::TO_ALL), len).collect();
        let lens = || {
            self.sources
                .iter()
                .map(|s| from(s).map_or(3, |block| self.len(block)))
        };
        let (mut output, mut expected) = (GappedBlocks::new(lens()), GappedBlocks::new(lens()));
        for (place, source) in self.sources.iter().enumerate() {
            if let Some(block) = from(source) {
                expected.fill(place, self.values(block, self.len(block)));
            }
        }
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let data = unsafe { Buffer::read_only(input.as_ptr(), len, reduction::Datatype::Uint64) };
        call!(
            self,
            neighbor_allgatherv,
            ineighbor_allgatherv,
            neighbor_allgatherv_init,
            data,
            output.blocks()
        );
        self.compare(&output.data, &expected.data, "allgatherv");
    }

    fn exchanges(&self) {
        let (me, count) = (self.me(), self.count);
        let out = 0..self.destinations.len();
        let input: Vec<u64> = out
            .flat_map(|block| self.values((me, block), count))
            .collect();
        let mut output = vec![NOTHING; count * self.sources.len()];
        let expected = self.sources.iter().flat_map(|source| match *source {
            Some(block) => self.values(block, count).collect::<Vec<_>>(),
            None => vec![NOTHING; count],
        });
        let expected: Vec<u64> = expected.collect();
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let data = unsafe { Buffer::read_only(input.as_ptr(), count, reduction::Datatype::Uint64) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let into = unsafe { Buffer::new(output.as_mut_ptr(), count, reduction::Datatype::Uint64) };
        call!(
            self,
            neighbor_alltoall,
            ineighbor_alltoall,
            neighbor_alltoall_init,
            data,
            into
        );
        self.compare(&output, &expected, "alltoall");

        let mut input =
            GappedBlocks::new((0..self.destinations.len()).map(|block| self.len((me, block))));
        for block in 0..self.destinations.len() {
            input.fill(block, self.values((me, block), self.len((me, block))));
        }
        let lens = || {
            self.sources
                .iter()
                .map(|source| source.map_or(3, |block| self.len(block)))
        };
        let (mut output, mut expected) = (GappedBlocks::new(lens()), GappedBlocks::new(lens()));
        for (place, source) in self.sources.iter().enumerate() {
            if let Some(block) = *source {
                expected.fill(place, self.values(block, self.len(block)));
            }
        }
        let (data, into) = (input.blocks(), output.blocks());
        call!(
            self,
            neighbor_alltoallv,
            ineighbor_alltoallv,
            neighbor_alltoallv_init,
            data,
            into
        );
        self.compare(&output.data, &expected.data, "alltoallv");

        // The same with a datatype for each block. Every other block counts bytes.
        let types = |spread: &mut GappedBlocks| -> Vec<Datatype> {
            spread.displacements.iter_mut().for_each(|at| *at *= 8);
            let blocks = spread.counts.iter_mut().enumerate();
            let typed = blocks.map(|(block, count)| {
                if block % 2 == 0 {
                    return Datatype::predefined(reduction::Datatype::Uint64);
                }
                *count *= 8;
                Datatype::BYTE
            });
            typed.collect()
        };
        let (out_types, in_types) = (types(&mut input), types(&mut output));
        output.data.fill(NOTHING);
        let (address, counts) = (input.data.as_mut_ptr(), &input.counts);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let data = unsafe { Blocks::of_types(address, counts, &input.displacements, &out_types) };
        let (address, counts) = (output.data.as_mut_ptr(), &output.counts);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let into = unsafe { Blocks::of_types(address, counts, &output.displacements, &in_types) };
        call!(
            self,
            neighbor_alltoallw,
            ineighbor_alltoallw,
            neighbor_alltoallw_init,
            data,
            into
        );
        self.compare(&output.data, &expected.data, "alltoallw");
    }
}

/// Checks all collectives on one communicator, whose neighbours the oracle knows.
fn check(comm: &Comm, seed: u64, sources: &[Source], destinations: &[bool]) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for style in STYLES {
        let part = NeighborhoodCase {
            comm,
            style,
            seed,
            count: [0, 1, 8, 9, 600, 5_000][rng.random_range(0..6)],
            sources,
            destinations,
        };
        part.gathers();
        part.exchanges();
    }
}

/// Returns the rank that is one step further in a direction of a grid. The oracle adds and wraps
/// each coordinate by itself.
fn neighbor(dims: &[i32], periods: &[bool], rank: usize, dim: usize, step: i32) -> Option<usize> {
    let size = |dim: i32| usize::try_from(dim).unwrap();
    let stride: usize = dims[dim + 1..].iter().map(|&dim| size(dim)).product();
    let at = i32::try_from(rank / stride % size(dims[dim])).unwrap();
    let to = at + step;
    let inside = (0..dims[dim]).contains(&to);
    let to = (inside || periods[dim]).then(|| to.rem_euclid(dims[dim]))?;
    Some(rank - size(at) * stride + size(to) * stride)
}

/// With one or two ranks in a periodic dimension both neighbours are the same rank, and data that
/// were sent up must come from below.
#[test]
fn on_grids_blocks_are_told_apart_by_direction() {
    let grids: [(&[i32], &[bool]); 9] = [
        (&[1], &[false]),
        (&[1], &[true]),
        (&[2], &[false]),
        (&[2], &[true]),
        (&[3], &[true]),
        (&[1, 1], &[true, true]),
        (&[2, 2], &[true, false]),
        (&[1, 2, 3], &[true, true, true]),
        (&[3, 2], &[false, true]),
    ];
    run(6, 2, |universe| {
        for (seed, (dims, periods)) in (0..).zip(grids) {
            let grid = universe
                .world()
                .untyped()
                .cart_create(dims, periods)
                .unwrap();
            let Some(grid) = grid else {
                continue;
            };
            let me = usize::try_from(grid.rank()).unwrap();
            let neighbors = (0..dims.len())
                .flat_map(|dim| [-1, 1].map(|step| neighbor(dims, periods, me, dim, step)));
            let neighbors: Vec<Option<usize>> = neighbors.collect();
            let sources = neighbors.iter().enumerate();
            let sources: Vec<Source> = sources
                .map(|(place, &from)| Some((from?, place ^ 1)))
                .collect();
            let destinations: Vec<bool> = neighbors.iter().map(Option::is_some).collect();
            check(&grid, seed, &sources, &destinations);
            check(&grid.dup().unwrap(), seed, &sources, &destinations);
        }
    });
}

/// Random edges, some of them repeated and some from a rank to itself. Every rank orders both ends
/// of its own edges as it likes. The oracle sends along each edge in order.
#[test]
fn on_graphs_the_kth_edge_between_two_ranks_is_the_kth_at_both() {
    for (ranks, nodes, edges) in [(1, 1, 3), (2, 2, 7), (5, 2, 20), (4, 4, 0)] {
        run(ranks, nodes, |universe| {
            let world = universe.world().untyped();
            for seed in 0..4 {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let mut ends = vec![(Vec::new(), Vec::new()); ranks];
                for _ in 0..edges {
                    let (from, to) = (rng.random_range(0..ranks), rng.random_range(0..ranks));
                    ends[from].1.push(to);
                    ends[to].0.push(from);
                }
                for (sources, destinations) in &mut ends {
                    sources.shuffle(&mut rng);
                    destinations.shuffle(&mut rng);
                }
                let me = usize::try_from(world.rank()).unwrap();
                let (into, out) = &ends[me];
                let as_ranks = |ranks: &[usize]| -> Vec<i32> {
                    ranks
                        .iter()
                        .map(|&rank| i32::try_from(rank).unwrap())
                        .collect()
                };
                let comm = world
                    .dist_graph_create_adjacent(&as_ranks(into), &as_ranks(out), None)
                    .unwrap();
                let source = |(place, &from): (usize, &usize)| {
                    let before = into[..place].iter().filter(|&&rank| rank == from).count();
                    let blocks = ends[from].1.iter().enumerate();
                    let block = blocks.filter(|&(_, &to)| to == me).nth(before).unwrap().0;
                    Some((from, block))
                };
                let sources: Vec<Source> = into.iter().enumerate().map(source).collect();
                check(&comm, seed, &sources, &vec![true; out.len()]);
                if seed == 0 {
                    check(&comm.dup().unwrap(), seed, &sources, &vec![true; out.len()]);
                }
            }
        });
    }
}

/// The main use: the rim of a tile goes to the neighbours, rows and columns alike, without a copy.
/// In a dimension of one rank that is a copy of pieces.
#[test]
fn halos_of_tiles_are_exchanged_in_pieces() {
    const SIDE: usize = 6;
    let at = |row: usize, column: usize| i64::try_from(8 * (row * SIDE + column)).unwrap();
    for dims in [[2, 2], [1, 4], [4, 1]] {
        run(4, 2, |universe| {
            let torus = universe.world().untyped().cart_create(&dims, &[true; 2]);
            let torus = torus.unwrap().unwrap();
            let me = usize::try_from(torus.rank()).unwrap();
            let element = Datatype::predefined(reduction::Datatype::Uint64);
            let row = element.contiguous(4).unwrap();
            let column = element.vector(4, 1, i64::try_from(SIDE).unwrap()).unwrap();
            row.commit().unwrap();
            column.commit().unwrap();
            let types = [row.clone(), row, column.clone(), column];
            let out = [at(1, 1), at(4, 1), at(1, 1), at(1, 4)];
            let into = [at(0, 1), at(5, 1), at(1, 0), at(1, 5)];
            let value = |rank: usize, row: usize, column: usize| {
                u64::try_from(1_000 * (rank + 1) + 10 * row + column).unwrap()
            };
            for style in STYLES {
                let inner = |place: usize| (1..5).contains(&place);
                let mut tile: Vec<u64> = (0..SIDE * SIDE)
                    .map(|place| match (place / SIDE, place % SIDE) {
                        (row, column) if inner(row) && inner(column) => value(me, row, column),
                        _ => NOTHING,
                    })
                    .collect();
                let part = NeighborhoodCase {
                    comm: &torus,
                    style,
                    seed: 0,
                    count: 0,
                    sources: &[],
                    destinations: &[],
                };
                let address = tile.as_mut_ptr();
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let out = unsafe { Blocks::of_types(address, &[1; 4], &out, &types) };
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let into = unsafe { Blocks::of_types(address, &[1; 4], &into, &types) };
                call!(
                    part,
                    neighbor_alltoallw,
                    ineighbor_alltoallw,
                    neighbor_alltoallw_init,
                    out,
                    into
                );
                let other = |dim, step| neighbor(&dims, &[true; 2], me, dim, step).unwrap();
                let expected = (0..SIDE * SIDE).map(|place| match (place / SIDE, place % SIDE) {
                    (row, column) if inner(row) && inner(column) => value(me, row, column),
                    (0, column) if inner(column) => value(other(0, -1), 4, column),
                    (5, column) if inner(column) => value(other(0, 1), 1, column),
                    (row, 0) if inner(row) => value(other(1, -1), row, 4),
                    (row, 5) if inner(row) => value(other(1, 1), row, 1),
                    _ => NOTHING,
                });
                part.compare(&tile, &expected.collect::<Vec<_>>(), "halo");
            }
        });
    }
}

/// Many collectives at a time, completed in another order, while a wildcard receive waits for a
/// message.
#[test]
fn many_at_once_do_not_meet() {
    run(4, 2, |universe| {
        let world = universe.world().untyped();
        let ring = world.cart_create(&[4], &[true]).unwrap().unwrap();
        let me = u64::try_from(ring.rank()).unwrap();
        let inputs: Vec<[u64; 2]> = (0..40)
            .map(|n| [1_000 * n + me, 500_000 + n + me])
            .collect();
        let mut outputs = vec![[NOTHING; 2]; inputs.len()];
        let begin = |(input, output): (&[u64; 2], &mut [u64; 2])| {
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let input =
                unsafe { Buffer::read_only(input.as_ptr(), 1, reduction::Datatype::Uint64) };
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let output =
                unsafe { Buffer::new(output.as_mut_ptr(), 1, reduction::Datatype::Uint64) };
            ring.ineighbor_alltoall(input, output).unwrap()
        };
        let mut requests: Vec<_> = inputs.iter().zip(&mut outputs).map(begin).collect();
        while let Some(mut request) = requests.pop() {
            request.wait().unwrap();
        }
        let (below, above) = ((me + 3) % 4, (me + 1) % 4);
        for (n, output) in (0..).zip(&outputs) {
            assert_eq!(*output, [500_000 + n + below, 1_000 * n + above]);
        }
    });
}

#[test]
fn without_neighbours_or_with_wrong_blocks_they_say_why() {
    run(2, 1, |universe| {
        let world = universe.world().untyped();
        let mut data = [0_u64; 8];
        let buffer = |count| {
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            unsafe {
                Buffer::new(
                    std::ptr::null_mut::<u64>(),
                    count,
                    reduction::Datatype::Uint64,
                )
            }
        };
        let error = world
            .neighbor_allgather(Buffer::EMPTY, Buffer::EMPTY)
            .unwrap_err();
        assert_eq!(error.class, ErrorClass::Topology);
        let ring = world.cart_create(&[2], &[true]).unwrap().unwrap();
        let error = ring.neighbor_alltoall(buffer(1), buffer(1)).unwrap_err();
        assert_eq!(error.class, ErrorClass::Buffer);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let blocks = unsafe {
            Blocks::new(
                data.as_mut_ptr(),
                &[1, 1],
                &[0, 0],
                reduction::Datatype::Uint64,
            )
        };
        let error = ring.neighbor_alltoallv(blocks.clone(), blocks).unwrap_err();
        assert_eq!(error.class, ErrorClass::Arg);
        assert!(error.to_string().contains("numbered as sources"), "{error}");
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let blocks =
            unsafe { Blocks::new(data.as_mut_ptr(), &[1], &[0], reduction::Datatype::Uint64) };
        let error = ring.neighbor_alltoallv(blocks.clone(), blocks).unwrap_err();
        assert!(error.to_string().contains("1 counts"), "{error}");
        // The receiver detects lengths that differ, and no rank hangs.
        let len = if world.rank() == 0 { 1 } else { 2 };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let input = unsafe { Buffer::new(data.as_mut_ptr(), len, reduction::Datatype::Uint64) };
        let mut output = [0_u64; 4];
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let output = unsafe { Buffer::new(output.as_mut_ptr(), len, reduction::Datatype::Uint64) };
        let error = ring.neighbor_alltoall(input, output).unwrap_err();
        let expected = [ErrorClass::Truncate, ErrorClass::Count];
        assert_eq!(error.class, expected[usize::from(len == 2)], "{error}");
        world.barrier().unwrap();
    });
}
