//! Blocking sends of more than some bytes, whose data stay in place as long as the sender waits
//! ([`bcs_core::smartmap::loan`]).
//!
//! A sender that lends in vain has lost the time for which it waited. So if a message was not
//! fetched in time, the sender does not lend to this receiver for a while, twice as long each time.

/// The number of messages that are not lent after an unwanted one: at first, and at most.
const MIN_LOAN_BACKOFF: u32 = 8;
const MAX_LOAN_BACKOFF: u32 = 4096;

/// Whether to lend to a rank.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct Lender {
    /// The number of messages that are still to be copied.
    waits: u32,
    /// The number that will be copied after the next unwanted one.
    next: u32,
}

impl Lender {
    pub(in crate::transport::smartmap) fn new() -> Self {
        Self {
            waits: 0,
            next: MIN_LOAN_BACKOFF,
        }
    }

    pub(in crate::transport::smartmap) fn lends(&mut self) -> bool {
        if self.waits > 0 {
            self.waits -= 1;
            return false;
        }
        true
    }

    /// Returns whether the next message will be copied.
    #[cfg(test)]
    pub(in crate::transport::smartmap) fn backs_off(&self) -> bool {
        self.waits > 0
    }

    pub(in crate::transport::smartmap) fn was_wanted(&mut self, wanted: bool) {
        if wanted {
            self.next = MIN_LOAN_BACKOFF;
        } else {
            self.waits = self.next;
            self.next = (self.next * 2).min(MAX_LOAN_BACKOFF);
        }
    }
}

/// The outcome of a loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoanOutcome {
    /// It was fetched.
    Done,
    /// It is being fetched. The sender has to wait for the request.
    Claimed,
    /// The receiver has not claimed it. The sender has to copy it and
    /// [withdraw](crate::transport::smartmap::SmartMap::withdraw) it.
    Unwanted,
}
