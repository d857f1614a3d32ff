//! Messages of derived datatypes through all calls that take a buffer.
#![expect(unsafe_code, reason = "buffers are named by address")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of a test are small"
)]

use super::{run, run_with};
use crate::Op;
use crate::mpi::datatype::Order;
use crate::mpi::{Blocks, Buffer, Comm, Datatype, ErrorClass, PROC_NULL, Process};
use bcs_core::job::Settings;
use bcs_core::reduction::Datatype as Elementary;

/// The value in memory without data.
const CANARY: i32 = -1;

fn int() -> Datatype {
    Elementary::Int32.into()
}

fn committed(datatype: crate::Result<Datatype>) -> Datatype {
    let datatype = datatype.unwrap();
    datatype.commit().unwrap();
    datatype
}

/// Returns the type of `len` numbers, every third one, the first one left out.
fn thirds(len: usize) -> Datatype {
    let len = i64::try_from(len).unwrap();
    committed(int().hindexed(&[1], &[4]).unwrap().vector(len, 1, 3))
}

/// Memory for `len` numbers in thirds or side by side.
#[derive(Debug)]
struct NumberBuffer {
    memory: Vec<i32>,
    scattered: bool,
}

impl NumberBuffer {
    fn new(len: usize, scattered: bool) -> Self {
        let memory = vec![CANARY; if scattered { 3 * len + 2 } else { len }];
        Self { memory, scattered }
    }

    fn of(data: &[i32], scattered: bool) -> Self {
        let mut room = Self::new(data.len(), scattered);
        let mut places = room.places();
        data.iter()
            .for_each(|&value| *places.next().unwrap() = value);
        drop(places);
        room
    }

    fn len(&self) -> usize {
        self.memory.len() / if self.scattered { 3 } else { 1 }
    }

    fn places(&mut self) -> Box<dyn Iterator<Item = &mut i32> + '_> {
        let len = self.len();
        let step = if self.scattered { 3 } else { 1 };
        let first = usize::from(self.scattered);
        Box::new(self.memory.iter_mut().skip(first).step_by(step).take(len))
    }

    fn buffer(&mut self) -> Buffer {
        let (len, start) = (self.len(), self.memory.as_mut_ptr());
        if self.scattered {
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            unsafe { Buffer::new(start, 1, thirds(len)) }
        } else {
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            unsafe { Buffer::new(start, len, int()) }
        }
    }

    /// Returns the data, after a check that the memory beside them is unchanged.
    fn data(&mut self) -> Vec<i32> {
        let data: Vec<i32> = self
            .places()
            .map(|place| std::mem::replace(place, CANARY))
            .collect();
        assert!(
            self.memory.iter().all(|&value| value == CANARY),
            "a gap was written"
        );
        data
    }
}

fn numbers(len: usize, seed: i32) -> Vec<i32> {
    (0..).take(len).map(|at: i32| at * 7 + seed).collect()
}

/// In numbers: inline, eager in a slot, rendezvous, more than a chunk.
const LENGTHS: [usize; 7] = [0, 1, 16, 17, 1_000, 1_500, 200_000];

/// Sends each length from and to data in pieces and side by side.
fn every_way(comm: &Comm) {
    let (me, peer) = (comm.rank(), (comm.rank() + 1) % comm.size());
    for len in LENGTHS {
        for (from, to) in [(true, true), (true, false), (false, true)] {
            let mut out = NumberBuffer::of(&numbers(len, me), from);
            let mut into = NumberBuffer::new(len, to);
            let mut receive = comm.irecv(into.buffer(), -1, 3).unwrap();
            let mut send = comm.isend(out.buffer(), peer, 3).unwrap();
            let status = receive.wait().unwrap();
            send.wait().unwrap();
            assert_eq!(status.count(&int()), Some(len as u64));
            assert!(into.data() == numbers(len, status.source), "{len} numbers");
            assert!(out.data() == numbers(len, me));
            comm.barrier().unwrap();
        }
    }
}

#[test]
fn pieces_of_every_length_between_two_ranks() {
    run(2, 2, |universe| every_way(universe.world().untyped()));
}

#[test]
fn pieces_of_every_length_to_oneself() {
    let process = Process::init().unwrap();
    every_way(&process.world());
    process.finalize().unwrap();
}

#[test]
fn without_an_eager_limit_nothing_is_packed() {
    let settings = Settings {
        eager_limit: 0,
        ..Settings::default()
    };
    run_with(2, 1, &settings, |universe| {
        every_way(universe.world().untyped());
    });
}

#[test]
fn all_modes_probes_and_persistent_requests() {
    run(2, 1, |universe| {
        let comm = universe.world().untyped();
        let len = 5_000;
        if comm.rank() == 0 {
            comm.process().attach_buffer(4 * len).unwrap();
            let mut out = NumberBuffer::of(&numbers(len, 5), true);
            comm.send(out.buffer(), 1, 0).unwrap();
            comm.ssend(out.buffer(), 1, 1).unwrap();
            comm.rsend(out.buffer(), 1, 2).unwrap();
            comm.bsend(out.buffer(), 1, 3).unwrap();
            let mut send = comm.send_init(out.buffer(), 1, 4).unwrap();
            for _ in 0..2 {
                send.start().unwrap();
                send.started().wait().unwrap();
            }
            comm.send(out.buffer(), 1, 5).unwrap();
            comm.send(out.buffer(), PROC_NULL, 5).unwrap();
            comm.process().detach_buffer().unwrap();
        } else {
            let mut into = NumberBuffer::new(len, true);
            for tag in 0..4 {
                comm.recv(into.buffer(), 0, tag).unwrap();
                assert!(into.data() == numbers(len, 5), "tag {tag}");
            }
            let mut receive = comm.recv_init(into.buffer(), 0, 4).unwrap();
            for _ in 0..2 {
                receive.start().unwrap();
                receive.started().wait().unwrap();
                assert!(into.data() == numbers(len, 5));
            }
            let found = comm.probe(0, 5).unwrap();
            assert_eq!(found.count(&thirds(len)), Some(1));
            assert_eq!(found.elements(&thirds(len)), Some(len as u64));
            let mut message = comm.mprobe(0, 5).unwrap();
            message.recv(into.buffer()).unwrap();
            assert!(into.data() == numbers(len, 5));
        }
    });
}

#[test]
fn exchanges_replace_pieces_by_pieces() {
    run(2, 2, |universe| {
        let comm = universe.world().untyped();
        let (me, peer) = (comm.rank(), 1 - comm.rank());
        for len in LENGTHS {
            let mut both = NumberBuffer::of(&numbers(len, me), true);
            comm.sendrecv_replace(both.buffer(), (peer, 0), (peer, 0))
                .unwrap();
            assert!(both.data() == numbers(len, peer));
            let (mut out, mut into) = (
                NumberBuffer::of(&numbers(len, me), true),
                NumberBuffer::new(len, true),
            );
            let (from, to) = ((out.buffer(), peer, 1), (into.buffer(), peer, 1));
            comm.sendrecv(from, to).unwrap();
            assert!(into.data() == numbers(len, peer));
        }
    });
}

#[test]
fn what_is_too_long_fills_the_pieces_and_nothing_else() {
    run(2, 1, |universe| {
        let comm = universe.world().untyped();
        for (sent, room) in [(16, 5), (500, 301), (100_000, 40_001)] {
            if comm.rank() == 0 {
                let mut out = NumberBuffer::of(&numbers(sent, 1), true);
                comm.send(out.buffer(), 1, 0).unwrap();
            } else {
                let mut into = NumberBuffer::new(room, true);
                let error = comm.recv(into.buffer(), 0, 0).unwrap_err();
                assert_eq!(error.class, ErrorClass::Truncate);
                assert!(into.data() == numbers(room, 1));
                let mut longer = NumberBuffer::of(&numbers(room + 3, 4), true);
                assert_eq!(longer.data().len(), room + 3);
            }
        }
    });
}

/// Pieces that are not packed: the NIC reads and writes them in place.
#[test]
fn large_pieces_are_left_to_the_nic() {
    run(2, 2, |universe| {
        let comm = universe.world().untyped();
        let (blocks, block, stride) = (40i64, 300i64, 450i64);
        let pieces = committed(int().vector(blocks, block, stride));
        let len = (blocks * block) as usize;
        let memory = || vec![CANARY; (blocks * stride) as usize];
        let places = |nth: usize| nth / block as usize * stride as usize + nth % block as usize;
        let numbers = numbers(len, 3);
        for (scattered, tag) in [(true, 0), (false, 1)] {
            if comm.rank() == 0 {
                let mut out = memory();
                let all = numbers.iter().enumerate();
                all.for_each(|(nth, &number)| out[places(nth)] = number);
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let data = unsafe { Buffer::new(out.as_mut_ptr(), 1, &pieces) };
                comm.send(data, 1, tag).unwrap();
                continue;
            }
            let mut into = memory();
            let room = if scattered {
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                unsafe { Buffer::new(into.as_mut_ptr(), 1, &pieces) }
            } else {
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                unsafe { Buffer::new(into.as_mut_ptr(), len, int()) }
            };
            comm.recv(room, 0, tag).unwrap();
            let place = |nth| if scattered { places(nth) } else { nth };
            let there = (0..len).filter(|&nth| into[place(nth)] == numbers[nth]);
            assert_eq!(there.count(), len);
            let gaps = into.iter().filter(|&&found| found == CANARY);
            assert_eq!(gaps.count(), into.len() - len);
        }
    });
}

/// The C structures of a value and its place, in both directions between `MPI_DOUBLE_INT` and the
/// type that the standard defines it to be like. The bytes in the gap stay unchanged.
#[test]
fn a_pair_is_the_structure_of_its_value_and_its_place() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(C)]
    struct Wide {
        value: f64,
        place: i32,
        gap: i32,
    }
    let wide = |nth: i32, gap| Wide {
        value: f64::from(nth) / 3.0,
        place: nth,
        gap,
    };
    let parts = [Elementary::Double, Elementary::Int32].map(Datatype::from);
    let like = committed(Datatype::structure(&[1, 1], &[0, 8], &parts));
    let pair = Datatype::from(Elementary::DOUBLE_INT);
    assert_eq!((pair.size(), like.size()), (12, 12));
    assert_eq!((pair.extent(), like.extent()), ((0, 16), (0, 16)));
    assert_eq!(pair.true_extent(), (0, 12));
    run(2, 2, |universe| {
        let comm = universe.world().untyped();
        let types = [pair.clone(), like.clone()];
        for (tag, (of, to)) in (0..).zip([(0, 1), (1, 0), (0, 0)]) {
            for count in [1, 4, 5, 20_000] {
                if comm.rank() == 0 {
                    let mut out: Vec<Wide> = (0..count).map(|nth| wide(nth, 7)).collect();
                    // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                    let out = unsafe { Buffer::new(out.as_mut_ptr(), out.len(), &types[of]) };
                    comm.send(out, 1, tag).unwrap();
                    continue;
                }
                let mut into: Vec<Wide> = (0..=count).map(|_| wide(0, CANARY)).collect();
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let room = unsafe { Buffer::new(into.as_mut_ptr(), into.len(), &types[to]) };
                let found = comm.recv(room, 0, tag).unwrap();
                assert_eq!(found.bytes, 12 * u64::from(count.unsigned_abs()));
                assert_eq!(found.count(&pair), Some(count as u64));
                assert_eq!(found.elements(&pair), Some(2 * count as u64));
                let whole = into.iter().zip(0..count);
                assert!(
                    whole
                        .clone()
                        .all(|(found, nth)| *found == wide(nth, CANARY))
                );
                assert_eq!(into[count as usize], wide(0, CANARY));
            }
        }
    });
}

/// A type may be freed while messages of it are in flight.
#[test]
fn a_request_keeps_its_type() {
    run(2, 2, |universe| {
        let comm = universe.world().untyped();
        let peer = 1 - comm.rank();
        let (mut out, mut into) = (vec![1i64; 60_000], vec![0i64; 60_000]);
        let long = Datatype::from(Elementary::Int64);
        let make = || committed(long.vector(30_000, 1, 2));
        let (of, to) = (make(), make());
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let from = unsafe { Buffer::new(out.as_mut_ptr(), 1, &of) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let room = unsafe { Buffer::new(into.as_mut_ptr(), 1, &to) };
        let mut receive = comm.irecv(room, peer, 0).unwrap();
        let mut send = comm.isend(from, peer, 0).unwrap();
        of.free().unwrap();
        to.free().unwrap();
        send.wait().unwrap();
        receive.wait().unwrap();
        assert!(into.chunks(2).all(|pair| pair == [1, 0]));
    });
}

#[test]
fn what_cannot_be_is_refused() {
    run(1, 1, |universe| {
        let comm = universe.world().untyped();
        let mut data = [0i32; 8];
        let start = data.as_mut_ptr();
        let class = |of: &Datatype, start: *mut i32, count| {
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let buffer = || unsafe { Buffer::new(start, count, of) };
            let errors = [
                comm.send(buffer(), 0, 0).unwrap_err(),
                comm.recv(buffer(), 0, 0).unwrap_err(),
                comm.bcast(buffer(), 0).unwrap_err(),
                comm.gather(Some(buffer()), buffer(), 0).unwrap_err(),
            ];
            let [first, others @ ..] = errors.map(|error| error.class);
            assert_eq!(others, [first; 3]);
            first
        };
        let uncommitted = int().vector(2, 1, 2).unwrap();
        assert_eq!(class(&uncommitted, start, 1), ErrorClass::Type);
        let vector = thirds(2);
        assert_eq!(class(&vector, std::ptr::null_mut(), 1), ErrorClass::Buffer);
        assert_eq!(class(&vector, start, usize::MAX / 4), ErrorClass::Count);
        assert_eq!(class(&vector, start, 1 << 59), ErrorClass::Arg);
        let twins = committed(int().contiguous(2));
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let buffer = || unsafe { Buffer::new(start, 1, &twins) };
        let error = comm.allreduce(buffer(), buffer(), Op::Sum).unwrap_err();
        assert_eq!(error.class, ErrorClass::Type);
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let plain = unsafe { Buffer::new(start, 2, int()) };
        let error = comm.allreduce(plain, buffer(), Op::Sum).unwrap_err();
        assert_eq!(error.class, ErrorClass::Type);
    });
}

/// `MPI_BOTTOM`: the displacements of a type are addresses.
#[test]
fn addresses_may_be_displacements() {
    run(2, 1, |universe| {
        let comm = universe.world().untyped();
        let (mut one, mut other) = (vec![comm.rank(); 3_000], vec![comm.rank() + 10; 3_000]);
        let address =
            |data: &mut Vec<i32>| i64::try_from(data.as_mut_ptr().expose_provenance()).unwrap();
        let places = [address(&mut one), address(&mut other)];
        let both = committed(int().hindexed(&[3_000; 2], &places));
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let bottom = unsafe { Buffer::new(std::ptr::null_mut::<i32>(), 1, both) };
        let peer = 1 - comm.rank();
        comm.sendrecv_replace(bottom, (peer, 0), (peer, 0)).unwrap();
        assert!(one == vec![peer; 3_000] && other == vec![peer + 10; 3_000]);
    });
}

/// Broadcasts of which only some ranks have their data in pieces, among collectives whose messages
/// are numbered.
#[test]
fn broadcasts_in_pieces() {
    run(4, 2, |universe| {
        let comm = universe.world().untyped();
        let me = comm.rank();
        for len in LENGTHS {
            for root in 0..comm.size() {
                let scattered = (me + root) % 3 != 0;
                let mut data = if me == root {
                    NumberBuffer::of(&numbers(len, root), scattered)
                } else {
                    NumberBuffer::new(len, scattered)
                };
                comm.bcast(data.buffer(), root).unwrap();
                assert!(data.data() == numbers(len, root), "{len} from {root}");
                let mut all = [CANARY; 4];
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let (own, all_of) = ([me], unsafe { Buffer::new(all.as_mut_ptr(), 1, int()) });
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let own = unsafe { Buffer::read_only(own.as_ptr(), 1, int()) };
                comm.allgather(Some(own), all_of).unwrap();
                assert_eq!(all, [0, 1, 2, 3]);
            }
        }
    });
}

/// Each rank has rows of a matrix. An all-to-all of columns makes it rows of the transpose.
#[test]
fn an_all_to_all_of_columns_transposes() {
    run(3, 2, |universe| {
        let comm = universe.world().untyped();
        let (me, rows) = (comm.rank(), 40i32);
        let size = comm.size() * rows;
        let mut matrix: Vec<i32> = (0..rows * size).map(|at| me * rows * size + at).collect();
        let mut transposed = vec![CANARY; matrix.len()];
        // A column of this rank's rows. The next column begins a number later.
        let column = int().vector(i64::from(rows), 1, i64::from(size)).unwrap();
        let columns = committed(column.resized(0, 4));
        // A rank sends its columns one after the other, which are parts of rows here.
        let part = int()
            .vector(i64::from(rows), i64::from(rows), i64::from(size))
            .unwrap();
        let parts = committed(part.resized(0, i64::from(rows) * 4));
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let out = unsafe { Buffer::new(matrix.as_mut_ptr(), rows as usize, columns) };
        // SAFETY: it stays, and is not used otherwise, until the operation is complete.
        let into = unsafe { Buffer::new(transposed.as_mut_ptr(), 1, parts) };
        comm.alltoall(Some(out), into).unwrap();
        let expected = (0..rows * size).map(|at| at % size * size + me * rows + at / size);
        assert!(transposed.iter().copied().eq(expected));
    });
}

#[test]
fn gathers_and_scatters_of_columns() {
    for nodes in [1, 2] {
        run(3, nodes, |universe| {
            let comm = universe.world().untyped();
            let (me, size) = (comm.rank(), comm.size());
            for len in [1i64, 9, 400, 3_000, 90_000] {
                let column = int().vector(len, 1, size.into()).unwrap();
                let column = committed(column.resized(0, 4));
                let total = usize::try_from(len * i64::from(size)).unwrap();
                let mut matrix = vec![CANARY; total];
                let mut own = NumberBuffer::of(&numbers(total / 3, me), me == 1);
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let into = unsafe { Buffer::new(matrix.as_mut_ptr(), 1, &column) };
                comm.gather(Some(own.buffer()), into, 1).unwrap();
                let is = |at: usize, columns: [i32; 3]| (at / 3) as i32 * 7 + columns[at % 3];
                if me == 1 {
                    let mut all = (0..total).map(|at| is(at, [0, 1, 2]));
                    assert!(matrix.iter().all(|&value| Some(value) == all.next()));
                }
                // The columns in another order, with counts and displacements in columns.
                let (counts, places) = ([1i64; 3], [2i64, 0, 1]);
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let columns =
                    unsafe { Blocks::new(matrix.as_mut_ptr(), &counts, &places, &column) };
                let mut part = NumberBuffer::new(total / 3, me == 2);
                comm.scatterv(columns, Some(part.buffer()), 1).unwrap();
                assert!(part.data() == numbers(total / 3, places[me as usize] as i32));
                // SAFETY: it stays, and is not used otherwise, until the operation is complete.
                let columns =
                    unsafe { Blocks::new(matrix.as_mut_ptr(), &counts, &places, &column) };
                comm.allgatherv(Some(own.buffer()), columns).unwrap();
                let mut all = (0..total).map(|at| is(at, [1, 2, 0]));
                assert!(matrix.iter().all(|&value| Some(value) == all.next()));
            }
        });
    }
}

#[test]
fn packing_and_unpacking() {
    run(1, 1, |universe| {
        let comm = universe.world().untyped();
        let (mut one, mut other) = (
            NumberBuffer::of(&numbers(50, 1), true),
            NumberBuffer::of(&[9], false),
        );
        let size = comm.pack_size(1, &thirds(50)).unwrap() + comm.pack_size(1, &int()).unwrap();
        let (mut packed, mut position) = (vec![0; size], 0);
        comm.pack(&one.buffer(), &mut packed, &mut position)
            .unwrap();
        comm.pack(&other.buffer(), &mut packed, &mut position)
            .unwrap();
        assert_eq!(position, 204);
        let full = comm.pack(&other.buffer(), &mut packed, &mut position);
        assert_eq!(full.unwrap_err().class, ErrorClass::Truncate);
        assert!(one.data() == numbers(50, 1) && other.data() == [9]);
        position = 0;
        comm.unpack(&packed, &mut position, &one.buffer()).unwrap();
        comm.unpack(&packed, &mut position, &other.buffer())
            .unwrap();
        assert!(one.data() == numbers(50, 1) && other.data() == [9]);
        assert_eq!(
            comm.pack_size(-1, &int()).unwrap_err().class,
            ErrorClass::Count
        );
    });
}

/// The faces of a cube that neighbours exchange.
#[test]
fn halos_of_a_cube() {
    run(2, 2, |universe| {
        let comm = universe.world().untyped();
        let peer = 1 - comm.rank();
        let size = 24i64;
        let at = |x: i64, y: i64, z: i64| usize::try_from((x * size + y) * size + z).unwrap();
        for (axis, order) in [
            (0, Order::C),
            (1, Order::C),
            (2, Order::C),
            (0, Order::Fortran),
        ] {
            let mut cube = vec![comm.rank(); at(size, 0, 0)];
            let face = |start: i64| {
                let (mut subsizes, mut starts) = ([size - 2; 3], [1; 3]);
                subsizes[axis] = 1;
                starts[axis] = start;
                committed(int().subarray(&[size; 3], &subsizes, &starts, order))
            };
            let start = cube.as_mut_ptr();
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let out = (unsafe { Buffer::new(start, 1, face(1)) }, peer, 0);
            // SAFETY: it stays, and is not used otherwise, until the operation is complete.
            let into = (unsafe { Buffer::new(start, 1, face(size - 1)) }, peer, 0);
            comm.sendrecv(out, into).unwrap();
            for x in 0..size {
                for y in 0..size {
                    for z in 0..size {
                        let mut place = [x, y, z];
                        if order == Order::Fortran {
                            place.reverse();
                        }
                        let inside = |dimension: usize| (1..size - 1).contains(&place[dimension]);
                        let halo = place[axis] == size - 1
                            && (0..3).all(|other| other == axis || inside(other));
                        let expected = if halo { peer } else { comm.rank() };
                        assert_eq!(cube[at(x, y, z)], expected, "{place:?}, axis {axis}");
                    }
                }
            }
        }
    });
}
