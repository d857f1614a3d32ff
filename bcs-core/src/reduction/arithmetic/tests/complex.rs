//! Complex numbers: against gcc, against the language, and path against path.

use proptest::prelude::*;

use super::*;

/// A complex number: the bits of its parts.
type Complex = (u128, u128);

fn complex_datatypes() -> impl Iterator<Item = (Datatype, Datatype)> {
    let parts = |datatype: Datatype| Some((datatype, datatype.part()?));
    Datatype::ALL.into_iter().filter_map(parts)
}

fn bytes(numbers: impl Iterator<Item = Complex>, part: usize) -> Vec<u8> {
    let both = |(real, imaginary): Complex| [real, imaginary];
    let parts = numbers.flat_map(both);
    parts
        .flat_map(|bits| bits.to_le_bytes().into_iter().take(part))
        .collect()
}

/// Computes `a OP b` for each pair, in an array that begins `offset` bytes behind its allocation.
fn all(
    op: Op,
    datatype: Datatype,
    path: ArithmeticPath,
    pairs: &[(Complex, Complex)],
    offset: usize,
) -> Vec<Complex> {
    let part = datatype.part().unwrap().size();
    let mut accumulator = vec![0; offset];
    accumulator.extend(bytes(pairs.iter().map(|pair| pair.0), part));
    let operand = bytes(pairs.iter().map(|pair| pair.1), part);
    combine(op, datatype, path, &mut accumulator[offset..], &operand).unwrap();
    let load = |bytes: &[u8]| {
        let mut wide = [0; 16];
        wide[..part].copy_from_slice(bytes);
        u128::from_le_bytes(wide)
    };
    let numbers = accumulator[offset..].chunks_exact(2 * part);
    numbers
        .map(|number| (load(&number[..part]), load(&number[part..])))
        .collect()
}

fn one_complex(
    op: Op,
    datatype: Datatype,
    path: ArithmeticPath,
    a: Complex,
    b: Complex,
) -> Complex {
    all(op, datatype, path, &[(a, b)], 0)[0]
}

#[test]
fn products_agree_with_gcc() {
    let hexadecimal = |word: &str| u128::from_str_radix(word, 16).unwrap();
    let mut checked = 0;
    let lines = include_str!("golden_complex.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap();
        let datatype = Datatype::ALL
            .into_iter()
            .find(|known| known.name() == name)
            .unwrap();
        let bits: Vec<u128> = words.map(hexadecimal).collect();
        let [a, b, c, d, real, imaginary] = bits[..] else {
            panic!("golden_complex.txt: {line}")
        };
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            let found = one_complex(Op::Prod, datatype, path, (a, b), (c, d));
            assert!(
                found == (real, imaginary),
                "{line}: found {found:x?} by {path:?}"
            );
        }
        checked += 1;
    }
    assert_eq!(checked, 200);
}

fn strategy(part: Datatype) -> impl Strategy<Value = (Complex, Complex)> {
    let number = || (bits_of(part), bits_of(part));
    (number(), number())
}

/// Any complex datatype, and two numbers.
fn numbers() -> impl Strategy<Value = (Datatype, Complex, Complex)> {
    let datatypes: Vec<_> = complex_datatypes().collect();
    proptest::sample::select(datatypes)
        .prop_flat_map(|(datatype, part)| strategy(part).prop_map(move |(a, b)| (datatype, a, b)))
}

/// Computes the product by its definition, from single operations on the parts.
fn defined(part: Datatype, (a, b): Complex, (c, d): Complex) -> Complex {
    let soft = |op, a, b| one(op, part, ArithmeticPath::Soft, a, b);
    let patterns = Patterns::of(part);
    let magnitude = |bits: u128| bits & (patterns.sign - 1);
    let bd = soft(Op::Prod, b, d);
    let minus_bd = if magnitude(bd) > patterns.infinity {
        bd
    } else {
        bd ^ patterns.sign
    };
    let real = soft(Op::Sum, soft(Op::Prod, a, c), minus_bd);
    let imaginary = soft(Op::Sum, soft(Op::Prod, a, d), soft(Op::Prod, b, c));
    (real, imaginary)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn sums_and_products_are_those_of_the_parts((datatype, a, b) in numbers()) {
        let part = datatype.part().unwrap();
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            let sum = (
                one(Op::Sum, part, ArithmeticPath::Soft, a.0, b.0),
                one(Op::Sum, part, ArithmeticPath::Soft, a.1, b.1),
            );
            prop_assert_eq!(one_complex(Op::Sum, datatype, path, a, b), sum);
            let product = one_complex(Op::Prod, datatype, path, a, b);
            prop_assert_eq!(product, defined(part, a, b), "{} {:x?} {:x?}", datatype, a, b);
            // Commutative to the bit.
            prop_assert_eq!(one_complex(Op::Prod, datatype, path, b, a), product);
        }
    }

    /// Compares with the language, where it defines the bits: for results that are not NaNs.
    #[test]
    fn complex_doubles_multiply_as_the_language_does((a, b) in strategy(Datatype::Double)) {
        let number = |bits: u128| f64::from_bits(u64::try_from(bits).unwrap());
        let (re, im) = (number(a.0), number(a.1));
        let (other_re, other_im) = (number(b.0), number(b.1));
        let real = re * other_re - im * other_im;
        let imaginary = re * other_im + im * other_re;
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            let found = one_complex(Op::Prod, Datatype::DoubleComplex, path, a, b);
            for (found, expected) in [(number(found.0), real), (number(found.1), imaginary)] {
                prop_assert_eq!(found.is_nan(), expected.is_nan());
                prop_assert!(expected.is_nan() || found.to_bits() == expected.to_bits());
            }
        }
    }

    /// At every length and alignment.
    #[test]
    fn both_paths_give_the_same_bits_for_complex_numbers(
        pairs in proptest::collection::vec(strategy(Datatype::Float), 0..150),
        offset in 0..9_usize,
    ) {
        for op in [Op::Sum, Op::Prod] {
            let soft = all(op, Datatype::FloatComplex, ArithmeticPath::Soft, &pairs, 0);
            let host = all(op, Datatype::FloatComplex, ArithmeticPath::Host, &pairs, offset);
            prop_assert!(soft == host, "{} of {:x?}", op, pairs.first());
        }
    }
}

/// Results that annex G of C would make an infinity.
#[test]
fn a_product_with_an_infinity_is_what_its_operations_make_of_it() {
    for (datatype, part) in complex_datatypes() {
        let p = Patterns::of(part);
        for path in [ArithmeticPath::Soft, ArithmeticPath::Host] {
            // (∞ + 0i)(1 + 0i): ∞·1 - 0·0 = ∞ and ∞·0 + 0·1, which is invalid.
            let found = one_complex(Op::Prod, datatype, path, (p.infinity, 0), (p.one, 0));
            assert_eq!(found, (p.infinity, p.default_nan()), "{datatype}");
            // i·i = -1: 0·0 - 1·1 and 0·1 + 1·0.
            let found = one_complex(Op::Prod, datatype, path, (0, p.one), (0, p.one));
            assert_eq!(found, (p.sign | p.one, 0), "{datatype}");
        }
    }
}
