//! Deferred copies: long work is done without the endpoint's lock.
//!
//! An end ([`state`](super::state)) is a state machine under that lock, and its steps are short. A
//! copy of more than [`LONG_BYTES`](crate::data::LONG_BYTES) is not short, nor is a collective of
//! as much data, or one that calls functions of the program. The end makes a *deferred copy* of
//! each: a caller takes it with the lock, runs it without, and *returns* it with the lock.
//! Meanwhile its request is not done, so the memory that it uses stays.
//!
//! ```text
//!  with the lock      take ──►              ──► return: requests are done, peers are notified
//!  without it              run: copy, fold
//! ```
//!
//! Every call that finds deferred copies runs them before it returns or sleeps
//! ([`crate::endpoint`], `deferred_copies`). One that packs comes before all others: a receiver may
//! wait for it, and it waits for no other rank.

use super::collective::DetachedCommunicator;
use super::messages::copier::CopyHelp;
use super::messages::fetching::Fetch;
use super::messages::packing::Pack;

/// Work for a thread without the lock.
#[derive(Debug)]
pub(crate) enum LocalDeferredCopy {
    /// Packs a message for its receiver.
    Pack(Pack),
    /// Fetches a message from its sender.
    Fetch(Box<Fetch>),
    /// Takes part in the copy of a message that its receiver shares.
    Help(CopyHelp),
    /// Advances a collective.
    Collective(Box<DetachedCommunicator>),
}

impl LocalDeferredCopy {
    /// Does the work. The caller holds no lock.
    pub(crate) fn run(&mut self) {
        match self {
            Self::Pack(pack) => pack.run(),
            Self::Fetch(fetch) => fetch.run(),
            Self::Help(help) => help.run(),
            Self::Collective(absent) => absent.run(),
        }
    }
}
