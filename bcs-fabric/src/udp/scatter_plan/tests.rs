//! Two processes on two machines in virtual time. Datagrams are joined as the kernel joins them,
//! and put where the receiver wants them. Memory beside the buffers of the receiving rank is never
//! touched.
#![expect(unsafe_code, reason = "memory of ranks is named by address")]

mod rig;

use super::super::datagram::Header;
use super::super::datagram_network::DatagramFaults;
use super::super::seal::Crypto;
use super::*;
use crate::{Event, FabricError};
use bcs_core::job::NodeId;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rig::{Memory, Rig};

const MS: u64 = 1_000_000;

/// The time by which all requested bytes have come.
const END_NS: u64 = 5_000 * MS;

#[test]
fn without_loss_the_kernel_copies_nearly_all() {
    for (crypto, len) in [
        (Crypto::None, 1_000_000),
        (Crypto::Tag, 1_000_000),
        (Crypto::Tag, 9_999),
        (Crypto::Tag, 123_457),
    ] {
        let mut rig = Rig::new(1, DatagramFaults::default(), crypto, Memory::Mapped);
        let get = rig.get(len);
        rig.run(END_NS);
        rig.has_come(&get);
        let brought = rig.brought();
        assert_eq!(brought.all(), len as u64);
        // The first datagram acknowledges the request.
        let most = 3_000.max(brought.all() / 50);
        assert!(brought.copied <= most, "{crypto:?} {len}: {brought:?}");
        assert_eq!(rig.strays().suspicious(), 0);
    }
}

#[test]
fn transfers_that_follow_each_other_are_put_where_they_belong() {
    let mut rig = Rig::new(2, DatagramFaults::default(), Crypto::Tag, Memory::Mapped);
    let lens = [40_000, 8_192, 1_365 * 12, 100, 70_001, 250_000];
    let gets: Vec<_> = lens.iter().map(|&len| rig.get(len)).collect();
    rig.run(END_NS);
    gets.iter().for_each(|get| rig.has_come(get));
    let brought = rig.brought();
    assert_eq!(brought.all(), lens.iter().sum::<usize>() as u64);
    assert!(brought.placed * 10 >= brought.all() * 9, "{brought:?}");
}

#[test]
fn what_is_secret_or_not_mapped_is_copied() {
    for (crypto, memory) in [
        (Crypto::Aead, Memory::Mapped),
        (Crypto::Tag, Memory::Elsewhere),
    ] {
        let mut rig = Rig::new(3, DatagramFaults::default(), crypto, memory);
        let get = rig.get(100_000);
        rig.run(END_NS);
        rig.has_come(&get);
        assert_eq!((rig.brought().placed, rig.brought().copied), (0, 100_000));
    }
}

#[test]
fn whatever_the_network_does_all_comes_and_nothing_beside_it() {
    for seed in 0..60 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let faults = DatagramFaults {
            loss: [0, 20, 200][random.random_range(0..3)],
            repetition: [0, 50, 300][random.random_range(0..3)],
            jitter_ns: [0, 20_000, 2 * MS][random.random_range(0..3)],
            cut: (0, 0),
            until_ns: 200 * MS,
        };
        let crypto = [Crypto::None, Crypto::Tag, Crypto::Aead][random.random_range(0..3)];
        let mut rig = Rig::new(seed, faults, crypto, Memory::Mapped);
        let gets: Vec<_> = (0..4)
            .map(|_| rig.get(random.random_range(1..200_000)))
            .collect();
        rig.run(END_NS);
        gets.iter().for_each(|get| rig.has_come(get));
        let sum: usize = gets.iter().map(|get| get.len()).sum();
        assert_eq!(rig.brought().all(), sum as u64, "seed {seed}");
        assert_eq!(rig.strays().suspicious(), 0, "seed {seed}");
    }
}

/// An attacker without the key predicts the next datagrams, and sends first.
#[test]
fn a_forgery_that_looks_as_planned_has_no_effect() {
    let mut rig = Rig::new(4, DatagramFaults::default(), Crypto::Tag, Memory::Mapped);
    let get = rig.get(300_000);
    let mut forged = 0;
    rig.run_with(END_NS, |to, datagrams| {
        let fronts = datagrams.iter().map(|bytes| BulkFront::take(bytes));
        if to != 1 || !fronts.flatten().any(|front| front.len > 1_000) || forged > 3 {
            return;
        }
        forged += 1;
        let lies = datagrams.clone();
        datagrams.splice(
            0..0,
            lies.into_iter().map(|mut lie| {
                // The last one may be short.
                let changed = lie.len().saturating_sub(100);
                lie[changed..].fill(0xEE);
                lie
            }),
        );
    });
    rig.has_come(&get);
    let strays = rig.strays();
    assert!(forged > 0 && strays.bad_tag > 0, "{forged} {strays:?}");
    let brought = rig.brought();
    assert_eq!(brought.all(), 300_000);
    assert!(
        brought.copied > 200_000,
        "no more is lent then: {brought:?}"
    );
}

/// A rank that writes where it receives harms only itself.
#[test]
fn who_writes_where_it_receives_gets_its_message_by_copies() {
    let mut rig = Rig::new(5, DatagramFaults::default(), Crypto::Tag, Memory::Mapped);
    let get = rig.get(300_000);
    rig.scribbles = true;
    rig.run(END_NS);
    assert_eq!(rig.test(&get), Event::Signalled);
    assert!(rig.strays().bad_tag > 0);
    assert!(rig.brought().copied > 200_000, "{:?}", rig.brought());
}

#[test]
fn what_comes_again_changes_nothing() {
    let mut rig = Rig::new(6, DatagramFaults::default(), Crypto::Tag, Memory::Mapped);
    let first = rig.get(100_000);
    let mut record = Vec::new();
    rig.run_with(END_NS, |to, datagrams| {
        if to == 1 {
            record.extend_from_slice(datagrams);
        }
    });
    rig.has_come(&first);
    rig.wipe(&first);
    // Another transfer is under way, so that the receiver peeks.
    let second = rig.get(100_000);
    let mut again = Some(record);
    rig.run_with(END_NS, |to, datagrams| {
        if to == 1
            && let Some(record) = again.take()
        {
            datagrams.splice(0..0, record);
        }
    });
    rig.has_come(&second);
    assert!(rig.is_wiped(&first));
    let strays = rig.strays();
    assert!(
        strays.repeated > 60 && strays.suspicious() == 0,
        "{strays:?}"
    );
}

/// Datagrams out of turn are reassembled, and their bytes go where they belong.
#[test]
fn datagrams_in_another_order_come_right() {
    for seed in 0..20 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut rig = Rig::new(seed, DatagramFaults::default(), Crypto::Tag, Memory::Mapped);
        let gets = [rig.get(150_000), rig.get(150_000)];
        rig.run_with(END_NS, |_, datagrams| {
            for _ in 0..random.random_range(0..3) {
                let all = 0..datagrams.len();
                let (one, other) = (random.random_range(all.clone()), random.random_range(all));
                datagrams.swap(one, other);
            }
        });
        gets.iter().for_each(|get| rig.has_come(get));
        let brought = rig.brought();
        assert_eq!(brought.all(), 300_000);
        assert!(brought.copied > 0 && brought.placed > 0, "{brought:?}");
    }
}

/// Two transfers, one datagram of each in turn, joined because they are of one length.
#[test]
fn transfers_that_are_interleaved_come_right() {
    let mut rig = Rig::new(7, DatagramFaults::default(), Crypto::Tag, Memory::Mapped);
    let gets = [rig.get(9_000), rig.get(9_000)];
    let (mut kept, mut turns) = (Vec::new(), 0);
    rig.run_with(END_NS, |to, datagrams| {
        if to != 1 || turns > 0 {
            return;
        }
        let front = |bytes: &Vec<u8>| BulkFront::take(bytes);
        kept.extend(datagrams.extract_if(.., |bytes| front(bytes).is_some()));
        let Some(first) = kept.first().and_then(front) else {
            return;
        };
        let is_first = |bytes: &&Vec<u8>| front(bytes).unwrap().transfer == first.transfer;
        let (one, other): (Vec<_>, Vec<_>) = kept.iter().partition(is_first);
        if one.len().min(other.len()) < 5 {
            return;
        }
        for nth in 0..one.len().max(other.len()) {
            datagrams.extend(one.get(nth).copied().cloned());
            datagrams.extend(other.get(nth).copied().cloned());
        }
        turns += 1;
    });
    assert_eq!(turns, 1);
    gets.iter().for_each(|get| rig.has_come(get));
    assert_eq!(rig.brought().all(), 18_000);
    assert!(rig.brought().placed > 0, "the first of them was planned");
}

/// The sender cannot read on: bytes of the transfer that come afterwards are not written.
#[test]
fn of_a_transfer_that_is_over_nothing_is_placed() {
    let mut rig = Rig::new(8, DatagramFaults::default(), Crypto::Tag, Memory::Mapped);
    let get = rig.get(200_000);
    let mut late = Vec::new();
    let is_bulk = |bytes: &Vec<u8>| BulkFront::take(bytes).is_some();
    // Delayed bytes are read again, until their rank has departed.
    rig.run_with(20 * MS, |to, datagrams| {
        if to == 1 {
            late.extend(datagrams.extract_if(.., |bytes| is_bulk(bytes)));
        }
    });
    assert!(late.len() > 10);
    rig.set_there(0, false);
    rig.run(END_NS);
    let failed = Event::Failed(FabricError::SourceMemory);
    assert_eq!(rig.test(&get), failed);
    rig.wipe(&get);
    // Another transfer is under way, so that the receiver peeks.
    rig.set_there(0, true);
    let other = rig.get(50_000);
    rig.run_with(END_NS, |to, datagrams| {
        if to == 1 {
            datagrams.splice(0..0, late.drain(..));
        }
    });
    rig.has_come(&other);
    assert!(rig.is_wiped(&get));
}

fn front(number: u64, transfer: u64, offset: u64, len: u16) -> Vec<u8> {
    let mut front = Vec::new();
    let header = Header {
        epoch: 7,
        from: NodeId(3),
        number,
    };
    header.put(&mut front);
    super::super::datagram::put_data(&mut front, transfer, offset, len);
    front
}

#[test]
fn a_run_has_consecutive_numbers_and_bytes() {
    let first = BulkFront::take(&front(0, 3, 0, 100)).unwrap().header;
    let datagram = |number: u64, start: u64| PlacedDatagrams {
        first: Header { number, ..first },
        last: number,
        transfer: 3,
        range: start..start + 100,
    };
    let mut run = DatagramRunMerger::default();
    for nth in 0..3 {
        assert_eq!(run.add(datagram(7 + nth, 1_000 + 100 * nth)), None);
    }
    let joined = run.add(datagram(11, 1_300)).expect("number 10 is missing");
    assert_eq!((joined.count(), joined.range.clone()), (3, 1_000..1_300));
    let alone = run.add(datagram(12, 1_500)).expect("bytes are missing");
    assert_eq!((alone.count(), alone.range.clone()), (1, 1_300..1_400));
    assert_eq!(run.take(), Some(datagram(12, 1_500)));
}

#[test]
fn a_plan_has_a_place_for_each_byte() {
    let front_1 = front(5, 9, 100, 1_000);
    let each = BULK_FRONT_BYTES + 1_000 + 16;
    let sight = |bytes| PeekedDatagrams {
        front: &front_1,
        bytes,
        each,
    };
    // The last datagram is shorter, or has no room for bytes, or is as long as the others.
    for (beyond, count, bytes) in [
        (0, 10, 10_000),
        (BULK_FRONT_BYTES + 16 + 1, 11, 10_001),
        (BULK_FRONT_BYTES + 16, 10, 10_000),
        (1, 10, 10_000),
    ] {
        let plan = ScatterPlan::for_peeked(&sight(10 * each + beyond), 16).unwrap();
        assert_eq!((plan.count(), plan.range()), (count, 100..100 + bytes));
        let mut less = plan.clone();
        assert!(less.limit_to_lent(2_999));
        assert_eq!((less.count(), less.range()), (2, 100..2_100));
        assert!(!less.limit_to_lent(999));
    }
    let plan = ScatterPlan::for_peeked(&sight(10 * each), 16).unwrap();
    assert_eq!(plan.number(2, &front(77, 9, 2_100, 1_000)), Some(77));
    for other in [
        front(77, 9, 2_101, 1_000),
        front(77, 8, 2_100, 1_000),
        front(77, 9, 2_100, 999),
    ] {
        assert_eq!(plan.number(2, &other), None);
    }
    // It brings more than its bytes; it has few bytes.
    assert_eq!(ScatterPlan::for_peeked(&sight(10 * each), 0), None);
    assert_eq!(ScatterPlan::for_peeked(&sight(3 * each), 16), None);
}

proptest! {
    #[test]
    fn whatever_is_seen_a_plan_stays_within_it(
        mut random in proptest::collection::vec(any::<u8>(), 0..BULK_FRONT_BYTES + 1),
        (number, transfer, offset, len) in any::<(u64, u64, u64, u16)>(),
        (is_front, is_long, tag) in any::<(bool, bool, bool)>(),
        (bytes, each) in (0_usize..70_000, 0_usize..70_000),
        lent in 0_usize..70_000,
    ) {
        let tag = if tag { 16 } else { 0 };
        if is_front {
            random = front(number, transfer, offset, len);
        }
        let each = match is_long {
            true => each,
            false => BULK_FRONT_BYTES + usize::from(len) + tag,
        };
        let sight = PeekedDatagrams { front: &random, bytes, each };
        if let Some(mut plan) = ScatterPlan::for_peeked(&sight, tag) {
            prop_assert!(plan.bytes_before(plan.count()) <= bytes);
            prop_assert!(bytes - plan.bytes_before(plan.count()) <= BULK_FRONT_BYTES + tag);
            if plan.limit_to_lent(lent) {
                let end = plan.part(plan.count() - 1).end;
                prop_assert!(end <= lent && plan.bytes_before(plan.count()) <= bytes);
                prop_assert_eq!(plan.range().end, offset + end as u64);
            }
        }
    }
}
