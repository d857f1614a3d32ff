//! Rust types that are MPI datatypes.
#![expect(unsafe_code, reason = "says which types are plain bytes")]

use crate::mpi::{Buffer, Datatype};
use bcs_core::lockstep;
use bcs_core::reduction::Datatype as Elementary;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

/// A type whose values are those of an MPI datatype: numbers, `bool`, arrays of such types, and the
/// structures and enumerations that [`derive(Equivalence)`](derive@crate::Equivalence) or
/// [`equivalence!`](crate::equivalence) describe.
///
/// # Safety
/// The datatype is committed. Its data are in the bytes of the type, its lower bound is 0 and its
/// extent the size of the type. Messages come from other processes, which may send any bytes. While
/// the other bytes stay unchanged, the whole is a valid value for any such data, or
/// [`amend`](Self::amend) makes it one. Bytes that may be uninitialised (padding) are not among its
/// data.
///
/// ```compile_fail,E0277
/// # fn sends(world: &bcs_mpi::Communicator) -> bcs_mpi::Result<()> {
/// world.send(&["a reference means nothing to another process"], 1, 0)
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an MPI datatype",
    label = "a message consists of numbers, `bool`, arrays of these, and types that derive `Equivalence`",
    note = "for a structure or enumeration of your program, add `#[derive(Clone, Copy, bcs_mpi::Equivalence)]`",
    note = "for a `Vec<T>` or `String`, send its elements or bytes as a slice"
)]
pub unsafe trait Equivalence: Copy + Send + Sync + 'static {
    /// Returns the datatype.
    fn datatype() -> Datatype;

    /// Returns whether some data are not a valid value, as 2 is not for `bool`. Received data are
    /// checked then.
    #[must_use]
    fn is_checked() -> bool {
        false
    }

    /// Replaces invalid data by a valid value. Returns whether the data were valid.
    ///
    /// # Safety
    /// The memory is of this type and is not used otherwise. Its data are initialised; its other
    /// bytes are as in some value.
    unsafe fn amend(_at: *mut Self) -> bool {
        true
    }
}

macro_rules! equivalent {
    ($($rust:ty => $datatype:expr),* $(,)?) => {
        $(
            // SAFETY: a primitive number of this representation; the size is asserted below.
            unsafe impl Equivalence for $rust {
                fn datatype() -> Datatype {
                    Datatype::predefined($datatype)
                }
            }

            const _: () = assert!(size_of::<$rust>() == $datatype.size());
        )*
    };
}

equivalent! {
    i8 => Elementary::Int8,
    i16 => Elementary::Int16,
    i32 => Elementary::Int32,
    i64 => Elementary::Int64,
    isize => Elementary::AINT,
    u8 => Elementary::Uint8,
    u16 => Elementary::Uint16,
    u32 => Elementary::Uint32,
    u64 => Elementary::Uint64,
    usize => Elementary::Uint64,
    f32 => Elementary::Float,
    f64 => Elementary::Double,
}

// SAFETY: 0 and 1 are its values; whatever else it was is false then.
unsafe impl Equivalence for bool {
    fn datatype() -> Datatype {
        Datatype::predefined(Elementary::Bool)
    }

    fn is_checked() -> bool {
        true
    }

    unsafe fn amend(at: *mut Self) -> bool {
        // SAFETY: the caller's promise; any byte is a `u8`.
        let is_value = unsafe { at.cast::<u8>().read() } <= 1;
        if !is_value {
            // SAFETY: as above.
            unsafe { at.write(false) };
        }
        is_value
    }
}

const _: () = assert!(size_of::<bool>() == Elementary::Bool.size());

// SAFETY: elements of the same type side by side, as in Rust.
unsafe impl<T: Equivalence, const N: usize> Equivalence for [T; N] {
    /// This makes a type at each call, unlike [`equivalence!`](crate::equivalence), which makes the
    /// type of a structure once.
    fn datatype() -> Datatype {
        let count = i64::try_from(N).expect("N elements are in memory");
        committed(T::datatype().contiguous(count))
    }

    fn is_checked() -> bool {
        T::is_checked()
    }

    unsafe fn amend(at: *mut Self) -> bool {
        // SAFETY: the caller's promise, of each element.
        let amend = |nth| unsafe { T::amend(at.cast::<T>().wrapping_add(nth)) };
        (0..N).fold(true, |all, nth| all & amend(nth))
    }
}

fn committed(datatype: crate::Result<Datatype>) -> Datatype {
    let datatype = datatype.expect("a type of Rust fits an address space");
    let commit = datatype.commit();
    commit.expect("fields that the program has written down are few");
    datatype
}

/// Returns the datatype of a structure: its fields at their offsets, and its size.
#[doc(hidden)]
#[must_use]
pub fn structure<S>(fields: &[(usize, Datatype)]) -> Datatype {
    let offset = |&(offset, _): &(usize, Datatype)| i64::try_from(offset);
    let offsets: Result<Vec<i64>, _> = fields.iter().map(offset).collect();
    let offsets = offsets.expect("a type of Rust fits an address space");
    let datatypes: Vec<Datatype> = fields.iter().map(|(_, of)| of.clone()).collect();
    let data = Datatype::structure(&vec![1; fields.len()], &offsets, &datatypes);
    let size = i64::try_from(size_of::<S>()).expect("a type of Rust fits an address space");
    committed(data.and_then(|data| data.resized(0, size))).stays()
}

/// Returns the datatype of an instance of a generic type, which is made once.
#[doc(hidden)]
#[must_use]
pub fn datatype_of<S: 'static>(make: impl FnOnce() -> Datatype) -> Datatype {
    static MADE: LazyLock<Mutex<HashMap<TypeId, Datatype>>> = LazyLock::new(Mutex::default);
    let (of, made) = (TypeId::of::<S>(), |made: &Datatype| made.clone());
    if let Some(datatype) = lockstep::lock(&MADE).get(&of).map(made) {
        return datatype;
    }
    // The lock is not held here, because its fields may be of generic types, too.
    let datatype = make();
    lockstep::lock(&MADE).entry(of).or_insert(datatype).clone()
}

/// Returns the datatype of a field, inferred from a function that returns the field.
#[doc(hidden)]
pub fn field<S, F: Equivalence>(_: fn(&S) -> &F) -> Datatype {
    F::datatype()
}

/// Returns whether a field is checked.
#[doc(hidden)]
#[must_use]
pub fn is_field_checked<S, F: Equivalence>(_: fn(&S) -> &F) -> bool {
    F::is_checked()
}

/// Makes a field a valid value.
///
/// # Safety
/// As for [`Equivalence::amend`], of a structure with this field there.
#[doc(hidden)]
pub unsafe fn amend_field<S, F: Equivalence>(at: *mut S, offset: usize, _: fn(&S) -> &F) -> bool {
    // SAFETY: the caller's promise.
    unsafe { F::amend(at.wrapping_byte_add(offset).cast::<F>()) }
}

/// Returns the datatype of an enumeration, which is that of its discriminant. No predefined
/// operation is defined on it.
#[doc(hidden)]
#[must_use]
pub fn enumeration<E, D: Equivalence>() -> Datatype {
    structure::<E>(&[(0, D::datatype())])
}

/// Makes a structure an [`Equivalence`], as [`derive(Equivalence)`](derive@crate::Equivalence) does
/// at the structure's definition. All its fields are named, and each must be of an `Equivalence`
/// type. Padding is neither sent nor written.
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Particle {
///     position: [f64; 3],
///     charge: i32, // four bytes of padding follow
/// }
/// bcs_mpi::equivalence!(Particle { position, charge });
///
/// let universe = bcs_mpi::Universe::init()?;
/// let world = universe.world();
/// let electron = Particle { position: [0.0, 1.0, 2.0], charge: -1 };
/// world.send(&[electron; 2], 0, 0)?;
/// let mut into = [Particle { position: [0.0; 3], charge: 0 }; 2];
/// let status = world.recv(&mut into, bcs_mpi::Source::Any, bcs_mpi::Tag::Any)?;
/// assert_eq!((into, status.bytes), ([electron; 2], 2 * 28));
/// # Ok(())
/// # }
/// ```
///
/// A missing field is an error, and so is a field whose type is not an `Equivalence`:
///
/// ```compile_fail,E0027
/// #[derive(Clone, Copy)]
/// struct Pair { one: i32, other: i32 }
/// bcs_mpi::equivalence!(Pair { one });
/// ```
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Letter { is: char }
/// bcs_mpi::equivalence!(Letter { is });
/// ```
#[macro_export]
macro_rules! equivalence {
    ($structure:ident { $($field:tt),+ $(,)? }) => {
        const _: () = {
            // All fields are named.
            const fn _all($structure { $($field: _),+ }: &$structure) {}

            // SAFETY: each field is an `Equivalence` and is where the compiler has placed it; other
            // bytes are not data.
            unsafe impl $crate::Equivalence for $structure {
                fn datatype() -> $crate::mpi::Datatype {
                    static DATATYPE: ::std::sync::OnceLock<$crate::mpi::Datatype> =
                        ::std::sync::OnceLock::new();
                    let make = || {
                        $crate::structure::<$structure>(&[$((
                            ::std::mem::offset_of!($structure, $field),
                            $crate::field(|of: &$structure| &of.$field),
                        )),+])
                    };
                    DATATYPE.get_or_init(make).clone()
                }

                fn is_checked() -> bool {
                    false $(|| $crate::is_field_checked(|of: &$structure| &of.$field))+
                }

                unsafe fn amend(at: *mut Self) -> bool {
                    true $(& {
                        let offset = ::std::mem::offset_of!($structure, $field);
                        // SAFETY: the caller's promise, of each field.
                        unsafe { $crate::amend_field(at, offset, |of: &$structure| &of.$field) }
                    })+
                }
            }
        };
    };
}

/// Returns a buffer of a slice that is only read.
///
/// # Safety
/// The slice stays, and is not written, while an operation has it.
pub(crate) unsafe fn read<T: Equivalence>(data: &[T]) -> Buffer {
    // SAFETY: the caller's promise; values are initialised where they have data.
    unsafe { Buffer::read_only(data.as_ptr(), data.len(), T::datatype()) }
}

/// Returns a buffer of a slice that may be written. Written data are
/// [settled](super::unchecked_memory::settled) before they are read.
///
/// # Safety
/// The slice stays, and is not used otherwise, while an operation has it.
pub(crate) unsafe fn write<T: Equivalence>(data: &mut [T]) -> Buffer {
    // SAFETY: the caller's promise.
    unsafe { Buffer::new(data.as_mut_ptr(), data.len(), T::datatype()) }
}
