//! PMI-1: programs that were built with another MPI find each other by this protocol, and run as
//! one job with that MPI's own library.
//!
//! ```text
//!   rank ── PMI_FD ──► service ── bytes ──► server (a state machine) ── requests ──► bcs run
//!        ◄──────────── (sockets) ◄─ replies      key-value space     ◄─ answers ───
//! ```
//!
//! Each node manager has a copy of the key-value space of the job. A rank's puts stay with its node
//! manager until a barrier. When all ranks of the node manager have entered the barrier, one
//! message takes all new pairs to `bcs run`. When all node managers are in, `bcs run` sends the new
//! pairs of all to each: ScELA's put that fills every cache. So a get is answered by the node
//! manager itself, whatever the number of nodes.
//!
//! Names that ranks publish are known to `bcs run` alone, because they are published without a
//! barrier.

mod client;
mod connection;
mod mapping;
mod server;
mod space;
#[cfg(test)]
mod tests;

pub(crate) use client::PmiStage;
pub(crate) use connection::PmiConnection;
pub(crate) use mapping::process_mapping;
pub(crate) use server::{PmiEvent, PmiJob, PmiServer};
