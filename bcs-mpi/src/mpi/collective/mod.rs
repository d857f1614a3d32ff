//! Collectives (MPI 5.0, chapter 6).
//!
//! Those of [intercommunicators](super::Comm::intercomm_create) are said in their folder, except for barriers, which
//! are the same: both groups are one context's members.
//!
//! In a communicator of one they are no communication: there is nobody to wait for, and a
//! reduction is a copy.
//!
//! | module | is |
//! |---|---|
//! | `call` | how all of them begin and end |
//! | `broadcast` | barriers and broadcasts |
//! | `reduce` | reductions to one rank and to all |
//! | [`exchange`] | those that exchange data |
//! | `invalid` | what a rank does in one that it called with a wrong argument |
//! | `scan` | reductions whose result is another one at each rank |

mod broadcast;
mod call;
pub mod exchange;
mod invalid;
mod reduce;
mod scan;

pub(super) use call::{CheckedCall, CollectiveFunction, RecordedCall, arguments, collectives};
pub use invalid::InvalidArguments;
