//! Errands: what takes long is done without the endpoint's lock.
//!
//! An end ([`state`](super::state)) is a state machine under that lock, and its steps are short. A copy of more
//! than [`LONG_BYTES`](crate::data::LONG_BYTES) is none of them, nor is a collective that goes over as much, or
//! calls functions of the program's. Of each it makes an *errand*: whoever calls takes it with the lock, runs it without, and
//! *brings it back* with the lock. Meanwhile its request is not done, so whatever it touches stays.
//!
//! ```text
//!  with the lock      take ──►              ──► bring back: requests are done, peers are told
//!  without it              run: copy, fold
//! ```
//!
//! Every call that finds errands runs them before it returns or sleeps ([`crate::bcs`], `deferred_copies`). One that
//! packs comes before all others: a receiver may wait for it, and it waits for nobody.

use super::collective::DetachedCommunicator;
use super::messages::copier::CopyHelp;
use super::messages::fetching::Fetch;
use super::messages::packing::Pack;

/// What is to be done without the lock.
#[derive(Debug)]
pub(crate) enum LocalDeferredCopy {
    /// To pack a message for its receiver.
    Pack(Pack),
    /// To fetch a message from its sender.
    Fetch(Box<Fetch>),
    /// To take part in the copy of a message that its receiver shares.
    Help(CopyHelp),
    /// To go on with a collective.
    Collective(Box<DetachedCommunicator>),
}

impl LocalDeferredCopy {
    /// Does it. No lock is held.
    pub(crate) fn run(&mut self) {
        match self {
            Self::Pack(pack) => pack.run(),
            Self::Fetch(fetch) => fetch.run(),
            Self::Help(help) => help.run(),
            Self::Collective(absent) => absent.run(),
        }
    }
}
