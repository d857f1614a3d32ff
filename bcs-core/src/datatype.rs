//! The elementary datatypes that a NIC can reduce.
//!
//! A datatype crosses the memory between a rank and its NIC as one byte. That memory can be
//! written by the rank at any time, so the byte is an allegation: it becomes a [`Datatype`] only by
//! [`TryFrom`], and zero (fresh memory) is no datatype.
//!
//! Derived datatypes never come this far: the MPI layer packs them, and reduces elementary ones.

use std::ffi::{
    c_int, c_long, c_longlong, c_schar, c_short, c_uchar, c_uint, c_ulong, c_ulonglong,
};
use std::fmt;

/// A predefined elementary datatype (MPI 5.0, 3.2.2), named by its representation.
///
/// The C types of this platform are associated constants ([`Datatype::INT`], [`Datatype::LONG`]
/// ...), since they are other names for some of these.
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
    /// The C `_Bool`: one byte, of which anything but zero is true.
    Bool = 0x19,
    /// An uninterpreted byte, for bitwise operations only.
    Byte = 0x1a,
}

/// What a datatype is to the operations on it: the groups of MPI 5.0, 6.9.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// "C integer".
    Integer,
    /// "Floating point".
    Floating,
    /// "Logical".
    Logical,
    /// "Byte".
    Byte,
}

impl Datatype {
    /// All datatypes, in the order of their codes.
    pub const ALL: [Self; 16] = [
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Float,
        Self::Double,
        Self::LongDouble,
        Self::Float16,
        Self::BFloat16,
        Self::Quad,
        Self::Bool,
        Self::Byte,
    ];

    /// `MPI_SIGNED_CHAR`. (`MPI_CHAR` is a character: no operation is defined on it.)
    pub const SIGNED_CHAR: Self = signed(size_of::<c_schar>());
    /// `MPI_UNSIGNED_CHAR`.
    pub const UNSIGNED_CHAR: Self = unsigned(size_of::<c_uchar>());
    /// `MPI_SHORT`.
    pub const SHORT: Self = signed(size_of::<c_short>());
    /// `MPI_UNSIGNED_SHORT`.
    pub const UNSIGNED_SHORT: Self = unsigned(size_of::<c_short>());
    /// `MPI_INT`.
    pub const INT: Self = signed(size_of::<c_int>());
    /// `MPI_UNSIGNED`.
    pub const UNSIGNED: Self = unsigned(size_of::<c_uint>());
    /// `MPI_LONG`.
    pub const LONG: Self = signed(size_of::<c_long>());
    /// `MPI_UNSIGNED_LONG`.
    pub const UNSIGNED_LONG: Self = unsigned(size_of::<c_ulong>());
    /// `MPI_LONG_LONG`.
    pub const LONG_LONG: Self = signed(size_of::<c_longlong>());
    /// `MPI_UNSIGNED_LONG_LONG`.
    pub const UNSIGNED_LONG_LONG: Self = unsigned(size_of::<c_ulonglong>());
    /// `MPI_AINT`. The standard leaves the logical operations out of this one and the next two
    /// ("multi-language types"); here they are integers like the others.
    pub const AINT: Self = signed(size_of::<isize>());
    /// `MPI_OFFSET`.
    pub const OFFSET: Self = Self::Int64;
    /// `MPI_COUNT`.
    pub const COUNT: Self = Self::Int64;

    /// Bytes from one element of an array to the next.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 | Self::Bool | Self::Byte => 1,
            Self::Int16 | Self::Uint16 | Self::Float16 | Self::BFloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float => 4,
            Self::Int64 | Self::Uint64 | Self::Double => 8,
            Self::LongDouble | Self::Quad => 16,
        }
    }

    /// The alignment, in bytes, that a C compiler gives this type. Only whoever lays out C
    /// structures needs it: the arithmetic takes bytes of any alignment.
    #[must_use]
    pub const fn align(self) -> usize {
        // On x86-64 and AArch64 every elementary type is aligned to its size.
        self.size()
    }

    /// The group of types this one belongs to, which decides what operations it has.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => Class::Integer,
            Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Uint64 => Class::Integer,
            Self::Float | Self::Double | Self::LongDouble => Class::Floating,
            Self::Float16 | Self::BFloat16 | Self::Quad => Class::Floating,
            Self::Bool => Class::Logical,
            Self::Byte => Class::Byte,
        }
    }

    /// The name in the standard. `BFloat16` has none there; it bears the one that MPICH gave it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8 => "MPI_INT8_T",
            Self::Int16 => "MPI_INT16_T",
            Self::Int32 => "MPI_INT32_T",
            Self::Int64 => "MPI_INT64_T",
            Self::Uint8 => "MPI_UINT8_T",
            Self::Uint16 => "MPI_UINT16_T",
            Self::Uint32 => "MPI_UINT32_T",
            Self::Uint64 => "MPI_UINT64_T",
            Self::Float => "MPI_FLOAT",
            Self::Double => "MPI_DOUBLE",
            Self::LongDouble => "MPI_LONG_DOUBLE",
            Self::Float16 => "MPI_REAL2",
            Self::BFloat16 => "MPIX_BFLOAT16",
            Self::Quad => "MPI_REAL16",
            Self::Bool => "MPI_C_BOOL",
            Self::Byte => "MPI_BYTE",
        }
    }
}

/// The signed integer of `size` bytes.
const fn signed(size: usize) -> Datatype {
    match size {
        1 => Datatype::Int8,
        2 => Datatype::Int16,
        4 => Datatype::Int32,
        8 => Datatype::Int64,
        _ => panic!("this platform has an integer type of an unknown size"),
    }
}

/// The unsigned integer of `size` bytes.
const fn unsigned(size: usize) -> Datatype {
    match size {
        1 => Datatype::Uint8,
        2 => Datatype::Uint16,
        4 => Datatype::Uint32,
        8 => Datatype::Uint64,
        _ => panic!("this platform has an integer type of an unknown size"),
    }
}

impl fmt::Display for Datatype {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A byte that is the code of no [`Datatype`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:#04x} is not the code of a datatype")]
pub struct UnknownDatatype(pub u8);

impl TryFrom<u8> for Datatype {
    type Error = UnknownDatatype;

    fn try_from(code: u8) -> Result<Self, UnknownDatatype> {
        Self::ALL
            .into_iter()
            .find(|&datatype| datatype as u8 == code)
            .ok_or(UnknownDatatype(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_nothing_else_is_a_datatype() {
        let known = (0..=u8::MAX).filter(|&code| {
            Datatype::try_from(code).is_ok_and(|datatype| {
                assert_eq!(datatype as u8, code);
                true
            })
        });
        assert_eq!(known.count(), Datatype::ALL.len());
        assert_eq!(
            Datatype::try_from(0),
            Err(UnknownDatatype(0)),
            "fresh memory"
        );
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
