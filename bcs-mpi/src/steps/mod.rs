//! What collectives are made of: a rank's part in one, rounds of receives, and steps in its own memory.

mod fold;
mod part;
mod step;

pub use fold::{Fold, Function};
pub(crate) use part::Part;
pub(crate) use step::{Local, Round};
