//! Measures the NIC's floating point in software against the processor's.
//!
//! The Reduce Helper computes reductions of few elements in software and longer ones on the host's
//! floating-point unit (`--reduce soft:LIMIT`). This module times both by the call that the Reduce
//! Helper makes, [`combine`], on operands for which no result overflows, underflows or is a NaN.
//!
//! A path has a fixed time per call, and a time per element. The host path's fixed time is that of
//! entering and leaving the default floating-point environment, which is its excess over software
//! in a call without elements. At the *crossover* the host path is as fast as software.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bcs_core::reduction::arithmetic::{ArithmeticPath, combine};
use bcs_core::reduction::{Datatype, Op};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::bootstrap::median;

/// The types that the Reduce Helper computes in software.
const DATATYPES: [Datatype; 11] = [
    Datatype::Float16,
    Datatype::BFloat16,
    Datatype::Float,
    Datatype::Double,
    Datatype::LongDouble,
    Datatype::Quad,
    Datatype::Float16Complex,
    Datatype::FloatComplex,
    Datatype::DoubleComplex,
    Datatype::LongDoubleComplex,
    Datatype::QuadComplex,
];

const OPS: [Op; 4] = [Op::Sum, Op::Prod, Op::Min, Op::Max];

/// Elements of a long call: enough that the fixed time does not matter, and few enough for a
/// first-level cache.
const LONG: usize = 256;

/// A sample is at least this long.
const SAMPLE: Duration = Duration::from_micros(100);

/// Samples of each figure; their median is taken.
const SAMPLES: usize = 5;

/// Calls until the accumulator is reset: so few that nothing overflows in binary16.
const CALLS: usize = 8;

/// The cost of a path, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathCost {
    /// A call without elements.
    pub empty_ns: f64,
    /// A call with one element.
    pub one_ns: f64,
    /// Each further element, in a long call.
    pub element_ns: f64,
}

impl PathCost {
    fn measure(operands: &Operands, path: ArithmeticPath) -> Self {
        let one_ns = operands.call_ns(path, 1);
        let long_ns = operands.call_ns(path, LONG);
        Self {
            empty_ns: operands.call_ns(path, 0),
            one_ns,
            element_ns: (long_ns - one_ns) / (LONG - 1) as f64,
        }
    }

    /// Returns the time of a call with `elements` elements, at least one.
    #[must_use]
    pub fn of(&self, elements: f64) -> f64 {
        self.one_ns + self.element_ns * (elements - 1.0)
    }
}

/// An operation on a type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationCosts {
    /// The type.
    pub datatype: Datatype,
    /// The operation.
    pub op: Op,
    /// The cost in software.
    pub soft: PathCost,
    /// The cost on the processor, if it has the type.
    pub host: Option<PathCost>,
}

impl OperationCosts {
    fn measure(datatype: Datatype, op: Op) -> Self {
        let operands = Operands::new(datatype, op);
        let host = ArithmeticPath::makes_a_difference(datatype);
        Self {
            datatype,
            op,
            soft: PathCost::measure(&operands, ArithmeticPath::Soft),
            host: host.then(|| PathCost::measure(&operands, ArithmeticPath::Host)),
        }
    }

    /// Returns the number of elements at which the processor is as fast as software: 1 if it is at
    /// once, and infinity if it never is; `None` if the processor does not have the type.
    #[must_use]
    pub fn crossover(&self) -> Option<f64> {
        let host = self.host?;
        let (behind, gain) = (
            host.one_ns - self.soft.one_ns,
            self.soft.element_ns - host.element_ns,
        );
        Some(match (behind <= 0.0, gain <= 0.0) {
            (true, _) => 1.0,
            (false, true) => f64::INFINITY,
            (false, false) => 1.0 + behind / gain,
        })
    }
}

/// Returns all rows of types that the processor has.
#[must_use]
pub fn measure_both() -> Vec<OperationCosts> {
    rows(ArithmeticPath::makes_a_difference)
}

fn rows(wanted: fn(Datatype) -> bool) -> Vec<OperationCosts> {
    let datatypes = DATATYPES.into_iter().filter(|&datatype| wanted(datatype));
    let all = datatypes.flat_map(|datatype| OPS.map(|op| (datatype, op)));
    all.filter(|&(datatype, op)| op.allowed(datatype))
        .map(|(datatype, op)| OperationCosts::measure(datatype, op))
        .collect()
}

/// Measures all rows and returns them as a table.
#[must_use]
pub fn table() -> String {
    let mut table = format!(
        "{:26} {:9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
        "ns", "", "soft: one", "each more", "host: none", "one", "each more", "crossover"
    );
    for row in rows(|_| true) {
        let (name, op) = (row.datatype.name(), row.op.name());
        let PathCost {
            one_ns, element_ns, ..
        } = row.soft;
        write!(table, "{name:26} {op:9} {one_ns:10.1} {element_ns:10.2} ").expect("it is memory");
        match (row.host, row.crossover()) {
            (Some(host), Some(crossover)) => writeln!(
                table,
                "{:10.1} {:10.1} {:10.2} {crossover:10.1}",
                host.empty_ns - row.soft.empty_ns,
                host.one_ns,
                host.element_ns,
            ),
            _ => writeln!(table, "{:>10} {:>10} {:>10} {:>10}", "-", "-", "-", "-"),
        }
        .expect("it is memory");
    }
    table
}

/// The operands: accumulators, and two arrays that take turns. Each roughly undoes the effect of
/// the other.
struct Operands {
    datatype: Datatype,
    op: Op,
    start: Vec<u8>,
    turns: [Vec<u8>; 2],
}

impl Operands {
    fn new(datatype: Datatype, op: Op) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(0x50F7);
        let (part, parts) = match datatype.part() {
            Some(part) => (part, 2),
            None => (datatype, 1),
        };
        // Numbers from 1 to 2; for products, also some below 1 to bring the results back.
        let back = if parts == 2 { -2 } else { -1 };
        let mut array = |exponent: i32| -> Vec<u8> {
            let number = |_| number(part, random.random(), exponent);
            let numbers = (0..LONG * parts).map(number);
            numbers
                .flat_map(|bits| bits.to_le_bytes().into_iter().take(part.size()))
                .collect()
        };
        let (start, up) = (array(0), array(0));
        let down = array(if op == Op::Prod { back } else { 0 });
        Self {
            datatype,
            op,
            start,
            turns: [up, down],
        }
    }

    /// Returns the time of one call with `elements` elements: the median of some samples.
    fn call_ns(&self, path: ArithmeticPath, elements: usize) -> f64 {
        let bytes = elements * self.datatype.size();
        let mut accumulator = self.start[..bytes].to_vec();
        let mut sample = || {
            let begun = Instant::now();
            let mut calls = 0;
            while begun.elapsed() < SAMPLE {
                // Makes several rounds between clock reads, since a read takes as long as a call.
                for _ in 0..8 {
                    accumulator.copy_from_slice(&self.start[..bytes]);
                    for call in 0..CALLS {
                        let operand = &self.turns[call % 2][..bytes];
                        let accumulator = black_box(&mut accumulator[..]);
                        combine(
                            self.op,
                            self.datatype,
                            path,
                            accumulator,
                            black_box(operand),
                        )
                        .expect("the operation is defined on the type");
                    }
                    calls += CALLS;
                }
            }
            begun.elapsed().as_nanos() as f64 / calls as f64
        };
        sample(); // Warms up.
        let samples: Vec<f64> = (0..SAMPLES).map(|_| sample()).collect();
        median(&samples)
    }
}

/// Makes a number of this sign and significand, drawn at random, and of this exponent.
fn number(part: Datatype, random: u128, exponent: i32) -> u128 {
    let (bits, fraction, spelled) = match part {
        Datatype::Float16 => (16, 10, 0),
        Datatype::BFloat16 => (16, 7, 0),
        Datatype::Float => (32, 23, 0),
        Datatype::Double => (64, 52, 0),
        Datatype::LongDouble => (80, 64, 1 << 63),
        Datatype::Quad => (128, 112, 0),
        other => unreachable!("{other} is not floating point"),
    };
    let bias: i32 = (1 << (bits - 2 - fraction)) - 1;
    let biased = u128::try_from(bias + exponent).expect("exponents are small");
    let sign = (random >> 127) << (bits - 1);
    sign | biased << fraction | spelled | random & ((1 << fraction) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(soft: (f64, f64), host: (f64, f64)) -> OperationCosts {
        let cost = |(one_ns, element_ns)| PathCost {
            empty_ns: 0.0,
            one_ns,
            element_ns,
        };
        OperationCosts {
            datatype: Datatype::Double,
            op: Op::Max,
            soft: cost(soft),
            host: Some(cost(host)),
        }
    }

    #[test]
    fn the_crossover_is_where_the_lines_meet() {
        let meeting = row((10.0, 3.0), (16.0, 1.0));
        assert_eq!(meeting.crossover(), Some(4.0));
        let host = meeting.host.unwrap();
        assert_eq!(meeting.soft.of(4.0), host.of(4.0));
        assert_eq!(row((20.0, 3.0), (16.0, 1.0)).crossover(), Some(1.0));
        assert_eq!(
            row((10.0, 1.0), (16.0, 1.0)).crossover(),
            Some(f64::INFINITY)
        );
    }

    #[test]
    fn numbers_have_the_exponent_that_was_asked_for() {
        let double = |exponent| {
            let bits = number(Datatype::Double, u128::MAX / 3, exponent);
            f64::from_bits(u64::try_from(bits).unwrap())
        };
        assert!((1.0..2.0).contains(&double(0)) && (0.5..1.0).contains(&double(-1)));
        let float = u32::try_from(number(Datatype::Float, u128::MAX, 0)).unwrap();
        assert!((-2.0..-1.0).contains(&f32::from_bits(float)));
        assert_eq!(
            number(Datatype::LongDouble, 0, 0),
            0x3fff_8000_0000_0000_0000
        );
    }

    /// Checks that the timed arithmetic is on numbers: infinities and NaNs are faster.
    #[test]
    fn nothing_overflows_on_the_way() {
        for op in [Op::Sum, Op::Prod] {
            let operands = Operands::new(Datatype::Float16Complex, op);
            let mut accumulator = operands.start.clone();
            for call in 0..CALLS {
                let operand = &operands.turns[call % 2];
                combine(
                    op,
                    operands.datatype,
                    ArithmeticPath::Soft,
                    &mut accumulator,
                    operand,
                )
                .unwrap();
            }
            let infinite = accumulator
                .chunks_exact(2)
                .filter(|bits| bits[1] & 0x7c == 0x7c)
                .count();
            assert_eq!(infinite, 0, "{op}");
        }
    }
}
