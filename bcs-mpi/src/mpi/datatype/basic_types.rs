//! The basic types of a datatype's elements: as a [`Signature`], and in words.

use super::handle::{Datatype, DatatypeKind, DerivedType, StridedBlocks};
use super::signature::{PrefixSignature, Signature};
use std::fmt::Write as _;

impl Datatype {
    /// Returns the signature of an element; `None` if it matches everything.
    pub(in crate::mpi) fn signature(&self) -> Option<Signature> {
        match &self.0 {
            DatatypeKind::Predefined(named) if named.is_packed() => None,
            DatatypeKind::Predefined(named) => Some(match named.element.pair() {
                Some(pair) => Signature::of(pair.value).then(Signature::of(pair.place)),
                None => Signature::of(named.element),
            }),
            DatatypeKind::Derived(derived) => {
                *derived.signature.get_or_init(|| derived.find_signature())
            }
        }
    }

    /// Returns the signature of the first `bytes` bytes of a sequence of elements.
    pub(in crate::mpi) fn beginning(&self, bytes: u64) -> PrefixSignature {
        let Some(whole) = self.signature() else {
            return PrefixSignature::Anything;
        };
        let size = self.bounds().size;
        let (Some(count), Some(rest)) = (bytes.checked_div(size), bytes.checked_rem(size)) else {
            return match bytes {
                0 => PrefixSignature::Known(Signature::EMPTY),
                _ => PrefixSignature::Within,
            };
        };
        match self.part_of_one(rest) {
            PrefixSignature::Known(part) => {
                PrefixSignature::Known(whole.repeated(count).then(part))
            }
            other => other,
        }
    }

    /// Returns the same for less than one element.
    fn part_of_one(&self, mut bytes: u64) -> PrefixSignature {
        if bytes == 0 {
            return PrefixSignature::Known(Signature::EMPTY);
        }
        let derived = match &self.0 {
            DatatypeKind::Predefined(named) => {
                let value = named.element.pair().map(|pair| pair.value);
                return match value.filter(|value| value.size() as u64 == bytes) {
                    Some(value) => PrefixSignature::Known(Signature::of(value)),
                    None => PrefixSignature::Within,
                };
            }
            DatatypeKind::Derived(derived) => derived,
        };
        let mut before = Signature::EMPTY;
        for part in &derived.parts {
            let all = part.copies() * part.datatype.bounds().size;
            let Some(one) = part.datatype.signature() else {
                return PrefixSignature::Anything;
            };
            if bytes < all {
                return match part.datatype.beginning(bytes) {
                    PrefixSignature::Known(last) => PrefixSignature::Known(before.then(last)),
                    other => other,
                };
            }
            before = before.then(one.repeated(part.copies()));
            bytes -= all;
        }
        PrefixSignature::Known(before)
    }

    /// Describes the basic types of an element for a person: "MPI_DOUBLE", "3 x MPI_INT32_T",
    /// "{MPI_INT32_T, 2 x MPI_DOUBLE, ...}".
    pub(in crate::mpi) fn basic_types(&self) -> String {
        let mut runs = Vec::new();
        let whole = self.add_runs(1, &mut runs);
        let run = |&(count, ref name): &(u64, String)| match count {
            1 => name.clone(),
            count => format!("{count} x {name}"),
        };
        let mut text = match &runs[..] {
            [] => return "nothing".to_owned(),
            [one] if whole => return run(one),
            several => several.iter().map(run).collect::<Vec<_>>().join(", "),
        };
        if !whole {
            text += ", ...";
        }
        let mut said = String::new();
        let _infallible = write!(said, "{{{text}}}");
        said
    }

    /// Adds runs of basic types, as many as a description lists. Returns whether these were all.
    fn add_runs(&self, times: u64, runs: &mut Vec<(u64, String)>) -> bool {
        let derived = match &self.0 {
            DatatypeKind::Predefined(named) => {
                let single = [(1, self.name())];
                let of_pair = named.element.pair().map(|pair| {
                    [pair.value, pair.place].map(|of| (1, Self::predefined(of).name()))
                });
                let one = of_pair.as_ref().map_or(&single[..], |pair| &pair[..]);
                return add(runs, one, times);
            }
            DatatypeKind::Derived(derived) => derived,
        };
        let mut one = Vec::new();
        let parts = derived.parts.iter();
        let whole = parts
            .take_while(|part| part.datatype.add_runs(part.copies(), &mut one))
            .count();
        let whole = whole == derived.parts.len();
        add(runs, &one, if whole { times } else { 1 }) && whole
    }
}

/// The number of runs that a description lists.
const TOLD: usize = 5;

/// Adds a row of runs this number of times. Returns whether they fit.
fn add(runs: &mut Vec<(u64, String)>, row: &[(u64, String)], times: u64) -> bool {
    let mut push = |count: u64, name: &str| {
        let told = runs.len();
        match runs.last_mut() {
            Some((before, last)) if last == name => *before += count,
            _ if count == 0 => {}
            _ if told < TOLD => runs.push((count, name.to_owned())),
            _ => return false,
        }
        true
    };
    match row {
        [] => true,
        [(count, name)] => push(count.saturating_mul(times), name),
        // Each time adds at least one run that differs from the last.
        _ => (0..times).all(|_| row.iter().all(|(count, name)| push(*count, name))),
    }
}

impl DerivedType {
    fn find_signature(&self) -> Option<Signature> {
        self.parts
            .iter()
            .try_fold(Signature::EMPTY, |before, part| {
                let one = part.datatype.signature()?;
                Some(before.then(one.repeated(part.copies())))
            })
    }
}

impl StridedBlocks {
    /// Returns the number of elements of its type.
    fn copies(&self) -> u64 {
        self.count * self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Elementary::{Byte, Double, Int32};
    use bcs_core::reduction::Datatype as Elementary;

    fn int() -> Datatype {
        Datatype::predefined(Int32)
    }

    fn double() -> Datatype {
        Datatype::predefined(Double)
    }

    fn pair() -> Datatype {
        Datatype::structure(&[1, 1], &[0, 8], &[int(), double()]).unwrap()
    }

    #[test]
    fn equal_sequences_have_equal_signatures_however_they_are_nested() {
        let six = int().contiguous(6).unwrap();
        let strided = int().vector(2, 1, 5).unwrap().contiguous(3).unwrap();
        let row = int().vector(3, 2, 7).unwrap();
        let expected = int().signature().unwrap().repeated(6);
        for datatype in [six, strided, row] {
            assert_eq!(datatype.signature(), Some(expected));
        }
        let twice = pair().contiguous(2).unwrap();
        assert_eq!(
            twice.signature(),
            pair().signature().map(|it| it.repeated(2))
        );
        let resized = pair().resized(0, 64).unwrap();
        assert_eq!(resized.signature(), pair().signature());
        let place = Datatype::predefined(Elementary::FloatInt);
        let float = Datatype::predefined(Elementary::Float);
        let made = Datatype::structure(&[1, 1], &[0, 4], &[float, int()]).unwrap();
        assert_eq!(place.signature(), made.signature());
    }

    #[test]
    fn other_sequences_have_others() {
        let of = |datatype: &Datatype, count| datatype.signature().unwrap().repeated(count).word();
        let reversed = Datatype::structure(&[1, 1], &[0, 8], &[double(), int()]).unwrap();
        let all = [
            of(&int(), 1),
            of(&int(), 2),
            of(&double(), 1),
            of(&Datatype::BYTE, 8),
            of(&pair(), 1),
            of(&reversed, 1),
            of(&pair(), 1 << 40),
            of(&pair(), (1 << 40) + 1),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
    }

    #[test]
    fn beginnings_are_those_of_what_came() {
        let sequence = pair().contiguous(1 << 30).unwrap();
        let one = pair().signature().unwrap();
        assert_eq!(
            sequence.beginning(24),
            PrefixSignature::Known(one.repeated(2))
        );
        let int_of_second = one.repeated(2).then(Signature::of(Int32));
        assert_eq!(
            sequence.beginning(28),
            PrefixSignature::Known(int_of_second)
        );
        assert_eq!(sequence.beginning(26), PrefixSignature::Within);
        assert_eq!(int().beginning(0), PrefixSignature::Known(Signature::EMPTY));
        let three = PrefixSignature::Known(Signature::of(Byte).repeated(3));
        assert_eq!(Datatype::BYTE.beginning(3), three);
        assert_eq!(Datatype::PACKED.beginning(3), PrefixSignature::Anything);
        let with = Datatype::structure(&[1, 1], &[0, 8], &[int(), Datatype::PACKED]).unwrap();
        assert_eq!(with.beginning(5), PrefixSignature::Anything);
    }

    #[test]
    fn a_person_is_told_of_runs() {
        assert_eq!(
            int().vector(3, 2, 7).unwrap().basic_types(),
            "6 x MPI_INT32_T"
        );
        assert_eq!(pair().basic_types(), "{MPI_INT32_T, MPI_DOUBLE}");
        let many = pair().contiguous(1 << 40).unwrap().basic_types();
        assert!(
            many.starts_with("{MPI_INT32_T, MPI_DOUBLE, MPI_INT32_T") && many.ends_with(", ...}")
        );
    }
}
