//! Data that do not lie side by side, between nodes: columns of a matrix, and the faces of a cube
//! with a halo, both of more bytes than a node may move in a slice. Every byte beside them is
//! looked at, too. Run it alone, or with `bcs run -n 4 --nodes 2 halo`.
//!
//! Rank 0 prints a line per part, with how long it took.
#![expect(unsafe_code, reason = "the untyped core names buffers by address")]

use bcs_mpi::mpi::datatype::Order;
use bcs_mpi::mpi::{Buffer, Comm, Datatype};
use bcs_mpi::{Result, Source, Tag, Universe, equivalence};
use std::time::Instant;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

/// The value of a place for which nothing was received.
const CANARY: f64 = -1.0;

/// A cell of a mesh, as a C programmer would have it: with padding.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    kind: u8,
    density: f64,
    neighbours: [u32; 3],
}
equivalence!(Cell {
    kind,
    density,
    neighbours
});

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    type Part = (&'static str, fn(&Comm) -> Result<()>);
    let parts: [Part; 3] = [
        ("columns to rows", columns),
        ("the same side by side", rows),
        ("halos of a cube", halos),
    ];
    for (name, part) in parts {
        world.barrier()?;
        let start = Instant::now();
        part(world.untyped())?;
        world.barrier()?;
        if world.rank() == 0 {
            println!("{name}: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let start = Instant::now();
    let (to, from) = neighbours(world.untyped());
    let cell = |rank: i32, nth: u32| Cell {
        kind: rank.to_le_bytes()[0],
        density: f64::from(nth),
        neighbours: [nth; 3],
    };
    let out: Vec<Cell> = (0..100_000)
        .map(|nth| cell(world.untyped().rank(), nth))
        .collect();
    let mut into = vec![cell(-1, 0); out.len()];
    let (to, source) = (to.unsigned_abs() as usize, from.unsigned_abs() as usize);
    let receive = (&mut into[..], Source::Rank(source), Tag::Is(9));
    world.sendrecv((&out, to, 9), receive)?;
    assert!(
        (0..)
            .zip(&into)
            .all(|(nth, found)| *found == cell(from, nth))
    );
    if world.rank() == 0 {
        println!("structures: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    universe.finalize()
}

/// To whom a rank sends, and from whom it receives.
fn neighbours(world: &Comm) -> (i32, i32) {
    let (me, size) = (world.rank(), world.size());
    ((me + 1) % size, (me + size - 1) % size)
}

fn double() -> Datatype {
    Datatype::predefined(bcs_core::reduction::Datatype::Double)
}

const SIDE: usize = 640;

fn value(rank: i32, row: usize, column: usize) -> f64 {
    f64::from(rank) * 1e6 + (row * SIDE + column) as f64
}

fn matrix(rank: i32) -> Vec<f64> {
    let places = (0..SIDE * SIDE).map(|at| (at / SIDE, at % SIDE));
    places
        .map(|(row, column)| value(rank, row, column))
        .collect()
}

/// Every second column of a matrix of 3 MiB goes to every second row of the neighbour's, and the
/// other way round.
fn columns(world: &Comm) -> Result<()> {
    let side = SIDE as i64;
    let column = double().vector(side, 1, side)?;
    let columns = column.resized(0, 16)?;
    columns.commit()?;
    let rows = double().vector(1, side, side)?.resized(0, side * 16)?;
    rows.commit()?;
    let (to, from) = neighbours(world);
    for transposed in [false, true] {
        let mut out = matrix(world.rank());
        let mut into = vec![CANARY; SIDE * SIDE];
        let (sent, received) = if transposed {
            (&rows, &columns)
        } else {
            (&columns, &rows)
        };
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        let out = (
            unsafe { Buffer::new(out.as_mut_ptr(), SIDE / 2, sent) },
            to,
            1,
        );
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        let room = (
            unsafe { Buffer::new(into.as_mut_ptr(), SIDE / 2, received) },
            from,
            1,
        );
        let status = world.sendrecv(out, room)?;
        assert_eq!(status.count(received), Some(SIDE as u64 / 2));
        for (at, found) in into.into_iter().enumerate() {
            let (row, column) = (at / SIDE, at % SIDE);
            let filled = if transposed { column } else { row } % 2 == 0;
            let expected = if filled {
                value(from, column, row)
            } else {
                CANARY
            };
            assert!(found == expected, "row {row}, column {column}: {found}");
        }
    }
    Ok(())
}

/// As many bytes as in [`columns`], to compare.
fn rows(world: &Comm) -> Result<()> {
    let (to, from) = neighbours(world);
    for _ in 0..2 {
        let mut out = matrix(world.rank());
        let mut into = vec![CANARY; SIDE * SIDE];
        let half = SIDE * SIDE / 2;
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        let out = (
            unsafe { Buffer::new(out.as_mut_ptr(), half, double()) },
            to,
            2,
        );
        // SAFETY: it stays, and nobody else uses it, until the operation is over.
        let room = (
            unsafe { Buffer::new(into.as_mut_ptr(), half, double()) },
            from,
            2,
        );
        world.sendrecv(out, room)?;
        assert!(into[..half] == matrix(from)[..half]);
        assert!(into[half..].iter().all(|&found| found == CANARY));
    }
    Ok(())
}

/// Each rank has a cube, three cells thick on each side what its neighbours have there: the
/// slabs of the second dimension go both ways.
fn halos(world: &Comm) -> Result<()> {
    const LEN: usize = 128;
    const THICK: usize = 3;
    let (to, from) = neighbours(world);
    let len = LEN as i64;
    let slab = |start: usize| -> Result<Datatype> {
        let subsizes = [len - 2, THICK as i64, len - 2];
        let slab = double().subarray(&[len; 3], &subsizes, &[1, start as i64, 1], Order::C)?;
        slab.commit()?;
        Ok(slab)
    };
    let me = f64::from(world.rank());
    let mut cube = vec![me; LEN * LEN * LEN];
    let start = cube.as_mut_ptr();
    let (upper, lower) = (slab(LEN - 2 * THICK)?, slab(THICK)?);
    let (upper_halo, lower_halo) = (slab(LEN - THICK)?, slab(0)?);
    // SAFETY: it stays, and nobody else uses it, until the operation is over.
    let up = (unsafe { Buffer::new(start, 1, upper) }, to, 3);
    // SAFETY: it stays, and nobody else uses it, until the operation is over.
    let into = (unsafe { Buffer::new(start, 1, lower_halo) }, from, 3);
    world.sendrecv(up, into)?;
    // SAFETY: it stays, and nobody else uses it, until the operation is over.
    let down = (unsafe { Buffer::new(start, 1, lower) }, from, 4);
    // SAFETY: it stays, and nobody else uses it, until the operation is over.
    let into = (unsafe { Buffer::new(start, 1, upper_halo) }, to, 4);
    world.sendrecv(down, into)?;
    for (at, &found) in cube.iter().enumerate() {
        let (x, y, z) = (at / (LEN * LEN), at / LEN % LEN, at % LEN);
        let inside = |index| (1..LEN - 1).contains(&index);
        let expected = match y {
            _ if !inside(x) || !inside(z) => me,
            0..THICK => f64::from(from),
            _ if y >= LEN - THICK => f64::from(to),
            _ => me,
        };
        assert!(found == expected, "cell ({x}, {y}, {z}): {found}");
    }
    Ok(())
}
