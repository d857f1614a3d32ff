//! News from masters about the slots of this node's contexts ([`super::slots`]).

use super::Contexts;
use super::communicator::{ContextKey, NicCommunicator};
use super::slots::key_of;
use crate::threads::NicThreadContext;
use bcs_core::request::{Completion, RequestFailure};
use bcs_fabric::Variable;
use std::collections::{BTreeMap, BTreeSet};

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
        self.refused.note(key, told);
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
