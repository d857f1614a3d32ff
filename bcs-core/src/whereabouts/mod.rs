//! Whereabouts: what a blocked rank says about where it is.
//!
//! A rank that is about to sleep in a call writes into its NIC memory what it waits for, which
//! collectives it has entered and not left, and how far it is in its communicators
//! ([`NicMemory::say_where`]), whichever road what it waits for would take. Nobody reads it but the lookout
//! of `bcs run`, which asks node managers: so a hang has words, and ranks that called
//! different collectives of one communicator are found even where no message ever crosses between
//! them (MPI 5.0, 6.14: they must call the same in the same order). When it finalizes it says how far it has
//! come, and what it has left ([`Left`]).
//!
//! All of it is an allegation of the rank's. It is decoded by total functions, and the worst that
//! a wrong one does is to have the rank's own job say something wrong, or end.
//!
//! [`NicMemory::say_where`]: crate::memory::NicMemory::say_where

mod called;
mod communicator;
mod entered;
mod left;
mod name;
mod objection;
mod site;
mod title;
mod wait;
mod words;

#[cfg(test)]
mod tests;

pub use called::{Called, Exchange};
pub use communicator::{Communicator, Members, follow};
pub use entered::{Entered, fingerprint};
pub use left::{Left, Object, Posted, Sent, Thing};
pub use name::Name;
pub use objection::Objection;
pub use site::{Site, Source};
pub use title::Title;
pub use wait::{
    CALL_MESSAGES, COLLECTIVE_MESSAGES, DESCRIPTIONS, LIBRARY_MESSAGES, Peer, Wait, Whereabouts,
};
pub use words::WORDS;
