//! The sends of a schedule.

use crate::data::DataView;
use crate::transport::{Mux, OutgoingMessage, RequestOutcome, SendMode, TransportHandle};
use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::InvalidCall;
use std::collections::VecDeque;

/// Messages that are sent in the order in which they are given.
#[derive(Debug, Default)]
pub(super) struct Sends {
    /// The receivers (world ranks) and data of the sends that wait for a request slot.
    unsent: VecDeque<(u32, DataView)>,
    /// Those that are posted and not over.
    under_way: Vec<TransportHandle>,
    /// The mark of each message: the call that it stands for, if that had a wrong argument.
    mark: CheckBits,
}

impl Sends {
    /// Marks the messages as standing for those of a call with a wrong argument.
    pub(super) fn mark_invalid(&mut self, call: InvalidCall) {
        self.mark = call.check_bits();
    }

    pub(super) fn push(&mut self, destination: u32, data: DataView) {
        self.unsent.push_back((destination, data));
    }

    pub(super) fn extend(&mut self, messages: impl IntoIterator<Item = (u32, DataView)>) {
        self.unsent.extend(messages);
    }

    /// Posts the sends for which there are request slots, with this context and tag. Returns
    /// whether it has posted all.
    pub(super) fn post(
        &mut self,
        roads: &mut Mux,
        (context, tag): (u32, i32),
        posted: &mut bool,
    ) -> bool {
        while let Some((destination, data)) = self.unsent.pop_front() {
            let message = OutgoingMessage {
                context,
                destination,
                tag,
                data: &data,
                mark: self.mark,
            };
            let Ok(sent) = roads.send(SendMode::Standard, &message) else {
                self.unsent.push_front((destination, data));
                return false;
            };
            *posted = true;
            if !matches!(sent, TransportHandle::Complete(_)) {
                self.under_way.push(sent);
            }
        }
        true
    }

    /// Takes the outcome of a send that is over.
    pub(super) fn take(&mut self, roads: &mut Mux) -> Option<RequestOutcome> {
        let outcome = roads.take(*self.under_way.last()?)?;
        self.under_way.pop();
        Some(outcome)
    }

    /// Returns whether memory of any send may still be read.
    pub(super) fn any_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Returns how many are posted and not over.
    pub(super) fn count_under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Returns whether all are over.
    pub(super) fn are_over(&self) -> bool {
        self.unsent.is_empty() && self.under_way.is_empty()
    }
}
