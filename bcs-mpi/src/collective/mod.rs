//! Collectives, as an endpoint posts them.
//!
//! | file | is |
//! |---|---|
//! | `algorithm.rs` | the algorithm of a collective |
//! | `contexts.rs` | opening and closing contexts |
//! | `nic_collectives.rs` | barrier, broadcast, reductions |
//! | `leader.rs` | what one rank of a node posts to its NIC for all ranks there |
//! | `blocks.rs`, `neighborhood.rs`, `intercommunicator.rs`, `fold.rs` | those that are made of messages |
//! | `invalid.rs` | a rank's part in a collective that it called with a wrong argument |
//! | `posting.rs`, `exchange.rs` | how these are posted: as messages, or as an exchange of the ranks of a node |

mod algorithm;
mod blocks;
mod contexts;
mod exchange;
mod fold;
mod intercommunicator;
mod invalid;
mod leader;
mod neighborhood;
mod nic_collectives;
mod posting;

pub use fold::Contributions;
pub use invalid::{Correspondents, Participation};
pub use neighborhood::Parcel;
