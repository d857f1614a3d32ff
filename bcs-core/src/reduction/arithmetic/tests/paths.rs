//! The law: software and processor give the same bits in every floating-point mode.

use proptest::prelude::*;

use super::*;
use crate::reduction::arithmetic::CombineError;

#[cfg(target_arch = "x86_64")]
use crate::reduction::arithmetic::environment::with_mode;
#[cfg(not(target_arch = "x86_64"))]
fn with_mode<T>(_control: u32, body: impl FnOnce() -> T) -> T {
    body()
}

/// Settings of MXCSR that a program may have made.
const MODES: [u32; 8] = [
    0x1f80,          // the default
    0x1f80 | 0x8040, // flush to zero, denormals are zero: -ffast-math
    0x1f80 | 0x8000, // flush to zero
    0x1f80 | 0x0040, // denormals are zero
    0x1f80 | 0x2000, // round down
    0x1f80 | 0x4000, // round up
    0x1f80 | 0x6000, // round to zero
    0x0000,          // every exception trapped: a SIGFPE if we raise one
];

/// Returns two arrays of up to three blocks, with the misalignment of each.
fn arrays(datatype: Datatype) -> impl Strategy<Value = (Vec<(u128, u128)>, usize, usize)> {
    let pair = (bits_of(datatype), bits_of(datatype));
    (
        proptest::collection::vec(pair, 0..150),
        0..16_usize,
        0..16_usize,
    )
}

/// Returns the elements as bytes behind `offset` bytes, so that the slice after it has any
/// alignment.
fn bytes(elements: impl Iterator<Item = u128>, size: usize, offset: usize) -> Vec<u8> {
    let mut bytes = vec![0; offset];
    elements.for_each(|bits| bytes.extend_from_slice(&bits.to_le_bytes()[..size]));
    bytes
}

fn assert_paths_agree(datatype: Datatype, pairs: &[(u128, u128)], at: usize, from: usize) {
    let size = datatype.size();
    let accumulator = bytes(pairs.iter().map(|pair| pair.0), size, at);
    let operand = bytes(pairs.iter().map(|pair| pair.1), size, from);
    let reduce = |op, path, mode| {
        let mut result = accumulator.clone();
        with_mode(mode, || {
            combine(op, datatype, path, &mut result[at..], &operand[from..])
        })
        .unwrap();
        result
    };
    for op in FLOATING_OPS {
        let expected = reduce(op, ArithmeticPath::Soft, MODES[0]);
        for mode in MODES {
            for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
                let found = reduce(op, path, mode);
                if found != expected {
                    explain(
                        op,
                        datatype,
                        path,
                        mode,
                        pairs,
                        &found[at..],
                        &expected[at..],
                    );
                }
            }
        }
    }
}

/// Names the first element that differs.
fn explain(
    op: Op,
    datatype: Datatype,
    path: ArithmeticPath,
    mode: u32,
    pairs: &[(u128, u128)],
    found: &[u8],
    expected: &[u8],
) {
    let size = datatype.size();
    for (index, (a, b)) in pairs.iter().enumerate() {
        let element = index * size..(index + 1) * size;
        let (found, expected) = (&found[element.clone()], &expected[element]);
        assert_eq!(
            found, expected,
            "{op} of {datatype} {a:#x}, {b:#x} by {path:?}, MXCSR {mode:#x}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn both_paths_give_the_same_bits_for_float((pairs, at, from) in arrays(Datatype::Float)) {
        assert_paths_agree(Datatype::Float, &pairs, at, from);
    }

    #[test]
    fn both_paths_give_the_same_bits_for_double((pairs, at, from) in arrays(Datatype::Double)) {
        assert_paths_agree(Datatype::Double, &pairs, at, from);
    }

    #[test]
    fn both_paths_give_the_same_bits_for_the_others(
        (pairs, at, from) in arrays(Datatype::LongDouble),
        index in 0..4_usize,
    ) {
        let others =
            [Datatype::LongDouble, Datatype::Quad, Datatype::Float16, Datatype::BFloat16];
        assert_paths_agree(others[index], &pairs, at, from);
    }

    /// Compares with the language's own arithmetic, where that is defined to the bit.
    #[test]
    fn doubles_combine_as_the_language_does(a in any::<f64>(), b in any::<f64>()) {
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            let combine = |op| {
                let bits = one(op, Datatype::Double, path, a.to_bits().into(), b.to_bits().into());
                f64::from_bits(u64::try_from(bits).unwrap())
            };
            prop_assert_eq!(combine(Op::Sum).to_bits(), (a + b).to_bits());
            prop_assert_eq!(combine(Op::Prod).to_bits(), (a * b).to_bits());
            prop_assert_eq!(combine(Op::Max), a.max(b));
            prop_assert_eq!(combine(Op::Min), a.min(b));
        }
    }

    #[test]
    fn floats_combine_as_the_language_does(a in any::<f32>(), b in any::<f32>()) {
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            let combine = |op| {
                let bits = one(op, Datatype::Float, path, a.to_bits().into(), b.to_bits().into());
                f32::from_bits(u32::try_from(bits).unwrap())
            };
            prop_assert_eq!(combine(Op::Sum).to_bits(), (a + b).to_bits());
            prop_assert_eq!(combine(Op::Prod).to_bits(), (a * b).to_bits());
            prop_assert_eq!(combine(Op::Max), a.max(b));
            prop_assert_eq!(combine(Op::Min), a.min(b));
        }
    }
}

/// Combines every corner with every corner, at every position of a vector and of a block.
#[test]
fn corners_agree_wherever_they_lie_in_a_block() {
    for datatype in [Datatype::Float, Datatype::Double] {
        let patterns = Patterns::of(datatype);
        let corners: Vec<u128> = patterns
            .corners()
            .into_iter()
            .flat_map(|bits| [bits, bits | patterns.sign])
            .collect();
        let pairs: Vec<(u128, u128)> = corners
            .iter()
            .flat_map(|&a| corners.iter().map(move |&b| (a, b)))
            .collect();
        assert_paths_agree(datatype, &pairs, 3, 5);
        // A single NaN among numbers, at any position.
        for position in 0..130 {
            let mut pairs = vec![(patterns.one, patterns.one + 1); 130];
            pairs[position].0 = patterns.signalling_nan(5) | patterns.sign;
            assert_paths_agree(datatype, &pairs, 0, 1);
        }
    }
}

#[test]
fn what_cannot_be_combined_is_refused_and_left_alone() {
    let mut accumulator = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut refuse = |op, datatype, operand: &[u8], length: usize| {
        let before = accumulator;
        let accumulator = &mut accumulator[..length];
        let error = combine(op, datatype, ArithmeticPath::Host, accumulator, operand).unwrap_err();
        assert_eq!(accumulator, &before[..length]);
        error
    };
    assert_eq!(
        refuse(Op::Band, Datatype::Double, &[0; 8], 8),
        CombineError::Undefined {
            op: Op::Band,
            datatype: Datatype::Double
        }
    );
    assert_eq!(
        refuse(Op::Sum, Datatype::Float, &[0; 4], 8),
        CombineError::UnequalLengths {
            accumulator: 8,
            operand: 4
        }
    );
    let partial = refuse(Op::Sum, Datatype::Float, &[0; 6], 6);
    assert_eq!(
        partial,
        CombineError::PartialElement {
            length: 6,
            datatype: Datatype::Float
        }
    );
    assert_eq!(
        partial.to_string(),
        "6 bytes are no whole number of MPI_FLOAT, 4 bytes each"
    );
}

#[test]
fn nothing_combines_with_nothing() {
    for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
        assert_eq!(
            combine(Op::Sum, Datatype::Double, path, &mut [], &[]),
            Ok(())
        );
    }
}
