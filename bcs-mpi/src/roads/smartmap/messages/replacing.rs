//! A message that replaces another one: it goes where a send of the same call reads (`MPI_Sendrecv_replace`).
//!
//! No copy is made of what is sent. The receiver stores what comes only where its own receiver has fetched, which it
//! learns chunk by chunk if that receives like this, too, and otherwise when all has been fetched
//! ([`bcs_core::smartmap::shared_copy`]). What comes before that it keeps.
//!
//! **How much is kept.** While the send is being fetched, at most [`MAX_KEPT_CHUNKS`]: then it waits. While it is
//! not, as much as comes: its receiver may be waiting for this very message to be fetched, before it goes on to
//! receive (a blocking send before a blocking receive).
//!
//! **Nobody waits for ever.** A rank waits only while its send is being fetched. Who fetches it goes on by itself,
//! unless it waits like this for a third rank, and so on. If that is a circle, whoever in it has fetched least
//! keeps nothing that the next one has not fetched, so it does not wait.

use super::copier::{Copier, chunk_of};
use crate::data::{Piece, Room, Rooms, own_memory, scatter};
use crate::roads::smartmap::peer_memory::Unreachable;
use crate::roads::smartmap::requests::Id;
use bcs_core::layout::Location;
use bcs_core::limits::{MAX_KEPT_CHUNKS, SHARED_CHUNK_BYTES};
use bcs_core::smartmap::shared_copy::SharedCopy;
use bcs_core::wake::waiting::{self, Patience};
use std::collections::VecDeque;
use std::ops::Range;

/// A part of a message that has come, and may not be stored yet.
#[derive(Debug)]
struct Kept {
    part: Range<usize>,
    room: Room,
    /// Where in the room it begins.
    start: usize,
}

/// A receive into memory that is being sent.
#[derive(Debug)]
pub(crate) struct Replacing {
    /// The send, unless it was complete when it was posted.
    sending: Option<Id>,
    into: Piece,
    kept: VecDeque<Kept>,
    /// From the start on, so many bytes are stored or kept.
    fetched: usize,
    /// For what is kept next.
    rooms: Rooms,
}

impl Replacing {
    pub(in crate::roads::smartmap) fn new(sending: Option<Id>, into: Piece) -> Self {
        Self {
            sending,
            into,
            kept: VecDeque::new(),
            fetched: 0,
            rooms: Rooms::default(),
        }
    }

    /// Memory for the first `len` bytes of the message, in which they are kept. Those that were fetched before count.
    pub(in crate::roads::smartmap) fn keep_all(&mut self, len: usize) -> Piece {
        let mut room = self.rooms.of(len);
        let all = Piece::from(room.plain(len));
        self.kept.push_back(Kept {
            part: self.fetched..len,
            room,
            start: self.fetched,
        });
        all
    }

    /// Whether anything is kept.
    pub(in crate::roads::smartmap) fn keeps_any(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Stores what is kept, when the send is done. Returns whether the memory was there.
    pub(crate) fn store(mut self) -> bool {
        let end = self.kept.back().map_or(0, |last| last.part.end);
        let is_there = end == 0 || own_memory::takes(&self.into, end);
        if is_there {
            self.store_up_to(usize::MAX);
        }
        is_there
    }

    fn store_up_to(&mut self, end: usize) {
        while let Some(mut kept) = self.kept.pop_front_if(|kept| kept.part.end <= end) {
            let bytes = &kept.room.bytes(kept.start + kept.part.len())[kept.start..];
            scatter(&self.into, kept.part.start, bytes);
            self.rooms.give_back(Some(kept.room));
        }
    }

    /// How many bytes of this memory, from the start on, need not be sent any more. `None` if nobody is fetching
    /// them.
    fn is_sent_up_to(&self, copier: &Copier) -> Option<usize> {
        let Some(sending) = self.sending else {
            return Some(usize::MAX);
        };
        let (node, place) = (&copier.node, copier.place);
        if node.transfer_outcome(place, sending).is_some() {
            return Some(usize::MAX);
        }
        let chunks = SharedCopy::fetched(node, (place, sending))?;
        let chunks = usize::try_from(chunks).unwrap_or(usize::MAX);
        Some(chunks.saturating_mul(SHARED_CHUNK_BYTES))
    }

    /// Fetches the first `len` bytes of a message from there. No lock is held.
    pub(in crate::roads::smartmap) fn fetch(
        &mut self,
        copier: &Copier,
        (place, transfer): (usize, Id),
        from: Location,
        len: usize,
    ) -> Result<(), Unreachable> {
        if !own_memory::takes(&self.into, len) {
            return Err(Unreachable::Fault);
        }
        let (which, node) = ((place, transfer), &copier.node);
        for chunk in 0..len.div_ceil(SHARED_CHUNK_BYTES) {
            if !SharedCopy::fetched_alone(node, which, chunk as u64) {
                return Err(Unreachable::Fault); // There is no such transfer.
            }
            copier.page.wake(node.bell(place));
            self.make_room(copier);
            self.fetch_part(copier, (place, from), chunk_of(chunk, len))?;
        }
        // The end of the transfer says that all is fetched.
        Ok(())
    }

    /// Fetches the next part: to where it belongs, if that need not be sent any more.
    fn fetch_part(
        &mut self,
        copier: &Copier,
        (place, from): (usize, Location),
        part: Range<usize>,
    ) -> Result<(), Unreachable> {
        let (memory, node) = (&copier.peer_memory, &copier.node);
        let is_sent = self.is_sent_up_to(copier) >= Some(part.end);
        if self.kept.is_empty() && is_sent {
            memory.fetch(node, place, from, &self.into, part.clone())?;
        } else {
            let mut room = self.rooms.of(SHARED_CHUNK_BYTES);
            let into = Piece::from(room.plain(part.len()));
            let from = Location::at(from.address.wrapping_add(part.start as u64));
            memory.fetch(node, place, from, &into, 0..part.len())?;
            let (part, start) = (part.clone(), 0);
            self.kept.push_back(Kept { part, room, start });
        }
        self.fetched = part.end;
        Ok(())
    }

    /// Stores what may be stored of what is kept, and waits until that is enough, as long as the send is being
    /// fetched.
    fn make_room(&mut self, copier: &Copier) {
        self.store_up_to(self.is_sent_up_to(copier).unwrap_or(0));
        if self.kept.len() < MAX_KEPT_CHUNKS {
            return;
        }
        let Some(first) = self.kept.front().map(|kept| kept.part.end) else {
            return;
        };
        let bell = copier.node.bell(copier.place);
        waiting::wait(bell, &copier.page, None, Patience::RANK, || {
            let sent = self.is_sent_up_to(copier);
            sent.is_none_or(|sent| sent >= first)
        });
        self.store_up_to(self.is_sent_up_to(copier).unwrap_or(0));
    }
}
