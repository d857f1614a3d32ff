//! Rust types that are MPI datatypes.
#![expect(unsafe_code, reason = "says which types are plain bytes")]

use crate::mpi::Buffer;
use bcs_core::datatype::Datatype;

/// A type whose values are those of an MPI datatype.
///
/// # Safety
/// Every pattern of bits is a value, there is no padding, and the size is that of the datatype:
/// messages come from other processes, which may send anything.
pub unsafe trait Equivalence: Copy + Send + Sync + 'static {
    /// The datatype.
    const DATATYPE: Datatype;
}

macro_rules! equivalent {
    ($($rust:ty => $datatype:expr),* $(,)?) => {
        $(
            // SAFETY: a primitive number of this representation; the size is asserted below.
            unsafe impl Equivalence for $rust {
                const DATATYPE: Datatype = $datatype;
            }

            const _: () = assert!(size_of::<$rust>() == <$rust>::DATATYPE.size());
        )*
    };
}

equivalent! {
    i8 => Datatype::Int8,
    i16 => Datatype::Int16,
    i32 => Datatype::Int32,
    i64 => Datatype::Int64,
    isize => Datatype::AINT,
    u8 => Datatype::Uint8,
    u16 => Datatype::Uint16,
    u32 => Datatype::Uint32,
    u64 => Datatype::Uint64,
    usize => Datatype::Uint64,
    f32 => Datatype::Float,
    f64 => Datatype::Double,
}

/// A slice that is only read.
pub(crate) fn read<T: Equivalence>(data: &[T]) -> Buffer {
    Buffer::read_only(data.as_ptr(), data.len(), T::DATATYPE)
}

/// A slice that may be written.
pub(crate) fn write<T: Equivalence>(data: &mut [T]) -> Buffer {
    Buffer::new(data.as_mut_ptr(), data.len(), T::DATATYPE)
}
