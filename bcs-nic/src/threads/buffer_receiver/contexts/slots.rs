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

use super::{ContextKey, Contexts, NicCommunicator};
use crate::threads::NicThreadContext;
use bcs_core::fingerprint::fingerprint;
use bcs_core::limits::MAX_CONTEXTS;
use bcs_core::request::{Completion, RequestFailure, high, low};
use bcs_fabric::{Port, Variable};
use std::collections::{BTreeMap, BTreeSet};

const _: () = assert!(MAX_CONTEXTS <= 1 << 16, "ids of contexts have 16 bits");

/// Returns a context's key and its life as the value of a variable; never zero.
pub(super) fn key_value(key: ContextKey, life: u16) -> u64 {
    (u64::from(key.0) + 1) << 32 | u64::from(life) << 16 | u64::from(key.1)
}

fn key_of(value: u64) -> Option<(ContextKey, u16)> {
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
}

impl Contexts {
    /// Notes a context for which its master found no slot.
    pub(super) fn note_refusal(&mut self, context: &mut NicThreadContext<'_>) {
        let Some((key, _)) = key_of(context.port.load(Variable::Refused)) else {
            return;
        };
        context.port.store(Variable::Refused, 0);
        let told = match self.communicators.remove(&key) {
            None => BTreeSet::new(),
            Some(mut refused) => {
                refused.answer(Completion::failed(RequestFailure::TableFull), context);
                for &rank in &refused.opened {
                    self.of_rank.remove(&(rank, key.1));
                }
                if refused.opened.len() == refused.local.len() {
                    return;
                }
                refused.opened
            }
        };
        self.refused.0.insert(key, told);
    }

    /// Looks for the slots that masters on other nodes have taken for contexts of this one. A
    /// master that takes one requests a slice, so the waiting nodes need not.
    pub(super) fn find_slots(&mut self, context: &mut NicThreadContext<'_>) {
        let waits = |communicator: &NicCommunicator| {
            let elsewhere = communicator.group.master() != self.config.node;
            communicator.slot.is_none() && elsewhere && !communicator.gone
        };
        let mut waiting: BTreeMap<ContextKey, &mut NicCommunicator> = self
            .communicators
            .iter_mut()
            .filter(|(_, communicator)| waits(communicator))
            .map(|(&key, communicator)| (key, communicator))
            .collect();
        if waiting.is_empty() {
            return;
        }
        for slot in 1..self.config.bounds.contexts {
            let Some((key, life)) = key_of(context.port.load(Variable::Owner(slot))) else {
                continue;
            };
            if let Some(communicator) = waiting.remove(&key) {
                (communicator.slot, communicator.life) = (Some(slot), life);
                communicator.answer(Completion::done(), context);
            }
        }
    }
}
