//! Blocking calls between ranks of a node that are done at once. The usual path would give the
//! same results, but later.
#![expect(unsafe_code, reason = "messages are named by address")]

use super::Machine;
use crate::bcs::{Endpoint, SendAttempt};
use crate::data::{ByteRange, DataView};
use crate::transport::{OutgoingMessage, RequestOutcome, SendMode};
use crate::{Source, Tag, Universe};
use bcs_core::check_bits::CheckBits;
use bcs_core::job::Settings;
use bcs_core::limits::{LEAST_LENT_BYTES, MAX_QUEUED_BYTES};
use bcs_core::matching::Pattern;

/// Makes ranks without NICs: the first two on one node, the third on another one. There is a core
/// for each of two.
fn ranks<const COUNT: usize>() -> [Universe; COUNT] {
    let machine = Machine::new(3, 2, Settings::default());
    std::array::from_fn(|rank| Universe::over(machine.process(rank, None)))
}

/// There is no NIC for the ranks to finalise with.
fn end<const COUNT: usize>(ranks: [Universe; COUNT]) {
    ranks.into_iter().for_each(std::mem::forget);
}

fn endpoint(rank: &Universe) -> &Endpoint {
    rank.process().endpoint()
}

fn view(bytes: &mut [u8]) -> DataView {
    let address = bytes.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: tests keep the memory until the end.
    unsafe { ByteRange::new(address, bytes.len()) }.into()
}

fn message(destination: u32, data: &DataView) -> OutgoingMessage<'_> {
    OutgoingMessage {
        context: 3,
        destination,
        tag: 5,
        data,
        mark: CheckBits::NONE,
    }
}

#[test]
fn a_short_message_is_sent_and_received_at_once() {
    let ranks = ranks::<2>();
    let [sender, receiver] = [0, 1].map(|rank| endpoint(&ranks[rank]));
    for len in [
        0,
        1,
        LEAST_LENT_BYTES - 1,
        MAX_QUEUED_BYTES,
        MAX_QUEUED_BYTES + 1,
    ] {
        let (mut out, mut into) = (vec![7; len], vec![0; len]);
        let sent = sender.bcs_send_now(SendMode::Standard, &message(1, &view(&mut out)));
        assert!(matches!(sent, SendAttempt::Done), "{len} bytes: {sent:?}");
        let pattern = Pattern {
            context: 3,
            source: Some(0),
            tag: Some(5),
        };
        let mut outcome = RequestOutcome::default();
        assert!(
            receiver.bcs_recv_now(&pattern, &view(&mut into), &mut outcome),
            "{len} bytes"
        );
        assert_eq!((outcome.source, outcome.len), (0, len as u64));
        assert!(into == out);
        let again = receiver.bcs_recv_now(&pattern, &view(&mut into), &mut outcome);
        assert!(!again, "there is no second message");
    }
    end(ranks);
}

#[test]
fn other_messages_take_the_usual_path() {
    let ranks = ranks::<3>();
    let sender = endpoint(&ranks[0]);
    assert!(sender.reaches(1) && !sender.reaches(2));
    let limit = Settings::default().eager_limit;
    let cases = [
        ("to another node", SendMode::Standard, 2, 1),
        ("synchronous", SendMode::Synchronous, 1, 1),
        ("long", SendMode::Standard, 1, 32 * limit + 1),
    ];
    for (case, mode, to, len) in cases {
        let mut out = vec![7; len];
        let sent = sender.bcs_send_now(mode, &message(to, &view(&mut out)));
        assert!(
            matches!(sent, SendAttempt::NotImmediate),
            "{case}: {sent:?}"
        );
    }
    end(ranks);
}

/// Only the sender knows whether it has lent a message. After a loan in vain it copies the next
/// ones.
#[test]
fn a_blocking_send_lends_its_message_first() {
    let ranks = ranks::<2>();
    let copies = || {
        let state = endpoint(&ranks[0]).lock();
        let near = state.mux.local.as_ref();
        near.is_some_and(|near| near.copies_after_a_loan_to(1))
    };
    for (len, is_lent) in [(LEAST_LENT_BYTES - 1, false), (LEAST_LENT_BYTES, true)] {
        assert!(!copies());
        let (sent, mut received) = (vec![7_u8; len], vec![0_u8; len]);
        ranks[0].world().send(&sent, 1, 5).unwrap();
        assert_eq!(copies(), is_lent, "{len} bytes, not received in time");
        let from = (Source::Rank(0), Tag::Is(5));
        ranks[1]
            .world()
            .recv(&mut received, from.0, from.1)
            .unwrap();
        assert!(received == sent);
    }
    end(ranks);
}
