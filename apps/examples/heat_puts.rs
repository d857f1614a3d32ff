//! Heat in a plate, as in the example `heat`, with halos that are put: each rank writes its outer
//! rows into the halos of its neighbours, which do not receive them. The rows are the ranks' parts
//! of a window.
//!
//! Rank 0 checks the answer against the same computation by one rank, to the bit.

use bcs_mpi::{Communicator, FenceWindow, Op, Result, Universe};

bcs_mpi::slot_heap!();

const WIDTH: usize = 64;
const HEIGHT: usize = 96;
const STEPS: usize = 100;
const HOT: f64 = 100.0;

type Row = [f64; WIDTH];

/// Returns the rows of a rank, divided as evenly as possible.
fn rows_of(rank: usize, size: usize) -> std::ops::Range<usize> {
    rank * HEIGHT / size..(rank + 1) * HEIGHT / size
}

/// Computes one step of a row, from the rows above, at and below it.
fn step(above: &Row, here: &Row, below: &Row) -> Row {
    let mut next = [0.0; WIDTH];
    for column in 1..WIDTH - 1 {
        let beside = here[column - 1] + here[column + 1];
        next[column] = 0.25 * (above[column] + below[column] + beside);
    }
    next
}

/// Computes a step of all rows but the first and the last, which are halos or edges.
fn step_all(rows: &mut [Row]) {
    let next: Vec<Row> = rows.windows(3).map(|w| step(&w[0], &w[1], &w[2])).collect();
    let inner = rows.len() - 1;
    rows[1..inner].copy_from_slice(&next);
}

/// Returns the plate at the start, with a row of edge above and below.
fn plate() -> Vec<Row> {
    let mut rows = vec![[0.0; WIDTH]; HEIGHT + 2];
    rows[0] = [HOT; WIDTH];
    rows
}

/// Runs all steps. The window holds this rank's rows, with a row of halo on either side.
fn parallel(world: &Communicator, window: &mut FenceWindow<Row>) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mine = rows_of(rank, size);
    window
        .local_mut()
        .copy_from_slice(&plate()[mine.start..mine.end + 2]);
    let above = rank.checked_sub(1);
    let below = Some(rank + 1).filter(|&below| below < size);
    for _ in 0..STEPS {
        step_all(window.local_mut());
        let rows = window.local();
        let (top, bottom) = ([rows[1]], [rows[rows.len() - 2]]);
        window.epoch(|all| {
            if let Some(above) = above {
                all.put(&top, above, rows_of(above, size).len() + 1)?;
            }
            if let Some(below) = below {
                all.put(&bottom, below, 0)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    if size > HEIGHT {
        world.abort(
            2,
            &format!("the plate has {HEIGHT} rows: use at most {HEIGHT} ranks"),
        );
    }
    let mine = rows_of(rank, size);
    let mut window = world.fence_window(mine.len() + 2, [0.0; WIDTH])?;
    parallel(world, &mut window)?;
    let mut expected = plate();
    for _ in 0..STEPS {
        step_all(&mut expected);
    }
    let rows = window.local();
    let inner = rows.len() - 1;
    assert_eq!(
        rows[1..inner],
        expected[mine.start + 1..=mine.end],
        "rank {rank}"
    );
    let heat: f64 = rows[1..inner].iter().flatten().sum();
    let mut total = [0.0];
    world.allreduce(&[heat], &mut total, Op::Sum)?;
    window.free()?;
    if rank == 0 {
        println!("{size} ranks, {STEPS} steps: the plate has {:.6}", total[0]);
    }
    universe.finalize()
}
