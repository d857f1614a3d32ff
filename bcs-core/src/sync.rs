//! The one switch between the atomics of `std` and those of loom.
//!
//! What runs under loom ([`crate::ring`], [`crate::bell`]) takes its atomics from here and works
//! on any storage, because loom's atomics have another layout than shared memory needs.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
