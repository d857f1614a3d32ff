//! The target's side of a one-sided operation, as a part of a send descriptor.
//!
//! A put or an update is a send that meets no receive: the NIC of the target's node knows from the
//! descriptor what to do with the bytes. A get is the opposite, a receive that meets no send
//! ([`ReceiveKind::Get`](super::ReceiveKind::Get)): the NIC of the origin's node knows where the
//! bytes are.

use super::{BadDescriptor, bad};
use crate::one_sided::Update;

/// The function of a one-sided operation that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneSidedAction {
    /// Stores the bytes.
    Put,
    /// Updates elements with the bytes as operand.
    Update(Update),
}

/// The target's side of a one-sided operation that sends. Its bytes lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneSidedTarget {
    /// The address of the first byte in the target's process.
    pub address: u64,
    /// What to do there.
    pub action: OneSidedAction,
    /// Whether to ring the target's bell after that: the target waits for what is written.
    pub wakes: bool,
}

const UPDATE: u32 = 1 << 31;
const WAKES: u32 = 1 << 30;
/// The bits of an encoded update.
const UPDATE_BITS: u32 = (1 << 17) - 1;

impl OneSidedTarget {
    /// Returns action and wake as the word that is a tag in other descriptors.
    pub(super) const fn word(&self) -> u32 {
        let wakes = if self.wakes { WAKES } else { 0 };
        wakes
            | match self.action {
                OneSidedAction::Put => 0,
                OneSidedAction::Update(update) => UPDATE | update.encode(),
            }
    }

    /// Parses the word of an operation on `len` bytes at an address.
    pub(super) fn parse(word: u32, address: u64, len: u64) -> Result<Self, BadDescriptor> {
        if address.checked_add(len).is_none() {
            return bad("address at the target", address);
        }
        let action = match word & !WAKES {
            0 => OneSidedAction::Put,
            encoded if encoded & !UPDATE_BITS == UPDATE => {
                let Some(update) = Update::parse(encoded & UPDATE_BITS) else {
                    return bad("function or datatype of an update", encoded.into());
                };
                if !update.fits(len) {
                    return bad("length of an update", len);
                }
                OneSidedAction::Update(update)
            }
            other => return bad("action at the target", u64::from(other)),
        };
        Ok(Self {
            address,
            action,
            wakes: word & WAKES != 0,
        })
    }

    /// Returns the bytes that an operation on `len` bytes of the target sends.
    #[must_use]
    pub const fn sent_len(&self, len: u64) -> u64 {
        match self.action {
            OneSidedAction::Put => len,
            OneSidedAction::Update(update) => update.operand_len(len),
        }
    }

    /// Returns the bytes that it brings back to the origin.
    #[must_use]
    pub const fn returned_len(&self, len: u64) -> u64 {
        match self.action {
            OneSidedAction::Update(Update { fetches: true, .. }) => len,
            _ => 0,
        }
    }
}
