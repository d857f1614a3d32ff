//! Bytes of eager messages that travel with their descriptors.
//!
//! A GET of them takes a way there and one back, and they are few. So the sender's node sends them ahead of their descriptor
//! ([`Port::carry`](crate::fabric::Port::carry)), and a GET of them finds them here. They are found by their payload slot, which
//! its rank uses anew only when it has been told that the message is complete, and so after its GET. What is not asked for,
//! or was not carried, does no harm: bytes of the same slot that come later take its place, and a GET of what is not here goes to the
//! sender's memory, where they still are. A rank has [`PAYLOAD_SLOTS`] of them, which bounds what is kept.

use super::super::message::{Message, Nonsense};
use super::state::State;
use crate::descriptor::Payload;
use crate::fabric::{DestinationSpan, Event, SourceSpan, Ticket};
use crate::job::NodeId;
use crate::limits::{MAX_EAGER_LIMIT, PAYLOAD_SLOTS};
use std::collections::HashMap;

/// What has come and was not asked for, by rank and payload slot.
pub(super) type Carried = HashMap<(u32, u32), Vec<u8>>;

impl State {
    /// Sends a whole eager message to a node that will ask for it.
    pub(super) fn carry(&mut self, to: NodeId, from: &SourceSpan) {
        let Payload::Slot { slot, .. } = from.payload else {
            return;
        };
        let mut bytes = vec![0; usize::try_from(from.len).expect("an eager message is short")];
        if self.config.memory.read_span(from, 0, &mut bytes).is_ok() {
            let party = self.party_of_node[to.index()];
            let rank = from.rank;
            self.say(party, &Message::Carried { rank, slot }, &bytes);
        }
    }

    pub(super) fn hear_carried(
        &mut self,
        party: usize,
        (rank, slot): (u32, u32),
        bytes: &[u8],
    ) -> Result<(), Nonsense> {
        let node = self.config.placement.node_of(rank);
        let party_of = |node: NodeId| self.party_of_node[node.index()];
        if node.map(party_of) != Some(party) {
            return Err(Nonsense("it sends bytes of a rank that is not its own"));
        }
        if slot as usize >= PAYLOAD_SLOTS || bytes.len() > MAX_EAGER_LIMIT {
            return Err(Nonsense("it sends what is in no payload slot"));
        }
        self.carried.insert((rank, slot), bytes.to_vec());
        Ok(())
    }

    /// What a GET has come to whose bytes are here.
    pub(super) fn take_carried(
        &mut self,
        from: &SourceSpan,
        to: &DestinationSpan,
    ) -> Option<Ticket> {
        let Payload::Slot { slot, .. } = from.payload else {
            return None;
        };
        let bytes = self.carried.remove(&(from.rank, slot))?;
        let len = usize::try_from(from.len).ok()?;
        let wanted = bytes.get(..len).filter(|_| from.offset == 0)?;
        let event = match self.config.memory.write_span(to, 0, wanted) {
            Ok(()) => Event::Signalled,
            Err(error) => Event::Failed(error),
        };
        self.brought.copied += from.len;
        Some(Ticket(self.operations.ended(event)))
    }
}
