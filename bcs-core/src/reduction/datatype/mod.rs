//! The elementary datatypes that a NIC can reduce.
//!
//! A datatype crosses the memory between a rank and its NIC as one byte. The rank can write that
//! memory at any time, so the NIC does not trust the byte: it becomes a [`Datatype`] only by
//! [`TryFrom`], and zero (fresh memory) is no datatype.
//!
//! Derived datatypes never get here: the MPI layer packs them, and reduces elementary ones.

mod names;
mod pair;

pub use pair::LocationPair;

/// A predefined elementary datatype (MPI 5.0, 3.2.2), named by its representation.
///
/// The types of C and Fortran on this platform are associated constants ([`Datatype::INT`],
/// [`Datatype::LONG`], [`Datatype::INTEGER`] ...), since they are other names for some of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Datatype {
    /// Two's complement, 1 byte.
    Int8 = 0x01,
    /// Two's complement, 2 bytes.
    Int16 = 0x02,
    /// Two's complement, 4 bytes.
    Int32 = 0x03,
    /// Two's complement, 8 bytes.
    Int64 = 0x04,
    /// Unsigned, 1 byte.
    Uint8 = 0x09,
    /// Unsigned, 2 bytes.
    Uint16 = 0x0a,
    /// Unsigned, 4 bytes.
    Uint32 = 0x0b,
    /// Unsigned, 8 bytes.
    Uint64 = 0x0c,
    /// IEEE 754 binary32, the C `float`.
    Float = 0x11,
    /// IEEE 754 binary64, the C `double`.
    Double = 0x12,
    /// The x87 80-bit format in 16 bytes of storage, the C `long double` of x86-64.
    LongDouble = 0x13,
    /// IEEE 754 binary16, the C `_Float16`.
    Float16 = 0x14,
    /// The upper half of a binary32.
    BFloat16 = 0x15,
    /// IEEE 754 binary128, the C `__float128`.
    Quad = 0x16,
    /// The C `_Bool`: one byte; every value but zero is true.
    Bool = 0x19,
    /// An uninterpreted byte, for bitwise operations only.
    Byte = 0x1a,
    /// A Fortran logical of 2 bytes; every value but zero is true.
    Logical16 = 0x1b,
    /// A Fortran logical of 4 bytes.
    Logical32 = 0x1c,
    /// A Fortran logical of 8 bytes.
    Logical64 = 0x1d,
    /// Real and imaginary part, each a [`Datatype::Float`]: the C `float _Complex`.
    FloatComplex = 0x21,
    /// Two of [`Datatype::Double`]: the C `double _Complex`.
    DoubleComplex = 0x22,
    /// Two of [`Datatype::LongDouble`]: the C `long double _Complex`.
    LongDoubleComplex = 0x23,
    /// Two of [`Datatype::Float16`]: the Fortran `complex*4`.
    Float16Complex = 0x24,
    /// Two of [`Datatype::Quad`]: the Fortran `complex*32`.
    QuadComplex = 0x26,
    /// The C structure of a `float` and an `int`, for minima and maxima with their place.
    FloatInt = 0x31,
    /// The C structure of a `double` and an `int`.
    DoubleInt = 0x32,
    /// The C structure of a `long`, here of 8 bytes, and an `int`.
    Int64Int = 0x33,
    /// The C structure of two `int`.
    Int32Int = 0x34,
    /// The C structure of a `short` and an `int`.
    Int16Int = 0x35,
    /// The C structure of a `long double` and an `int`.
    LongDoubleInt = 0x36,
    /// Two Fortran reals: the place is a number in floating point, too.
    FloatFloat = 0x37,
    /// Two Fortran double precision numbers.
    DoubleDouble = 0x38,
}

/// The group of a datatype, which determines its operations: MPI 5.0, 6.9.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatatypeClass {
    /// "C integer".
    Integer,
    /// "Floating point".
    Floating,
    /// "Logical".
    Logical,
    /// "Byte".
    Byte,
    /// "Complex".
    Complex,
    /// A value and its place, for `MPI_MINLOC` and `MPI_MAXLOC` (6.9.4).
    Located,
}

/// Bytes of an element.
#[derive(Clone, Copy)]
struct Size {
    all: u8,
    data: u8,
}

/// All datatypes, indexed by their codes.
static THEMSELVES: [Datatype; 256] = {
    let mut themselves = [Datatype::Byte; 256];
    let mut next = 0;
    while next < Datatype::ALL.len() {
        themselves[Datatype::ALL[next] as usize] = Datatype::ALL[next];
        next += 1;
    }
    themselves
};

/// The sizes of datatypes, indexed by their codes, because each MPI call needs them several times.
#[expect(clippy::cast_possible_truncation, reason = "no element has 256 bytes")]
static SIZES: [Size; 256] = {
    let mut sizes = [Size { all: 0, data: 0 }; 256];
    let mut next = 0;
    while next < Datatype::ALL.len() {
        let datatype = Datatype::ALL[next];
        sizes[datatype as usize] = Size {
            all: datatype.computed_size() as u8,
            data: datatype.computed_data_size() as u8,
        };
        next += 1;
    }
    sizes
};

impl Datatype {
    /// Returns a static reference to the same datatype: a handle that is a pointer is moved by
    /// whole words.
    #[must_use]
    #[inline]
    pub const fn itself(self) -> &'static Self {
        &THEMSELVES[self as usize]
    }

    /// Returns the bytes from one element of an array to the next: the *extent* of the standard,
    /// padding included. Code that moves or reduces contiguous elements needs this one.
    #[must_use]
    #[inline]
    pub const fn size(self) -> usize {
        SIZES[self as usize].all as usize
    }

    const fn computed_size(self) -> usize {
        if let Some(pair) = self.pair() {
            return pair.size();
        }
        if let Some(part) = self.part() {
            return 2 * part.computed_size();
        }
        match self {
            Self::Int8 | Self::Uint8 | Self::Bool | Self::Byte => 1,
            Self::Int16 | Self::Uint16 | Self::Float16 | Self::BFloat16 | Self::Logical16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float | Self::Logical32 => 4,
            Self::Int64 | Self::Uint64 | Self::Double | Self::Logical64 => 8,
            Self::LongDouble | Self::Quad => 16,
            _ => panic!("a datatype of two parts was dealt with above"),
        }
    }

    /// Returns the bytes of an element that are data (`MPI_Type_size`). That is less than
    /// [`size`](Self::size) for those structures of a value and its place that have padding. (The
    /// padding of a `long double` counts as data in C.)
    #[must_use]
    #[inline]
    pub const fn data_size(self) -> usize {
        SIZES[self as usize].data as usize
    }

    const fn computed_data_size(self) -> usize {
        match self.pair() {
            Some(pair) => pair.value.computed_size() + pair.place.computed_size(),
            None => self.computed_size(),
        }
    }

    /// Returns the alignment, in bytes, that a C compiler gives this type. Only code that lays out
    /// C structures needs it: the arithmetic takes bytes of any alignment.
    #[must_use]
    pub const fn align(self) -> usize {
        if let Some(pair) = self.pair() {
            return pair.align();
        }
        match self.part() {
            Some(part) => part.align(),
            // On x86-64 and AArch64 every type of one part is aligned to its size.
            None => self.computed_size(),
        }
    }

    /// Returns the type of the real and the imaginary part, if this is complex.
    #[must_use]
    pub const fn part(self) -> Option<Self> {
        match self {
            Self::FloatComplex => Some(Self::Float),
            Self::DoubleComplex => Some(Self::Double),
            Self::LongDoubleComplex => Some(Self::LongDouble),
            Self::Float16Complex => Some(Self::Float16),
            Self::QuadComplex => Some(Self::Quad),
            _ => None,
        }
    }

    /// Returns the group of this type, which determines its operations.
    #[must_use]
    pub const fn class(self) -> DatatypeClass {
        match self {
            Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => DatatypeClass::Integer,
            Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Uint64 => DatatypeClass::Integer,
            Self::Float | Self::Double | Self::LongDouble => DatatypeClass::Floating,
            Self::Float16 | Self::BFloat16 | Self::Quad => DatatypeClass::Floating,
            Self::Bool | Self::Logical16 | Self::Logical32 | Self::Logical64 => {
                DatatypeClass::Logical
            }
            Self::Byte => DatatypeClass::Byte,
            Self::FloatComplex | Self::DoubleComplex | Self::LongDoubleComplex => {
                DatatypeClass::Complex
            }
            Self::Float16Complex | Self::QuadComplex => DatatypeClass::Complex,
            Self::FloatInt | Self::DoubleInt | Self::LongDoubleInt => DatatypeClass::Located,
            Self::Int64Int | Self::Int32Int | Self::Int16Int => DatatypeClass::Located,
            Self::FloatFloat | Self::DoubleDouble => DatatypeClass::Located,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{c_int, c_long, c_short, c_ulong};
    use std::mem::offset_of;

    #[test]
    fn codes_round_trip_and_nothing_else_is_a_datatype() {
        let known = (0..=u8::MAX).filter(|&code| {
            Datatype::try_from(code).is_ok_and(|datatype| {
                assert_eq!(datatype as u8, code);
                true
            })
        });
        assert_eq!(known.count(), Datatype::ALL.len());
        let fresh = Datatype::try_from(0).unwrap_err();
        assert_eq!(fresh.to_string(), "0x00 is not the code of a datatype");
    }

    #[test]
    fn the_c_types_of_this_platform_have_their_sizes() {
        assert_eq!(Datatype::INT.size(), size_of::<c_int>());
        assert_eq!(Datatype::LONG.size(), size_of::<c_long>());
        assert_eq!(Datatype::UNSIGNED_LONG.size(), size_of::<c_ulong>());
        assert_eq!(Datatype::SHORT.align(), align_of::<c_short>());
        assert_eq!(Datatype::Double.align(), align_of::<f64>());
        assert_eq!(Datatype::AINT.size(), size_of::<usize>());
    }

    /// Compares with the compiler's own layout of C structures.
    #[test]
    fn pairs_are_laid_out_as_in_c() {
        macro_rules! laid_out {
            ($($datatype:ident: $value:ty, $place:ty, $data:literal;)*) => {$({
                #[repr(C)]
                struct InC {
                    value: $value,
                    place: $place,
                }
                let datatype = Datatype::$datatype;
                let pair = datatype.pair().unwrap();
                assert_eq!(offset_of!(InC, value), 0);
                assert_eq!(pair.place_at(), offset_of!(InC, place), "{datatype}");
                assert_eq!(datatype.size(), size_of::<InC>(), "{datatype}");
                assert_eq!(datatype.align(), align_of::<InC>(), "{datatype}");
                assert_eq!(datatype.data_size(), $data, "{datatype}");
            })*};
        }
        // A type with the layout of a `long double` of x86-64.
        #[repr(C, align(16))]
        struct LongDouble([u8; 16]);
        laid_out! {
            FLOAT_INT: f32, c_int, 8;
            DOUBLE_INT: f64, c_int, 12;
            LONG_INT: c_long, c_int, 12;
            TWO_INT: c_int, c_int, 8;
            SHORT_INT: c_short, c_int, 6;
            LONG_DOUBLE_INT: LongDouble, c_int, 20;
            TWO_REAL: f32, f32, 8;
            TWO_DOUBLE_PRECISION: f64, f64, 16;
            TWO_INTEGER: i32, i32, 8;
        }
    }

    #[test]
    fn complex_numbers_are_two_parts_side_by_side() {
        let sizes = [
            (Datatype::COMPLEX4, 4, 2),
            (Datatype::COMPLEX8, 8, 4),
            (Datatype::COMPLEX16, 16, 8),
            (Datatype::C_LONG_DOUBLE_COMPLEX, 32, 16),
            (Datatype::COMPLEX32, 32, 16),
        ];
        for (datatype, size, align) in sizes {
            assert_eq!((datatype.size(), datatype.align()), (size, align));
            assert_eq!(datatype.data_size(), size);
        }
    }

    /// Steps of a reduction by the NIC are multiples of 64 bytes.
    #[test]
    fn no_step_of_a_reduction_ends_within_an_element() {
        assert!(
            Datatype::ALL
                .iter()
                .all(|datatype| 64 % datatype.size() == 0)
        );
    }

    #[test]
    fn names_are_distinct_and_pad_in_tables() {
        let mut names: Vec<_> = Datatype::ALL
            .iter()
            .map(|datatype| datatype.name())
            .collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Datatype::ALL.len());
        assert_eq!(format!("{:>12}", Datatype::Double), "  MPI_DOUBLE");
    }
}
