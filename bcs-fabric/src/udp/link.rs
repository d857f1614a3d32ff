//! A link: the traffic between one node and another, over datagrams that may be lost, repeated,
//! delayed, reordered or changed.
//!
//! - **Owns** what is in flight to the peer until the peer has acknowledged it, and what has come
//!   from the peer until it is whole.
//! - **Takes** control messages and transfers to send; datagrams whose tag is right; the time.
//! - **Emits** datagrams; control messages, each once and in the order of their sends; bytes of
//!   transfers, which may come in any order and more than once.
//! - **Invariants.** No datagram is sent twice: lost contents go in a new datagram, under a new
//!   number. Lost contents go first, and control before bulk. An acknowledgement is sent at the
//!   latest `acknowledge_ns` after the datagram that wants it, behind some full datagrams if there
//!   are any. Bytes of a transfer are read when they are sent, and again if they were lost: the
//!   link stores none of them.
//!
//! There is no clock and no socket inside. The driver calls [`Link::transmit`] until it returns
//! nothing, again at [`Link::deadline_ns`], and whenever something has come or is to be sent.

mod handler;
mod settings;
#[cfg(test)]
mod tests;

pub use handler::{DatagramRefusal, LinkHandler, PlacedDatagrams};
pub use settings::LinkSettings;

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use super::control_stream::{IncomingStream, OutgoingStream};
use super::datagram::{
    self, Acknowledgement, BULK_FRONT_BYTES, CONTROL_HEAD, DATA_HEAD, Frame, Frames, HEADER_BYTES,
    Header, MalformedDatagram,
};
use super::received_numbers::ReceivedNumbers;
use super::round_trip::RoundTrip;
use crate::shm::LentMemory;
use smallvec::SmallVec;

/// A range of bytes of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TransferRange {
    transfer: u64,
    range: Range<u64>,
}

/// Contents of a sent datagram that the peer has to acknowledge.
#[derive(Clone, Debug)]
enum SentContent {
    Control(Range<u64>),
    Data(TransferRange),
}

/// A datagram that is not acknowledged.
#[derive(Debug)]
struct UnacknowledgedDatagram {
    number: u64,
    at_ns: u64,
    bytes: u64,
    contents: SentContents,
}

/// Most datagrams hold one thing.
type SentContents = SmallVec<[SentContent; 1]>;

/// The acknowledgement that this side owes.
#[derive(Clone, Copy, Debug, Default)]
struct DueAcknowledgement {
    /// The number of datagrams that want it.
    count: u32,
    /// The arrival of the first of them.
    since_ns: u64,
    /// The arrival of the newest datagram of all.
    newest_ns: u64,
    /// The number of full datagrams that went before it.
    behind: u32,
}

/// After this many datagrams an acknowledgement is due at once.
const ACKNOWLEDGE_AFTER: u32 = 2;

/// A datagram is lost when another one is acknowledged that was sent this many numbers later.
const REORDER_THRESHOLD: u64 = 3;

/// The least window, in datagrams that may be in flight.
const LEAST_WINDOW: u64 = 4;

/// The first window.
const FIRST_WINDOW: u64 = 32;

/// Shorter ranges are copied in less time than the kernel takes for a lent piece.
const MIN_LENT_BYTES: u16 = 1024;

/// The number of full datagrams of a transfer that go before a due acknowledgement: as many as go
/// in one call. The kernel joins datagrams of one length, and the one that acknowledges is shorter;
/// so it goes last.
const MAX_FULL_BEFORE_ACKNOWLEDGEMENT: u32 = 40;

/// The least number of datagrams that go at once where the pace would send them one by one, if
/// [`LinkSettings::burst_ns`] allows fewer.
const MIN_BURST: u64 = 16;

/// A datagram that is written behind others.
struct DatagramWriter<'a> {
    bytes: &'a mut Vec<u8>,
    /// The byte where it begins.
    start: usize,
}

impl<'a> DatagramWriter<'a> {
    fn after(bytes: &'a mut Vec<u8>) -> Self {
        let start = bytes.len();
        Self { bytes, start }
    }

    fn len(&self) -> usize {
        self.bytes.len() - self.start
    }
}

/// A link to a peer.
#[derive(Debug)]
pub struct Link {
    settings: LinkSettings,
    next_number: u64,
    sent: VecDeque<UnacknowledgedDatagram>,
    on_its_way: u64,
    /// The newest number that the peer has acknowledged.
    acknowledged: u64,
    control: OutgoingStream,
    /// For each transfer, the range that was never sent.
    bulk: VecDeque<TransferRange>,
    /// Ranges that were lost.
    lost: VecDeque<TransferRange>,
    /// The most bytes that may be in flight.
    window: u64,
    /// The link has shrunk the window for losses of datagrams before this one.
    narrowed_at: u64,
    /// When the next datagram may go, by the pace.
    pace_ns: u64,
    round_trip: RoundTrip,
    /// How often the link has asked the peer again since the peer last acknowledged something new.
    asked: u32,
    /// When something that wants an answer was last sent.
    asked_ns: u64,
    /// Datagrams that may go whatever the window is, to ask again.
    probes: u32,
    seen: ReceivedNumbers,
    owed: DueAcknowledgement,
    incoming: IncomingStream,
    heard_ns: u64,
    /// When something was last sent.
    said_ns: u64,
}

impl Link {
    /// Makes a link on which nothing has been sent.
    #[must_use]
    pub fn new(settings: LinkSettings, now_ns: u64) -> Self {
        Self {
            settings,
            next_number: 1,
            sent: VecDeque::new(),
            on_its_way: 0,
            acknowledged: 0,
            control: OutgoingStream::default(),
            bulk: VecDeque::new(),
            lost: VecDeque::new(),
            window: (FIRST_WINDOW * settings.datagram_bytes as u64).min(settings.window_bytes),
            narrowed_at: 0,
            pace_ns: now_ns,
            round_trip: RoundTrip::new(settings.grain_ns),
            asked: 0,
            asked_ns: now_ns,
            probes: 0,
            seen: ReceivedNumbers::default(),
            owed: DueAcknowledgement::default(),
            incoming: IncomingStream::default(),
            heard_ns: now_ns,
            said_ns: now_ns,
        }
    }

    /// Returns this link after it has sent `sent` and received `heard` datagrams without a loss.
    #[cfg(test)]
    fn after(mut self, sent: u64, heard: u64) -> Self {
        self.next_number = sent + 1;
        self.acknowledged = sent;
        if heard > 0 {
            self.seen.add(1..=heard);
        }
        self
    }

    /// Sends a control message. Returns the new end of the stream, which
    /// [`acknowledged_to`](Self::acknowledged_to) reaches in the end.
    ///
    /// # Panics
    /// When it is longer than [`MAX_MESSAGE_BYTES`](super::control_stream::MAX_MESSAGE_BYTES).
    pub fn send(&mut self, message: &[u8]) -> u64 {
        self.control.push(message)
    }

    /// Returns the end of the part of the stream that the peer has acknowledged.
    #[must_use]
    pub fn acknowledged_to(&self) -> u64 {
        self.control.acknowledged_to()
    }

    /// Sends bytes of a transfer. [`LinkHandler::read`] gives them whenever the link requests them.
    pub fn transfer(&mut self, transfer: u64, range: Range<u64>) {
        if !range.is_empty() {
            self.bulk.push_back(TransferRange { transfer, range });
        }
    }

    /// Returns when the last datagram of the peer came.
    #[must_use]
    pub fn heard_ns(&self) -> u64 {
        self.heard_ns
    }

    /// Returns whether everything that was to be sent was acknowledged.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.control.is_empty()
            && self.bulk.is_empty()
            && self.lost.is_empty()
            && self.sent.is_empty()
    }

    /// Returns the mean time of a round trip, in nanoseconds.
    #[must_use]
    pub fn round_trip_ns(&self) -> u64 {
        self.round_trip.mean_ns()
    }

    /// Takes a datagram of the peer, whose tag is right and taken off.
    ///
    /// # Errors
    /// [`DatagramRefusal`]: nothing of it was taken, but for messages and bytes before the place at which it is malformed.
    pub fn receive(
        &mut self,
        datagram: &[u8],
        now_ns: u64,
        ends: &mut dyn LinkHandler,
    ) -> Result<(), DatagramRefusal> {
        let (header, frames) = Header::take(datagram)?;
        let number = header.number;
        self.check(&header, number)?;
        for frame in Frames(frames) {
            match frame? {
                Frame::Acknowledgement(ack) if ack.largest >= self.next_number => {
                    return Err(MalformedDatagram.into());
                }
                Frame::Control { offset, bytes } => self.incoming.check(offset, bytes)?,
                Frame::Data { offset, bytes, .. } => {
                    offset
                        .checked_add(bytes.len() as u64)
                        .ok_or(MalformedDatagram)?;
                }
                Frame::Acknowledgement(_) | Frame::Ping => (),
            }
        }
        self.note_received(number..=number, now_ns);
        let mut wants_answer = false;
        for frame in Frames(frames) {
            match frame? {
                Frame::Acknowledgement(ack) => self.acknowledge(&ack, now_ns),
                Frame::Control { offset, bytes } => {
                    wants_answer = true;
                    let mut message = |message: &[u8]| ends.handle_message(message);
                    self.incoming.add(offset, bytes, &mut message)?;
                }
                Frame::Data {
                    transfer,
                    offset,
                    bytes,
                } => {
                    wants_answer = true;
                    ends.write(transfer, offset, bytes);
                }
                Frame::Ping => wants_answer = true,
            }
        }
        if wants_answer {
            self.note_unacknowledged(1, now_ns);
        }
        Ok(())
    }

    /// Takes datagrams of the peer whose bytes lie where they belong. Their tags are right.
    ///
    /// # Errors
    /// [`DatagramRefusal`]: none of them was taken.
    pub fn receive_placed(
        &mut self,
        placed: &PlacedDatagrams,
        now_ns: u64,
        ends: &mut dyn LinkHandler,
    ) -> Result<(), DatagramRefusal> {
        self.check(&placed.first, placed.last)?;
        self.note_received(placed.first.number..=placed.last, now_ns);
        ends.note_placed(placed.transfer, placed.range.clone());
        let count = placed.last - placed.first.number + 1;
        self.note_unacknowledged(u32::try_from(count).unwrap_or(u32::MAX), now_ns);
        Ok(())
    }

    /// Checks that datagrams are of this link, from this header to that number, and that none of
    /// them has come before.
    fn check(&self, first: &Header, last: u64) -> Result<(), DatagramRefusal> {
        if (first.epoch, first.from) != (self.settings.epoch, self.settings.to) {
            return Err(DatagramRefusal::Foreign);
        }
        if first.number == 0 || first.number > last {
            return Err(MalformedDatagram.into());
        }
        if self.seen.has_any(first.number..=last) {
            return Err(DatagramRefusal::Repeated);
        }
        Ok(())
    }

    fn note_received(&mut self, numbers: RangeInclusive<u64>, now_ns: u64) {
        self.seen.add(numbers);
        self.heard_ns = now_ns;
        self.owed.newest_ns = now_ns;
    }

    /// Notes that this many datagrams want an acknowledgement.
    fn note_unacknowledged(&mut self, count: u32, now_ns: u64) {
        if self.owed.count == 0 {
            self.owed.since_ns = now_ns;
        }
        self.owed.count = self.owed.count.saturating_add(count);
    }

    fn acknowledge(&mut self, ack: &Acknowledgement<'_>, now_ns: u64) {
        let Some(oldest) = self.sent.front().map(|sent| sent.number) else {
            return;
        };
        let mut has_new = false;
        for (first, last) in ack.ranges() {
            if last < oldest {
                break;
            }
            let start = self.sent.partition_point(|sent| sent.number < first);
            let end = self.sent.partition_point(|sent| sent.number <= last);
            for sent in self.sent.drain(start..end) {
                has_new = true;
                self.on_its_way -= sent.bytes;
                // Slow start and congestion avoidance in one: the window grows by half of what has
                // arrived.
                self.window = (self.window + sent.bytes / 2).min(self.settings.window_bytes);
                if sent.number == ack.largest {
                    let took_ns = now_ns.saturating_sub(sent.at_ns);
                    self.round_trip
                        .add_measurement(took_ns, ack.delay_ns.into());
                }
                for content in sent.contents {
                    // The receiver counts bytes of transfers.
                    if let SentContent::Control(range) = content {
                        self.control.acknowledge(range);
                    }
                }
            }
        }
        self.acknowledged = self.acknowledged.max(ack.largest);
        if has_new {
            self.asked = 0;
            self.probes = 0;
            self.asked_ns = now_ns;
        }
        self.find_lost(now_ns);
    }

    /// Treats datagrams that later ones have overtaken as lost.
    fn find_lost(&mut self, now_ns: u64) {
        let overtaken_ns = self.round_trip.reorder_timeout_ns();
        let is_lost = |sent: &UnacknowledgedDatagram, newest: u64| {
            sent.number < newest
                && (sent.number + REORDER_THRESHOLD <= newest
                    || sent.at_ns + overtaken_ns <= now_ns)
        };
        while let Some(sent) = self.sent.front()
            && is_lost(sent, self.acknowledged)
        {
            let sent = self.sent.pop_front().expect("there is one");
            if sent.number >= self.narrowed_at {
                let least = LEAST_WINDOW * self.settings.datagram_bytes as u64;
                self.window = (self.window / 2).max(least);
                self.narrowed_at = self.next_number;
            }
            self.send_again(sent);
        }
    }

    fn send_again(&mut self, sent: UnacknowledgedDatagram) {
        self.on_its_way -= sent.bytes;
        for content in sent.contents {
            match content {
                SentContent::Control(range) => self.control.mark_lost(range),
                SentContent::Data(stretch) => self.lost.push_back(stretch),
            }
        }
    }

    /// Returns when to call [`transmit`](Self::transmit) again at the latest, if nothing happens
    /// before.
    #[must_use]
    pub fn deadline_ns(&self) -> Option<u64> {
        let owed = (self.owed.count > 0).then(|| self.acknowledgement_due_ns());
        let lost = self.sent.front().map(|sent| {
            if sent.number < self.acknowledged {
                sent.at_ns + self.round_trip.reorder_timeout_ns()
            } else {
                self.ask_again_due_ns()
            }
        });
        let silent = (!self.sent.is_empty()).then(|| self.ask_again_due_ns());
        let paced = (self.has_more() && self.has_room()).then_some(self.pace_ns);
        let quiet = self.sent.is_empty().then_some(self.quiet_ns());
        [owed, lost, silent, paced, quiet]
            .into_iter()
            .flatten()
            .min()
    }

    fn acknowledgement_due_ns(&self) -> u64 {
        match self.owed.count {
            count if count >= ACKNOWLEDGE_AFTER => self.owed.since_ns,
            _ => self.owed.since_ns + self.settings.acknowledge_ns,
        }
    }

    fn ask_again_due_ns(&self) -> u64 {
        self.asked_ns + self.settings.acknowledge_ns + self.round_trip.retry_timeout_ns(self.asked)
    }

    /// Returns when to send a ping if there is nothing else to send.
    fn quiet_ns(&self) -> u64 {
        self.said_ns.saturating_add(self.settings.quiet_ns)
    }

    fn has_more(&self) -> bool {
        self.control.has_more() || !self.lost.is_empty() || !self.bulk.is_empty()
    }

    fn has_room(&self) -> bool {
        self.on_its_way + self.settings.datagram_bytes as u64 <= self.window || self.sent.is_empty()
    }

    /// Appends the next datagram, without its tag, if one is to be sent now. Returns whether there
    /// was one.
    pub fn transmit(
        &mut self,
        now_ns: u64,
        ends: &mut dyn LinkHandler,
        datagrams: &mut Vec<u8>,
    ) -> bool {
        let written = self.write(now_ns, ends, datagrams, false);
        written.is_some()
    }

    /// Does the same, but need not copy bytes of a transfer: it may return those at the end of the
    /// datagram as lent memory.
    pub fn transmit_lent(
        &mut self,
        now_ns: u64,
        ends: &mut dyn LinkHandler,
        datagrams: &mut Vec<u8>,
    ) -> Option<Option<LentMemory>> {
        self.write(now_ns, ends, datagrams, true)
    }

    fn write(
        &mut self,
        now_ns: u64,
        ends: &mut dyn LinkHandler,
        datagrams: &mut Vec<u8>,
        may_lend: bool,
    ) -> Option<Option<LentMemory>> {
        self.find_lost(now_ns);
        if !self.sent.is_empty() && now_ns >= self.ask_again_due_ns() {
            // No answer comes: the oldest go again, at least one of them at once.
            for _ in 0..2 {
                let sent = self.sent.pop_front();
                sent.into_iter().for_each(|sent| self.send_again(sent));
            }
            self.asked += 1;
            self.asked_ns = now_ns;
            self.probes = 2;
        }
        let owes = self.owed.count > 0 && now_ns >= self.acknowledgement_due_ns();
        let may_send = self.probes > 0 || (self.has_room() && now_ns >= self.pace_ns);
        let pings = self.sent.is_empty() && (self.probes > 0 || now_ns >= self.quiet_ns());
        let sends = (self.has_more() && may_send) || pings;
        if !(owes || sends) {
            return None;
        }
        let header = Header {
            epoch: self.settings.epoch,
            from: self.settings.from,
            number: self.next_number,
        };
        let mut datagram = DatagramWriter::after(datagrams);
        header.put(datagram.bytes);
        let is_behind =
            sends && self.owed.behind < MAX_FULL_BEFORE_ACKNOWLEDGEMENT && self.is_full_next();
        self.owed.behind += u32::from(is_behind);
        if self.owed.count > 0 && !is_behind {
            let delay_ns = now_ns.saturating_sub(self.owed.newest_ns);
            let delay_ns = u32::try_from(delay_ns).unwrap_or(u32::MAX);
            datagram::put_acknowledgement(datagram.bytes, delay_ns, self.seen.ranges());
            self.owed.count = 0;
            self.owed.behind = 0;
        }
        let mut lent = None;
        if sends {
            let mut contents = SentContents::new();
            lent = self.fill(&mut datagram, &mut contents, ends, may_lend);
            if contents.is_empty() {
                datagram::put_ping(datagram.bytes);
            }
            self.probes = self.probes.saturating_sub(1);
            let bytes = datagram.len() + lent.as_ref().map_or(0, LentMemory::bytes);
            self.note_sent(bytes as u64, contents, now_ns);
        }
        self.next_number += 1;
        self.said_ns = now_ns;
        Some(lent)
    }

    /// Notes that a datagram that wants an answer is sent.
    fn note_sent(&mut self, bytes: u64, contents: SentContents, now_ns: u64) {
        if self.sent.is_empty() {
            self.asked_ns = now_ns;
        }
        self.on_its_way += bytes;
        self.sent.push_back(UnacknowledgedDatagram {
            number: self.next_number,
            at_ns: now_ns,
            bytes,
            contents,
        });
        let rate = u128::from(self.settings.bytes_per_second.max(1));
        let one_ns = |bytes: u64| {
            u64::try_from(u128::from(bytes) * 1_000_000_000 / rate).unwrap_or(u64::MAX)
        };
        // A link that was idle may send some at once.
        let behind_ns =
            one_ns(MIN_BURST * self.settings.datagram_bytes as u64).max(self.settings.burst_ns);
        let earliest_ns = now_ns.saturating_sub(behind_ns);
        self.pace_ns = self.pace_ns.max(earliest_ns).saturating_add(one_ns(bytes));
    }

    /// Returns whether the next datagram brings as many bytes of one transfer as it can, and
    /// nothing else.
    fn is_full_next(&self) -> bool {
        let next = self.lost.front().or(self.bulk.front());
        let brings = next.map_or(0, |next| next.range.end - next.range.start);
        let head = (HEADER_BYTES + DATA_HEAD) as u64;
        !self.control.has_more() && brings + head >= self.settings.datagram_bytes as u64
    }

    /// Drops a transfer whose bytes nobody wants any more.
    fn drop_transfer(&mut self, transfer: u64) {
        for queue in [&mut self.bulk, &mut self.lost] {
            queue.retain(|stretch| stretch.transfer != transfer);
        }
    }

    /// Fills the datagram. Returns the bytes at its end if they are lent.
    fn fill(
        &mut self,
        datagram: &mut DatagramWriter<'_>,
        contents: &mut SentContents,
        ends: &mut dyn LinkHandler,
        may_lend: bool,
    ) -> Option<LentMemory> {
        // A datagram of full length brings bytes of one transfer and nothing else. So its receiver
        // knows where they are in all datagrams that the kernel has joined, but for the last, which
        // alone may be shorter.
        let full = self.settings.datagram_bytes.max(BULK_FRONT_BYTES + 2);
        let room = |datagram: &DatagramWriter<'_>, head: usize, is_alone: bool| {
            (full - usize::from(!is_alone)).saturating_sub(datagram.len() + head)
        };
        while let Some(range) = self
            .control
            .take(room(datagram, CONTROL_HEAD, false) as u64)
        {
            let len = u16::try_from(range.end - range.start).expect("a datagram is short");
            datagram::put_control(datagram.bytes, range.start, len);
            self.control.copy(&range, datagram.bytes);
            contents.push(SentContent::Control(range));
        }
        loop {
            let is_alone = datagram.len() == HEADER_BYTES;
            let room = room(datagram, DATA_HEAD, is_alone);
            if room == 0 {
                return None;
            }
            let queue = match self.lost.is_empty() {
                true => &mut self.bulk,
                false => &mut self.lost,
            };
            let TransferRange { transfer, range } = queue.front_mut()?;
            let transfer = *transfer;
            let end = range.end.min(range.start + room as u64);
            let taken = range.start..end;
            range.start = end;
            if range.is_empty() {
                queue.pop_front();
            }
            let len = u16::try_from(taken.end - taken.start).expect("a datagram is short");
            let bytes = &mut *datagram.bytes;
            datagram::put_data(bytes, transfer, taken.start, len);
            if may_lend
                && is_alone
                && len >= MIN_LENT_BYTES
                && let Some(lent) = ends.lend(transfer, taken.start, len.into())
            {
                let range = taken;
                contents.push(SentContent::Data(TransferRange { transfer, range }));
                return Some(lent);
            }
            let start = bytes.len();
            bytes.resize(start + usize::from(len), 0);
            if !ends.read(transfer, taken.start, &mut bytes[start..]) {
                bytes.truncate(start - DATA_HEAD);
                self.drop_transfer(transfer);
                continue;
            }
            let range = taken;
            contents.push(SentContent::Data(TransferRange { transfer, range }));
        }
    }
}
