//! Checks a job from inside: every rank sends, receives, probes and reduces, and compares what it
//! gets with what it must get. Run it alone, or with `bcs run -n 4 --nodes 2 selftest`.
//!
//! Rank 0 prints a line per part, with how long it took.

mod intercommunicators;

use bcs_mpi::{
    Communicator, Complex, DoubleInt, Op, OwnedRequest, Result, Source, Tag, Universe, UserOp, mpi,
    scope,
};
use std::time::Instant;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

const SIZES: [usize; 10] = [0, 1, 63, 64, 65, 4095, 4096, 4097, 100_003, 1 << 20];

type Part = (&'static str, fn(&Communicator) -> Result<()>);

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let parts: [Part; 15] = [
        ("messages of all sizes to everybody", sizes),
        ("many sends before any receive", flood),
        ("order and wildcards", order),
        ("probes", probes),
        ("matched probes", matched_probes),
        ("cancel", cancel),
        ("collectives", collectives),
        ("communicators", communicators),
        ("many collectives at once", outstanding),
        ("collectives made of messages", exchanges),
        ("operations of many kinds", operations),
        ("neighbours", neighbours),
        ("persistent collectives", persistent),
        ("communicators made by some", groups),
        ("intercommunicators", intercommunicators::pairs),
    ];
    for (name, part) in parts {
        world.barrier()?;
        let start = Instant::now();
        part(world)?;
        world.barrier()?;
        if world.rank() == 0 {
            println!("{name}: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
        }
    }
    universe.finalize()
}

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len)
        .map(|index| u8::try_from((index * 7 + seed) % 251).unwrap_or(0))
        .collect()
}

fn sizes(world: &Communicator) -> Result<()> {
    let (me, ranks) = (world.rank(), world.size());
    for size in SIZES {
        let sends: Vec<OwnedRequest<u8>> = (0..ranks)
            .map(|to| world.isend_owned(pattern(size, me * ranks + to), to, 1))
            .collect::<Result<_>>()?;
        for from in 0..ranks {
            let mut data = vec![0; size + 1];
            let status = world.recv(&mut data, Source::Rank(from), Tag::Is(1))?;
            assert_eq!((status.source, status.tag, status.bytes), (from, 1, size));
            assert_eq!(
                data[..size],
                pattern(size, from * ranks + me),
                "{size} bytes from {from}"
            );
            assert_eq!(data[size], 0);
        }
        for send in sends {
            send.wait()?;
        }
    }
    Ok(())
}

fn flood(world: &Communicator) -> Result<()> {
    let (to, from) = (
        (world.rank() + 1) % world.size(),
        world.size() + world.rank() - 1,
    );
    let from = Source::Rank(from % world.size());
    for (bytes, reverse) in [(8, false), (8, true), (1_000, true), (10_000, false)] {
        let sends: Vec<OwnedRequest<u8>> = (0..3_000)
            .map(|tag: i32| {
                let mut data = vec![0; bytes];
                data[..4].copy_from_slice(&tag.to_le_bytes());
                world.isend_owned(data, to, tag)
            })
            .collect::<Result<_>>()?;
        let mut tags: Vec<i32> = (0..3_000).collect();
        if reverse {
            tags.reverse();
        }
        for tag in tags {
            let mut data = vec![0; bytes];
            world.recv(&mut data, from, Tag::Is(tag))?;
            assert_eq!(data[..4], tag.to_le_bytes());
        }
        for send in sends {
            send.wait()?;
        }
    }
    Ok(())
}

fn order(world: &Communicator) -> Result<()> {
    let sizes = [5_000, 8, 100, 64, 4_096, 65];
    if world.rank() == 0 {
        let mut next = vec![0u64; world.size()];
        for _ in 0..200 * (world.size() - 1) {
            let mut data = vec![0u8; 5_000];
            let status = world.recv(&mut data, Source::Any, Tag::Any)?;
            let turn = next[status.source];
            assert_eq!(data[..8], turn.to_le_bytes(), "from rank {}", status.source);
            assert_eq!(status.bytes, sizes[usize::try_from(turn % 6).unwrap_or(0)]);
            next[status.source] += 1;
        }
    } else {
        for turn in 0..200u64 {
            let mut data = vec![0u8; sizes[usize::try_from(turn % 6).unwrap_or(0)]];
            data[..8].copy_from_slice(&turn.to_le_bytes());
            world.send(&data, 0, 3)?;
        }
    }
    Ok(())
}

fn probes(world: &Communicator) -> Result<()> {
    let (me, ranks) = (world.rank(), world.size());
    for size in [0, 10, 100, 10_000] {
        let send = world.isend_owned(pattern(size, me), (me + 1) % ranks, 9)?;
        let found = world.probe(Source::Any, Tag::Is(9))?;
        assert_eq!(
            (found.source, found.bytes),
            ((me + ranks - 1) % ranks, size)
        );
        let again = loop {
            if let Some(found) = world.iprobe(Source::Any, Tag::Any)? {
                break found;
            }
        };
        assert_eq!(again, found);
        let mut data = vec![0; found.bytes];
        world.recv(&mut data, Source::Rank(found.source), Tag::Is(9))?;
        assert_eq!(data, pattern(size, found.source));
        assert_eq!(world.iprobe(Source::Any, Tag::Any)?, None);
        send.wait()?;
        world.barrier()?;
    }
    Ok(())
}

fn matched_probes(world: &Communicator) -> Result<()> {
    let (me, ranks) = (world.rank(), world.size());
    // A tag for each size: a rank that is ahead has sent the next one already.
    for (tag, size) in (100..).zip(SIZES) {
        let sends: Vec<OwnedRequest<u8>> = (0..ranks)
            .map(|to| world.isend_owned(pattern(size, me), to, tag))
            .collect::<Result<_>>()?;
        for turn in 0..ranks {
            let message = if turn % 2 == 0 {
                world.mprobe(Source::Any, Tag::Is(tag))?
            } else {
                loop {
                    if let Some(message) = world.improbe(Source::Any, Tag::Is(tag))? {
                        break message;
                    }
                }
            };
            let from = message.status().source;
            let (data, _) = message.recv_vec::<u8>()?;
            assert!(data == pattern(size, from), "{size} bytes from {from}");
        }
        for send in sends {
            send.wait()?;
        }
    }
    Ok(())
}

fn cancel(world: &Communicator) -> Result<()> {
    let request = world.irecv_owned(vec![0u8; 10], Source::Any, Tag::Is(77))?;
    request.cancel();
    assert!(request.wait()?.1.cancelled);
    drop(world.irecv_owned(vec![0u8; 10], Source::Any, Tag::Is(77))?);
    Ok(())
}

fn collectives(world: &Communicator) -> Result<()> {
    let (me, ranks) = (world.rank() as i64, world.size() as i64);
    for len in [0i64, 1, 7, 8, 9, 1_000, 100_003] {
        let data: Vec<i64> = (0..len).map(|value| value + me).collect();
        let mut sum = vec![0; data.len()];
        world.allreduce(&data, &mut sum, Op::Sum)?;
        assert!(
            sum.iter()
                .copied()
                .eq((0..len).map(|v| v * ranks + ranks * (ranks - 1) / 2))
        );
        let mut max: Vec<f64> = data.iter().map(|&value| value as f64).collect();
        world.allreduce_in_place(&mut max, Op::Max)?;
        assert!(
            max.into_iter()
                .eq((0..len).map(|value| (value + ranks - 1) as f64))
        );
        for root in 0..world.size() {
            let mut result = vec![0; data.len()];
            world.reduce(&data, &mut result, Op::Min, root)?;
            if world.rank() == root {
                assert!(result.iter().copied().eq(0..len));
                result.iter_mut().for_each(|value| *value += 5);
            }
            world.bcast(&mut result, root)?;
            assert!(result.into_iter().eq(5..len + 5));
        }
    }
    Ok(())
}

fn communicators(world: &Communicator) -> Result<()> {
    for round in 0..20 {
        let color = u32::try_from(world.rank() % 2).ok();
        let half = world
            .split(color, -i32::try_from(world.rank()).expect("few ranks"))?
            .expect("a colour was given");
        let twin = half.dup()?;
        let quarter = half.split(Some(u32::try_from(half.rank() / 2).unwrap_or(0)), 0)?;
        let quarter = quarter.expect("a colour was given");
        let mut members = [1 << world.rank(); 1];
        twin.allreduce_in_place(&mut members, Op::Bor)?;
        let all = (0..world.size()).filter(|rank| rank % 2 == world.rank() % 2);
        assert_eq!(
            members[0],
            all.map(|rank| 1u64 << rank).sum::<u64>(),
            "round {round}"
        );
        let next = (quarter.rank() + 1) % quarter.size();
        let mut from = [0usize];
        let status = quarter.sendrecv(
            (&[world.rank()], next, 4),
            (&mut from, Source::Any, Tag::Is(4)),
        )?;
        assert_eq!(next, (quarter.rank() + 1) % quarter.size());
        assert!(status.source < quarter.size() && from[0] < world.size());
        quarter.barrier()?;
    }
    Ok(())
}

fn outstanding(world: &Communicator) -> Result<()> {
    let batch = if world.rank() == 0 { 600 } else { 30 };
    for _ in 0..600 / batch {
        let barriers = (0..batch).map(|_| world.untyped().ibarrier());
        let mut requests: Vec<_> = barriers.collect::<Result<_>>()?;
        for done in mpi::request::waitall(&mut requests) {
            done?;
        }
    }
    Ok(())
}

/// Scatter, gather, allgather, all-to-all and scans: one after the other, and many at once among
/// messages that a wildcard receives.
fn exchanges(world: &Communicator) -> Result<()> {
    let (me, ranks) = (world.rank(), world.size());
    for count in [0, 1, 8, 600, 50_001] {
        let value = |rank: usize, index: usize| (rank * 1_000_003 + index) as u64;
        let of = |rank: usize, from: usize, count: usize| -> Vec<u64> {
            (from..from + count)
                .map(|index| value(rank, index))
                .collect()
        };
        let root = count % ranks;
        let (data, mut mine) = (of(me, 0, count * ranks), vec![0; count]);
        world.scatter(&data, &mut mine, root)?;
        assert_eq!(mine, of(root, me * count, count));
        let mut all = vec![0; data.len()];
        world.gather(&of(me, 0, count), &mut all, root)?;
        let everybody: Vec<u64> = (0..ranks).flat_map(|rank| of(rank, 0, count)).collect();
        if me == root {
            assert_eq!(all, everybody);
        }
        world.allgather(&of(me, 0, count), &mut all)?;
        assert_eq!(all, everybody);
        let exchanged = (0..ranks).flat_map(|rank| of(rank, me * count, count));
        let exchanged: Vec<u64> = exchanged.collect();
        let mut in_place = data.clone();
        world.alltoall_in_place(&mut in_place)?;
        assert_eq!(in_place, exchanged);
        let sum = |ranks: usize, index: usize| (0..ranks).map(|rank| value(rank, index)).sum();
        world.reduce_scatter_block(&data, &mut mine, Op::Sum)?;
        let mut sums = (me * count..(me + 1) * count).map(|index| sum(ranks, index));
        assert!(mine.iter().all(|&found: &u64| sums.next() == Some(found)));
        world.scan(&data[..count], &mut mine, Op::Sum)?;
        assert!((0..count).all(|index| mine[index] == sum(me + 1, index)));

        let mut results = vec![vec![0; data.len()]; 20];
        let mut scans = vec![vec![0; count]; 20];
        let mut message = [0u64];
        scope(|scope| {
            let message = world.irecv(scope, &mut message, Source::Any, Tag::Any)?;
            let mut requests = Vec::new();
            for (result, scan) in results.iter_mut().zip(&mut scans) {
                requests.push(world.ialltoall(scope, &data, result)?);
                requests.push(world.iexscan(scope, &data[..count], scan, Op::Sum)?);
            }
            world.send(&[7u64], (me + 1) % ranks, 1)?;
            assert_eq!(message.wait()?.0, [7]);
            while let Some(request) = requests.pop() {
                request.wait()?;
            }
            Ok(())
        })?;
        assert!(results.iter().all(|result| *result == exchanged));
        let below = |scan: &Vec<u64>| (0..count).all(|index| scan[index] == sum(me, index));
        assert!(me == 0 || scans.iter().all(below));
    }
    Ok(())
}

/// Reductions by the NICs of complex numbers and of values with their places, and those by a
/// closure that is not commutative.
fn operations(world: &Communicator) -> Result<()> {
    let (me, ranks) = (world.rank(), world.size());
    for count in [0, 1, 3, 4, 5, 5_000] {
        // i to the power of the index: products are exact.
        let turn = |turns: usize| match turns % 4 {
            0 => Complex { re: 1.0, im: 0.0 },
            1 => Complex { re: 0.0, im: 1.0 },
            2 => Complex { re: -1.0, im: 0.0 },
            _ => Complex { re: 0.0, im: -1.0 },
        };
        let data: Vec<Complex<f64>> = (0..count).map(|index| turn(index + me)).collect();
        let mut product = vec![Complex::default(); count];
        world.allreduce(&data, &mut product, Op::Prod)?;
        let turns = |index: usize| index * ranks + ranks * (ranks - 1) / 2;
        assert!((0..count).all(|index| product[index] == turn(turns(index))));

        let value = |rank: usize, index: usize| ((rank * 5 + index * 3) % 7) as f64;
        let here = i32::try_from(me).expect("few ranks");
        let data: Vec<_> = (0..count)
            .map(|index| DoubleInt::new(value(me, index), here))
            .collect();
        let mut greatest = vec![DoubleInt::default(); count];
        world.allreduce(&data, &mut greatest, Op::MaxLoc)?;
        for (index, found) in greatest.into_iter().enumerate() {
            let at = usize::try_from(found.place).expect("ranks are not negative");
            assert_eq!(found.value, value(at, index));
            assert!((0..ranks).all(|rank| value(rank, index) <= found.value));
            assert!((0..at).all(|rank| value(rank, index) < found.value));
        }

        // A step x -> ax + b modulo 2^32, as a and b: one after the other, in the order of the ranks.
        let after = |first: u64, second: u64| {
            let parts = |step: u64| (step & 0xffff_ffff, step >> 32);
            let ((a, b), (c, d)) = (parts(first), parts(second));
            let below = |number: u64| number & 0xffff_ffff;
            below(c * a) | below(below(c * b) + d) << 32
        };
        let step = |rank: usize, index: usize| {
            (rank as u64 * 77 + index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let op = UserOp::new(after);
        let data: Vec<u64> = (0..count).map(|index| step(me, index)).collect();
        let (mut all, mut below) = (vec![0; count], vec![0; count]);
        world.allreduce(&data, &mut all, &op)?;
        world.scan(&data, &mut below, &op)?;
        let mut at_root = vec![0; count];
        world.reduce(&data, &mut at_root, &op, ranks - 1)?;
        let fold = |ranks: usize, index| (0..ranks).map(|rank| step(rank, index)).reduce(after);
        assert!((0..count).all(|index| Some(all[index]) == fold(ranks, index)));
        assert!((0..count).all(|index| Some(below[index]) == fold(me + 1, index)));
        assert!(me != ranks - 1 || at_root == all);
    }
    Ok(())
}

/// A ring and a graph on which each rank sends twice to the next and once to itself, one exchange
/// after the other and many at once.
fn neighbours(world: &Communicator) -> Result<()> {
    let (me, ranks) = (world.rank(), world.size());
    let (next, last) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
    let ring = world
        .cart_create(&[ranks], &[true])?
        .expect("all ranks fit");
    let chain = world.dist_graph_create_adjacent(&[me, last, last], &[next, me, next])?;
    for count in [0, 1, 8, 9, 600, 40_000] {
        let of = |rank: usize, block: usize| -> Vec<u64> {
            (0..count)
                .map(|index| (rank * 1_000_003 + block * 500_009 + index) as u64)
                .collect()
        };
        let all = |blocks: &[(usize, usize)]| -> Vec<u64> {
            blocks
                .iter()
                .flat_map(|&(rank, block)| of(rank, block))
                .collect()
        };
        let data = all(&[(me, 0), (me, 1)]);
        let expected = all(&[(last, 1), (next, 0)]);
        let mut results = vec![vec![0; data.len()]; 20];
        ring.neighbor_alltoall(&data, &mut results[0])?;
        assert!(results[0] == expected, "{count} elements on a ring");
        scope(|scope| {
            for result in &mut results {
                ring.ineighbor_alltoall(scope, &data, result)?;
            }
            Ok(())
        })?;
        assert!(results.iter().all(|result| *result == expected));
        let mut result = vec![0; data.len()];
        ring.neighbor_allgather(&of(me, 2), &mut result)?;
        assert!(result == all(&[(last, 2), (next, 2)]));

        let mut result = vec![0; 3 * count];
        chain.neighbor_alltoall(&all(&[(me, 0), (me, 1), (me, 2)]), &mut result)?;
        // The k-th edge from a rank is the k-th at the other end, also where all are one rank.
        let expected = match ranks {
            1 => all(&[(me, 0), (me, 1), (me, 2)]),
            _ => all(&[(me, 1), (last, 0), (last, 2)]),
        };
        assert!(result == expected, "{count} elements on a graph");
    }
    Ok(())
}

/// Four kinds, which every rank starts in an order of its own, and of which some move data that is
/// split into slices.
#[expect(
    unsafe_code,
    reason = "persistent requests are those of the untyped core"
)]
fn persistent(world: &Communicator) -> Result<()> {
    use bcs_core::reduction::Datatype::Uint64;
    let (me, ranks) = (world.rank(), world.size());
    for count in [1, 9, 20_000] {
        let mut sent = vec![0_u64; ranks * count];
        let mut memory = [const { Vec::new() }; 3].map(|mut memory: Vec<u64>| {
            memory.resize(ranks * count, 0);
            memory
        });
        let input = |count| mpi::Buffer::read_only(sent.as_ptr(), count, Uint64);
        let [sum, all, from_last] = &mut memory;
        let output = |memory: &mut Vec<u64>| mpi::Buffer::new(memory.as_mut_ptr(), count, Uint64);
        let untyped = world.untyped();
        let root = i32::try_from(ranks - 1).expect("few ranks");
        let mut requests = [
            untyped.barrier_init()?,
            untyped.allreduce_init(input(count), output(sum), Op::Sum)?,
            untyped.alltoall_init(Some(input(count)), output(all))?,
            untyped.bcast_init(output(from_last), root)?,
        ];
        for round in 0..6 {
            let value = |rank: usize, index: usize| (round * 31 + rank * 1_009 + index) as u64;
            for (index, place) in sent.iter_mut().enumerate() {
                *place = value(me, index);
            }
            if me == ranks - 1 {
                memory[2].fill(value(me, 5));
            }
            for nth in 0..requests.len() {
                // SAFETY: what is named stays as it is until all have been waited for.
                unsafe { requests[(nth + me + round) % 4].start()? };
            }
            for request in &mut requests {
                request.started().wait()?;
            }
            let total = |index: usize| (0..ranks).map(|rank| value(rank, index)).sum::<u64>();
            let [sum, all, from_last] = &memory;
            assert!((0..count).all(|index| sum[index] == total(index)));
            let mut blocks = all.chunks(count).enumerate();
            assert!(blocks.all(|(rank, block)| {
                (0..count).all(|index| block[index] == value(rank, me * count + index))
            }));
            assert!(
                from_last[..count]
                    .iter()
                    .all(|&found| found == value(ranks - 1, 5))
            );
        }
    }
    Ok(())
}

/// The even ranks make communicators again and again, while the odd ones do nothing.
fn groups(world: &Communicator) -> Result<()> {
    let (me, ranks) = (world.rank(), world.size());
    if me % 2 == 1 {
        return Ok(());
    }
    let backwards = (0..ranks).rev().filter(|rank| rank % 2 == 0);
    let backwards: Vec<i32> = backwards
        .map(|rank| rank.try_into().expect("few ranks"))
        .collect();
    let group = world.group().include(&backwards)?;
    for round in 0..50 {
        let comm = world
            .create_group(&group, round)?
            .expect("this rank is in the group");
        assert_eq!(comm.rank(), comm.size() - 1 - me / 2);
        let mut sum = [me];
        comm.allreduce_in_place(&mut sum, Op::Sum)?;
        assert_eq!(sum[0], (0..ranks).step_by(2).sum::<usize>());
    }
    Ok(())
}
