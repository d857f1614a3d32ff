//! What the tables hold, for whoever asks what a job does.

use super::{Rank, Ranks, Receive};
use crate::threads::Kept;
use bcs_core::matching::Pattern;

/// To put a fuller table in order would hold the NIC up: it is only counted.
const ORDERED: usize = 1_024;

impl Ranks {
    /// What a rank has posted and what has come for it, of each at most so many.
    pub(in crate::threads::buffer_receiver) fn kept(&self, rank: u32, most: usize) -> Option<Kept> {
        let table = self.ranks.iter().find(|table| table.rank == rank)?;
        let mut kept = Kept {
            more_receives: table.matcher.posted_len(),
            ..Kept::default()
        };
        if table.matcher.posted_len() <= ORDERED {
            let posted = table.matcher.posted();
            let open = posted.filter(|(_, receive)| table.waits(receive));
            let open: Vec<Pattern> = open.map(|(pattern, _)| pattern).collect();
            kept.more_receives = open.len().saturating_sub(most);
            kept.receives = open.into_iter().take(most).collect();
        }
        if table.matcher.unexpected_len() <= ORDERED {
            let messages = table.matcher.unexpected().take(most);
            kept.messages = messages.map(|(signature, _)| signature).collect();
        }
        Some(kept)
    }
}

impl Rank {
    /// Whether no road has satisfied a receive so far.
    fn waits(&self, receive: &Receive) -> bool {
        !receive.shared || self.memory.claimant(receive.request).is_none()
    }
}
