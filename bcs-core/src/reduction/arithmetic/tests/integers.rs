//! Golden values of the integer, logical and byte operations.

use proptest::prelude::*;

use super::*;

#[test]
fn integers_give_the_golden_values() {
    use Datatype::{Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    #[rustfmt::skip]
    let table: &[(Op, Datatype, u128, u128, u128)] = &[
        // Sums wrap.
        (Op::Sum, Int8, 0x7f, 0x01, 0x80),
        (Op::Sum, Int16, 0xffff, 0x0002, 0x0001),
        (Op::Sum, Uint32, 0xffff_ffff, 0x1, 0x0),
        (Op::Sum, Int64, 0x7fff_ffff_ffff_ffff, 0x1, 0x8000_0000_0000_0000),
        // Products wrap: -3 × 5 = -15, 200 × 2 = 144 (mod 256), -2^31 × -1 = -2^31.
        (Op::Prod, Int8, 0xfd, 0x05, 0xf1),
        (Op::Prod, Uint8, 200, 2, 144),
        (Op::Prod, Int32, 0x8000_0000, 0xffff_ffff, 0x8000_0000),
        (Op::Prod, Uint64, 0x1_0000_0001, 0x1_0000_0001, 0x2_0000_0001),
        // Order depends on the sign.
        (Op::Max, Int8, 0xff, 0x01, 0x01),
        (Op::Max, Uint8, 0xff, 0x01, 0xff),
        (Op::Min, Int16, 0x8000, 0x7fff, 0x8000),
        (Op::Min, Uint16, 0x8000, 0x7fff, 0x7fff),
        (Op::Max, Int32, 0x8000_0000, 0x0, 0x0),
        (Op::Max, Uint32, 0x8000_0000, 0x0, 0x8000_0000),
        (Op::Min, Int64, 0xffff_ffff_ffff_ffff, 0x0, 0xffff_ffff_ffff_ffff),
        (Op::Min, Uint64, 0xffff_ffff_ffff_ffff, 0x0, 0x0),
        // Any nonzero byte of an element makes it true.
        (Op::Land, Int16, 0x0100, 0x0002, 1),
        (Op::Land, Int32, 0x0001_0000, 0x0, 0),
        (Op::Lor, Uint64, 0x0, 0x8000_0000_0000_0000, 1),
        (Op::Lor, Int8, 0x0, 0x0, 0),
        (Op::Lxor, Int32, 0x2, 0x0100_0000, 0),
        (Op::Lxor, Uint16, 0x0, 0xff00, 1),
        (Op::Land, Datatype::Bool, 0x02, 0xff, 1),
        (Op::Lor, Datatype::Bool, 0x80, 0x00, 1),
        (Op::Lxor, Datatype::Bool, 0x02, 0x01, 0),
        (Op::Band, Int32, 0xff00_ff00, 0x0ff0_0ff0, 0x0f00_0f00),
        (Op::Bor, Uint16, 0xf000, 0x000f, 0xf00f),
        (Op::Bxor, Int64, u64::MAX as u128, 0x1, 0xffff_ffff_ffff_fffe),
        (Op::Bxor, Datatype::Byte, 0xaa, 0xff, 0x55),
    ];
    for &(op, datatype, a, b, expected) in table {
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            let found = one(op, datatype, path, a, b);
            assert_eq!(found, expected, "{op} of {datatype} {a:#x}, {b:#x}");
        }
    }
}

/// Asserts for vector code and its remainders that elements combine one by one, at any alignment.
fn assert_elementwise(op: Op, datatype: Datatype, a: &[u8], b: &[u8], offset: usize) {
    let size = datatype.size();
    let length = a.len() / size * size;
    let mut shifted = vec![0xee; offset];
    shifted.extend_from_slice(&a[..length]);
    combine(
        op,
        datatype,
        ArithmeticPath::Host,
        &mut shifted[offset..],
        &b[..length],
    )
    .unwrap();
    assert!(
        shifted[..offset].iter().all(|&byte| byte == 0xee),
        "wrote outside the slice"
    );
    for start in (0..length).step_by(size) {
        let element = start..start + size;
        let mut expected = a[element.clone()].to_vec();
        combine(
            op,
            datatype,
            ArithmeticPath::Host,
            &mut expected,
            &b[element],
        )
        .unwrap();
        let found = &shifted[offset + start..offset + start + size];
        assert_eq!(found, expected, "{op} of {datatype} at byte {start}");
    }
}

proptest! {
    #[test]
    fn arrays_combine_element_by_element(
        pairs in proptest::collection::vec((any::<u8>(), any::<u8>()), 0..300),
        offset in 0..9_usize,
    ) {
        let (a, b): (Vec<u8>, Vec<u8>) = pairs.into_iter().unzip();
        for datatype in Datatype::ALL {
            for op in Op::ALL.into_iter().filter(|op| op.allowed(datatype)) {
                assert_elementwise(op, datatype, &a, &b, offset);
            }
        }
    }

    #[test]
    fn integer_operations_agree_with_the_language(a in any::<i32>(), b in any::<i32>()) {
        let combine = |op| {
            let bits = |value: i32| u128::from(value.cast_unsigned());
            let found = one(op, Datatype::INT, ArithmeticPath::Soft, bits(a), bits(b));
            u32::try_from(found).unwrap().cast_signed()
        };
        prop_assert_eq!(combine(Op::Sum), a.wrapping_add(b));
        prop_assert_eq!(combine(Op::Prod), a.wrapping_mul(b));
        prop_assert_eq!(combine(Op::Max), a.max(b));
        prop_assert_eq!(combine(Op::Min), a.min(b));
        prop_assert_eq!(combine(Op::Band), a & b);
        prop_assert_eq!(combine(Op::Land), i32::from(a != 0 && b != 0));
    }
}
