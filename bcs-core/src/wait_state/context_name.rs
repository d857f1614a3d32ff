//! The name of a communicator in messages to the user.

use std::fmt;

/// A communicator, by the context of its messages or of its collectives.
#[derive(Clone, Copy, Debug)]
pub struct ContextName(pub u32);

impl fmt::Display for ContextName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 & 0x00ff_ffff {
            0 => f.write_str("MPI_COMM_WORLD"),
            context => write!(f, "the communicator with context {context}"),
        }
    }
}
