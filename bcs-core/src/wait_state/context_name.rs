//! The name of a communicator in messages to the user.

use std::fmt;

/// The context of messages between ranks that have no communicator in common yet
/// (docs/spawning.md). Communicators of one rank may have this number, but they have no messages of
/// the library.
pub const UNIVERSE_CONTEXT: u32 = 0x00ff_fffe;

/// A communicator, by the context of its messages or of its collectives.
#[derive(Clone, Copy, Debug)]
pub struct ContextName(pub u32);

impl fmt::Display for ContextName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 & 0x00ff_ffff {
            0 => f.write_str("MPI_COMM_WORLD"),
            UNIVERSE_CONTEXT => f.write_str("the universe"),
            context => write!(f, "the communicator with context {context}"),
        }
    }
}
