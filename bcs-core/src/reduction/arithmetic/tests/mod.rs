//! The laws of the arithmetic, each checked against an independent source.

mod complex;
mod folding;
mod formats;
mod integers;
mod location;
mod paths;
mod rules;

use proptest::prelude::*;

use super::{ArithmeticPath, combine};
use crate::reduction::{Datatype, DatatypeClass, Op};

/// The operations of floating-point types.
const FLOATING_OPS: [Op; 4] = [Op::Sum, Op::Prod, Op::Max, Op::Min];

fn floating_datatypes() -> impl Iterator<Item = Datatype> {
    Datatype::ALL
        .into_iter()
        .filter(|datatype| datatype.class() == DatatypeClass::Floating)
}

/// Computes one element: `a OP b` in bits.
fn one(op: Op, datatype: Datatype, path: ArithmeticPath, a: u128, b: u128) -> u128 {
    let size = datatype.size();
    let mut accumulator = a.to_le_bytes();
    let operand = b.to_le_bytes();
    combine(
        op,
        datatype,
        path,
        &mut accumulator[..size],
        &operand[..size],
    )
    .unwrap();
    accumulator[size..].fill(0);
    u128::from_le_bytes(accumulator)
}

/// The special bit patterns of a floating-point format.
#[derive(Clone, Copy, Debug)]
struct Patterns {
    sign: u128,
    infinity: u128,
    quiet: u128,
    one: u128,
    min_normal: u128,
    max_subnormal: u128,
}

impl Patterns {
    fn of(datatype: Datatype) -> Self {
        let (bits, fraction): (u32, u32) = match datatype {
            Datatype::Float16 => (16, 10),
            Datatype::BFloat16 => (16, 7),
            Datatype::Float => (32, 23),
            Datatype::Double => (64, 52),
            Datatype::Quad => (128, 112),
            Datatype::LongDouble => {
                return Self {
                    sign: 1 << 79,
                    infinity: 0x7fff_8000_0000_0000_0000,
                    quiet: 1 << 62,
                    one: 0x3fff_8000_0000_0000_0000,
                    min_normal: 0x0001_8000_0000_0000_0000,
                    max_subnormal: (1 << 63) - 1,
                };
            }
            other => panic!("{other} is not floating point"),
        };
        let bias = (1_u128 << (bits - 2 - fraction)) - 1;
        Self {
            sign: 1 << (bits - 1),
            infinity: (2 * bias + 1) << fraction,
            quiet: 1 << (fraction - 1),
            one: bias << fraction,
            min_normal: 1 << fraction,
            max_subnormal: (1 << fraction) - 1,
        }
    }

    /// Returns a quiet NaN with this payload.
    fn quiet_nan(self, payload: u128) -> u128 {
        self.infinity | self.quiet | payload
    }

    /// Returns a signalling NaN with this payload, which is not zero (that would be an infinity).
    fn signalling_nan(self, payload: u128) -> u128 {
        self.infinity | payload
    }

    /// Returns the result of an invalid operation.
    fn default_nan(self) -> u128 {
        self.sign | self.infinity | self.quiet
    }

    /// Returns patterns at which implementations often fail, sign clear.
    fn corners(self) -> Vec<u128> {
        vec![
            0,
            1,
            self.max_subnormal - 1,
            self.max_subnormal,
            self.min_normal,
            self.min_normal + 1,
            self.one - 1,
            self.one,
            self.one + 1,
            self.infinity - 1,
            self.infinity,
            self.signalling_nan(1),
            self.signalling_nan(self.quiet - 1),
            self.quiet_nan(0),
            self.quiet_nan(1),
            self.quiet_nan(self.quiet - 1),
        ]
    }
}

/// Returns bits of a datatype, adversarial ones more often than by chance.
fn bits_of(datatype: Datatype) -> BoxedStrategy<u128> {
    let mask = u128::MAX >> (128 - 8 * datatype.size());
    let anything = any::<u128>().prop_map(move |bits| bits & mask);
    if datatype.class() != DatatypeClass::Floating {
        let small = 0..3_u128;
        return prop_oneof![2 => anything, 1 => small, 1 => Just(mask)].boxed();
    }
    let patterns = Patterns::of(datatype);
    let corner = proptest::sample::select(patterns.corners());
    let signed_corner = (corner, any::<bool>())
        .prop_map(move |(bits, minus)| if minus { bits | patterns.sign } else { bits });
    // Numbers of about the same magnitude: sums that cancel and round, products in range.
    let near_one = any::<u128>().prop_map(move |bits| {
        let spread = 16 * patterns.min_normal;
        (patterns.one + bits % spread) | (bits & patterns.sign)
    });
    // Just above and below the least normal number: subnormal results.
    let tiny = any::<u128>()
        .prop_map(move |bits| (bits % (4 * patterns.min_normal)) | (bits & patterns.sign));
    prop_oneof![3 => anything, 3 => signed_corner, 2 => near_one, 2 => tiny].boxed()
}
