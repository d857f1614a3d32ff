//! NIC memory that both sides have mapped.

use super::*;
use crate::check_bits::CheckBits;
use crate::wait_state::WaitState;

#[test]
fn a_completion_is_seen_only_by_the_request_it_belongs_to() {
    let (fd, nic) = NicMemory::create(4096).unwrap();
    let rank = NicMemory::map(&fd, 4096).unwrap();
    let request = RequestId {
        slot: 7,
        generation: 3,
    };
    assert_eq!(rank.completion(request), None);
    let done = Completion {
        source: 1,
        tag: -5,
        len: 4,
        ..Completion::default()
    };
    assert!(nic.complete(request, &done));
    assert_eq!(rank.completion(request), Some(done));
    assert!(rank.is_complete(request));
    assert_eq!(
        rank.completion(RequestId {
            slot: 7,
            generation: 4
        }),
        None
    );
    let rubbish = RequestId {
        slot: u32::MAX,
        generation: 0,
    };
    assert!(!nic.complete(rubbish, &Completion::default()));
}

#[test]
fn a_completion_comes_with_its_own_payload_whatever_lay_in_its_slot() {
    let nic = NicMemory::private(64).unwrap();
    let lengths = [INLINE_BYTES, 0, 1, 8, 31, 32, 33, INLINE_BYTES];
    for (generation, len) in (1..).zip(lengths) {
        let request = RequestId {
            slot: 9,
            generation,
        };
        let mut came = Completion::default();
        came.set_inline(&vec![u8::try_from(generation).unwrap(); len]);
        assert!(!nic.is_complete(request));
        assert!(nic.complete(request, &came));
        assert!(nic.is_complete(request));
        assert_eq!(nic.completion(request), Some(came), "{len} bytes");
    }
}

#[test]
fn a_receive_is_claimed_once() {
    let (fd, nic) = NicMemory::create(4096).unwrap();
    let rank = NicMemory::map(&fd, 4096).unwrap();
    let mut request = RequestId {
        slot: 7,
        generation: 1 << 30,
    };
    for (first, second) in [(&rank, &nic), (&nic, &rank)] {
        request.generation += 1;
        assert!(!first.claim(request, Claimant::Nic), "it is not open");
        rank.open_claim(request);
        assert_eq!(nic.claimant(request), None);
        assert!(first.claim(request, Claimant::Rank));
        assert!(!second.claim(request, Claimant::Nic));
        assert_eq!(nic.claimant(request), Some(Claimant::Rank));
    }
}

#[test]
fn whereabouts_are_those_said_last() {
    use crate::wait_state::WaitReason;
    let (fd, manager) = NicMemory::create(4096).unwrap();
    let rank = NicMemory::map(&fd, 4096).unwrap();
    assert_eq!(manager.wait_state(), None);
    let told = WaitState::waiting_for;
    let first = rank.publish_wait_state(&told(WaitReason::Request));
    assert_eq!(
        manager.wait_state(),
        Some((first, told(WaitReason::Request)))
    );
    let second = rank.publish_wait_state(&told(WaitReason::Sends));
    rank.clear_wait_state(first);
    assert_eq!(
        manager.wait_state(),
        Some((second, told(WaitReason::Sends)))
    );
    rank.clear_wait_state(second);
    assert_eq!(manager.wait_state(), None);
}

#[test]
fn a_payload_outside_its_slot_is_refused() {
    let memory = NicMemory::private(100).unwrap();
    memory.write_payload(3, 0, &[9; 100]);
    let mut bytes = [0; 28];
    assert!(
        memory.read_payload(3, 100, &mut bytes),
        "slots are whole cache lines"
    );
    assert!(!memory.read_payload(3, 101, &mut bytes));
    assert!(!memory.read_payload(PAYLOAD_SLOTS, 0, &mut bytes));
    assert!(!memory.read_payload(0, usize::MAX, &mut bytes));
}

#[test]
fn what_is_posted_is_what_the_nic_has_not_taken_whatever_else_lies_there() {
    use crate::descriptor::{Payload, ReceiveKind};
    use crate::memory::ring::{Consumer, Producer};
    use crate::wait_state::{MessagePeer, WaitReason};
    let (fd, manager) = NicMemory::create(4096).unwrap();
    let rank = NicMemory::map(&fd, 4096).unwrap();
    let request = RequestId {
        slot: 1,
        generation: 1,
    };
    let peer = |rank, tag| MessagePeer {
        context: 3,
        rank: Some(rank),
        tag: Some(tag),
    };
    assert_eq!(manager.posted(4), (Vec::new(), 0));
    let mut sends = Producer::new(rank.words(), NicMemory::send_ring());
    for tag in 0..7 {
        let send = SendDescriptor {
            request,
            needs_completion: true,
            context: 3,
            destination: 9,
            tag,
            len: 0,
            check_bits: CheckBits::NONE,
            payload: Payload::Inline([0; INLINE_BYTES]),
            one_sided: None,
        };
        sends.push(&send.encode()).unwrap();
    }
    let mut receives = Producer::new(rank.words(), NicMemory::receive_ring());
    for kind in [ReceiveKind::Probe, ReceiveKind::Cancel(request)] {
        let receive = ReceiveDescriptor {
            request,
            context: 3,
            source: Some(8),
            tag: Some(5),
            kind,
        };
        receives.push(&receive.encode()).unwrap();
    }
    let mut nic = Consumer::new(manager.words(), NicMemory::send_ring());
    let cut = nic.published().unwrap();
    let _taken: Option<[u64; SendDescriptor::WORDS]> = nic.pop(cut);
    let mut posted: Vec<WaitReason> = (1..5).map(|tag| WaitReason::Send(peer(9, tag))).collect();
    posted.push(WaitReason::Probe(peer(8, 5)));
    assert_eq!(manager.posted(4), (posted, 2));
    // A rank may write anything anywhere.
    for rubbish in [u64::MAX, 1 << 63, 0] {
        let tail = rank.mapping.word64(SEND_TAIL);
        tail.store(rubbish, Ordering::Relaxed);
        assert_eq!(manager.posted(4).0.len(), 1, "{rubbish}");
    }
    let entries = rank.mapping.words64(SEND_RING, SendDescriptor::WORDS * 8);
    let fill = |word: &AtomicU64| word.store(u64::MAX, Ordering::Relaxed);
    entries.iter().for_each(fill);
    rank.mapping.word64(SEND_TAIL).store(8, Ordering::Relaxed);
    assert_eq!(manager.posted(8).0, [WaitReason::Probe(peer(8, 5))]);
}
