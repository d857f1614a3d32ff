//! The whole stack under one seed: `bcs-mpi` over the NIC threads, on the simulated fabric, in
//! virtual time.
//!
//! | module | content |
//! |---|---|
//! | [`stack`] | a simulated job: ranks as threads that run one at a time, NICs, faults, checks |
//! | [`traffic`] | random programs of messages, against a matching oracle |
//! | [`windows`] | random one-sided communication, against a sequential oracle |
//! | [`collectives`] | random collectives, against a sequential oracle |
//!
//! The programs also run as jobs of processes, by the fixtures `traffic` and `oracle`.
//!
//! The simulator of `bcs-nic` has scripted ranks, which write descriptors: it checks closely what
//! the NICs do. Here the ranks are real, so the checks cover what a program sees. It is a crate of
//! its own because it links both sides, which otherwise meet only in shared memory.

pub mod collectives;
pub mod stack;
pub mod traffic;
pub mod windows;
