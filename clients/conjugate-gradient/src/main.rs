//! Conjugate gradients for Poisson's equation on a square. Each rank has a part of it, with a
//! margin into which its neighbours' edges are received before each step: rows and columns of a
//! matrix, sent from where they are.
//!
//! The right side is made of a known solution, and the program exits with 1 unless it finds that.
#![forbid(unsafe_code)]

use bcs_mpi::{Communicator, Op, Result, Section, Universe, dims_create};
use std::ops::Range;
use std::process::ExitCode;

bcs_mpi::slot_heap!();

/// Points along each side of the square.
const SIDE: usize = 61;
const STEPS: usize = 500;

/// One of `parts` parts of the points of a side.
fn part(nth: usize, parts: usize) -> Range<usize> {
    nth * SIDE / parts..(nth + 1) * SIDE / parts
}

/// A rank's part of the square.
struct Part {
    grid: Communicator,
    rows: Range<usize>,
    columns: Range<usize>,
    /// Receive margins and send edges: before, behind, left, right.
    margins: [Section<f64>; 4],
    edges: [Section<f64>; 4],
}

impl Part {
    fn new(world: &Communicator) -> Result<Self> {
        let dims = dims_create(world.size(), [0, 0])?;
        let grid = world.cart_create(&dims, &[false; 2])?;
        let grid = grid.expect("the grid is made of all ranks");
        let place = grid.cart_coords()?;
        let (rows, columns) = (part(place[0], dims[0]), part(place[1], dims[1]));
        let (height, width) = (rows.len(), columns.len());
        let section = |rows, columns| Section::subarray([height + 2, width + 2], [rows, columns]);
        let across = |row: usize| section(row..row + 1, 1..width + 1);
        let along = |column: usize| section(1..height + 1, column..column + 1);
        let margins = [
            across(0)?,
            across(height + 1)?,
            along(0)?,
            along(width + 1)?,
        ];
        let edges = [across(1)?, across(height)?, along(1)?, along(width)?];
        Ok(Self {
            grid,
            rows,
            columns,
            margins,
            edges,
        })
    }

    /// Values of its points, with the margin.
    fn field(&self, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut field = vec![0.0; (self.rows.len() + 2) * (self.columns.len() + 2)];
        for (at, row, column) in self.points() {
            field[at] = value(row, column);
        }
        field
    }

    /// Where its points are in a field, and in the square.
    fn points(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let width = self.columns.len() + 2;
        self.rows.clone().zip(1..).flat_map(move |(row, nth)| {
            let columns = self.columns.clone().zip(nth * width + 1..);
            columns.map(move |(column, at)| (at, row, column))
        })
    }

    /// Everybody's edges become their neighbours' margins; beyond the square it stays zero.
    fn exchange(&self, field: &mut [f64]) -> Result<()> {
        let (into, out) = (self.margins.each_ref(), self.edges.each_ref());
        let (into, out) = Section::disjoint(into, out, field)?;
        let (before, behind) = self.grid.cart_shift(0, 1)?;
        let (left, right) = self.grid.cart_shift(1, 1)?;
        let peers = [before, behind, left, right];
        bcs_mpi::scope(|scope| {
            // A message from before was sent to behind, so it has the tag of behind.
            for ((margin, peer), tag) in into.into_iter().zip(peers).zip([1, 0, 3, 2]) {
                self.grid.irecv_view(scope, margin, peer, tag)?;
            }
            for ((edge, peer), tag) in out.into_iter().zip(peers).zip([0, 1, 2, 3]) {
                self.grid.isend_view(scope, edge, peer, tag)?;
            }
            Ok(())
        })
    }

    /// Four times each point without its neighbours.
    fn applied(&self, field: &mut [f64]) -> Result<Vec<f64>> {
        self.exchange(field)?;
        let width = self.columns.len() + 2;
        let mut result = vec![0.0; field.len()];
        for (at, ..) in self.points() {
            let around = field[at - 1] + field[at + 1] + field[at - width] + field[at + width];
            result[at] = 4.0 * field[at] - around;
        }
        Ok(result)
    }

    fn product(&self, one: &[f64], other: &[f64]) -> Result<f64> {
        let own: f64 = self.points().map(|(at, ..)| one[at] * other[at]).sum();
        self.grid.allreduce_one(own, Op::Sum)
    }
}

fn main() -> Result<ExitCode> {
    let universe = Universe::init()?;
    let part = Part::new(universe.world())?;
    let known = |row: usize, column: usize| ((row * 7 + column * 13) % 11) as f64 - 5.0;
    let mut solution = part.field(known);
    let wanted = solution.clone();
    let mut residual = part.applied(&mut solution)?;
    let mut found = part.field(|_, _| 0.0);
    let mut direction = residual.clone();
    let mut square = part.product(&residual, &residual)?;
    let mut steps = 0;
    while square > 1e-20 && steps < STEPS {
        let image = part.applied(&mut direction)?;
        let far = square / part.product(&direction, &image)?;
        for (at, ..) in part.points() {
            found[at] += far * direction[at];
            residual[at] -= far * image[at];
        }
        let next = part.product(&residual, &residual)?;
        for (at, ..) in part.points() {
            direction[at] = residual[at] + next / square * direction[at];
        }
        (square, steps) = (next, steps + 1);
    }
    let apart = part.points().map(|(at, ..)| (found[at] - wanted[at]).abs());
    let error = part
        .grid
        .allreduce_one(apart.fold(0.0, f64::max), Op::Max)?;
    if part.grid.rank() == 0 {
        println!("after {steps} steps the largest error is {error:.1e}");
    }
    universe.finalize()?;
    Ok(ExitCode::from(u8::from(error.is_nan() || error > 1e-8)))
}
