//! A rank of a world whose transport is under test, and its sends and receives.
#![expect(unsafe_code, reason = "messages are named by address")]

use crate::data::DataView;
use crate::transport::{OutgoingMessage, PostedSend, RequestOutcome, SendMode, Transport};
use bcs_core::check_bits::CheckBits;
use bcs_core::layout::DataLayout;
use bcs_core::matching::Pattern;
use bcs_core::request::RequestFailure;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// How a rule was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleViolation(pub(crate) String);

/// Reports how a rule is broken, unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($how:tt)+) => {
        if !$holds {
            return Err($crate::transport::conformance::RuleViolation(format!($($how)+)));
        }
    };
}
pub(super) use ensure;

/// One rank of a world.
pub(crate) trait ConformanceRank: Sized + Send {
    type ConformanceTransport: Transport;

    fn transport(&mut self) -> &mut Self::ConformanceTransport;

    /// Returns the first world rank. World ranks are consecutive.
    fn first(&self) -> u32;

    /// Returns this rank, counted from the first.
    fn rank(&self) -> u32;

    fn ranks(&self) -> u32;

    /// Lets other ranks go on.
    fn pause(&mut self);

    /// Waits until a request is done.
    fn wait(
        &mut self,
        request: <Self::ConformanceTransport as Transport>::Request,
    ) -> RequestOutcome {
        loop {
            self.transport().progress();
            if let Some(outcome) = self.transport().take(request) {
                return outcome;
            }
            self.pause();
        }
    }

    /// Returns the same rank in another thread, if several threads may call its transport.
    fn in_thread(&self) -> Option<Self>;
}

/// The communicator of all rules but the one of contexts.
pub(super) const WORLD: u32 = 0;

/// An operation under way, and its memory. The memory is leaked if a rule is broken, because an
/// operation may still write there.
pub(super) struct PendingMessage<P: ConformanceRank> {
    posted: PostedSend<<P::ConformanceTransport as Transport>::Request>,
    bytes: ManuallyDrop<Vec<u8>>,
    _layout: ManuallyDrop<Option<Arc<DataLayout>>>,
}

/// The layout of bytes in a buffer.
#[derive(Clone, Debug)]
pub(super) enum BufferShape {
    /// This many bytes from the start on, one after the other.
    Plain(usize),
    /// This many bytes in a layout.
    Pieces(Arc<DataLayout>, usize),
}

impl BufferShape {
    fn piece(&self, bytes: &mut [u8]) -> DataView {
        let (len, layout) = match self {
            Self::Plain(len) => (*len, None),
            Self::Pieces(layout, len) => (*len, Some(layout.clone())),
        };
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the pending operation keeps them, and leaks them if it never ends.
        unsafe { DataView::new(address, len, layout) }
    }
}

/// The message to receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageSelector {
    pub(super) context: u32,
    pub(super) from: Option<u32>,
    pub(super) tag: Option<i32>,
}

/// Selects a message with this tag, in the world.
pub(super) fn wanted(from: u32, tag: i32) -> MessageSelector {
    MessageSelector {
        context: WORLD,
        from: Some(from),
        tag: Some(tag),
    }
}

pub(super) fn pattern<P: ConformanceRank>(party: &P, wanted: MessageSelector) -> Pattern {
    Pattern {
        context: wanted.context,
        source: wanted.from.map(|from| party.first() + from),
        tag: wanted.tag,
    }
}

/// Posts a send of memory.
pub(super) fn send_from<P: ConformanceRank>(
    party: &mut P,
    mode: SendMode,
    (context, to, tag): (u32, u32, i32),
    data: DataView,
) -> Result<PostedSend<<P::ConformanceTransport as Transport>::Request>, RuleViolation> {
    let destination = party.first() + to;
    let message = OutgoingMessage {
        context,
        destination,
        tag,
        data: &data,
        mark: CheckBits::NONE,
    };
    let posted = party.transport().send(mode, &message);
    posted.map_err(|full| RuleViolation(format!("a send is refused: {full}")))
}

/// Posts a send of a buffer of its own.
pub(super) fn post<P: ConformanceRank>(
    party: &mut P,
    mode: SendMode,
    to: (u32, u32, i32),
    (mut bytes, spread): (Vec<u8>, BufferShape),
) -> Result<PendingMessage<P>, RuleViolation> {
    let data = spread.piece(&mut bytes);
    let layout = data.layout().cloned();
    Ok(PendingMessage {
        posted: send_from(party, mode, to, data)?,
        bytes: ManuallyDrop::new(bytes),
        _layout: ManuallyDrop::new(layout),
    })
}

/// Posts a standard send of contiguous bytes, in the world.
pub(super) fn send<P: ConformanceRank>(
    party: &mut P,
    to: u32,
    tag: i32,
    bytes: Vec<u8>,
) -> Result<PendingMessage<P>, RuleViolation> {
    let all = BufferShape::Plain(bytes.len());
    post(party, SendMode::Standard, (WORLD, to, tag), (bytes, all))
}

/// Posts a receive into memory.
pub(super) fn receive_into<P: ConformanceRank>(
    party: &mut P,
    wanted: MessageSelector,
    into: DataView,
) -> Result<<P::ConformanceTransport as Transport>::Request, RuleViolation> {
    let pattern = pattern(party, wanted);
    let posted = party.transport().receive(pattern, into);
    posted.map_err(|full| RuleViolation(format!("a receive is refused: {full}")))
}

/// Posts a receive into a buffer.
pub(super) fn post_receive<P: ConformanceRank>(
    party: &mut P,
    wanted: MessageSelector,
    (mut bytes, spread): (Vec<u8>, BufferShape),
) -> Result<PendingMessage<P>, RuleViolation> {
    let into = spread.piece(&mut bytes);
    let layout = into.layout().cloned();
    Ok(PendingMessage {
        posted: PostedSend::Request(receive_into(party, wanted, into)?),
        bytes: ManuallyDrop::new(bytes),
        _layout: ManuallyDrop::new(layout),
    })
}

/// Posts a receive of at most this many bytes.
pub(super) fn receive<P: ConformanceRank>(
    party: &mut P,
    wanted: MessageSelector,
    room: usize,
) -> Result<PendingMessage<P>, RuleViolation> {
    post_receive(party, wanted, (vec![0; room], BufferShape::Plain(room)))
}

impl<P: ConformanceRank> PendingMessage<P> {
    /// Returns whether it is done.
    pub(super) fn is_done(&self, party: &mut P) -> bool {
        match self.posted {
            PostedSend::Complete => true,
            PostedSend::Request(request) => {
                party.transport().progress();
                party.transport().is_done(request)
            }
        }
    }

    pub(super) fn cancel(&self, party: &mut P) {
        if let PostedSend::Request(request) = self.posted {
            party.transport().cancel(request);
        }
    }

    /// Waits for it. Returns the outcome and its buffer.
    pub(super) fn end(self, party: &mut P) -> (RequestOutcome, Vec<u8>) {
        let outcome = match self.posted {
            PostedSend::Complete => RequestOutcome::default(),
            PostedSend::Request(request) => party.wait(request),
        };
        (outcome, ManuallyDrop::into_inner(self.bytes))
    }

    /// Waits for a send, which must have succeeded.
    pub(super) fn sent(self, party: &mut P) -> Result<(), RuleViolation> {
        let (outcome, _) = self.end(party);
        let failure = outcome.failure;
        ensure!(
            failure == RequestFailure::None,
            "a send came to {failure:?}"
        );
        Ok(())
    }

    /// Waits for a receive, which must have succeeded. Returns the tag and the bytes.
    pub(super) fn received(
        self,
        party: &mut P,
        from: u32,
    ) -> Result<(i32, Vec<u8>), RuleViolation> {
        let (outcome, mut bytes) = self.end(party);
        let RequestOutcome { failure, len, .. } = outcome;
        ensure!(
            failure == RequestFailure::None,
            "a receive came to {failure:?}"
        );
        let source = outcome.source.wrapping_sub(party.first());
        ensure!(
            source == from,
            "a message of rank {from} is said to be of {source}"
        );
        ensure!(len <= bytes.len() as u64, "{len} bytes in {}", bytes.len());
        bytes.truncate(usize::try_from(len).unwrap_or(0));
        Ok((outcome.tag, bytes))
    }
}

/// Waits for all of these sends.
pub(super) fn all_sent<P: ConformanceRank>(
    party: &mut P,
    sends: Vec<PendingMessage<P>>,
) -> Result<(), RuleViolation> {
    sends.into_iter().try_for_each(|send| send.sent(party))
}

/// Sends a message without bytes, and receives one, which orders the earlier posts.
pub(super) fn tell<P: ConformanceRank>(
    party: &mut P,
    to: u32,
    tag: i32,
) -> Result<(), RuleViolation> {
    send(party, to, tag, Vec::new())?.sent(party)
}

/// Waits for such a message.
pub(super) fn hear<P: ConformanceRank>(
    party: &mut P,
    from: u32,
    tag: i32,
) -> Result<(), RuleViolation> {
    receive(party, wanted(from, tag), 0)?.received(party, from)?;
    Ok(())
}

/// Returns the other rank of a pair, and whether this one sends; `None` if there is no other.
pub(super) fn pair<P: ConformanceRank>(party: &P) -> Option<(u32, bool)> {
    let peer = party.rank() ^ 1;
    (peer < party.ranks()).then_some((peer, party.rank() < peer))
}

/// Returns bytes that differ from those of other numbers, and within themselves.
pub(super) fn numbered(number: usize, len: usize) -> Vec<u8> {
    let byte =
        |at: usize| (at.wrapping_mul(31) ^ (at >> 8) ^ number.wrapping_mul(97)).to_le_bytes()[0];
    (0..len).map(byte).collect()
}

/// Returns a small number as a tag.
pub(super) fn tag_of(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
