#![expect(unsafe_code, reason = "a buffer is a promise about memory")]

use super::*;
use bcs_core::reduction::Datatype as Elementary;
use proptest::prelude::*;

fn buffer<T>(data: &mut [T], count: usize, datatype: impl Into<Datatype>) -> Buffer {
    // SAFETY: a test uses the buffer while the data are there.
    unsafe { Buffer::new(data.as_mut_ptr(), count, datatype.into()) }
}

/// Packs and checks the bytes. Then unpacks and returns them.
fn packed<T>(data: &mut [T], count: usize, datatype: impl Into<Datatype>) -> Vec<u8> {
    let buffer = buffer(data, count, datatype);
    let len = buffer
        .datatype()
        .pack_external_size(b"external32", count.cast_signed() as i64);
    let mut out = vec![0xee; len.unwrap() + 1];
    let mut position = 1;
    buffer
        .pack_external(b"external32", &mut out, &mut position)
        .unwrap();
    assert_eq!((out[0], position), (0xee, out.len()));
    out.split_off(1)
}

fn unpacked<T: Copy>(bytes: &[u8], into: T, count: usize, datatype: impl Into<Datatype>) -> Vec<T> {
    let mut data = vec![into; count];
    let mut position = 0;
    let buffer = buffer(&mut data, count, datatype);
    buffer
        .unpack_external(b"external32", bytes, &mut position)
        .unwrap();
    assert_eq!(position, bytes.len());
    data
}

/// Checks the table of 14.5.2.
#[test]
fn elements_have_the_widths_of_the_standard() {
    let widths = [
        (Datatype::from(Elementary::Byte), 1),
        (Elementary::Int16.into(), 2),
        (Elementary::INT.into(), 4),
        (Datatype::LONG, 4),
        (Datatype::UNSIGNED_LONG, 4),
        (Elementary::LONG_LONG.into(), 8),
        (Elementary::AINT.into(), 8),
        (Datatype::WCHAR, 2),
        (Elementary::Float.into(), 4),
        (Elementary::LongDouble.into(), 16),
        (Elementary::Bool.into(), 1),
        (Elementary::LongDoubleComplex.into(), 32),
        (Elementary::Float16.into(), 2),
        (Elementary::QuadComplex.into(), 32),
        (Elementary::DOUBLE_INT.into(), 12),
        (Datatype::LONG_INT, 8),
        (Elementary::LONG_DOUBLE_INT.into(), 20),
    ];
    for (datatype, width) in widths {
        let size = datatype.pack_external_size(b"external32", 3).unwrap();
        assert_eq!(size, 3 * width, "{}", datatype.name());
    }
}

#[test]
fn numbers_are_big_endian() {
    let int = packed(&mut [1, -2], 2, Elementary::INT);
    assert_eq!(int, [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]);
    let long = packed(&mut [1i64, -2], 2, Datatype::LONG);
    assert_eq!(long, int);
    assert_eq!(unpacked(&long, 7i64, 2, Datatype::LONG), [1, -2]);
    let unsigned = packed(&mut [0xffff_fffe_u64], 1, Datatype::UNSIGNED_LONG);
    assert_eq!(
        unpacked(&unsigned, 7u64, 1, Datatype::UNSIGNED_LONG),
        [0xffff_fffe]
    );
    let wide = packed(&mut [0x20ac_i32, 0xffff], 2, Datatype::WCHAR);
    assert_eq!(wide, [0x20, 0xac, 0xff, 0xff]);
    assert_eq!(unpacked(&wide, -1i32, 2, Datatype::WCHAR), [0x20ac, 0xffff]);
    let complex = packed(&mut [1f32, -2.0], 1, Elementary::FloatComplex);
    assert_eq!(complex, [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]);
}

#[test]
fn truth_is_one() {
    assert_eq!(packed(&mut [2u8, 0], 2, Elementary::Bool), [1, 0]);
    let logical = packed(&mut [-1i32, 0, 0x0100_0000], 3, Elementary::Logical32);
    assert_eq!(logical, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    let odd = [0, 0x40, 0, 0, 0, 0, 0, 0];
    assert_eq!(unpacked(&odd, -1i32, 2, Elementary::Logical32), [1, 0]);
}

/// 1, -2 and infinity in the x87 format, with arbitrary bytes as padding.
#[test]
fn long_doubles_are_of_16_bytes() {
    let x87 = |sign_and_exponent: u16, fraction: u64| {
        (0xabcd_u128 << 80) | (u128::from(sign_and_exponent) << 64) | u128::from(fraction)
    };
    let mut data = [
        x87(0x3fff, 1 << 63),
        x87(0xc000, 1 << 63),
        x87(0x7fff, 1 << 63),
    ];
    let bytes = packed(&mut data, 3, Elementary::LongDouble);
    let quads: Vec<u128> = bytes
        .chunks(16)
        .map(|of| u128::from_be_bytes(of.try_into().unwrap()))
        .collect();
    assert_eq!(quads, [0x3fff << 112, 0xc000 << 112, 0x7fff << 112]);
    let back = unpacked(&bytes, u128::MAX, 3, Elementary::LongDouble);
    assert_eq!(back, data.map(|of| of & (u128::MAX >> 48)));
}

/// The gaps of a C structure are in memory only, and elements come in the order of the type map.
#[test]
fn structures_have_no_gaps() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Pair {
        value: i64,
        place: i32,
    }
    let mut pairs = [
        Pair {
            value: -1,
            place: 2,
        },
        Pair {
            value: 3,
            place: -4,
        },
    ];
    let bytes = packed(&mut pairs, 2, Datatype::LONG_INT);
    assert_eq!(bytes.len(), 16);
    assert_eq!(bytes[..8], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2]);
    let back = unpacked(&bytes, Pair { value: 0, place: 0 }, 2, Datatype::LONG_INT);
    assert_eq!((back[1].value, back[1].place), (3, -4));

    // The second member comes first.
    let types = [Elementary::Int32.into(), Datatype::LONG];
    let turned = Datatype::structure(&[1, 1], &[8, 0], &types).unwrap();
    let turned = turned.resized(0, 16).unwrap();
    turned.commit().unwrap();
    assert_eq!(
        packed(&mut pairs, 2, turned)[..8],
        [0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff]
    );
}

#[test]
fn what_does_not_fit_is_an_error() {
    let mut out = [0xee; 16];
    let mut at = 3;
    let mut fails = |buffer: Buffer, representation: &[u8], class| {
        let error = buffer
            .pack_external(representation, &mut out, &mut at)
            .unwrap_err();
        assert_eq!((error.class, at), (class, 3), "{error}");
        error.of_itself()
    };
    let too_large = fails(
        buffer(&mut [1i64 << 31], 1, Datatype::LONG),
        b"external32",
        ErrorClass::Conversion,
    );
    assert!(too_large.contains("2147483648"), "{too_large}");
    fails(
        buffer(&mut [-1i32], 1, Datatype::WCHAR),
        b"external32",
        ErrorClass::Conversion,
    );
    fails(
        buffer(&mut [1u64 << 32], 1, Datatype::UNSIGNED_LONG),
        b"external32",
        ErrorClass::Conversion,
    );
    fails(
        buffer(&mut [0u64; 2], 2, Elementary::Double),
        b"external32",
        ErrorClass::Truncate,
    );
    fails(
        buffer(&mut [0u64; 1], 1, Elementary::Double),
        b"native",
        ErrorClass::UnsupportedDatarep,
    );
    let uncommitted = Datatype::from(Elementary::Int32).contiguous(1).unwrap();
    fails(
        buffer(&mut [0u64; 1], 1, uncommitted),
        b"external32",
        ErrorClass::Type,
    );
    let size = Datatype::LONG.pack_external_size(b"external32", i64::MAX);
    assert_eq!(size.unwrap_err().class, ErrorClass::Count);
    let size = Datatype::LONG.pack_external_size(b"external32", -1);
    assert_eq!(size.unwrap_err().class, ErrorClass::Count);
}

/// Types with empty parts and large counts are done at once.
#[test]
fn nothing_is_packed_at_once() {
    let empty = Datatype::from(Elementary::Int32).contiguous(0).unwrap();
    let many = empty.contiguous(i64::MAX).unwrap();
    let types = [many.clone(), Elementary::Int32.into(), many];
    let mostly = Datatype::structure(&[i64::MAX, 1, i64::MAX], &[0, 0, 0], &types).unwrap();
    mostly.commit().unwrap();
    assert_eq!(packed(&mut [5i32], 1, mostly), [0, 0, 0, 5]);
}

proptest! {
    #[test]
    fn what_was_packed_comes_back(
        values in prop::collection::vec(any::<i32>(), 24),
        (count, length, stride) in (1..4i64, 1..3i64, 2..4i64),
    ) {
        let vector = Datatype::LONG.vector(count, length, stride).unwrap();
        vector.commit().unwrap();
        let mut data: Vec<i64> = values.into_iter().map(i64::from).collect();
        let bytes = packed(&mut data, 2, vector.clone());
        prop_assert_eq!(bytes.len() as i64, 2 * count * length * 4);
        let mut back = vec![i64::MIN; 24];
        let to = buffer(&mut back, 2, vector);
        to.unpack_external(b"external32", &bytes, &mut 0).unwrap();
        let mut same = 0;
        for (one, other) in data.iter().zip(&back) {
            prop_assert!(one == other || *other == i64::MIN);
            same += i64::from(one == other);
        }
        prop_assert_eq!(same, 2 * count * length);
    }
}
