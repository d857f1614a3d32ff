//! Floating point by the processor, to the same bits as in software.
//!
//! IEEE 754 leaves no freedom in the sum and product of numbers, so there the processor and the
//! software agree as long as the environment is the default one (see [`super::environment`]). With
//! a NaN they need not agree, and Rust does not promise the bits of a NaN. So the processor
//! computes a block at a time, in vector code. If a NaN shows up in it, software computes that
//! element.

use super::contributions::ContributionPart;
use super::wide_vectors::{self, Kernel};
use super::{environment, soft};
use crate::reduction::{Datatype, Op};

/// Elements in a block: long enough for wide vectors, short enough for the first-level cache.
const BLOCK: usize = 64;

/// Returns whether the processor can compute with this type.
pub(super) const fn has(datatype: Datatype) -> bool {
    matches!(datatype, Datatype::Float | Datatype::Double)
}

/// Computes complex products with parts of this type; the caller has checked the lengths.
pub(super) fn complex_product(part: Datatype, accumulator: &mut [u8], operand: &[u8]) {
    environment::with_default(accumulator, operand, |accumulator, operand| {
        wide_vectors::run(ComplexProduct(part), accumulator, operand);
    });
}

/// The kernel of complex products with parts of this type.
struct ComplexProduct(Datatype);

impl Kernel<&[u8]> for ComplexProduct {
    #[inline(always)]
    fn run(self, accumulator: &mut [u8], operand: &[u8]) {
        match self.0 {
            Datatype::Float => each_product::<f32, 4>(accumulator, operand),
            Datatype::Double => each_product::<f64, 8>(accumulator, operand),
            part => unreachable!("the processor does not have {part}"),
        }
    }
}

/// Computes number by number. A NaN in an intermediate result shows in the final one, so a result
/// without a NaN is that of the software. A number with a NaN is left to the software.
#[inline(always)]
fn each_product<T: Number<SIZE>, const SIZE: usize>(accumulator: &mut [u8], operand: &[u8]) {
    let numbers = accumulator.chunks_exact_mut(2 * SIZE);
    for (left, right) in numbers.zip(operand.chunks_exact(2 * SIZE)) {
        let part = |bytes: &[u8]| T::load(*bytes.first_chunk().expect("a part has SIZE bytes"));
        let (a, b) = (part(left), part(&left[SIZE..]));
        let (c, d) = (part(right), part(&right[SIZE..]));
        let real = a.product(c).value.difference(b.product(d).value);
        let imaginary = a.product(d).value.sum(b.product(c).value);
        if real.nan | imaginary.nan {
            soft::complex_product(T::DATATYPE, left, right);
        } else {
            left[..SIZE].copy_from_slice(&real.value.store());
            left[SIZE..].copy_from_slice(&imaginary.value.store());
        }
    }
}

/// Computes `accumulator = accumulator OP operand`; the caller has checked operation, datatype and
/// lengths.
pub(super) fn combine(op: Op, datatype: Datatype, accumulator: &mut [u8], operand: &[u8]) {
    environment::with_default(accumulator, operand, |accumulator, operand| {
        wide_vectors::run(FloatKernel { op, datatype }, accumulator, operand);
    });
}

/// An operation on numbers.
struct FloatKernel {
    op: Op,
    datatype: Datatype,
}

impl Kernel<&[u8]> for FloatKernel {
    #[inline(always)]
    fn run(self, accumulator: &mut [u8], operand: &[u8]) {
        match self.datatype {
            Datatype::Float => number::<f32, 4>(self.op, accumulator, operand),
            Datatype::Double => number::<f64, 8>(self.op, accumulator, operand),
            datatype => unreachable!("the processor does not have {datatype}"),
        }
    }
}

#[inline(always)]
fn number<T: Number<SIZE>, const SIZE: usize>(op: Op, accumulator: &mut [u8], operand: &[u8]) {
    match op {
        Op::Sum => each(op, accumulator, operand, T::sum),
        Op::Prod => each(op, accumulator, operand, T::product),
        Op::Max => each(op, accumulator, operand, T::maximum),
        Op::Min => each(op, accumulator, operand, T::minimum),
        _ => unreachable!("{op} is not floating-point arithmetic"),
    }
}

/// Computes `into = first OP second OP ...` of contributions of numbers; the caller has checked
/// operation and datatype.
pub(super) fn fold(op: Op, datatype: Datatype, part: ContributionPart<'_>, into: &mut [u8]) {
    environment::with_default(into, part, |into, part| {
        wide_vectors::run(FloatKernel { op, datatype }, into, part);
    });
}

impl Kernel<ContributionPart<'_>> for FloatKernel {
    #[inline(always)]
    fn run(self, into: &mut [u8], part: ContributionPart<'_>) {
        match self.datatype {
            Datatype::Float => number_of_all::<f32, 4, 16>(self.op, part, into),
            Datatype::Double => number_of_all::<f64, 8, 8>(self.op, part, into),
            datatype => unreachable!("the processor does not have {datatype}"),
        }
    }
}

#[inline(always)]
fn number_of_all<T: Number<SIZE>, const SIZE: usize, const LANES: usize>(
    op: Op,
    part: ContributionPart<'_>,
    into: &mut [u8],
) {
    match op {
        Op::Sum => fold_blocks::<T, SIZE, LANES>(op, part, into, T::sum),
        Op::Prod => fold_blocks::<T, SIZE, LANES>(op, part, into, T::product),
        Op::Max => fold_blocks::<T, SIZE, LANES>(op, part, into, T::maximum),
        Op::Min => fold_blocks::<T, SIZE, LANES>(op, part, into, T::minimum),
        _ => unreachable!("{op} is not floating-point arithmetic"),
    }
}

/// Folds block by block, and in a block line by line: a line of each contribution goes from memory
/// into registers, and the result of all of them is written once. So the processor reads as many
/// streams at a time as there are contributions. Blocks with a NaN, and elements that do not fill a
/// line, are folded again, pair by pair.
#[inline(always)]
fn fold_blocks<T: Number<SIZE>, const SIZE: usize, const LANES: usize>(
    op: Op,
    part: ContributionPart<'_>,
    into: &mut [u8],
    operation: impl Fn(T, T) -> HostResult<T>,
) {
    let mut done = 0;
    for block in into.chunks_mut(BLOCK * SIZE) {
        let part = part.from(done);
        done += block.len();
        let (elements, _) = block.as_chunks_mut::<SIZE>();
        let (lines, rest) = elements.as_chunks_mut::<LANES>();
        let mut nans = [false; LANES];
        for (at, line) in (0..).step_by(SIZE * LANES).zip(&mut *lines) {
            let mut folded = part.line::<SIZE, LANES>(0, at).map(T::load);
            for member in 1..part.members() {
                let operand = part.line::<SIZE, LANES>(member, at).map(T::load);
                for lane in 0..LANES {
                    let computed = operation(folded[lane], operand[lane]);
                    folded[lane] = computed.value;
                    nans[lane] |= computed.nan;
                }
            }
            *line = folded.map(T::store);
        }
        if !rest.is_empty() || nans.contains(&true) {
            fold_pairs(op, part, elements, &operation);
        }
    }
}

/// Folds contribution by contribution, each element by itself.
#[inline(never)]
fn fold_pairs<T: Number<SIZE>, const SIZE: usize>(
    op: Op,
    part: ContributionPart<'_>,
    into: &mut [[u8; SIZE]],
    operation: impl Fn(T, T) -> HostResult<T>,
) {
    let mut room = [[0; SIZE]; BLOCK];
    let operand = &mut room[..into.len()];
    part.copy(0, into.as_flattened_mut());
    for member in 1..part.members() {
        part.copy(member, operand.as_flattened_mut());
        one_by_one(op, into, operand, &operation);
    }
}

/// Computes block by block: checks for a NaN, and if there is none, computes in place. The check
/// does the same computation as the second pass, whose data are by then in the first-level cache.
/// To keep its results in a buffer took longer.
#[inline(always)]
fn each<T: Number<SIZE>, const SIZE: usize>(
    op: Op,
    accumulator: &mut [u8],
    operand: &[u8],
    operation: impl Fn(T, T) -> HostResult<T>,
) {
    let (accumulator, _) = accumulator.as_chunks_mut::<SIZE>();
    let (operand, _) = operand.as_chunks::<SIZE>();
    if accumulator.len() <= FEW {
        return one_by_one(op, accumulator, operand, &operation);
    }
    for (a, b) in accumulator.chunks_mut(BLOCK).zip(operand.chunks(BLOCK)) {
        let mut any_nan = false;
        for (a, b) in a.iter().zip(b) {
            any_nan |= operation(T::load(*a), T::load(*b)).nan;
        }
        if any_nan {
            one_by_one(op, a, b, &operation);
        } else {
            for (a, b) in a.iter_mut().zip(b) {
                *a = operation(T::load(*a), T::load(*b)).value.store();
            }
        }
    }
}

/// Up to this many elements are computed one by one: vectors would not pay off.
const FEW: usize = 4;

/// Computes element by element, NaNs in software. (Data that consist only of NaNs are not rare, so
/// this path must not be slow either: software is quick with a NaN, and the processor computes
/// numbers.)
#[inline(never)]
fn one_by_one<T: Number<SIZE>, const SIZE: usize>(
    op: Op,
    accumulator: &mut [[u8; SIZE]],
    operand: &[[u8; SIZE]],
    operation: impl Fn(T, T) -> HostResult<T>,
) {
    for (a, b) in accumulator.iter_mut().zip(operand) {
        let computed = operation(T::load(*a), T::load(*b));
        if computed.nan {
            soft::combine(op, T::DATATYPE, a, b);
        } else {
            *a = computed.value.store();
        }
    }
}

/// The processor's result for two elements; it is invalid if a NaN was involved.
struct HostResult<T> {
    value: T,
    nan: bool,
}

/// The operations that the loops above need of a floating-point type of `SIZE` bytes.
trait Number<const SIZE: usize>: Copy {
    const DATATYPE: Datatype;
    fn load(bytes: [u8; SIZE]) -> Self;
    fn store(self) -> [u8; SIZE];
    fn sum(self, other: Self) -> HostResult<Self>;
    fn difference(self, other: Self) -> HostResult<Self>;
    fn product(self, other: Self) -> HostResult<Self>;
    fn maximum(self, other: Self) -> HostResult<Self>;
    fn minimum(self, other: Self) -> HostResult<Self>;
}

macro_rules! numbers {
    ($($number:ident: $size:literal, $datatype:ident;)*) => {$(
        impl Number<$size> for $number {
            const DATATYPE: Datatype = Datatype::$datatype;

            #[inline]
            fn load(bytes: [u8; $size]) -> Self {
                Self::from_le_bytes(bytes)
            }

            #[inline]
            fn store(self) -> [u8; $size] {
                self.to_le_bytes()
            }

            #[inline]
            fn sum(self, other: Self) -> HostResult<Self> {
                let value = self + other;
                HostResult { value, nan: value.is_nan() }
            }

            #[inline]
            fn difference(self, other: Self) -> HostResult<Self> {
                let value = self - other;
                HostResult { value, nan: value.is_nan() }
            }

            #[inline]
            fn product(self, other: Self) -> HostResult<Self> {
                let value = self * other;
                HostResult { value, nan: value.is_nan() }
            }

            // Numbers that compare equal have equal bits, unless they are zeros. For zeros "and"
            // clears the sign if either has none, and "or" sets it if either has one.

            #[inline]
            fn maximum(self, other: Self) -> HostResult<Self> {
                let equal = Self::from_bits(self.to_bits() & other.to_bits());
                let greater = if self > other { self } else { other };
                HostResult {
                    value: if self == other { equal } else { greater },
                    nan: self.is_nan() | other.is_nan(),
                }
            }

            #[inline]
            fn minimum(self, other: Self) -> HostResult<Self> {
                let equal = Self::from_bits(self.to_bits() | other.to_bits());
                let less = if self < other { self } else { other };
                HostResult {
                    value: if self == other { equal } else { less },
                    nan: self.is_nan() | other.is_nan(),
                }
            }
        }
    )*};
}

numbers! {
    f32: 4, Float;
    f64: 8, Double;
}
