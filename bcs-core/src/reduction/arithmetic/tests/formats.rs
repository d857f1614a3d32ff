//! The formats that no host path checks: against gcc, and against exact arithmetic in binary64.

use proptest::prelude::*;

use super::*;

#[test]
fn wide_formats_agree_with_gcc() {
    let hexadecimal = |word: &str| u128::from_str_radix(word, 16).unwrap();
    let mut checked = 0;
    for line in include_str!("golden.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [op, datatype, a, b, expected] = words[..] else {
            panic!("golden.txt: {line}")
        };
        let op = Op::ALL
            .into_iter()
            .find(|known| known.name() == op)
            .unwrap();
        let datatype = Datatype::ALL
            .into_iter()
            .find(|known| known.name() == datatype)
            .unwrap();
        let found = one(
            op,
            datatype,
            ArithmeticPath::Soft,
            hexadecimal(a),
            hexadecimal(b),
        );
        assert!(found == hexadecimal(expected), "{line}: found {found:032x}");
        checked += 1;
    }
    assert_eq!(checked, 260);
}

/// A format narrow enough for exact (or, for sums of bfloat16, innocuously rounded) arithmetic in
/// binary64, which has more than twice its precision and two bits.
struct Narrow {
    datatype: Datatype,
    /// Bits of significand, the implied one included.
    precision: i32,
    /// The exponent of the least normal number.
    min_exponent: i32,
}

const NARROW: [Narrow; 2] = [
    Narrow {
        datatype: Datatype::Float16,
        precision: 11,
        min_exponent: -14,
    },
    Narrow {
        datatype: Datatype::BFloat16,
        precision: 8,
        min_exponent: -126,
    },
];

/// Returns 2 to the power of `exponent`, exactly.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(u64::try_from(exponent + 1023).unwrap() << 52)
}

impl Narrow {
    fn infinity(&self) -> u64 {
        u64::try_from(Patterns::of(self.datatype).infinity).unwrap()
    }

    /// Returns the value of bits that are not a NaN.
    fn widen(&self, bits: u64) -> f64 {
        let magnitude = bits & 0x7fff;
        let value = if magnitude == self.infinity() {
            f64::INFINITY
        } else {
            let fraction = magnitude & ((1 << (self.precision - 1)) - 1);
            let biased = i32::try_from(magnitude >> (self.precision - 1)).unwrap();
            let implied = if biased == 0 {
                0
            } else {
                1 << (self.precision - 1)
            };
            let exponent = biased.max(1) - 1 + self.min_exponent - (self.precision - 1);
            (fraction + implied) as f64 * power_of_two(exponent)
        };
        if bits & 0x8000 == 0 { value } else { -value }
    }

    /// Returns the nearest number of this format, ties to even.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number below 2^12"
    )]
    fn narrow(&self, value: f64) -> u64 {
        let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
        let magnitude = value.abs();
        if magnitude.is_infinite() {
            return sign | self.infinity();
        }
        let binade = i32::try_from(magnitude.to_bits() >> 52).unwrap() - 1023;
        let exponent = binade.max(self.min_exponent);
        let units = magnitude / power_of_two(exponent - (self.precision - 1));
        let units = units.round_ties_even() as u64;
        // The implied bit, if there is one, makes the exponent field one greater, which is
        // intended.
        let field = u64::try_from(exponent - self.min_exponent).unwrap();
        sign | ((field << (self.precision - 1)) + units).min(self.infinity())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn narrow_formats_agree_with_exact_arithmetic(
        index in 0..NARROW.len(),
        float16 in (bits_of(Datatype::Float16), bits_of(Datatype::Float16)),
        bfloat16 in (bits_of(Datatype::BFloat16), bits_of(Datatype::BFloat16)),
    ) {
        let format = &NARROW[index];
        let (a, b) = if index == 0 { float16 } else { bfloat16 };
        let widen = |bits: u128| format.widen(u64::try_from(bits).unwrap());
        let is_nan = |bits: u128| bits & 0x7fff > u128::from(format.infinity());
        if is_nan(a) || is_nan(b) {
            return Ok(());
        }
        for (op, exact) in [(Op::Sum, widen(a) + widen(b)), (Op::Prod, widen(a) * widen(b))] {
            let found = one(op, format.datatype, ArithmeticPath::Soft, a, b);
            if exact.is_nan() {
                prop_assert!(is_nan(found));
            } else {
                let expected = u128::from(format.narrow(exact));
                prop_assert_eq!(found, expected, "{} of {} {:#x}, {:#x}", op, format.datatype, a, b);
            }
        }
    }
}

#[test]
fn known_sums_and_products() {
    let table = [
        // 1.5 + 0.25 = 1.75; 3 × 0.5 = 1.5
        (Op::Sum, Datatype::Float16, 0x3e00, 0x3400, 0x3f00),
        (Op::Prod, Datatype::Float16, 0x4200, 0x3800, 0x3e00),
        (Op::Sum, Datatype::BFloat16, 0x3fc0, 0x3e80, 0x3fe0),
        (Op::Prod, Datatype::BFloat16, 0x4040, 0x3f00, 0x3fc0),
        // 65504 + 16 rounds to infinity, 65504 + 15 does not.
        (Op::Sum, Datatype::Float16, 0x7bff, 0x4c00, 0x7c00),
        (Op::Sum, Datatype::Float16, 0x7bff, 0x4b80, 0x7bff),
        // 256 + 1 is a tie in bfloat16.
        (Op::Sum, Datatype::BFloat16, 0x4380, 0x3f80, 0x4380),
        (
            Op::Sum,
            Datatype::Quad,
            0x3fff << 112,
            0x3fff << 112,
            0x4000 << 112,
        ),
        (
            Op::Sum,
            Datatype::LongDouble,
            0x3fff << 64 | 1 << 63,
            0,
            0x3fff << 64 | 1 << 63,
        ),
    ];
    for (op, datatype, a, b, expected) in table {
        assert_eq!(
            one(op, datatype, ArithmeticPath::Soft, a, b),
            expected,
            "{op} of {datatype}"
        );
    }
}
