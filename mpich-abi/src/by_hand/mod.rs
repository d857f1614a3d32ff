//! Functions that do not follow a rule, and those that the standard does not have.
//!
//! | file | has |
//! |---|---|
//! | `attributes.rs` | keys with functions, and predefined attributes |
//! | `functions_of_programs.rs` | error handlers, operations, generalized requests |
//! | `datatypes.rs` | contents of datatypes, and markers of bounds |
//! | `removed.rs` | functions that MPI 3 removed |
//! | `fortran.rs` | handles and statuses as Fortran has them |
//! | `environment.rs` | strings of MPICH's lengths, and the rest |
//! | `extensions.rs` | functions of MPICH alone |

mod attributes;
mod datatypes;
mod environment;
mod extensions;
mod fortran;
mod functions_of_programs;
mod removed;

pub use attributes::*;
pub use datatypes::*;
pub use environment::*;
pub use extensions::*;
pub use fortran::*;
pub use functions_of_programs::*;
pub use removed::*;

/// Defines functions of MPICH's ABI that return a code of MPICH.
macro_rules! by_hand {
    ($(
        $(#[$about:meta])*
        fn $name:ident ($($argument:ident : $type:ty),* $(,)?) $body:block
    )*) => {
        $(
            $(#[$about])*
            #[unsafe(export_name = concat!("mpich_", stringify!($name)))]
            #[allow(unused_unsafe, reason = "some bodies do nothing unsafe")]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
                unsafe { $body }
            }
        )*
    };
}
pub(crate) use by_hand;
