//! Floating point in software: rustc_apfloat for numbers, and the rules of the module above for all
//! NaNs, so that they do not depend on a library's choice.
//!
//! Nothing here touches the floating-point unit, so its mode cannot change a result.

use rustc_apfloat::{Float, ieee};

use crate::reduction::{Datatype, Op};

/// Computes `accumulator = accumulator OP operand`; the caller has checked operation, datatype and
/// lengths.
pub(super) fn combine(op: Op, datatype: Datatype, accumulator: &mut [u8], operand: &[u8]) {
    match datatype {
        Datatype::Float => each::<Binary32>(op, accumulator, operand),
        Datatype::Double => each::<Binary64>(op, accumulator, operand),
        Datatype::LongDouble => each::<Extended>(op, accumulator, operand),
        Datatype::Float16 => each::<Binary16>(op, accumulator, operand),
        Datatype::BFloat16 => each::<Brain16>(op, accumulator, operand),
        Datatype::Quad => each::<Binary128>(op, accumulator, operand),
        _ => unreachable!("{op} of {datatype} is not floating-point arithmetic"),
    }
}

fn each<F: Format>(op: Op, accumulator: &mut [u8], operand: &[u8]) {
    let elements = accumulator
        .chunks_exact_mut(F::SIZE)
        .zip(operand.chunks_exact(F::SIZE));
    for (a, b) in elements {
        let result = element::<F>(op, F::canonical(load(a)), F::canonical(load(b)));
        a.copy_from_slice(&result.to_le_bytes()[..F::SIZE]);
    }
}

/// Returns the bits of up to sixteen little-endian bytes.
pub(super) fn load(bytes: &[u8]) -> u128 {
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(wide)
}

/// Computes one element; the operands are canonical, and so is the result.
pub(super) fn element<F: Format>(op: Op, a: u128, b: u128) -> u128 {
    match (F::is_nan(a), F::is_nan(b)) {
        (true, true) => greater_nan::<F>(a | F::QUIET, b | F::QUIET),
        (true, false) => a | F::QUIET,
        (false, true) => b | F::QUIET,
        (false, false) => number::<F>(op, a, b),
    }
}

/// Returns the quiet NaN with the greater payload; if payloads are equal, the one with the sign
/// clear.
fn greater_nan<F: Format>(a: u128, b: u128) -> u128 {
    let rank = |bits: u128| (bits & !F::SIGN, bits & F::SIGN == 0);
    if rank(b) > rank(a) { b } else { a }
}

/// Computes the operation on two operands that are not NaNs.
fn number<F: Format>(op: Op, a: u128, b: u128) -> u128 {
    let result = match op {
        Op::Sum => (F::Soft::from_bits(a) + F::Soft::from_bits(b))
            .value
            .to_bits(),
        Op::Prod => (F::Soft::from_bits(a) * F::Soft::from_bits(b))
            .value
            .to_bits(),
        Op::Max => return if order::<F>(b) > order::<F>(a) { b } else { a },
        Op::Min => return if order::<F>(b) < order::<F>(a) { b } else { a },
        _ => unreachable!("{op} is not floating-point arithmetic"),
    };
    if F::is_nan(result) {
        F::SIGN | F::INFINITY | F::QUIET
    } else {
        result
    }
}

/// Returns an integer that grows with the number that `bits` encode, -0 before +0.
pub(super) fn order<F: Format>(bits: u128) -> i128 {
    let magnitude = (bits & !F::SIGN).cast_signed();
    if bits & F::SIGN == 0 {
        magnitude
    } else {
        !magnitude
    }
}

/// Computes complex products with parts of this type ([`super::complex`]); the caller has checked
/// the lengths.
pub(super) fn complex_product(part: Datatype, accumulator: &mut [u8], operand: &[u8]) {
    match part {
        Datatype::Float => each_product::<Binary32>(accumulator, operand),
        Datatype::Double => each_product::<Binary64>(accumulator, operand),
        Datatype::LongDouble => each_product::<Extended>(accumulator, operand),
        Datatype::Float16 => each_product::<Binary16>(accumulator, operand),
        Datatype::Quad => each_product::<Binary128>(accumulator, operand),
        _ => unreachable!("{part} is no part of a complex number"),
    }
}

fn each_product<F: Format>(accumulator: &mut [u8], operand: &[u8]) {
    let numbers = accumulator
        .chunks_exact_mut(2 * F::SIZE)
        .zip(operand.chunks_exact(2 * F::SIZE));
    for (left, right) in numbers {
        let part = |bytes: &[u8]| F::canonical(load(bytes));
        let (a, b) = (part(&left[..F::SIZE]), part(&left[F::SIZE..]));
        let (c, d) = (part(&right[..F::SIZE]), part(&right[F::SIZE..]));
        let (real, imaginary) = product::<F>((a, b), (c, d));
        left[..F::SIZE].copy_from_slice(&real.to_le_bytes()[..F::SIZE]);
        left[F::SIZE..].copy_from_slice(&imaginary.to_le_bytes()[..F::SIZE]);
    }
}

fn product<F: Format>((a, b): (u128, u128), (c, d): (u128, u128)) -> (u128, u128) {
    let times = |a, b| element::<F>(Op::Prod, a, b);
    let plus = |a, b| element::<F>(Op::Sum, a, b);
    let negative = |bits| {
        if F::is_nan(bits) {
            bits
        } else {
            bits ^ F::SIGN
        }
    };
    let real = plus(times(a, c), negative(times(b, d)));
    let imaginary = plus(times(a, d), times(b, c));
    (real, imaginary)
}

/// A floating-point format: sign, exponent and significand from the top, right-aligned in 128 bits.
pub(super) trait Format {
    /// The software implementation.
    type Soft: Float;
    /// Bytes of storage.
    const SIZE: usize;
    /// The sign bit.
    const SIGN: u128;
    /// +∞. Greater values, sign aside, are NaNs.
    const INFINITY: u128;
    /// The bit that tells a quiet NaN from a signalling one.
    const QUIET: u128;

    /// Returns whether these bits encode a NaN.
    fn is_nan(bits: u128) -> bool {
        bits & !Self::SIGN > Self::INFINITY
    }

    /// Returns the canonical encoding of the value of `bits`, if a format has several encodings.
    fn canonical(bits: u128) -> u128 {
        bits
    }
}

/// The formats of IEEE 754 and those made like them: the integer bit is implied.
macro_rules! interchange_formats {
    ($($format:ident = $soft:ty, $size:literal bytes, $fraction:literal bits of fraction;)*) => {$(
        pub(super) struct $format;

        impl Format for $format {
            type Soft = $soft;
            const SIZE: usize = $size;
            const SIGN: u128 = 1 << ($size * 8 - 1);
            const INFINITY: u128 = Self::SIGN - (1 << $fraction);
            const QUIET: u128 = 1 << ($fraction - 1);
        }
    )*};
}

interchange_formats! {
    Binary16 = ieee::Half, 2 bytes, 10 bits of fraction;
    Brain16 = ieee::BFloat, 2 bytes, 7 bits of fraction;
    Binary32 = ieee::Single, 4 bytes, 23 bits of fraction;
    Binary64 = ieee::Double, 8 bytes, 52 bits of fraction;
    Binary128 = ieee::Quad, 16 bytes, 112 bits of fraction;
}

/// The x87 format: 80 bits with an explicit integer bit, and 48 bits of padding.
pub(super) struct Extended;

impl Extended {
    const INTEGER: u128 = 1 << 63;
    const EXPONENT: u128 = 0x7fff << 64;
}

impl Format for Extended {
    type Soft = ieee::X87DoubleExtended;
    const SIZE: usize = 16;
    const SIGN: u128 = 1 << 79;
    const INFINITY: u128 = Self::EXPONENT | Self::INTEGER;
    const QUIET: u128 = 1 << 62;

    fn canonical(bits: u128) -> u128 {
        let bits = bits & (Self::SIGN | (Self::SIGN - 1));
        match (bits & Self::EXPONENT == 0, bits & Self::INTEGER == 0) {
            // A zero or a subnormal; or a number, an infinity or a NaN.
            (true, true) | (false, false) => bits,
            // A pseudo-denormal: its value is that of the least exponent of normal numbers.
            (true, false) => bits | 1 << 64,
            // An encoding that the hardware refuses: the default NaN.
            (false, true) => Self::SIGN | Self::INFINITY | Self::QUIET,
        }
    }
}
