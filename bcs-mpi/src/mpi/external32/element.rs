//! Elements side by side, from memory to `external32` and back.

use crate::mpi::datatype::{External, Named};
use crate::mpi::error::{ErrorClass, Operation, Result};
use bcs_core::reduction::{Class, Datatype as Elementary};
use rustc_apfloat::ieee::{Quad, X87DoubleExtended};
use rustc_apfloat::{Float as _, FloatConvert as _};

/// Bytes of a `long double`: what the x87 has of them.
const X87: usize = 10;

/// Copies elements of one kind from memory.
///
/// # Errors
/// When a value does not fit.
pub(super) fn pack(named: &Named, from: &[u8], to: &mut [u8], operation: Operation) -> Result<()> {
    let elements = from.chunks_exact(named.element.data_size());
    for (from, to) in elements.zip(to.chunks_exact_mut(named.external_size())) {
        match (named.element.pair(), named.external) {
            (Some(pair), external) => {
                let value = Named {
                    element: pair.value,
                    external,
                };
                let place = Named {
                    element: pair.place,
                    external: External::Same,
                };
                let (value_from, place_from) = from.split_at(pair.value.size());
                let (value_to, place_to) = to.split_at_mut(value.external_size());
                pack(&value, value_from, value_to, operation)?;
                pack(&place, place_from, place_to, operation)?;
            }
            (None, External::Same) => packed(named.element, from, to),
            (None, _) => narrowed(named, from, to, operation)?,
        }
    }
    Ok(())
}

/// Copies elements of one kind to memory.
pub(super) fn unpack(named: &Named, from: &[u8], to: &mut [u8]) {
    let elements = from.chunks_exact(named.external_size());
    for (from, to) in elements.zip(to.chunks_exact_mut(named.element.data_size())) {
        match (named.element.pair(), named.external) {
            (Some(pair), external) => {
                let value = Named {
                    element: pair.value,
                    external,
                };
                let place = Named {
                    element: pair.place,
                    external: External::Same,
                };
                let (value_from, place_from) = from.split_at(value.external_size());
                let (value_to, place_to) = to.split_at_mut(pair.value.size());
                unpack(&value, value_from, value_to);
                unpack(&place, place_from, place_to);
            }
            (None, External::Same) => unpacked(named.element, from, to),
            (None, _) => widened(named, from, to),
        }
    }
}

/// One element that has the same width on both sides.
fn packed(element: Elementary, from: &[u8], to: &mut [u8]) {
    if let Some(part) = element.part() {
        let parts = from.chunks_exact(part.size());
        for (from, to) in parts.zip(to.chunks_exact_mut(part.size())) {
            packed(part, from, to);
        }
        return;
    }
    match (element, element.class()) {
        (Elementary::LongDouble, _) => {
            let mut bits = [0; 16];
            bits[..X87].copy_from_slice(&from[..X87]);
            let value = X87DoubleExtended::from_bits(u128::from_le_bytes(bits));
            // It has more of everything: nothing is lost.
            let value: Quad = value.convert(&mut false).value;
            to.copy_from_slice(&value.to_bits().to_be_bytes());
        }
        (_, Class::Logical) => truth(from, to, to_end),
        _ => swapped(from, to),
    }
}

fn unpacked(element: Elementary, from: &[u8], to: &mut [u8]) {
    if let Some(part) = element.part() {
        let parts = from.chunks_exact(part.size());
        for (from, to) in parts.zip(to.chunks_exact_mut(part.size())) {
            unpacked(part, from, to);
        }
        return;
    }
    match (element, element.class()) {
        (Elementary::LongDouble, _) => {
            let bits = u128::from_be_bytes(from.try_into().expect("16 bytes"));
            let value: X87DoubleExtended = Quad::from_bits(bits).convert(&mut false).value;
            to.fill(0);
            to[..X87].copy_from_slice(&value.to_bits().to_le_bytes()[..X87]);
        }
        (_, Class::Logical) => truth(from, to, to_start),
        _ => swapped(from, to),
    }
}

/// Turns the order of bytes round.
fn swapped(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.iter().zip(to.iter_mut().rev()) {
        *to = *from;
    }
}

fn to_end(to: &mut [u8]) -> Option<&mut u8> {
    to.last_mut()
}

fn to_start(to: &mut [u8]) -> Option<&mut u8> {
    to.first_mut()
}

/// One for all that is not zero, at the end of the bytes that counts least.
fn truth(from: &[u8], to: &mut [u8], least: fn(&mut [u8]) -> Option<&mut u8>) {
    to.fill(0);
    if let Some(least) = least(to) {
        *least = u8::from(from.iter().any(|byte| *byte != 0));
    }
}

/// One element that has fewer bytes in `external32`.
fn narrowed(named: &Named, from: &[u8], to: &mut [u8], operation: Operation) -> Result<()> {
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
        (Elementary::Int32, External::Wide) => {
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
            External::Wide => ("wide character", to.len()),
            _ => ("long", to.len()),
        };
        let reason =
            format!("the {what} {value} does not fit the {bytes} bytes that external32 gives it");
        operation.error(ErrorClass::Conversion, reason)
    })
}

/// The same back, which always fits.
fn widened(named: &Named, from: &[u8], to: &mut [u8]) {
    let negative = named.element == Elementary::Int64 && from[0] >= 0x80;
    to.fill(if negative { 0xff } else { 0 });
    swapped(from, &mut to[..from.len()]);
}
