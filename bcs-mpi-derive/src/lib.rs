//! `derive(Equivalence)` for bcs-mpi, which re-exports it.
//!
//! | module | is |
//! |---|---|
//! | `structure` | structures: each field at its offset |
//! | `enumeration` | enumerations without fields: their discriminants |

mod enumeration;
mod structure;

use proc_macro2::TokenStream;
use syn::{Data, DeriveInput, Error, Result, parse_macro_input};

/// Makes a structure, or an enumeration without fields, a datatype of MPI.
///
/// Each field of a structure must be an `Equivalence`, and each parameter of a generic one must be;
/// padding is neither sent nor written. An enumeration names the integer that it is
/// (`#[repr(u8)]`). A receive checks the bytes from another rank if not all bytes are values of the
/// type, as for `bool` and enumerations. An invalid value is an error of the receive, and the
/// element gets a valid one (`false`, or the first variant).
///
/// ```
/// # fn main() -> bcs_mpi::Result<()> {
/// use bcs_mpi::Equivalence;
///
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
/// #[repr(u8)]
/// enum Phase {
///     #[default]
///     Solid,
///     Liquid = 4,
/// }
///
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Equivalence)]
/// struct Cell<T> {
///     temperature: T,
///     neighbors: [T; 2],
///     is_edge: bool,
///     phase: Phase,
/// }
///
/// let universe = bcs_mpi::Universe::init()?;
/// let world = universe.world();
/// let cell = Cell { temperature: 1.5, neighbors: [0.5; 2], is_edge: true, phase: Phase::Liquid };
/// world.send(&[cell; 3], 0, 7)?;
/// let (cells, _) = world.recv_vec::<Cell<f64>>(0, 7)?;
/// assert_eq!(cells, [cell; 3]);
///
/// // Nobody can make a third phase.
/// world.send(&[4_u8, 5], 0, 7)?;
/// let error = world.recv_vec::<Phase>(0, 7).unwrap_err();
/// assert!(error.to_string().contains("element 1 of what arrived is no value of"));
/// # universe.finalize()
/// # }
/// ```
///
/// A field of another type is an error, and so is an enumeration that does not say what it is, or
/// has fields:
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, bcs_mpi::Equivalence)]
/// struct Letter { is: char }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy, bcs_mpi::Equivalence)]
/// enum Phase { Solid, Liquid }
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy, bcs_mpi::Equivalence)]
/// #[repr(u8)]
/// enum Phase { Solid, Liquid(u8) }
/// ```
#[proc_macro_derive(Equivalence)]
pub fn equivalence(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let output = implementation(&input).unwrap_or_else(Error::into_compile_error);
    output.into()
}

fn implementation(input: &DeriveInput) -> Result<TokenStream> {
    match &input.data {
        Data::Struct(data) => structure::implementation(input, data),
        Data::Enum(data) => enumeration::implementation(input, data),
        Data::Union(_) => Err(Error::new_spanned(
            &input.ident,
            "a union is no datatype of MPI: nobody can say which of its fields is sent",
        )),
    }
}
