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
//! | folder | is |
//! |---|---|
//! | [`threads`] | the seven NIC threads, as state machines |
//! | [`microphase`] | what crosses the fabric in each microphase, and how much may |
//! | [`driver`] | the OS threads that run them |
//! | [`simulator`] | a whole cluster of them, in virtual time |
//! | [`bounds`] | how much their tables hold, which tests make smaller |
//! | [`mail`], [`collective`] | what the threads of one node tell each other |
//!
//! Architecture Invariant: nothing under `threads` and `microphase` knows a clock, a socket, an
//! OS thread or a lock.

pub mod bounds;
pub mod bug;
pub mod collective;
pub mod driver;
pub mod mail;
pub mod microphase;
pub mod simulator;
pub mod threads;
