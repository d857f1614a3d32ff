//! Elements side by side, from memory to `external32` and back.

use crate::mpi::datatype::{External32Form, PredefinedType};
use crate::mpi::error::{ErrorClass, Operation, Result};
use bcs_core::reduction::{Datatype as Elementary, DatatypeClass};
use rustc_apfloat::ieee::{Quad, X87DoubleExtended};
use rustc_apfloat::{Float as _, FloatConvert as _};

/// Bytes of a `long double` that the x87 uses.
const X87: usize = 10;

/// Returns the numbers of an element, in their order in memory: both parts of a complex number, the
/// value and the place of a pair, or the element itself.
fn numbers(named: PredefinedType) -> impl Iterator<Item = PredefinedType> {
    let same = PredefinedType::same;
    let (first, second) = match (named.element.pair(), named.element.part()) {
        (Some(pair), _) => {
            let value = PredefinedType {
                element: pair.value,
                ..named
            };
            (value, Some(same(pair.place)))
        }
        (None, Some(part)) => (same(part), Some(same(part))),
        (None, None) => (named, None),
    };
    std::iter::once(first).chain(second)
}

/// Copies elements of one kind from memory.
///
/// # Errors
/// When a value does not fit.
pub(super) fn pack(
    named: &PredefinedType,
    mut from: &[u8],
    mut to: &mut [u8],
    operation: Operation,
) -> Result<()> {
    while !from.is_empty() {
        for number in numbers(*named) {
            let native = from.split_off(..number.element.size());
            let external = to.split_off_mut(..number.external_size());
            let (native, external) = native.zip(external).expect("both have whole elements");
            match number.external {
                External32Form::Same => packed(number.element, native, external),
                External32Form::Long | External32Form::Wide => {
                    narrowed(&number, native, external, operation)?
                }
            }
        }
    }
    Ok(())
}

/// Copies elements of one kind to memory.
pub(super) fn unpack(named: &PredefinedType, mut from: &[u8], mut to: &mut [u8]) {
    while !from.is_empty() {
        for number in numbers(*named) {
            let external = from.split_off(..number.external_size());
            let native = to.split_off_mut(..number.element.size());
            let (external, native) = external.zip(native).expect("both have whole elements");
            match number.external {
                External32Form::Same => unpacked(number.element, external, native),
                External32Form::Long | External32Form::Wide => widened(&number, external, native),
            }
        }
    }
}

/// Converts one number that has the same width on both sides.
fn packed(element: Elementary, from: &[u8], to: &mut [u8]) {
    match (element, element.class()) {
        (Elementary::LongDouble, _) => {
            let mut bits = [0; 16];
            bits[..X87].copy_from_slice(&from[..X87]);
            let value = X87DoubleExtended::from_bits(u128::from_le_bytes(bits));
            // A binary128 is wider in every part, so nothing is lost.
            let value: Quad = value.convert(&mut false).value;
            to.copy_from_slice(&value.to_bits().to_be_bytes());
        }
        (_, DatatypeClass::Logical) => truth(from, to.iter_mut().rev()),
        _ => swapped(from, to),
    }
}

fn unpacked(element: Elementary, from: &[u8], to: &mut [u8]) {
    match (element, element.class()) {
        (Elementary::LongDouble, _) => {
            let bits = u128::from_be_bytes(from.try_into().expect("16 bytes"));
            let value: X87DoubleExtended = Quad::from_bits(bits).convert(&mut false).value;
            to.fill(0);
            to[..X87].copy_from_slice(&value.to_bits().to_le_bytes()[..X87]);
        }
        (_, DatatypeClass::Logical) => truth(from, to.iter_mut()),
        _ => swapped(from, to),
    }
}

/// Reverses the order of bytes.
fn swapped(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.iter().zip(to.iter_mut().rev()) {
        *to = *from;
    }
}

/// Writes 1 for everything that is not zero: in the first of these bytes, which is the least
/// significant.
fn truth<'a>(from: &[u8], to: impl Iterator<Item = &'a mut u8>) {
    let one = u8::from(from.iter().any(|byte| *byte != 0));
    for (to, value) in to.zip(std::iter::once(one).chain(std::iter::repeat(0))) {
        *to = value;
    }
}

/// Converts one element that has fewer bytes in `external32`.
fn narrowed(
    named: &PredefinedType,
    from: &[u8],
    to: &mut [u8],
    operation: Operation,
) -> Result<()> {
    let wide = |from: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..from.len()].copy_from_slice(from);
        bytes
    };
    let fits = match (named.element, named.external) {
        (Elementary::Int64, _) => {
            let value = i64::from_le_bytes(wide(from));
            i32::try_from(value)
                .map(|value| to.copy_from_slice(&value.to_be_bytes()))
                .ok()
        }
        (Elementary::Int32, External32Form::Wide) => {
            let value = u64::from_le_bytes(wide(from));
            u16::try_from(value)
                .map(|value| to.copy_from_slice(&value.to_be_bytes()))
                .ok()
        }
        _ => {
            let value = u64::from_le_bytes(wide(from));
            u32::try_from(value)
                .map(|value| to.copy_from_slice(&value.to_be_bytes()))
                .ok()
        }
    };
    fits.ok_or_else(|| {
        let value = match named.element {
            Elementary::Int64 => i64::from_le_bytes(wide(from)).to_string(),
            _ => u64::from_le_bytes(wide(from)).to_string(),
        };
        let (what, bytes) = match named.external {
            External32Form::Wide => ("wide character", to.len()),
            _ => ("long", to.len()),
        };
        let reason =
            format!("the {what} {value} does not fit the {bytes} bytes that external32 gives it");
        operation.error(ErrorClass::Conversion, reason)
    })
}

/// Converts it back, which always fits.
fn widened(named: &PredefinedType, from: &[u8], to: &mut [u8]) {
    let negative = named.element == Elementary::Int64 && from[0] >= 0x80;
    to.fill(if negative { 0xff } else { 0 });
    swapped(from, &mut to[..from.len()]);
}
