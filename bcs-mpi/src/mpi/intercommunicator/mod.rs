//! Intercommunicators (MPI 5.0, 7.6): two groups without a common member. Each rank sends to and
//! receives from the ranks of the other group.
//!
//! Both groups share **one context**. The NICs know all their members together as its members. A
//! message is matched by its context and its sender's rank in the world, so the two directions need
//! no distinction. Only the ranks by which a program names its peers are those of the remote group
//! ([`Comm::peers`]). All ranks make agreements in that context by the collectives of the NIC, as
//! in an ordinary communicator: duplicates, parts and merged communicators are made as always
//! ([`super::create`]).
//!
//! Only the first agreement is different, because there is no context of both groups yet
//! ([`create`](Comm::intercomm_create)). The program's collectives are in [`collective`].

mod collective;
mod create;
mod groups;
mod merge;
