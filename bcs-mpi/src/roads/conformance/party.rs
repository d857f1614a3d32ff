//! A rank of a world whose road is under test, and what it sends and receives.
#![expect(unsafe_code, reason = "messages are named by address")]

use crate::data::Piece;
use crate::roads::{Message, Outcome, Posted, Road, SendMode};
use bcs_core::layout::Layout;
use bcs_core::mark::Mark;
use bcs_core::matching::Pattern;
use bcs_core::request::Failure;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// How a rule was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) String);

/// Says how a rule is broken, unless what it asks for holds.
macro_rules! ensure {
    ($holds:expr, $($how:tt)+) => {
        if !$holds {
            return Err($crate::roads::conformance::Broken(format!($($how)+)));
        }
    };
}
pub(super) use ensure;

/// One rank of a world.
pub(crate) trait Party: Sized + Send {
    type Road: Road;

    fn road(&mut self) -> &mut Self::Road;

    /// World ranks follow each other, from this one on.
    fn first(&self) -> u32;

    /// This one, counted from the first.
    fn rank(&self) -> u32;

    fn ranks(&self) -> u32;

    /// Others go on.
    fn pause(&mut self);

    /// Waits until a request is done.
    fn wait(&mut self, request: <Self::Road as Road>::Request) -> Outcome {
        loop {
            self.road().progress();
            if let Some(outcome) = self.road().take(request) {
                return outcome;
            }
            self.pause();
        }
    }

    /// The same rank in another thread, if its road may be called by several.
    fn in_thread(&self) -> Option<Self>;
}

/// The communicator of all rules but the one of contexts.
pub(super) const WORLD: u32 = 0;

/// What is under way, and its memory, which is lost where a rule is broken: somebody may still write there.
pub(super) struct Pending<P: Party> {
    posted: Posted<<P::Road as Road>::Request>,
    bytes: ManuallyDrop<Vec<u8>>,
    _layout: ManuallyDrop<Option<Arc<Layout>>>,
}

/// Where bytes lie in a buffer.
#[derive(Clone, Debug)]
pub(super) enum Spread {
    /// From the start, one after the other, so many.
    Plain(usize),
    /// As a layout says, so many.
    Pieces(Arc<Layout>, usize),
}

impl Spread {
    fn piece(&self, bytes: &mut [u8]) -> Piece {
        let (len, layout) = match self {
            Self::Plain(len) => (*len, None),
            Self::Pieces(layout, len) => (*len, Some(layout.clone())),
        };
        let address = bytes.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: what is pending keeps them, and loses them if it never ends.
        unsafe { Piece::new(address, len, layout) }
    }
}

/// Which message is to be received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) context: u32,
    pub(super) from: Option<u32>,
    pub(super) tag: Option<i32>,
}

/// With this tag, in the world.
pub(super) fn wanted(from: u32, tag: i32) -> Wanted {
    Wanted {
        context: WORLD,
        from: Some(from),
        tag: Some(tag),
    }
}

pub(super) fn pattern<P: Party>(party: &P, wanted: Wanted) -> Pattern {
    Pattern {
        context: wanted.context,
        source: wanted.from.map(|from| party.first() + from),
        tag: wanted.tag,
    }
}

/// Posts a send of memory.
pub(super) fn send_from<P: Party>(
    party: &mut P,
    mode: SendMode,
    (context, to, tag): (u32, u32, i32),
    data: Piece,
) -> Result<Posted<<P::Road as Road>::Request>, Broken> {
    let destination = party.first() + to;
    let message = Message {
        context,
        destination,
        tag,
        data: &data,
        mark: Mark::NONE,
    };
    let posted = party.road().send(mode, &message);
    posted.map_err(|full| Broken(format!("a send is refused: {full}")))
}

/// Posts a send of a buffer that is its own.
pub(super) fn post<P: Party>(
    party: &mut P,
    mode: SendMode,
    to: (u32, u32, i32),
    (mut bytes, spread): (Vec<u8>, Spread),
) -> Result<Pending<P>, Broken> {
    let data = spread.piece(&mut bytes);
    let layout = data.layout().cloned();
    Ok(Pending {
        posted: send_from(party, mode, to, data)?,
        bytes: ManuallyDrop::new(bytes),
        _layout: ManuallyDrop::new(layout),
    })
}

/// Posts a standard send of bytes side by side, in the world.
pub(super) fn send<P: Party>(
    party: &mut P,
    to: u32,
    tag: i32,
    bytes: Vec<u8>,
) -> Result<Pending<P>, Broken> {
    let all = Spread::Plain(bytes.len());
    post(party, SendMode::Standard, (WORLD, to, tag), (bytes, all))
}

/// Posts a receive into memory.
pub(super) fn receive_into<P: Party>(
    party: &mut P,
    wanted: Wanted,
    into: Piece,
) -> Result<<P::Road as Road>::Request, Broken> {
    let pattern = pattern(party, wanted);
    let posted = party.road().receive(pattern, into);
    posted.map_err(|full| Broken(format!("a receive is refused: {full}")))
}

/// Posts a receive into a buffer.
pub(super) fn post_receive<P: Party>(
    party: &mut P,
    wanted: Wanted,
    (mut bytes, spread): (Vec<u8>, Spread),
) -> Result<Pending<P>, Broken> {
    let into = spread.piece(&mut bytes);
    let layout = into.layout().cloned();
    Ok(Pending {
        posted: Posted::Request(receive_into(party, wanted, into)?),
        bytes: ManuallyDrop::new(bytes),
        _layout: ManuallyDrop::new(layout),
    })
}

/// The same of at most so many bytes.
pub(super) fn receive<P: Party>(
    party: &mut P,
    wanted: Wanted,
    room: usize,
) -> Result<Pending<P>, Broken> {
    post_receive(party, wanted, (vec![0; room], Spread::Plain(room)))
}

impl<P: Party> Pending<P> {
    /// Whether it is done.
    pub(super) fn is_done(&self, party: &mut P) -> bool {
        match self.posted {
            Posted::Complete => true,
            Posted::Request(request) => {
                party.road().progress();
                party.road().is_done(request)
            }
        }
    }

    pub(super) fn cancel(&self, party: &mut P) {
        if let Posted::Request(request) = self.posted {
            party.road().cancel(request);
        }
    }

    /// Waits for it: what it came to, and its buffer.
    pub(super) fn end(self, party: &mut P) -> (Outcome, Vec<u8>) {
        let outcome = match self.posted {
            Posted::Complete => Outcome::default(),
            Posted::Request(request) => party.wait(request),
        };
        (outcome, ManuallyDrop::into_inner(self.bytes))
    }

    /// The same of a send, which must have succeeded.
    pub(super) fn sent(self, party: &mut P) -> Result<(), Broken> {
        let (outcome, _) = self.end(party);
        let failure = outcome.failure;
        ensure!(failure == Failure::None, "a send came to {failure:?}");
        Ok(())
    }

    /// The same of a receive: the tag, and the bytes.
    pub(super) fn received(self, party: &mut P, from: u32) -> Result<(i32, Vec<u8>), Broken> {
        let (outcome, mut bytes) = self.end(party);
        let Outcome { failure, len, .. } = outcome;
        ensure!(failure == Failure::None, "a receive came to {failure:?}");
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
pub(super) fn all_sent<P: Party>(party: &mut P, sends: Vec<Pending<P>>) -> Result<(), Broken> {
    sends.into_iter().try_for_each(|send| send.sent(party))
}

/// Sends a message without bytes, and receives one: what was posted before has an order then.
pub(super) fn tell<P: Party>(party: &mut P, to: u32, tag: i32) -> Result<(), Broken> {
    send(party, to, tag, Vec::new())?.sent(party)
}

/// Waits for such a message.
pub(super) fn hear<P: Party>(party: &mut P, from: u32, tag: i32) -> Result<(), Broken> {
    receive(party, wanted(from, tag), 0)?.received(party, from)?;
    Ok(())
}

/// The other rank of a pair, and whether this one sends; `None` if there is no other.
pub(super) fn pair<P: Party>(party: &P) -> Option<(u32, bool)> {
    let peer = party.rank() ^ 1;
    (peer < party.ranks()).then_some((peer, party.rank() < peer))
}

/// Bytes that differ from those of other numbers, and within themselves.
pub(super) fn numbered(number: usize, len: usize) -> Vec<u8> {
    let byte =
        |at: usize| (at.wrapping_mul(31) ^ (at >> 8) ^ number.wrapping_mul(97)).to_le_bytes()[0];
    (0..len).map(byte).collect()
}

/// A small number as a tag.
pub(super) fn tag_of(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
