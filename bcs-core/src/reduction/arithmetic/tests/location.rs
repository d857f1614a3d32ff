//! Minima and maxima with their places: against a search of the whole list, and the rules.

use proptest::prelude::*;

use super::*;

/// A value and its place, in bits.
type Located = (u128, u128);

fn pairs() -> impl Iterator<Item = Datatype> {
    Datatype::ALL
        .into_iter()
        .filter(|datatype| datatype.pair().is_some())
}

/// Returns the structure, with this byte for its padding.
fn structure(datatype: Datatype, (value, place): Located, padding: u8) -> Vec<u8> {
    let pair = datatype.pair().unwrap();
    let mut bytes = vec![padding; datatype.size()];
    let (value_size, place_size) = (pair.value.size(), pair.place.size());
    bytes[..value_size].copy_from_slice(&value.to_le_bytes()[..value_size]);
    bytes[pair.place_at()..][..place_size].copy_from_slice(&place.to_le_bytes()[..place_size]);
    bytes
}

fn parts(datatype: Datatype, bytes: &[u8]) -> Located {
    let pair = datatype.pair().unwrap();
    let load = |at: usize, size: usize| {
        let mut wide = [0; 16];
        wide[..size].copy_from_slice(&bytes[at..at + size]);
        u128::from_le_bytes(wide)
    };
    let located = (
        load(0, pair.value.size()),
        load(pair.place_at(), pair.place.size()),
    );
    assert_eq!(
        bytes,
        structure(datatype, located, 0),
        "padding of {datatype} is zero"
    );
    located
}

fn located(op: Op, datatype: Datatype, a: Located, b: Located) -> Located {
    let mut accumulator = structure(datatype, a, 0xaa);
    let operand = structure(datatype, b, 0x55);
    let mut by_host = accumulator.clone();
    combine(
        op,
        datatype,
        ArithmeticPath::Soft,
        &mut accumulator,
        &operand,
    )
    .unwrap();
    combine(op, datatype, ArithmeticPath::Host, &mut by_host, &operand).unwrap();
    assert_eq!(accumulator, by_host);
    parts(datatype, &accumulator)
}

/// Returns values, many of which are equal or nearly so, with any place.
fn one_of(datatype: Datatype) -> BoxedStrategy<Located> {
    let pair = datatype.pair().unwrap();
    let mut values = vec![Just(0).boxed(), bits_of(pair.value)];
    if pair.value.class() == DatatypeClass::Floating {
        let p = Patterns::of(pair.value);
        values.push(proptest::sample::select(vec![p.sign, p.one, p.sign | p.one]).boxed());
        let nans = vec![p.quiet_nan(5), p.signalling_nan(5), p.sign | p.quiet_nan(5)];
        values.push(proptest::sample::select(nans).boxed());
    }
    let place = if pair.place.class() == DatatypeClass::Floating {
        let p = Patterns::of(pair.place);
        proptest::sample::select(vec![0, p.one, p.sign | p.one, p.one + 1, p.infinity]).boxed()
    } else {
        bits_of(pair.place)
    };
    (proptest::strategy::Union::new(values), place).boxed()
}

fn lists() -> impl Strategy<Value = (Op, Datatype, Vec<Located>)> {
    let datatypes: Vec<_> = pairs().collect();
    let ops = proptest::sample::select(vec![Op::MinLoc, Op::MaxLoc]);
    (ops, proptest::sample::select(datatypes)).prop_flat_map(|(op, datatype)| {
        let list = proptest::collection::vec(one_of(datatype), 1..9);
        list.prop_map(move |list| (op, datatype, list))
    })
}

/// Returns the minimum or maximum by the arithmetic of values alone, which other tests check.
fn extremum(op: Op, datatype: Datatype, values: impl Iterator<Item = u128>) -> u128 {
    // To combine a single value with itself makes it canonical.
    let combine = |a, b| one(op, datatype, ArithmeticPath::Soft, a, b);
    let values: Vec<u128> = values.collect();
    values
        .iter()
        .fold(values[0], |extremum, &value| combine(extremum, value))
}

fn number(datatype: Datatype, bits: u128) -> i128 {
    let above = 128 - 8 * datatype.size();
    (bits << above).cast_signed() >> above
}

/// Returns the extremum of all values, and the lowest place that has it. It searches the whole
/// list, without any pairwise rule.
fn searched(op: Op, datatype: Datatype, list: &[Located]) -> Located {
    let pair = datatype.pair().unwrap();
    let plain = if op == Op::MinLoc { Op::Min } else { Op::Max };
    let value = extremum(plain, pair.value, list.iter().map(|one| one.0));
    let canonical = |bits| one(plain, pair.value, ArithmeticPath::Soft, bits, bits);
    let zero = |bits: u128| {
        pair.value.class() == DatatypeClass::Floating
            && bits & (Patterns::of(pair.value).sign - 1) == 0
    };
    let is_it = |bits| canonical(bits) == value || zero(canonical(bits)) && zero(value);
    let places = list.iter().filter(|one| is_it(one.0)).map(|one| one.1);
    let place = if pair.place.class() == DatatypeClass::Floating {
        extremum(Op::Min, pair.place, places)
    } else {
        places.min_by_key(|&bits| number(pair.place, bits)).unwrap()
    };
    (value, place)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn any_association_finds_what_a_search_finds((op, datatype, list) in lists()) {
        let combine = |a, b| located(op, datatype, a, b);
        let from_left = list.iter().copied().reduce(combine).unwrap();
        let from_right = list.iter().copied().rev().reduce(|right, left| combine(left, right));
        let backwards = list.iter().copied().rev().reduce(combine);
        // A single element is not combined, so it is not canonical.
        if list.len() > 1 {
            prop_assert_eq!(from_left, searched(op, datatype, &list), "{} of {}", op, datatype);
        }
        prop_assert_eq!(Some(from_left), from_right);
        prop_assert_eq!(Some(from_left), backwards);
    }
}

#[test]
fn known_minima_and_maxima() {
    let minus_one = u128::from((-1i32).cast_unsigned());
    let table = [
        // For equal values the lower place, which may be negative.
        (Op::MinLoc, Datatype::TWO_INT, (5, 3), (5, 2), (5, 2)),
        (
            Op::MaxLoc,
            Datatype::TWO_INT,
            (5, 3),
            (5, minus_one),
            (5, minus_one),
        ),
        (
            Op::MinLoc,
            Datatype::SHORT_INT,
            (0xffff, 7),
            (0, 1),
            (0xffff, 7),
        ),
        (Op::MaxLoc, Datatype::SHORT_INT, (0xffff, 7), (0, 1), (0, 1)),
        (
            Op::MaxLoc,
            Datatype::LONG_INT,
            (1 << 40, 7),
            (1 << 41, 9),
            (1 << 41, 9),
        ),
    ];
    for (op, datatype, a, b, expected) in table {
        assert_eq!(located(op, datatype, a, b), expected, "{op} of {datatype}");
        assert_eq!(located(op, datatype, b, a), expected, "{op} of {datatype}");
    }
}

#[test]
fn zeros_are_equal_and_nans_bring_their_places() {
    for datatype in pairs().filter(|of| of.pair().unwrap().value.class() == DatatypeClass::Floating)
    {
        let pair = datatype.pair().unwrap();
        let p = Patterns::of(pair.value);
        let (low, high) = match pair.place.class() {
            DatatypeClass::Floating => (0, Patterns::of(pair.place).one),
            _ => (1, 2),
        };
        let minus_zero = p.sign;
        for (op, value) in [(Op::MinLoc, minus_zero), (Op::MaxLoc, 0)] {
            let expect = |a, b, expected| {
                assert_eq!(located(op, datatype, a, b), expected, "{op} of {datatype}");
                assert_eq!(located(op, datatype, b, a), expected, "{op} of {datatype}");
            };
            expect((0, low), (minus_zero, high), (value, low));
            expect((0, high), (minus_zero, low), (value, low));
            expect(
                (p.signalling_nan(5), high),
                (p.one, low),
                (p.quiet_nan(5), high),
            );
            expect(
                (p.quiet_nan(5), high),
                (p.quiet_nan(6), low),
                (p.quiet_nan(6), low),
            );
            expect(
                (p.quiet_nan(5), high),
                (p.signalling_nan(5), low),
                (p.quiet_nan(5), low),
            );
        }
    }
}
