//! The contents of the tables, for reports about the state of a job.

use super::{MatchingTables, RankTables};
use crate::threads::UnmatchedOperations;
use crate::threads::buffer_receiver::nic_receive::NicReceive;
use bcs_core::matching::Pattern;

/// To sort a fuller table would delay the NIC, so its entries are only counted.
const MAX_LISTED: usize = 1_024;

impl MatchingTables {
    /// Returns the posted receives and the unexpected messages of a rank, at most `most` of each.
    pub(in crate::threads::buffer_receiver) fn unmatched_operations(
        &self,
        rank: u32,
        most: usize,
    ) -> Option<UnmatchedOperations> {
        let table = self.ranks.iter().find(|table| table.rank == rank)?;
        let mut kept = UnmatchedOperations {
            more_receives: table.matcher.posted_len(),
            ..UnmatchedOperations::default()
        };
        if table.matcher.posted_len() <= MAX_LISTED {
            let posted = table.matcher.posted();
            let open = posted.filter(|(_, receive)| table.is_unsatisfied(receive));
            let open: Vec<Pattern> = open.map(|(pattern, _)| pattern).collect();
            kept.more_receives = open.len().saturating_sub(most);
            kept.receives = open.into_iter().take(most).collect();
        }
        if table.matcher.unexpected_len() <= MAX_LISTED {
            let messages = table.matcher.unexpected().take(most);
            kept.messages = messages.map(|(signature, _)| signature).collect();
        }
        Some(kept)
    }
}

impl RankTables {
    /// Whether no transport has satisfied a receive so far.
    fn is_unsatisfied(&self, receive: &NicReceive) -> bool {
        !receive.shared || self.memory.claimant(receive.request).is_none()
    }
}
