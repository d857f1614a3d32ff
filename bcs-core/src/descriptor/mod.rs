//! Descriptors: what a rank posts to its NIC (paper section 4.3).
//!
//! Each kind has a *raw* form, the words of a ring entry, and a *meaning*, a struct of checked
//! fields. A NIC copies the words out of the ring once and parses them once. From then on it uses
//! only the meaning. Parsing is total: every word a rank can write gives a descriptor or an error,
//! never a panic.

mod call;
mod collective;
mod invalid_call;
mod one_sided;
mod receive;
mod send;

pub use call::NicCollectiveCall;
pub use collective::{CollectiveDescriptor, CollectiveKind, is_short};
pub use invalid_call::InvalidCall;
pub use one_sided::{OneSidedAction, OneSidedTarget};
pub use receive::{ReceiveDescriptor, ReceiveKind};
pub use send::{Payload, SendDescriptor};

/// The source of a receive that matches any source (MPI_ANY_SOURCE).
pub const ANY_SOURCE: u32 = u32::MAX;

/// A descriptor field with an impossible value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("descriptor field {field} has the impossible value {value}")]
pub struct BadDescriptor {
    /// The field.
    pub field: &'static str,
    /// The value that was found.
    pub value: u64,
}

fn bad<T>(field: &'static str, value: u64) -> Result<T, BadDescriptor> {
    Err(BadDescriptor { field, value })
}
