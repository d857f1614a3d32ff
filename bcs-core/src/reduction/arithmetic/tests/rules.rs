//! The rules for NaNs, zeros and infinities, in every format and on both paths.

use proptest::prelude::*;

use super::*;

/// Asserts `a OP b = b OP a = expected` on both paths.
fn assert_gives(op: Op, datatype: Datatype, a: u128, b: u128, expected: u128) {
    for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
        for (a, b) in [(a, b), (b, a)] {
            let found = one(op, datatype, path, a, b);
            assert!(
                found == expected,
                "{op} of {datatype} {a:#x}, {b:#x} by {path:?}: {found:#x}, not {expected:#x}"
            );
        }
    }
}

#[test]
fn a_nan_operand_is_the_result_made_quiet() {
    for datatype in floating_datatypes() {
        let p = Patterns::of(datatype);
        for op in FLOATING_OPS {
            for number in [0, p.sign, 1, p.one, p.infinity, p.sign | p.infinity] {
                for sign in [0, p.sign] {
                    let quiet = sign | p.quiet_nan(5);
                    assert_gives(op, datatype, sign | p.quiet_nan(5), number, quiet);
                    assert_gives(op, datatype, sign | p.signalling_nan(5), number, quiet);
                }
            }
        }
    }
}

#[test]
fn of_two_nans_the_greater_payload_is_the_result() {
    for datatype in floating_datatypes() {
        let p = Patterns::of(datatype);
        for op in FLOATING_OPS {
            assert_gives(op, datatype, p.quiet_nan(5), p.quiet_nan(6), p.quiet_nan(6));
            // Quiet or signalling makes no difference. The sign makes none either, unless the
            // payloads are equal.
            assert_gives(
                op,
                datatype,
                p.quiet_nan(5),
                p.signalling_nan(6),
                p.quiet_nan(6),
            );
            let minus = p.sign | p.signalling_nan(6);
            assert_gives(op, datatype, p.quiet_nan(5), minus, p.sign | p.quiet_nan(6));
            assert_gives(op, datatype, p.signalling_nan(6), minus, p.quiet_nan(6));
        }
    }
}

#[test]
fn an_invalid_operation_gives_the_default_nan() {
    for datatype in floating_datatypes() {
        let p = Patterns::of(datatype);
        assert_gives(
            Op::Sum,
            datatype,
            p.infinity,
            p.sign | p.infinity,
            p.default_nan(),
        );
        for zero in [0, p.sign] {
            for infinity in [p.infinity, p.sign | p.infinity] {
                assert_gives(Op::Prod, datatype, zero, infinity, p.default_nan());
            }
        }
    }
    assert_eq!(
        Patterns::of(Datatype::Float).default_nan(),
        0xffc0_0000,
        "as on x86"
    );
    assert_eq!(
        Patterns::of(Datatype::Double).default_nan(),
        0xfff8_0000_0000_0000
    );
    assert_eq!(
        Patterns::of(Datatype::LongDouble).default_nan(),
        0xffff_c000_0000_0000_0000
    );
}

#[test]
fn zeros_are_signed() {
    for datatype in floating_datatypes() {
        let minus = Patterns::of(datatype).sign;
        let one = Patterns::of(datatype).one;
        assert_gives(Op::Sum, datatype, 0, minus, 0);
        assert_gives(Op::Sum, datatype, minus, minus, minus);
        assert_gives(Op::Sum, datatype, one, one | minus, 0);
        assert_gives(Op::Prod, datatype, 0, one | minus, minus);
        assert_gives(Op::Max, datatype, 0, minus, 0);
        assert_gives(Op::Min, datatype, 0, minus, minus);
    }
}

#[test]
fn infinities_and_subnormals_are_ordered_among_numbers() {
    for datatype in floating_datatypes() {
        let p = Patterns::of(datatype);
        let ascending = [
            p.sign | p.infinity,
            p.sign | (p.infinity - 1),
            p.sign | p.one,
            p.sign | p.min_normal,
            p.sign | p.max_subnormal,
            p.sign | 1,
            p.sign,
            0,
            1,
            p.max_subnormal,
            p.min_normal,
            p.one,
            p.infinity - 1,
            p.infinity,
        ];
        // In x87, the pattern before infinity is not a number but a pseudo-NaN.
        let ascending = ascending
            .into_iter()
            .filter(|bits| datatype != Datatype::LongDouble || bits & !p.sign != p.infinity - 1);
        let ascending: Vec<u128> = ascending.collect();
        for (index, &low) in ascending.iter().enumerate() {
            for &high in &ascending[index..] {
                assert_gives(Op::Max, datatype, low, high, high);
                assert_gives(Op::Min, datatype, low, high, low);
            }
        }
    }
}

#[test]
fn encodings_that_the_x87_refuses_are_the_default_nan() {
    let p = Patterns::of(Datatype::LongDouble);
    let unnormal = 0x3fff_4000_0000_0000_0000;
    let pseudo_infinity = 0x7fff_0000_0000_0000_0000;
    let pseudo_nan = 0x7fff_0000_0000_0000_0005;
    for op in FLOATING_OPS {
        for refused in [unnormal, pseudo_infinity, pseudo_nan] {
            assert_gives(op, Datatype::LongDouble, refused, p.one, p.default_nan());
            assert_gives(
                op,
                Datatype::LongDouble,
                refused,
                p.quiet_nan(5),
                p.quiet_nan(5),
            );
        }
    }
    // A pseudo-denormal has the value of its bits, and the result has the proper encoding.
    let pseudo_denormal = 0x0000_8000_0000_0000_0000;
    assert_gives(
        Op::Sum,
        Datatype::LongDouble,
        pseudo_denormal,
        0,
        p.min_normal,
    );
    assert_gives(
        Op::Max,
        Datatype::LongDouble,
        pseudo_denormal,
        0,
        p.min_normal,
    );
}

#[test]
fn the_padding_of_a_long_double_does_not_count() {
    let p = Patterns::of(Datatype::LongDouble);
    let padding = 0xdead_beef_cafe_u128 << 80;
    let two = 0x4000_8000_0000_0000_0000;
    assert_gives(Op::Sum, Datatype::LongDouble, p.one | padding, p.one, two);
    assert_gives(Op::Max, Datatype::LongDouble, p.one | padding, p.one, p.one);
}

/// Any datatype of one part, an operation on it, and three elements.
fn element_triples() -> impl Strategy<Value = (Op, Datatype, [u128; 3])> {
    let defined: Vec<(Op, Datatype)> = Datatype::ALL
        .into_iter()
        .flat_map(|datatype| Op::ALL.into_iter().map(move |op| (op, datatype)))
        .filter(|(op, datatype)| op.allowed(*datatype))
        .filter(|(_, datatype)| datatype.part().is_none() && datatype.pair().is_none())
        .collect();
    proptest::sample::select(defined).prop_flat_map(|(op, datatype)| {
        let bits = || bits_of(datatype);
        (Just(op), Just(datatype), [bits(), bits(), bits()])
    })
}

/// Returns (a OP b) OP c and a OP (b OP c).
fn associations(
    op: Op,
    datatype: Datatype,
    path: ArithmeticPath,
    [a, b, c]: [u128; 3],
) -> (u128, u128) {
    let combine = |a, b| one(op, datatype, path, a, b);
    (combine(combine(a, b), c), combine(a, combine(b, c)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_operation_is_commutative_to_the_bit((op, datatype, [a, b, _]) in element_triples()) {
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            let (ab, ba) = (one(op, datatype, path, a, b), one(op, datatype, path, b, a));
            prop_assert_eq!(ab, ba, "{} of {} {:#x}, {:#x}", op, datatype, a, b);
        }
    }

    #[test]
    fn all_but_rounding_operations_are_associative_to_the_bit(
        (op, datatype, elements) in element_triples()
    ) {
        let rounds = datatype.class() == DatatypeClass::Floating && matches!(op, Op::Sum | Op::Prod);
        if rounds {
            return Ok(());
        }
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            let (left, right) = associations(op, datatype, path, elements);
            prop_assert_eq!(left, right, "{} of {} {:x?}", op, datatype, elements);
        }
    }
}

/// For NaNs and infinities, sums and products do not depend on the association either.
#[test]
fn nans_come_out_the_same_from_every_association() {
    for datatype in floating_datatypes() {
        let p = Patterns::of(datatype);
        let elements: Vec<u128> = [
            0,
            p.one,
            p.infinity,
            p.signalling_nan(1),
            p.quiet_nan(0),
            p.quiet_nan(1),
        ]
        .into_iter()
        .flat_map(|bits| [bits, bits | p.sign])
        .collect();
        for &a in &elements {
            for &b in &elements {
                for &c in &elements {
                    for op in [Op::Sum, Op::Prod] {
                        let (left, right) =
                            associations(op, datatype, ArithmeticPath::Soft, [a, b, c]);
                        assert!(left == right, "{op} of {datatype} {a:#x}, {b:#x}, {c:#x}");
                    }
                }
            }
        }
    }
}
