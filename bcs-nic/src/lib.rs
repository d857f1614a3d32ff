//! The emulated QsNet NIC (paper section 4; docs/nic.md, docs/slice.md).
//!
//! ```text
//!             microstrobes (Xfer-And-Signal)            all finished? (Compare-And-Write)
//!   SS ──────────────────────────────────► SR ─────────────────────────────────► SS
//!                                          │ wakes, for each microphase
//!        ┌───────────┬───────────┬─────────┴──┬───────────┐
//!       DEM         MSM          PM          BBM          RM
//!       BS  ──────► BR ────────► DH           CH           RH
//!       delivers    matches,     moves        barriers,    reduces along
//!       descriptors schedules    data         broadcasts   a tree
//! ```
//!
//! | folder | content |
//! |---|---|
//! | [`threads`] | the seven NIC threads, as state machines |
//! | [`blocks`] | what they put into each other's global memory in each microphase |
//! | [`budget`] | how many bytes may enter a node in a slice |
//! | [`driver`] | the OS threads that run the NIC threads |
//! | [`simulator`] | a whole cluster of NICs, in virtual time |
//! | [`bounds`] | the capacities of their tables, which tests make smaller |
//! | [`mail`], [`collective`] | what the threads of one node send each other |
//! | [`outbox`] | the output of a thread: mail, failures, bells to ring |
//! | [`table_leak`] | entries that tables still hold at the end of a job |
//! | [`failure`] | why a thread gives up, which ends the job |
//! | [`bug`] | threads that misbehave on purpose, for tests of the tests |
//!
//! Architecture Invariant: nothing under `threads` and `blocks` knows a clock, a socket, an OS
//! thread or a lock.

pub mod blocks;
pub mod bounds;
pub mod budget;
pub mod bug;
pub mod collective;
pub mod driver;
pub mod failure;
pub mod mail;
pub mod outbox;
pub mod simulator;
pub mod table_leak;
pub mod threads;
