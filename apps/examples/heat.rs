//! Heat in a plate: the temperature of each cell becomes the mean of its four neighbours'. The
//! edges are cold and the top is hot. Ranks have blocks of rows with one row of halo on either
//! side.
//!
//! Halo rows travel while the inner rows are computed: a rank posts, computes, and then waits. Rank
//! 0 checks the answer against the same computation by one rank, to the bit.

use bcs_mpi::{Communicator, Op, Result, Universe};

bcs_mpi::slot_heap!();

const WIDTH: usize = 64;
const HEIGHT: usize = 96;
const STEPS: usize = 200;
const HOT: f64 = 100.0;
const UPWARDS: i32 = 1;
const DOWNWARDS: i32 = 2;

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

/// Returns the plate at the start, with a row of edge above and below.
fn plate() -> Vec<Row> {
    let mut rows = vec![[0.0; WIDTH]; HEIGHT + 2];
    rows[0] = [HOT; WIDTH];
    rows
}

/// Computes the answer on one rank.
fn serial() -> Vec<Row> {
    let mut rows = plate();
    for _ in 0..STEPS {
        let next: Vec<Row> = rows.windows(3).map(|w| step(&w[0], &w[1], &w[2])).collect();
        rows[1..=HEIGHT].copy_from_slice(&next);
    }
    rows[1..=HEIGHT].to_vec()
}

/// Returns the rows of this rank after all steps.
fn parallel(world: &Communicator) -> Result<Vec<Row>> {
    let (rank, size) = (world.rank(), world.size());
    let mine = rows_of(rank, size);
    let mut rows = plate()[mine.start..mine.end + 2].to_vec();
    let last = rows.len() - 1;
    let (above, below) = (
        rank.checked_sub(1),
        Some(rank + 1).filter(|&next| next < size),
    );
    for _ in 0..STEPS {
        let (top, bottom) = (rows[1], rows[last - 1]);
        let (mut halo_above, mut halo_below) = (rows[0], rows[last]);
        let mut next = vec![[0.0; WIDTH]; rows.len()];
        bcs_mpi::scope(|scope| {
            // At the edges of the plate the neighbour is `None` (`MPI_PROC_NULL`), so these calls
            // do nothing.
            world.irecv(scope, &mut halo_above, above, DOWNWARDS)?;
            world.irecv(scope, &mut halo_below, below, UPWARDS)?;
            world.isend(scope, &top, above, UPWARDS)?;
            world.isend(scope, &bottom, below, DOWNWARDS)?;
            for row in 2..last - 1 {
                next[row] = step(&rows[row - 1], &rows[row], &rows[row + 1]);
            }
            Ok(()) // The scope waits for the posted operations.
        })?;
        (rows[0], rows[last]) = (halo_above, halo_below);
        for row in [1, last - 1] {
            next[row] = step(&rows[row - 1], &rows[row], &rows[row + 1]);
        }
        rows[1..last].copy_from_slice(&next[1..last]);
    }
    Ok(rows[1..last].to_vec())
}

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    if world.size() > HEIGHT {
        world.abort(
            2,
            &format!("the plate has {HEIGHT} rows: use at most {HEIGHT} ranks"),
        );
    }
    let rows = parallel(world)?;

    let expected = serial();
    let mine = rows_of(world.rank(), world.size());
    assert!(
        rows == expected[mine.clone()],
        "rows {mine:?} differ from those of one rank"
    );
    let heat = world.allreduce_one(rows.iter().flatten().sum::<f64>(), Op::Sum)?;
    if world.rank() == 0 {
        println!(
            "{} ranks agree with one: mean {:.6}",
            world.size(),
            heat / (WIDTH * HEIGHT) as f64
        );
    }
    universe.finalize()
}
