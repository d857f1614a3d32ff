//! Contributions that are folded in place give the same bits as pair by pair.
#![expect(unsafe_code, reason = "memory of other ranks is named by address")]

use super::*;
use crate::reduction::arithmetic::{CombineError, Contributions, fold};
use std::ptr::NonNull;

/// Folds these contributions from byte `at` on.
fn folded(
    what: (Op, Datatype),
    contributions: &[Vec<u8>],
    at: usize,
    len: usize,
) -> Result<Vec<u8>, CombineError> {
    let starts: Vec<NonNull<u8>> = contributions
        .iter()
        .map(|one| NonNull::from(&one[..]).cast())
        .collect();
    // SAFETY: all have as many bytes as the first.
    let all = unsafe { Contributions::new(&starts, contributions[0].len()) };
    let mut into = vec![0xa5; len];
    fold(what, all, at, &mut into).map(|()| into)
}

fn pair_by_pair(what: (Op, Datatype), contributions: &[Vec<u8>], at: usize, len: usize) -> Vec<u8> {
    let (first, rest) = contributions.split_first().unwrap();
    let mut into = first[at..at + len].to_vec();
    for operand in rest {
        combine(
            what.0,
            what.1,
            ArithmeticPath::Soft,
            &mut into,
            &operand[at..at + len],
        )
        .unwrap();
    }
    into
}

proptest! {
    /// Random bytes contain every sort of NaN. Bytes that are alike except for a few contain only
    /// numbers in most blocks.
    #[test]
    fn folding_in_place_gives_the_bits_of_pairs(
        datatype in 0..Datatype::ALL.len(),
        members in 1_usize..6,
        at in 0_usize..70,
        elements in 0_usize..700,
        seed: u64,
        odd in prop::collection::vec((0_usize..6, 0_usize..6000, any::<u8>()), 0..4),
        any_bytes: bool,
    ) {
        let datatype = Datatype::ALL[datatype];
        let len = elements * datatype.size();
        let mut random = seed;
        let mut byte = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let byte = random.to_le_bytes()[7];
            if any_bytes { byte } else { 0x30 | byte & 7 }
        };
        let mut contributions: Vec<Vec<u8>> = (0..members)
            .map(|_| (0..at + len).map(|_| byte()).collect())
            .collect();
        for (member, place, value) in odd {
            let one = &mut contributions[member % members];
            if let Some(byte) = one.get_mut(place) {
                *byte = value;
            }
        }
        for op in Op::ALL.into_iter().filter(|op| op.allowed(datatype)) {
            let what = (op, datatype);
            let found = folded(what, &contributions, at, len).unwrap();
            prop_assert!(found == pair_by_pair(what, &contributions, at, len), "{op} {datatype}");
        }
    }
}

#[test]
fn what_cannot_be_folded_is_refused_and_nothing_is_read_beyond_the_end() {
    let contributions = [vec![1; 16], vec![2; 16]];
    let refused = |what, len| folded(what, &contributions, 0, len).unwrap_err();
    let undefined = refused((Op::Band, Datatype::Double), 16);
    assert!(matches!(undefined, CombineError::Undefined { .. }));
    let partial = refused((Op::Sum, Datatype::Double), 12);
    assert!(matches!(
        partial,
        CombineError::PartialElement { length: 12, .. }
    ));
    let sum = (Op::Sum, Datatype::Uint8);
    assert_eq!(folded(sum, &contributions, 4, 12).unwrap(), [3; 12]);
    let beyond = std::panic::catch_unwind(|| folded(sum, &contributions, 5, 12));
    assert!(beyond.is_err());
}
