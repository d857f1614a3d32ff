//! Sums of doubles without rounding, so that the result does not depend on which rank adds what,
//! nor on the order.
//!
//! A sum is one long fixed-point number that reaches from the last bit of the smallest double to
//! beyond the first bit of the largest (a superaccumulator after Kulisch). Its limbs are integers,
//! so an allreduce of integers adds up those of all ranks. The sum is rounded once, at the end.

use crate::MessagePassing;

/// Bits of a limb. The rest of its word holds the carries of [`CARRY_AFTER`] additions.
const LIMB_BITS: u32 = 32;

/// The smallest double is 2^-1074 and the largest below 2^1024; 64 bits more take the carries of
/// 2^64 of them.
pub(crate) const LIMBS: usize = (1074 + 1024 + 64) / LIMB_BITS as usize + 1;

/// Additions until limbs are carried: each adds less than 2^32 to a limb's 63 bits.
const CARRY_AFTER: u32 = 1 << 29;

/// The last limb of an infinite sum: more than finite numbers can reach there.
const INFINITE: i64 = 1 << 28;

/// A sum in progress.
#[derive(Debug, Clone)]
pub(crate) struct ExactSum {
    limbs: [i64; LIMBS],
    added: u32,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self {
            limbs: [0; LIMBS],
            added: 0,
        }
    }
}

impl ExactSum {
    /// Adds a number. A number that is not finite makes the sum infinite.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "eleven bits, and a limb of more"
    )]
    pub(crate) fn add(&mut self, value: f64) {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7FF) as usize;
        if exponent == 0x7FF {
            return self.limbs[LIMBS - 1] += INFINITE;
        }
        let mantissa = bits & ((1 << 52) - 1) | u64::from(exponent != 0) << 52;
        // A subnormal number has the same unit as the smallest normal numbers.
        let shift = exponent.max(1) - 1;
        let (limb, offset) = (shift / LIMB_BITS as usize, shift % LIMB_BITS as usize);
        let wide = u128::from(mantissa) << offset;
        let part = |n: u32| i64::from((wide >> (n * LIMB_BITS)) as u32);
        let sign = if bits >> 63 == 0 { 1 } else { -1 };
        self.limbs[limb] += sign * part(0);
        self.limbs[limb + 1] += sign * part(1);
        self.limbs[limb + 2] += sign * part(2);
        self.added += 1;
        if self.added == CARRY_AFTER {
            self.carry();
        }
    }

    /// Carries every limb but the last, so that it fits its bits.
    fn carry(&mut self) {
        let mut carry = 0;
        let (last, limbs) = self.limbs.split_last_mut().expect("there are limbs");
        for limb in limbs {
            let whole = *limb + carry;
            *limb = whole & ((1 << LIMB_BITS) - 1);
            carry = whole >> LIMB_BITS;
        }
        *last += carry;
        self.added = 0;
    }

    /// Returns the sum, rounded to the nearest double, ties to even.
    pub(crate) fn value(mut self) -> f64 {
        self.carry();
        let negative = self.limbs[LIMBS - 1] < 0;
        if negative {
            self.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            self.carry();
        }
        let Some(top) = self.limbs.iter().rposition(|limb| *limb != 0) else {
            return 0.0;
        };
        let magnitude = self.rounded(top);
        if negative { -magnitude } else { magnitude }
    }

    /// Rounds a sum that is not negative, whose first limb is `top`.
    #[expect(clippy::cast_possible_truncation, reason = "53 bits of a mantissa")]
    fn rounded(&self, top: usize) -> f64 {
        let limb = |n: usize| u128::from(self.limbs[n].cast_unsigned());
        // The first 128 bits from the top limb on. It matters only whether any of the lower bits is
        // set.
        let low = top.saturating_sub(3);
        let head = (low..=top).fold(0, |head, n| {
            head | limb(n) << ((n - low) * LIMB_BITS as usize)
        });
        let below = self.limbs[..low].iter().any(|limb| *limb != 0);
        let first = 127 - head.leading_zeros() as usize;
        // Bit 0 of limb 0 is 2^-1074.
        let unit = (low * LIMB_BITS as usize) as i64 - 1074;
        // A double keeps 53 bits, and no bits below 2^-1074.
        let kept = first.saturating_sub(52);
        let mut mantissa = head >> kept;
        let rest = head & ((1 << kept) - 1);
        let half = if kept == 0 { 0 } else { 1 << (kept - 1) };
        let up = kept != 0 && (rest > half || rest == half && (below || mantissa & 1 == 1));
        mantissa += u128::from(up);
        scaled(mantissa as u64, unit + kept as i64)
    }
}

/// Returns `mantissa` (at most 2^53) times 2^`exponent`, which is exact or infinite.
#[expect(clippy::cast_possible_truncation, reason = "exponents of doubles")]
fn scaled(mantissa: u64, exponent: i64) -> f64 {
    let value = mantissa as f64;
    // In two steps, since 2^-1074 is subnormal and its inverse is infinite.
    let half = (exponent / 2).clamp(-1022, 1023) as i32;
    let rest = (exponent - i64::from(half)).clamp(-1022, 1023) as i32;
    value * 2.0_f64.powi(half) * 2.0_f64.powi(rest)
}

/// Returns the sums over all ranks, each rounded once.
pub(crate) fn allreduce<M: MessagePassing, const N: usize>(
    mpi: &M,
    mut sums: [ExactSum; N],
    room: &mut Vec<i64>,
) -> Result<[f64; N], M::Error> {
    room.clear();
    for sum in &mut sums {
        // Limbs are below 2^32 each, so the sum over any possible number of ranks fits.
        sum.carry();
        room.extend_from_slice(&sum.limbs);
    }
    mpi.allreduce_sum_i64(room)?;
    for (sum, limbs) in sums.iter_mut().zip(room.chunks_exact(LIMBS)) {
        sum.limbs.copy_from_slice(limbs);
    }
    Ok(sums.map(ExactSum::value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(values: &[f64]) -> f64 {
        let mut sum = ExactSum::default();
        values.iter().for_each(|value| sum.add(*value));
        sum.value()
    }

    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(sum(&[]), 0.0);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e308, 1.0, -1e308]), 1.0);
        assert_eq!(sum(&[1e300, 1e-300, -1e300, -1e-300]), 0.0);
        assert_eq!(sum(&[f64::from_bits(1); 3]), f64::from_bits(3));
        assert_eq!(
            sum(&[-f64::MIN_POSITIVE, f64::from_bits(1)]),
            -f64::MIN_POSITIVE.next_down()
        );
        assert_eq!(
            sum(&[1.0, f64::EPSILON / 2.0]),
            1.0,
            "a tie goes to the even one"
        );
        assert_eq!(sum(&[1.0, f64::EPSILON / 2.0, 1e-300]), 1.0 + f64::EPSILON);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn one_number_is_itself(value in prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO) {
            prop_assert_eq!(sum(&[value]), value);
        }

        #[test]
        fn the_order_does_not_matter(mut values: Vec<i32>, scale in -300..300) {
            let numbers = |values: &[i32]| -> Vec<f64> {
                values.iter().map(|value| f64::from(*value).powi(3) * 10_f64.powi(scale % (1 + value.rem_euclid(7)))).collect()
            };
            let one = sum(&numbers(&values));
            values.reverse();
            prop_assert_eq!(one.to_bits(), sum(&numbers(&values)).to_bits());
        }

        #[test]
        fn integers_are_added_exactly(values: Vec<i32>) {
            let numbers: Vec<f64> = values.iter().map(|value| f64::from(*value) * 2_f64.powi(-40)).collect();
            let whole: i64 = values.iter().map(|value| i64::from(*value)).sum();
            prop_assert_eq!(sum(&numbers), whole as f64 * 2_f64.powi(-40));
        }
    }
}
