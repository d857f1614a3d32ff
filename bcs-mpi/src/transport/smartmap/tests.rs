//! The ends of all ranks of a node in one thread, in any order.
#![expect(unsafe_code, reason = "messages are named by address")]

use super::peer_memory::PeerMemory;
use super::requests::LocalRequestId;
use super::{LoanOutcome, QueueHead, SmartMap};
use crate::data::{ByteRange, DataView, scatter};
use crate::transport::{OutgoingMessage, PostedSend, RequestOutcome, SendMode};
use bcs_core::check_bits::CheckBits;
use bcs_core::job::NodeRanks;
use bcs_core::limits::{LEAST_SHARED_BYTES, MAX_UNEXPECTED_BYTES, SHARED_CHUNK_BYTES};
use bcs_core::matching::Pattern;
use bcs_core::memory::NicMemory;
use bcs_core::request::RequestFailure;
use bcs_core::smartmap::NodeMemory;
use bcs_core::smartmap::shared_copy::{CopyShape, SharedCopy};
use bcs_core::wait_state::SEND_CHECK_CONTEXT;
use bcs_core::wake::MachinePage;
use proptest::prelude::*;
use std::sync::atomic::Ordering;

const EAGER: usize = 4096;

struct Node {
    ends: Vec<SmartMap>,
}

/// Returns a range of memory that a test keeps until the end.
fn named(bytes: *const u8, len: usize) -> ByteRange {
    // SAFETY: tests keep the memory until the end.
    unsafe { ByteRange::new(bytes.expose_provenance() as u64, len) }
}

impl Node {
    fn new(ranks: usize, peer_memory: PeerMemory) -> Self {
        let node = NodeMemory::private(ranks).unwrap();
        let page = MachinePage::private(1, 2).unwrap();
        let end = |place| {
            node.process_id(place)
                .store(std::process::id(), Ordering::Release);
            let memory = NicMemory::private(EAGER).unwrap();
            let (node, page, here) = (
                node.clone(),
                page.clone(),
                (
                    place,
                    NodeRanks::consecutive(10, u32::try_from(ranks).unwrap()),
                ),
            );
            let mut end = SmartMap::new(node, memory, page, here, peer_memory.clone());
            end.eager_up_to(EAGER);
            end
        };
        Self {
            ends: (0..ranks).map(end).collect(),
        }
    }

    /// World ranks start from 10.
    fn message(to: usize, tag: i32, data: &DataView) -> OutgoingMessage<'_> {
        OutgoingMessage {
            context: 3,
            destination: 10 + u32::try_from(to).unwrap(),
            tag,
            data,
            mark: CheckBits::NONE,
        }
    }

    fn send(
        &mut self,
        from: usize,
        to: usize,
        tag: i32,
        data: &[u8],
        mode: SendMode,
    ) -> PostedSend {
        let data = named(data.as_ptr(), data.len()).into();
        let message = Self::message(to, tag, &data);
        self.ends[from].send(mode, &message).unwrap()
    }

    fn receive(
        &mut self,
        at: usize,
        from: Option<u32>,
        tag: Option<i32>,
        into: &mut [u8],
    ) -> LocalRequestId {
        let pattern = Pattern {
            context: 3,
            source: from.map(|from| from + 10),
            tag,
        };
        let into = named(into.as_mut_ptr(), into.len()).into();
        self.ends[at].receive(pattern, into, None).unwrap()
    }

    fn settle(&mut self) {
        let step = |end: &mut SmartMap| {
            let has = end.has_deferred_copies();
            end.do_errands(true);
            has | end.drain() | end.flush()
        };
        while self.ends.iter_mut().any(step) {}
    }
}

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len)
        .map(|at| u8::try_from((at * 7 + seed) % 251).unwrap())
        .collect()
}

fn roads() -> [PeerMemory; 2] {
    [PeerMemory::open(), PeerMemory::CLOSED]
}

#[test]
fn messages_of_all_lengths_arrive_on_all_roads() {
    for peer_memory in roads() {
        for mode in [SendMode::Standard, SendMode::Synchronous] {
            for len in [0, 1, 32, 33, 4096, 4097, 16_385, 300_000, 1 << 20] {
                for early in [false, true] {
                    let mut node = Node::new(2, peer_memory.clone());
                    let data = bytes(len, len);
                    let mut into = vec![0; len];
                    let posted = early.then(|| node.receive(1, Some(0), Some(5), &mut into));
                    let sent = node.send(0, 1, 5, &data, mode);
                    let eager = mode == SendMode::Standard && len <= EAGER;
                    assert_eq!(sent == PostedSend::Complete, eager);
                    node.settle();
                    if let (false, PostedSend::Request(id)) = (early, sent) {
                        assert_eq!(node.ends[0].take(id), None, "nobody has received it");
                    }
                    let posted =
                        posted.unwrap_or_else(|| node.receive(1, Some(0), Some(5), &mut into));
                    node.settle();
                    let outcome = node.ends[1].take(posted).unwrap();
                    assert_eq!(
                        (outcome.failure, outcome.source),
                        (RequestFailure::None, 10)
                    );
                    assert_eq!((outcome.len, outcome.tag), (len as u64, 5));
                    assert!(into == data, "{peer_memory:?} {mode:?} {len}");
                    if let PostedSend::Request(id) = sent {
                        assert_eq!(node.ends[0].take(id).unwrap().failure, RequestFailure::None);
                    }
                    assert!(node.ends.iter_mut().all(SmartMap::is_quiet));
                }
            }
        }
    }
}

#[test]
fn only_a_kept_message_that_a_receive_would_get_closes_the_short_way() {
    let mut node = Node::new(2, PeerMemory::open());
    let send = |node: &mut Node, context, tag, byte: &[u8; 1]| {
        let data = named(byte.as_ptr(), byte.len()).into();
        let message = OutgoingMessage {
            context,
            ..Node::message(1, tag, &data)
        };
        assert_eq!(
            node.ends[0].send(SendMode::Standard, &message),
            Ok(PostedSend::Complete)
        );
    };
    let pattern = |tag| Pattern {
        context: 3,
        source: Some(10),
        tag,
    };
    // A description and a message, both unexpected.
    send(&mut node, SEND_CHECK_CONTEXT, 9, &[1]);
    send(&mut node, 3, 5, &[2]);
    node.settle();
    send(&mut node, 3, 7, &[3]);
    let end = &mut node.ends[1];
    assert_eq!(
        end.leak_counts().1,
        1,
        "a description is no message of the program"
    );
    assert!(!end.is_idle_for(&pattern(Some(5))) && !end.is_idle_for(&pattern(None)));
    assert!(end.is_idle_for(&pattern(Some(7))));
    let mut into = [0];
    let piece = named(into.as_mut_ptr(), 1).into();
    let mut outcome = RequestOutcome::default();
    let next = end.receive_next(10, &pattern(Some(7)), &piece, &mut outcome);
    assert_eq!((next, outcome.tag), (QueueHead::Received, 7));
    assert_eq!(into, [3]);
    // It is still there for a receive.
    let described = Pattern {
        context: SEND_CHECK_CONTEXT,
        source: Some(10),
        tag: Some(9),
    };
    let id = end.receive(described, piece, None).unwrap();
    assert_eq!(end.take(id).map(|outcome| outcome.tag), Some(9));
    assert_eq!(into, [1]);
    assert_eq!(
        end.extract(pattern(None)).map(|(found, _)| found.tag),
        Some(5)
    );
}

#[test]
fn a_message_is_lent_while_it_is_asked_for_in_time() {
    for peer_memory in roads() {
        let mut node = Node::new(2, peer_memory.clone());
        let mut lent = 0;
        for round in 0..100 {
            let (mut data, mut into) = (bytes(3000, round), vec![0; 3000]);
            let expected = data.clone();
            // Every fourth comes too late.
            let early = round % 4 > 0;
            let posted = early.then(|| node.receive(1, Some(0), Some(5), &mut into));
            let piece = named(data.as_ptr(), data.len()).into();
            let message = Node::message(1, 5, &piece);
            let loan = node.ends[0].lend(&message);
            let Some(id) = loan else {
                assert_eq!(
                    node.send(0, 1, 5, &data, SendMode::Standard),
                    PostedSend::Complete
                );
                let posted = posted.unwrap_or_else(|| node.receive(1, Some(0), Some(5), &mut into));
                node.settle();
                assert_eq!(
                    node.ends[1].take(posted).unwrap().failure,
                    RequestFailure::None
                );
                continue;
            };
            lent += 1;
            if early {
                node.ends[1].drain();
            }
            let out = match node.ends[0].settle(11, id) {
                LoanOutcome::Done => true,
                LoanOutcome::Claimed => false,
                LoanOutcome::Unwanted => {
                    let mut copy = node.ends[0].room_for_copy(data.len());
                    copy.bytes(data.len()).copy_from_slice(&data);
                    node.ends[0].withdraw(11, id, (copy, data.len()))
                }
            };
            if !out {
                assert!(early, "nobody has asked for it");
                node.settle();
                assert_eq!(node.ends[0].take(id).unwrap().failure, RequestFailure::None);
            }
            data.fill(0); // The buffer belongs to the program again.
            let posted = posted.unwrap_or_else(|| node.receive(1, Some(0), Some(5), &mut into));
            node.settle();
            assert_eq!(
                node.ends[1].take(posted).unwrap().failure,
                RequestFailure::None
            );
            assert!(into == expected, "{peer_memory:?} {round}");
        }
        assert!(
            (5..50).contains(&lent),
            "{lent} were lent, less and less often"
        );
        assert!(node.ends.iter_mut().all(SmartMap::is_quiet));
    }
}

/// A rank that posts many receives looks into the queue at the first and at some of the others.
#[test]
fn the_first_of_many_receives_looks_for_its_message() {
    let mut node = Node::new(2, PeerMemory::open());
    let data = bytes(100, 1);
    for tag in [5, 6] {
        let sent = node.send(0, 1, tag, &data, SendMode::Standard);
        assert_eq!(sent, PostedSend::Complete);
    }
    let (mut first, mut second) = (vec![0; 100], vec![0; 100]);
    let looked = node.receive(1, Some(0), Some(5), &mut first);
    node.ends[1].drain_for(Some(10));
    let waits = node.receive(1, Some(0), Some(6), &mut second);
    node.ends[1].drain_for(Some(10));
    assert!(node.ends[1].take(looked).is_some() && first == data);
    assert_eq!(node.ends[1].take(waits), None);
    node.settle();
    assert!(node.ends[1].take(waits).is_some() && second == data);
}

#[test]
fn a_message_that_is_too_long_is_cut() {
    for peer_memory in roads() {
        for len in [32, 4096, 100_000, 2 << 20] {
            let mut node = Node::new(2, peer_memory.clone());
            let data = bytes(len, 1);
            let mut into = vec![0; 10];
            let posted = node.receive(1, Some(0), None, &mut into);
            let _ = node.send(0, 1, 5, &data, SendMode::Synchronous);
            node.settle();
            let outcome = node.ends[1].take(posted).unwrap();
            assert_eq!(
                (outcome.failure, outcome.len),
                (RequestFailure::Truncated, len as u64)
            );
            assert_eq!(into, data[..10]);
        }
    }
}

/// A queue full of tags without receives does not hide the wanted one, and messages that are held
/// back keep their order.
#[test]
fn any_number_of_messages_waits_for_its_receives() {
    for peer_memory in roads() {
        for len in [8, 1_000, 20_000] {
            let mut node = Node::new(2, peer_memory.clone());
            let data: Vec<Vec<u8>> = (0..2_000).map(|tag| bytes(len, tag)).collect();
            for (tag, data) in (0..).zip(&data) {
                let _ = node.send(0, 1, tag, data, SendMode::Standard);
            }
            for tag in [1_999, 0, 1, 1_000] {
                let mut into = vec![0; len];
                let posted = node.receive(1, Some(0), Some(tag), &mut into);
                node.settle();
                assert_eq!(node.ends[1].take(posted).unwrap().tag, tag);
                assert!(into == data[usize::try_from(tag).unwrap()]);
            }
            let mut into = vec![0; len];
            let posted = node.receive(1, None, None, &mut into);
            node.settle();
            assert_eq!(
                node.ends[1].take(posted).unwrap().tag,
                2,
                "the first that is left"
            );
        }
    }
}

/// A receiver that did not wait for the chunk of a slow sender had a hole in its message.
#[test]
fn a_receiver_waits_for_the_chunk_that_its_sender_has_claimed() {
    for round in 0..100 {
        let mut node = Node::new(2, PeerMemory::open());
        let data = bytes(16 << 20, round);
        let mut into = vec![0; data.len()];
        let posted = node.receive(1, Some(0), None, &mut into);
        let _sent = node.send(0, 1, 5, &data, SendMode::Synchronous);
        node.ends[1].drain();
        let mut errand = node.ends[1].take_deferred_copy(|_| true).unwrap();
        let sender = SharedCopier::of(&node.ends[0], &data);
        let is_back = std::sync::atomic::AtomicBool::new(false);
        let claimed = std::thread::scope(|threads| {
            threads.spawn(|| {
                errand.run();
                is_back.store(true, Ordering::Release);
            });
            let back = || is_back.load(Ordering::Acquire);
            let chunk = loop {
                match sender.claim() {
                    None if back() => return false, // The thread was too quick: another round.
                    None => {}
                    Some(chunk) => break chunk,
                }
            };
            // All others are claimed. Then it can only wait.
            for look in 0..200_000 {
                assert!(!back(), "it is back without chunk {chunk}");
                if look % 100 == 0 {
                    std::thread::yield_now();
                }
            }
            sender.copy(chunk);
            true
        });
        node.ends[1].finish_deferred_copy(errand);
        assert_eq!(
            node.ends[1].take(posted).unwrap().failure,
            RequestFailure::None
        );
        assert!(into == data);
        if claimed {
            return;
        }
    }
    panic!("the receiver is always the first");
}

/// A sender that takes part in a copy, one chunk at a time.
struct SharedCopier<'a> {
    node: NodeMemory,
    data: &'a [u8],
}

impl<'a> SharedCopier<'a> {
    fn of(end: &SmartMap, data: &'a [u8]) -> Self {
        let node = end.node.clone();
        Self { node, data }
    }

    fn offered(&self) -> Option<(SharedCopy<'_>, u64)> {
        // The first request of its table, whose slot 0 belongs to no request.
        let transfer = LocalRequestId {
            slot: 1,
            generation: 1,
        };
        let process = std::process::id();
        let offered = SharedCopy::find_offer(
            &self.node,
            (0, transfer),
            process,
            self.data.len(),
            CopyShape::Plain,
        );
        offered.map(|(copy, into, _)| (copy, into))
    }

    fn claim(&self) -> Option<usize> {
        self.offered()?.0.claim()
    }

    fn copy(&self, chunk: usize) {
        let (copy, into) = self.offered().unwrap();
        let start = chunk * SHARED_CHUNK_BYTES;
        let part = &self.data[start..start + SHARED_CHUNK_BYTES];
        // SAFETY: the receiver has offered it, and waits for it.
        let into = unsafe { ByteRange::new(into + start as u64, SHARED_CHUNK_BYTES) };
        scatter(&into.into(), 0, part);
        copy.report_copied(true);
        bcs_core::wake::bell::ring(copy.bell(), &bcs_core::wake::bell::KernelFutex, || ());
    }
}

/// A message as long as a copy that both sides share was also lent, and both used one word of the
/// transfer.
#[test]
fn what_is_long_enough_to_be_shared_is_not_lent() {
    let mut node = Node::new(2, PeerMemory::open());
    for (len, is_lent) in [(LEAST_SHARED_BYTES - 1, true), (LEAST_SHARED_BYTES, false)] {
        let data = bytes(len, 1);
        let piece = named(data.as_ptr(), data.len()).into();
        let message = Node::message(1, 5, &piece);
        let lent = node.ends[0].lend(&message);
        assert_eq!(lent.is_some(), is_lent, "{len}");
    }
}

/// A receiver stored unexpected messages with no limit but their number.
#[test]
fn messages_that_nobody_asks_for_stay_with_their_senders_when_there_are_too_many() {
    let mut node = Node::new(3, PeerMemory::open());
    let data = bytes(EAGER, 1);
    let most = MAX_UNEXPECTED_BYTES / EAGER;
    let mut waiting = Vec::new();
    for tag in 0..i32::try_from(most).unwrap() + 500 {
        if let PostedSend::Request(id) = node.send(0, 1, tag, &data, SendMode::Standard) {
            waiting.push(id);
        }
        node.ends[1].drain();
        node.ends[0].flush();
    }
    assert!(node.ends[1].kept_bytes <= MAX_UNEXPECTED_BYTES + 64 * 1024);
    assert!((400..=500).contains(&waiting.len()), "{}", waiting.len());
    // Other senders are notified, too. Short messages come in any case, and other receivers get all
    // messages.
    let long = node.send(2, 1, 0, &data, SendMode::Standard);
    assert!(matches!(long, PostedSend::Request(_)));
    let short = node.send(2, 1, 0, &data[..8], SendMode::Standard);
    let elsewhere = node.send(0, 2, 0, &data, SendMode::Standard);
    assert_eq!([short, elsewhere], [PostedSend::Complete; 2]);
    // In order, wherever they are stored.
    let mut into = vec![0; EAGER];
    for tag in 0..i32::try_from(most).unwrap() + 500 {
        into.fill(0);
        let posted = node.receive(1, Some(0), None, &mut into);
        node.settle();
        let outcome = node.ends[1].take(posted).unwrap();
        assert_eq!((outcome.failure, outcome.tag), (RequestFailure::None, tag));
        assert!(into == data);
    }
    assert!(
        waiting
            .into_iter()
            .all(|id| node.ends[0].take(id).is_some())
    );
    let again = node.send(0, 1, 0, &data, SendMode::Standard);
    assert_eq!(again, PostedSend::Complete, "there is room again");
    assert_eq!(node.ends[1].kept_bytes, 0);
}

/// A short send that finds no room is not reported as complete: complete sends are received.
#[test]
fn what_is_sent_at_once_is_never_more_than_there_is_room_for() {
    let mut node = Node::new(2, PeerMemory::open());
    let data = bytes(EAGER, 3);
    let piece = named(data.as_ptr(), data.len()).into();
    let message = Node::message(1, 5, &piece);
    // More than its receiver stores and its queue holds.
    let most = MAX_UNEXPECTED_BYTES / EAGER + 1_000;
    let mut sent = 0;
    while node.ends[0].send_now(&message) {
        sent += 1;
        assert!(sent < most, "nobody has received any of them");
        node.ends[1].drain();
    }
    let mut into = vec![0; EAGER];
    let mut received = || {
        into.fill(0);
        let posted = node.receive(1, Some(0), Some(5), &mut into);
        node.settle();
        let outcome = node.ends[1].take(posted);
        outcome.map(|outcome| (outcome.failure, into == data))
    };
    for _ in 0..sent {
        assert_eq!(received(), Some((RequestFailure::None, true)));
    }
    assert_eq!(received(), None, "the last one was not sent");
}

#[test]
fn a_receive_is_cancelled_or_matched() {
    let mut node = Node::new(1, PeerMemory::CLOSED);
    let mut into = [0; 4];
    let posted = node.receive(0, Some(0), None, &mut into);
    node.ends[0].cancel(posted);
    let outcome = node.ends[0].take(posted).unwrap();
    assert_eq!(outcome.failure, RequestFailure::Cancelled);
    let data = [1, 2, 3, 4];
    assert_eq!(
        node.send(0, 0, 1, &data, SendMode::Standard),
        PostedSend::Complete
    );
    node.settle();
    let posted = node.receive(0, Some(0), None, &mut into);
    node.ends[0].cancel(posted);
    assert_eq!(
        node.ends[0].take(posted).unwrap().failure,
        RequestFailure::None
    );
    assert_eq!(into, data);
}

proptest! {
    /// Compares with lists that are searched for the first match, with steps of the ends in any
    /// order.
    #[test]
    fn messages_meet_receives_as_the_standard_says(
        steps in prop::collection::vec((0_u8..6, 0_usize..3, 0_usize..3, 0_i32..3, 0_usize..3), 1..120),
        closed: bool,
    ) {
        let peer_memory = if closed { PeerMemory::CLOSED } else { PeerMemory::open() };
        let mut node = Node::new(3, peer_memory);
        let mut sent: Vec<(usize, usize, i32, Vec<u8>, PostedSend)> = Vec::new();
        let mut received: Vec<(usize, LocalRequestId, Box<[u8]>)> = Vec::new();
        for (step, one, other, tag, size) in steps {
            let len = [8, 900, 30_000][size];
            match step {
                0 | 1 => {
                    let data = bytes(len, sent.len());
                    let mode = [SendMode::Standard, SendMode::Synchronous][usize::from(step)];
                    let posted = node.send(one, other, tag, &data, mode);
                    sent.push((one, other, tag, data, posted));
                }
                2 | 3 => {
                    let from = (step == 2).then(|| u32::try_from(other).unwrap());
                    let mut into = vec![0; 30_000].into_boxed_slice();
                    let id = node.receive(one, from, (size > 0).then_some(tag), &mut into);
                    received.push((one, id, into));
                }
                _ => {
                    node.ends[one].call();
                }
            }
        }
        node.settle();
        // From one sender with one tag, messages come in order, each once.
        let mut last: std::collections::HashMap<(usize, usize, i32), usize> = Default::default();
        let mut got = vec![false; sent.len()];
        for (at, id, into) in &received {
            let Some(outcome) = node.ends[*at].take(*id) else { continue };
            prop_assert_eq!(outcome.failure, RequestFailure::None);
            let len = usize::try_from(outcome.len).unwrap();
            let which = sent.iter().position(|(from, to, tag, data, _)| {
                (10 + u32::try_from(*from).unwrap(), *to, *tag) == (outcome.source, *at, outcome.tag)
                    && data[..] == into[..len]
            });
            // Two messages may have the same bytes.
            let mut which = which.expect("somebody sent this");
            while got[which] {
                let (from, to, tag, data, _) = &sent[which];
                which = (which + 1..sent.len())
                    .find(|&next| {
                        let (f, t, g, d, _) = &sent[next];
                        (f, t, g, d) == (from, to, tag, data)
                    })
                    .expect("each message arrives once");
            }
            got[which] = true;
            let key = (sent[which].0, *at, outcome.tag);
            prop_assert!(last.get(&key).is_none_or(|&before| before < which), "in order");
            last.insert(key, which);
        }
        // For the remaining messages there is no receive that would take them.
        for (which, (from, _, _, _, posted)) in sent.iter().enumerate() {
            if let &PostedSend::Request(id) = posted {
                let done = node.ends[*from].take(id).is_some();
                let eager = sent[which].3.len() <= EAGER;
                prop_assert!(done == got[which] || (eager && done));
            }
        }
    }
}
