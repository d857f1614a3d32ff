//! Which slot of global variables a context gets.
//!
//! An id is used again when all members have closed its context. The master counts the lives of
//! each key that it opens, and writes this number with the key. So no node takes a message about
//! the earlier context for one about the new one.
//!
//! The master's BR tries the slots that are free on its own node, from a place that follows from
//! the context's key. So contexts of the same nodes take one Compare-And-Write, and those of other
//! nodes seldom more. A slot is one for all nodes of the group: a context gets one if fewer others
//! have members on any of them than there are slots. The other BRs look for the key among the
//! owners of their slots.
//!
//! If no slot is free the master writes the key into `Refused` of all nodes of the group, once that
//! is free on all of them. Each BR takes it out in its next DEM. It notifies its members that have
//! asked, and the others as they ask. For that it records who was notified.

use super::communicator::ContextKey;
use bcs_core::fingerprint::fingerprint;
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::request::{high, low};
use bcs_fabric::{Port, Variable};
use std::collections::{BTreeMap, BTreeSet};

const _: () = assert!(MAX_CONTEXTS <= 1 << 16, "ids of contexts have 16 bits");

/// Returns a context's key and its life as the value of a variable; never zero.
pub(super) fn key_value(key: ContextKey, life: u16) -> u64 {
    (u64::from(key.0) + 1) << 32 | u64::from(life) << 16 | u64::from(key.1)
}

/// Returns the key and the life that such a value names, if any.
pub(super) fn key_of(value: u64) -> Option<(ContextKey, u16)> {
    let (first, rest) = (high(value).checked_sub(1)?, low(value));
    let life = u16::try_from(rest >> 16).expect("16 bits");
    Some(((first, rest & 0xffff), life))
}

/// Returns the next slot for a context that is free on this node, from its `probe`th candidate on,
/// out of `slots` slots; with the probe after it. It is never the world's slot.
pub(super) fn free_slot(
    key: ContextKey,
    probe: u32,
    slots: u32,
    port: &dyn Port,
) -> Option<(u32, u32)> {
    let others = slots - 1;
    let hash = high(fingerprint([key_value(key, 0)]));
    (probe..others)
        .map(|probe| (1 + (hash % others + probe) % others, probe + 1))
        .find(|&(slot, _)| port.load(Variable::Owner(slot)) == 0)
}

/// The contexts that were refused, and which local members have been notified of it.
#[derive(Debug, Default)]
pub(super) struct RefusedContexts(BTreeMap<ContextKey, BTreeSet<u32>>);

impl RefusedContexts {
    /// Whether this opening was refused. If so, its rank counts as notified.
    pub(super) fn take_refusal(&mut self, key: ContextKey, rank: u32, local: usize) -> bool {
        let Some(told) = self.0.get_mut(&key) else {
            return false;
        };
        told.insert(rank);
        if told.len() >= local {
            self.0.remove(&key);
        }
        true
    }

    /// Notes a refused context, with the local members that have been notified.
    pub(super) fn note(&mut self, key: ContextKey, told: BTreeSet<u32>) {
        self.0.insert(key, told);
    }
}
