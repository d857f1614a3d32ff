//! Pi as the area under 4 / (1 + x^2) between 0 and 1, by the midpoint rule: each rank takes every
//! size-th strip, and a reduction adds the parts.
//!
//! The sum has the same bits in every run of one layout: reductions are added in a fixed order.

use bcs_mpi::{Op, Result, Universe};

bcs_mpi::slot_heap!();

const STRIPS: u32 = 1_000_000;

fn main() -> Result<()> {
    let universe = Universe::init()?;
    let world = universe.world();
    let width = 1.0 / f64::from(STRIPS);

    let mine: f64 = (0..STRIPS)
        .skip(world.rank())
        .step_by(world.size())
        .map(|strip| (f64::from(strip) + 0.5) * width)
        .map(|x| 4.0 / (1.0 + x * x))
        .sum();
    // Only rank 0 gets the sum.
    if let Some(pi) = world.reduce_one(mine * width, Op::Sum, 0)? {
        let error = (pi - std::f64::consts::PI).abs();
        assert!(error < 1e-10, "{pi} is not pi");
        println!("pi is about {pi:.12} ({} ranks)", world.size());
    }
    universe.finalize()
}
