//! Blocking sends of more than some bytes, which lie where they are as long as the sender waits
//! ([`bcs_core::smartmap::loan`]).
//!
//! A sender that lends in vain has lost the time for which it waited. So who was not asked for a message
//! in time does not lend to this receiver again for a while, twice as long each time.

/// How many messages are not lent after one that was not wanted: at first, and at most.
const MIN_LOAN_BACKOFF: u32 = 8;
const MAX_LOAN_BACKOFF: u32 = 4096;

/// Whether to lend to a rank.
#[derive(Debug)]
pub(in crate::transport::smartmap) struct Lender {
    /// Messages that are still to be copied.
    waits: u32,
    /// Those that will be copied after the next one that is not wanted.
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

    pub(in crate::transport::smartmap) fn was_wanted(&mut self, wanted: bool) {
        if wanted {
            self.next = MIN_LOAN_BACKOFF;
        } else {
            self.waits = self.next;
            self.next = (self.next * 2).min(MAX_LOAN_BACKOFF);
        }
    }
}

/// What has become of a message that was lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoanOutcome {
    /// It was fetched.
    Done,
    /// It is being fetched: the request is to be waited for.
    Claimed,
    /// Nobody has asked for it: it is to be copied, and [withdrawn](crate::roads::smartmap::SmartMap::withdraw).
    Unwanted,
}
