#![expect(unsafe_code, reason = "the tests own the memory that they update")]

use super::{Update, UpdateKind};
use crate::reduction::{Datatype, Op};
use proptest::prelude::*;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

fn kinds() -> impl Iterator<Item = UpdateKind> {
    let fixed = [
        UpdateKind::Replace,
        UpdateKind::NoOp,
        UpdateKind::CompareAndSwap,
    ];
    let reductions = Op::ALL.into_iter().map(UpdateKind::Reduce);
    fixed.into_iter().chain(reductions)
}

fn updates() -> Vec<Update> {
    let mut all = Vec::new();
    for datatype in Datatype::ALL {
        for kind in kinds().filter(|kind| kind.allowed(datatype)) {
            all.extend([false, true].map(|fetches| Update {
                kind,
                datatype,
                fetches,
            }));
        }
    }
    all
}

#[test]
fn every_update_survives_its_word() {
    for update in updates() {
        assert_eq!(Update::parse(update.encode()), Some(update));
    }
}

proptest! {
    #[test]
    fn parsing_is_total_and_encoding_is_its_inverse(word: u32) {
        if let Some(update) = Update::parse(word) {
            prop_assert_eq!(Update::parse(update.encode()), Some(update));
            prop_assert!(update.kind.allowed(update.datatype));
        }
    }

    /// The oracle: what the lock's holder computes. Several blocks of elements, at any values.
    #[test]
    fn both_ways_of_an_update_give_the_same_bytes(
        which: prop::sample::Index, contents in prop::collection::vec(any::<u64>(), 150),
        operand in prop::collection::vec(any::<u64>(), 150), elements in 0usize..150,
    ) {
        let all = updates();
        let update = *which.get(&all);
        if !update.is_atomic(0) {
            return Ok(());
        }
        let size = update.datatype.size();
        let is_swap = update.kind == UpdateKind::CompareAndSwap;
        let len = if is_swap { size } else { elements * size };
        let bytes = |words: &[u64]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_ne_bytes()).collect()
        };
        let operand_len = usize::try_from(update.operand_len(len as u64)).unwrap();
        let mut operand = bytes(&operand)[..operand_len].to_vec();
        if is_swap && elements % 2 == 0 {
            operand[..size].copy_from_slice(&bytes(&contents)[..size]);
        }
        let fetched = if update.fetches { len } else { 0 };
        let (mut old, mut old_too) = (vec![0; fetched], vec![0; fetched]);
        let mut copy = bytes(&contents)[..len].to_vec();
        update.apply_to_copy(&mut copy, &operand, &mut old);
        let mut mapped = contents.clone();
        let start = NonNull::new(mapped.as_mut_ptr().cast::<u8>()).unwrap();
        // SAFETY: the vector is longer, and only this thread knows it.
        unsafe { update.apply_atomically(start, len, &operand, &mut old_too) };
        prop_assert_eq!(&bytes(&mapped)[..len], &copy[..]);
        prop_assert_eq!(&bytes(&mapped)[len..], &bytes(&contents)[len..]);
        prop_assert_eq!(old, old_too);
    }
}

/// Integers by the processor's own addition, numbers by compare and exchange: none is lost.
#[test]
fn concurrent_updates_lose_nothing() {
    const EACH: u64 = 20_000;
    for (datatype, op) in [
        (Datatype::Int64, Op::Sum),
        (Datatype::Double, Op::Sum),
        (Datatype::Int64, Op::Max),
    ] {
        let words: Vec<AtomicU64> = (0..80).map(|_| AtomicU64::new(0)).collect();
        let update = Update {
            kind: UpdateKind::Reduce(op),
            datatype,
            fetches: true,
        };
        let word = |number: u64| match datatype {
            Datatype::Double => 1.0f64.to_ne_bytes(),
            _ if op == Op::Max => number.to_ne_bytes(),
            _ => 1u64.to_ne_bytes(),
        };
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let words = &words;
                scope.spawn(move || {
                    for number in 0..EACH {
                        let operand =
                            word(number * 3 + thread).repeat(if number % 64 == 0 { 80 } else { 1 });
                        let mut old = vec![0; operand.len()];
                        let start = NonNull::new(words[0].as_ptr().cast::<u8>()).unwrap();
                        // SAFETY: 80 words, which all threads access by atomics.
                        unsafe {
                            update.apply_atomically(start, operand.len(), &operand, &mut old)
                        };
                    }
                });
            }
        });
        let expected = match datatype {
            Datatype::Double => 60_000f64.to_bits(),
            _ if op == Op::Max => 3 * EACH - 1,
            _ => 3 * EACH,
        };
        assert_eq!(
            words[0].load(Ordering::Relaxed),
            expected,
            "{datatype} {op}"
        );
    }
}

#[test]
fn only_whole_words_are_atomic() {
    let update = |datatype| Update {
        kind: UpdateKind::Replace,
        datatype,
        fetches: false,
    };
    assert!(update(Datatype::Double).is_atomic(16));
    assert!(!update(Datatype::Double).is_atomic(12), "not aligned");
    assert!(update(Datatype::Int32Int).is_atomic(8));
    assert!(!update(Datatype::DoubleComplex).is_atomic(16), "16 bytes");
    let swap = Update {
        kind: UpdateKind::CompareAndSwap,
        ..update(Datatype::Int32)
    };
    assert!(swap.fits(4) && !swap.fits(8) && !swap.fits(0));
    assert!(update(Datatype::Int32).fits(0) && !update(Datatype::Int32).fits(6));
}
