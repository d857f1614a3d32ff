//! The datatypes of C, C++ and Fortran on this platform (MPI 5.0, 3.2.2 and annex A.1): other names
//! for some representations.
//!
//! Fortran's default kinds are those of gfortran and of every other compiler for this platform
//! without options that change them: `INTEGER`, `REAL` and `LOGICAL` of 4 bytes.

use super::Datatype;
use crate::coded::coded;
use std::ffi::{
    c_int, c_long, c_longlong, c_schar, c_short, c_uchar, c_uint, c_ulong, c_ulonglong,
};

impl Datatype {
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
    /// `MPI_AINT`. The standard does not define logical operations on this one and the next two
    /// ("multi-language types"); here they are integers like the others.
    pub const AINT: Self = signed(size_of::<isize>());
    /// `MPI_OFFSET`.
    pub const OFFSET: Self = Self::Int64;
    /// `MPI_COUNT`.
    pub const COUNT: Self = Self::Int64;
    /// `MPI_C_FLOAT_COMPLEX`. Also `MPI_C_COMPLEX`.
    pub const C_FLOAT_COMPLEX: Self = Self::FloatComplex;
    /// `MPI_C_DOUBLE_COMPLEX`.
    pub const C_DOUBLE_COMPLEX: Self = Self::DoubleComplex;
    /// `MPI_C_LONG_DOUBLE_COMPLEX`.
    pub const C_LONG_DOUBLE_COMPLEX: Self = Self::LongDoubleComplex;
    /// `MPI_CXX_BOOL`.
    pub const CXX_BOOL: Self = Self::Bool;
    /// `MPI_CXX_FLOAT_COMPLEX`.
    pub const CXX_FLOAT_COMPLEX: Self = Self::FloatComplex;
    /// `MPI_CXX_DOUBLE_COMPLEX`.
    pub const CXX_DOUBLE_COMPLEX: Self = Self::DoubleComplex;
    /// `MPI_CXX_LONG_DOUBLE_COMPLEX`.
    pub const CXX_LONG_DOUBLE_COMPLEX: Self = Self::LongDoubleComplex;
    /// `MPI_FLOAT_INT`.
    pub const FLOAT_INT: Self = Self::FloatInt;
    /// `MPI_DOUBLE_INT`.
    pub const DOUBLE_INT: Self = Self::DoubleInt;
    /// `MPI_LONG_INT`.
    pub const LONG_INT: Self = match size_of::<c_long>() {
        8 => Self::Int64Int,
        _ => Self::Int32Int,
    };
    /// `MPI_2INT`.
    pub const TWO_INT: Self = Self::Int32Int;
    /// `MPI_SHORT_INT`.
    pub const SHORT_INT: Self = Self::Int16Int;
    /// `MPI_LONG_DOUBLE_INT`.
    pub const LONG_DOUBLE_INT: Self = Self::LongDoubleInt;

    /// `MPI_INTEGER`.
    pub const INTEGER: Self = Self::Int32;
    /// `MPI_INTEGER1`.
    pub const INTEGER1: Self = Self::Int8;
    /// `MPI_INTEGER2`.
    pub const INTEGER2: Self = Self::Int16;
    /// `MPI_INTEGER4`.
    pub const INTEGER4: Self = Self::Int32;
    /// `MPI_INTEGER8`.
    pub const INTEGER8: Self = Self::Int64;
    /// `MPI_REAL`.
    pub const REAL: Self = Self::Float;
    /// `MPI_DOUBLE_PRECISION`.
    pub const DOUBLE_PRECISION: Self = Self::Double;
    /// `MPI_REAL2`.
    pub const REAL2: Self = Self::Float16;
    /// `MPI_REAL4`.
    pub const REAL4: Self = Self::Float;
    /// `MPI_REAL8`.
    pub const REAL8: Self = Self::Double;
    /// `MPI_REAL16`.
    pub const REAL16: Self = Self::Quad;
    /// `MPI_COMPLEX`.
    pub const COMPLEX: Self = Self::FloatComplex;
    /// `MPI_DOUBLE_COMPLEX`.
    pub const DOUBLE_COMPLEX: Self = Self::DoubleComplex;
    /// `MPI_COMPLEX4`.
    pub const COMPLEX4: Self = Self::Float16Complex;
    /// `MPI_COMPLEX8`.
    pub const COMPLEX8: Self = Self::FloatComplex;
    /// `MPI_COMPLEX16`.
    pub const COMPLEX16: Self = Self::DoubleComplex;
    /// `MPI_COMPLEX32`.
    pub const COMPLEX32: Self = Self::QuadComplex;
    /// `MPI_LOGICAL`.
    pub const LOGICAL: Self = Self::Logical32;
    /// `MPI_LOGICAL1`.
    pub const LOGICAL1: Self = Self::Bool;
    /// `MPI_LOGICAL2`.
    pub const LOGICAL2: Self = Self::Logical16;
    /// `MPI_LOGICAL4`.
    pub const LOGICAL4: Self = Self::Logical32;
    /// `MPI_LOGICAL8`.
    pub const LOGICAL8: Self = Self::Logical64;
    /// `MPI_2REAL`.
    pub const TWO_REAL: Self = Self::FloatFloat;
    /// `MPI_2DOUBLE_PRECISION`.
    pub const TWO_DOUBLE_PRECISION: Self = Self::DoubleDouble;
    /// `MPI_2INTEGER`.
    pub const TWO_INTEGER: Self = Self::Int32Int;
}

// The standard has no name for `BFloat16`; this is the name that MPICH gave it.
coded! { Datatype, "a datatype":
    Int8 "MPI_INT8_T",
    Int16 "MPI_INT16_T",
    Int32 "MPI_INT32_T",
    Int64 "MPI_INT64_T",
    Uint8 "MPI_UINT8_T",
    Uint16 "MPI_UINT16_T",
    Uint32 "MPI_UINT32_T",
    Uint64 "MPI_UINT64_T",
    Float "MPI_FLOAT",
    Double "MPI_DOUBLE",
    LongDouble "MPI_LONG_DOUBLE",
    Float16 "MPI_REAL2",
    BFloat16 "MPIX_BFLOAT16",
    Quad "MPI_REAL16",
    Bool "MPI_C_BOOL",
    Byte "MPI_BYTE",
    Logical16 "MPI_LOGICAL2",
    Logical32 "MPI_LOGICAL4",
    Logical64 "MPI_LOGICAL8",
    FloatComplex "MPI_C_FLOAT_COMPLEX",
    DoubleComplex "MPI_C_DOUBLE_COMPLEX",
    LongDoubleComplex "MPI_C_LONG_DOUBLE_COMPLEX",
    Float16Complex "MPI_COMPLEX4",
    QuadComplex "MPI_COMPLEX32",
    FloatInt "MPI_FLOAT_INT",
    DoubleInt "MPI_DOUBLE_INT",
    Int64Int "MPI_LONG_INT",
    Int32Int "MPI_2INT",
    Int16Int "MPI_SHORT_INT",
    LongDoubleInt "MPI_LONG_DOUBLE_INT",
    FloatFloat "MPI_2REAL",
    DoubleDouble "MPI_2DOUBLE_PRECISION",
}

/// Returns the signed integer of `size` bytes.
const fn signed(size: usize) -> Datatype {
    match size {
        1 => Datatype::Int8,
        2 => Datatype::Int16,
        4 => Datatype::Int32,
        8 => Datatype::Int64,
        _ => panic!("this platform has an integer type of an unknown size"),
    }
}

/// Returns the unsigned integer of `size` bytes.
const fn unsigned(size: usize) -> Datatype {
    match size {
        1 => Datatype::Uint8,
        2 => Datatype::Uint16,
        4 => Datatype::Uint32,
        8 => Datatype::Uint64,
        _ => panic!("this platform has an integer type of an unknown size"),
    }
}
