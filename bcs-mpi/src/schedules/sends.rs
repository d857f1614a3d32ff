//! What a schedule sends, and has not sent yet.

use crate::data::DataView;
use crate::transport::{Mux, OutgoingMessage, RequestOutcome, SendMode, TransportHandle};
use bcs_core::check_bits::CheckBits;
use bcs_core::descriptor::InvalidCall;
use std::collections::VecDeque;

/// Messages that are sent in the order in which they are given.
#[derive(Debug, Default)]
pub(super) struct Sends {
    /// To which world ranks, and what: those that wait for a request slot.
    unsent: VecDeque<(u32, DataView)>,
    /// Those that are posted and not over.
    under_way: Vec<TransportHandle>,
    /// What goes with each: which call they stand for, if that was one with a wrong argument.
    mark: CheckBits,
}

impl Sends {
    /// They stand for those of a call with a wrong argument.
    pub(super) fn mark_invalid(&mut self, call: InvalidCall) {
        self.mark = call.check_bits();
    }

    pub(super) fn push(&mut self, destination: u32, data: DataView) {
        self.unsent.push_back((destination, data));
    }

    pub(super) fn extend(&mut self, messages: impl IntoIterator<Item = (u32, DataView)>) {
        self.unsent.extend(messages);
    }

    /// Posts those for which there are request slots, on this context and with this tag. Returns whether that
    /// were all.
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

    /// Takes what one that is over came to.
    pub(super) fn take(&mut self, roads: &mut Mux) -> Option<RequestOutcome> {
        let outcome = roads.take(*self.under_way.last()?)?;
        self.under_way.pop();
        Some(outcome)
    }

    /// Whether memory of any may still be read.
    pub(super) fn any_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// How many are posted and not over.
    pub(super) fn count_under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Whether all are over.
    pub(super) fn are_over(&self) -> bool {
        self.unsent.is_empty() && self.under_way.is_empty()
    }
}
