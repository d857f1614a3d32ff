//! Complex numbers, and values with their places, in the layout of C.
#![expect(unsafe_code, reason = "says which types are plain bytes")]

use super::equivalence::Equivalence;
use crate::mpi;
use bcs_core::reduction::Datatype;

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

// SAFETY: two numbers side by side, any bits of which are values.
unsafe impl Equivalence for Complex<f32> {
    fn datatype() -> mpi::Datatype {
        Datatype::C_FLOAT_COMPLEX.into()
    }
}

// SAFETY: as above.
unsafe impl Equivalence for Complex<f64> {
    fn datatype() -> mpi::Datatype {
        Datatype::C_DOUBLE_COMPLEX.into()
    }
}

macro_rules! located {
    ($($name:ident of $value:ty, $datatype:ident, [$($padding:ident: $before:literal)?] [$($after:ident: $rest:literal)?];)*) => {$(
        #[doc = concat!("A value and its place, for [`Op::MinLoc`](crate::Op::MinLoc) and ",
            "[`Op::MaxLoc`](crate::Op::MaxLoc). (`MPI_", stringify!($datatype), "`)")]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C)]
        pub struct $name {
            /// The value.
            pub value: $value,
            $($padding: [u8; $before],)?
            /// Its place. Equal values yield the lowest place.
            pub place: i32,
            $($after: [u8; $rest],)?
        }

        impl $name {
            /// Returns this value at this place.
            #[must_use]
            pub const fn new(value: $value, place: i32) -> Self {
                Self {
                    value,
                    $($padding: [0; $before],)?
                    place,
                    $($after: [0; $rest],)?
                }
            }
        }

        // SAFETY: numbers, and bytes that are spelled out where C has padding: any bits are values.
        // The size is asserted below.
        unsafe impl Equivalence for $name {
            fn datatype() -> mpi::Datatype {
        Datatype::$datatype.into()
    }
        }

        const _: () = assert!(size_of::<$name>() == Datatype::$datatype.size());
    )*};
}

located! {
    FloatInt of f32, FLOAT_INT, [] [];
    DoubleInt of f64, DOUBLE_INT, [] [padding: 4];
    LongInt of i64, LONG_INT, [] [padding: 4];
    TwoInt of i32, TWO_INT, [] [];
    ShortInt of i16, SHORT_INT, [padding: 2] [];
}
