//! Intercommunicators (MPI 5.0, 7.6): two groups without a common member, of which each rank sends
//! to and receives from those of the other.
//!
//! Both groups share **one context**, of which all their members together are the NICs' members. A
//! message is matched by its context and its sender's rank in the world, so nothing has to tell the
//! two directions apart, and only the numbers by which a program names its peers are those of the
//! remote group ([`Comm::peers`]). And whatever all ranks agree on, they agree on in that context by
//! the collectives of the NIC, as if it were an ordinary communicator: duplicates, parts and merged
//! communicators are made as always ([`super::create`]).
//!
//! Only the first agreement cannot be had like that, because there is no context of both groups yet
//! ([`create`](Comm::intercomm_create)). Collectives of the program are [`collective`].

mod collective;
mod create;
mod groups;
mod merge;
