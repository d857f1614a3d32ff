//! Collectives (MPI 5.0, chapter 6).
//!
//! Those of [intercommunicators](super::Comm::intercomm_create) are in their own folder. Barriers
//! are the same for both, because both groups are members of one context.
//!
//! In a communicator of one rank they need no communication: there is no rank to wait for, and a
//! reduction is a copy.
//!
//! | module | is |
//! |---|---|
//! | `call` | how all collectives begin and end |
//! | `broadcast` | barriers and broadcasts |
//! | `reduce` | reductions to one rank and to all |
//! | [`exchange`] | those that exchange data |
//! | `invalid` | what a rank does in a collective that it called with a wrong argument |
//! | `scan` | reductions whose result differs from rank to rank |

mod broadcast;
mod call;
pub mod exchange;
mod invalid;
mod reduce;
mod scan;

pub(super) use call::{CheckedCall, CollectiveFunction, RecordedCall, arguments, collectives};
pub use invalid::InvalidArguments;
