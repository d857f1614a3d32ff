//! Collectives, as an endpoint posts them.
//!
//! | file | is |
//! |---|---|
//! | `contexts.rs` | opening and closing contexts |
//! | `nic_collectives.rs` | barrier, broadcast, reductions |
//! | `leading.rs` | what one rank of a node posts to its NIC for all |
//! | `exchange.rs`, `neighborhood.rs`, `between.rs`, `fold.rs` | those that are made of messages |
//! | `posting.rs`, `node_exchange.rs` | by which way these go: messages, or an exchange of the ranks of a node |

mod between;
mod contexts;
mod exchange;
mod fold;
mod leading;
mod neighborhood;
mod nic_collectives;
mod node_exchange;
mod posting;

pub use between::Contributions;
pub use neighborhood::Parcel;
