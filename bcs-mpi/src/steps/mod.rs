//! The parts of collectives: a rank's arguments, rounds of receives, and steps in its own memory.

mod collective_arguments;
mod fold;
mod step;

pub(crate) use collective_arguments::CollectiveArguments;
pub use fold::{Fold, ReductionFunction};
pub(crate) use step::{LocalStep, Round};
