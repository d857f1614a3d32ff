//! What small pieces cost: the same bytes between two ranks side by side, in pieces, and in pieces
//! that the program copies itself ("by hand"). Run it with `bcs run -n 2 --nodes 2 --strobe elastic pieces`, and
//! with `--nodes 1`.
//!
//! `pieces check` looks instead whether pieces arrive, each at its place and nothing between them: every
//! even rank sends to the next one, among as many ranks as there are.
//!
//! The variants of a line take turns, so whatever else the machine does happens to all of them. Rank
//! 0 prints the median time of a round trip of each.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use bcs_core::reduction::Datatype as Elementary;
use bcs_mpi::mpi::{Buffer, Comm, Datatype};
use bcs_mpi::{Result, Universe};
use std::time::Instant;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

const ROUNDS: usize = 41;

/// A type of numbers, how many of it make a message, and the numbers of memory that it spans.
struct Pieces {
    name: &'static str,
    datatype: Datatype,
    count: usize,
    span: usize,
}

fn kinds(numbers: usize) -> Result<Vec<Pieces>> {
    let (long, len) = (
        Datatype::from(Elementary::Int64),
        numbers.cast_signed() as i64,
    );
    let vector = long.vector(len, 1, 2)?;
    let pairs = long.vector(len / 2, 2, 5)?;
    let column = long.resized(0, 64 * 8)?;
    let places: Vec<i64> = (0..len).map(|nth| 2 * nth + nth * nth / 3 % 2).collect();
    let irregular = long.indexed_block(1, &places)?;
    let parts = [
        long.clone(),
        Elementary::Int32.into(),
        Elementary::Int32.into(),
    ];
    let structure = Datatype::structure(&[1, 1, 1], &[0, 12, 20], &parts)?.resized(0, 24)?;
    let kinds = vec![
        Pieces {
            name: "every second number",
            datatype: vector,
            count: 1,
            span: 2 * numbers,
        },
        Pieces {
            name: "two of five",
            datatype: pairs,
            count: 1,
            span: 5 * numbers / 2,
        },
        Pieces {
            name: "a column of 64",
            datatype: column,
            count: numbers,
            span: 64 * numbers,
        },
        Pieces {
            name: "an indexed type",
            datatype: irregular,
            count: 1,
            span: 2 * numbers + 1,
        },
        Pieces {
            name: "a structure of three",
            datatype: structure,
            count: numbers / 2,
            span: 2 * numbers,
        },
    ];
    kinds.iter().try_for_each(|kind| kind.datatype.commit())?;
    Ok(kinds)
}

/// There and back; the time if this is rank 0.
fn round_trip(comm: &Comm, data: &mut [i64], count: usize, datatype: &Datatype) -> Result<f64> {
    let peer = 1 - comm.rank();
    let mut buffer = || Buffer::new(data.as_mut_ptr(), count, datatype);
    let start = Instant::now();
    for sends in [comm.rank() == 0, comm.rank() == 1] {
        if sends {
            // SAFETY: the data stay during the call, which alone uses them.
            unsafe { comm.send(buffer(), peer, 0)? };
        } else {
            // SAFETY: as above.
            unsafe { comm.recv(buffer(), peer, 0)? };
        }
    }
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

/// The same with the loops that a program would write: both ranks copy before they send, and when they have
/// received.
fn by_hand(
    comm: &Comm,
    spread: &mut [i64],
    packed: &mut [i64],
    long: &Datatype,
) -> Result<(f64, f64)> {
    let (step, peer) = (spread.len() / packed.len(), 1 - comm.rank());
    let (start, mut loops) = (Instant::now(), 0.0);
    for sends in [comm.rank() == 0, comm.rank() == 1] {
        if sends {
            let begun = Instant::now();
            for (to, from) in packed.iter_mut().zip(spread.iter().step_by(step)) {
                *to = *from;
            }
            std::hint::black_box(&mut *packed);
            loops = begun.elapsed().as_secs_f64() * 1e6;
        }
        let buffer = Buffer::new(packed.as_mut_ptr(), packed.len(), long);
        if sends {
            // SAFETY: the data stay during the call, which alone uses them.
            unsafe { comm.send(buffer, peer, 0)? };
        } else {
            // SAFETY: as above.
            unsafe { comm.recv(buffer, peer, 0)? };
            for (from, to) in packed.iter().zip(spread.iter_mut().step_by(step)) {
                *to = *from;
            }
            std::hint::black_box(&mut *spread);
        }
    }
    Ok((start.elapsed().as_secs_f64() * 1e6, loops))
}

/// Numbers that nobody has written.
const UNTOUCHED: i64 = -1;

/// The even rank of a pair sends, in pieces and packed; the other receives, in pieces or side by side, and compares.
fn check(comm: &Comm, kind: &Pieces, long: &Datatype, round: usize) -> Result<()> {
    let Pieces {
        name,
        datatype,
        count,
        span,
    } = kind;
    // Of an element alone some rounds send a part of the elements.
    let count = if *count > 1 { count - round % 7 } else { 1 };
    let mut spread = vec![UNTOUCHED; *span];
    let (sends, peer) = (comm.rank() % 2 == 0, comm.rank() ^ 1);
    if sends {
        let first = (round << 32).cast_signed() as i64;
        (first..)
            .zip(&mut spread)
            .for_each(|(number, place)| *place = number);
    }
    let bytes = count * datatype.size();
    let mut packed = vec![0u8; bytes];
    let data = Buffer::new(spread.as_mut_ptr(), count, datatype);
    if sends {
        // SAFETY: the data stay during the call.
        unsafe { comm.pack(&data, &mut packed, &mut 0)? };
        // SAFETY: as above.
        unsafe { comm.send(data, peer, 0)? };
        let data = Buffer::new(packed.as_mut_ptr().cast::<i64>(), bytes / 8, long);
        // SAFETY: as above.
        return unsafe { comm.send(data, peer, 1) };
    }
    let mut plain = vec![0u8; bytes];
    let mut right = vec![0u8; bytes];
    if round % 4 == 3 {
        let data = Buffer::new(plain.as_mut_ptr().cast::<i64>(), bytes / 8, long);
        // SAFETY: the data stay during the call, which alone uses them.
        unsafe { comm.recv(data, peer, 0)? };
    } else {
        // SAFETY: as above.
        unsafe { comm.recv(data, peer, 0)? };
        let data = Buffer::new(spread.as_mut_ptr(), count, datatype);
        // SAFETY: as above.
        unsafe { comm.pack(&data, &mut plain, &mut 0)? };
        let halves = spread
            .iter()
            .flat_map(|number| [number & 0xffff_ffff, number >> 32 & 0xffff_ffff]);
        let untouched = halves.filter(|&half| half == 0xffff_ffff).count();
        assert_eq!(
            untouched,
            2 * span - bytes / 4,
            "{name}: gaps are left alone"
        );
    }
    let data = Buffer::new(right.as_mut_ptr().cast::<i64>(), bytes / 8, long);
    // SAFETY: as above.
    unsafe { comm.recv(data, peer, 1)? };
    assert!(plain == right, "{name}: other numbers");
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let comm = universe.world().untyped();
    let (long, talks) = (Datatype::from(Elementary::Int64), comm.rank() == 0);
    if std::env::args().nth(1).as_deref() == Some("check") {
        let mut checked = 0;
        if comm.rank() ^ 1 >= comm.size() {
            return universe.finalize(); // It has no peer.
        }
        for numbers in [100, 1 << 13, 1 << 17, 100_000] {
            for kind in kinds(numbers)? {
                for round in 0..12 {
                    check(comm, &kind, &long, round)?;
                    checked += 1;
                }
            }
        }
        if talks {
            println!("{checked} messages");
        }
        return universe.finalize();
    }
    for numbers in [1 << 13, 1 << 17] {
        for Pieces {
            name,
            datatype,
            count,
            span,
        } in kinds(numbers)?
        {
            let mut spread = vec![1i64; span];
            let mut packed = vec![1i64; numbers];
            let [mut plain, mut pieces, mut hand, mut strided, mut gathered] =
                [const { vec![] }; 5];
            for _ in 0..ROUNDS {
                plain.push(round_trip(comm, &mut packed, numbers, &long)?);
                pieces.push(round_trip(comm, &mut spread, count, &datatype)?);
                let (there_and_back, loops) = by_hand(comm, &mut spread, &mut packed, &long)?;
                hand.push(there_and_back);
                strided.push(loops);
                let bytes = vec![0u8; numbers * 8];
                let mut bytes = std::hint::black_box(bytes);
                let start = Instant::now();
                let data = Buffer::new(spread.as_mut_ptr(), count, &datatype);
                // SAFETY: the data stay during the call.
                unsafe { comm.pack(&data, &mut bytes, &mut 0)? };
                std::hint::black_box(&mut bytes);
                gathered.push(start.elapsed().as_secs_f64() * 1e6);
            }
            let [plain, pieces, hand, strided, gathered] =
                [plain, pieces, hand, strided, gathered].map(median);
            if talks {
                println!(
                    "{:4} KiB {name:22} side by side {plain:7.0} us, pieces {pieces:7.0} us: {:5.2}, \
                     by hand {hand:7.0} us: {:5.2}; loop {strided:6.1} us, MPI_Pack {gathered:6.1} us",
                    numbers / 128,
                    pieces / plain,
                    pieces / hand,
                );
            }
        }
    }
    universe.finalize()
}
