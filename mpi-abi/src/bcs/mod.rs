//! The BCS API in C (`include/bcs.h`): the twelve calls of the paper's Table 4.1.
//!
//! | file | is |
//! |---|---|
//! | `modes.rs` | the types of the header, and what a call is told to do |
//! | `requests.rs` | what was posted, and what it came to |
//! | `messages.rs` | sends, receives and probes |
//! | `collectives.rs` | the calls of all ranks of a communicator |
//!
//! **On communicators, and not on an endpoint.** The paper makes each MPI call of one of these (Table 4.2), so here both
//! stand on the same methods of [`Comm`](bcs_mpi::mpi::Comm), which post on the rank's
//! [`Endpoint`](bcs_mpi::bcs::Endpoint). What a C program gives is checked there, and what the MDS counts is counted
//! there: a `bcs_send` that blocks is a row of `MPI_Send`. The endpoint trusts its caller, and a rank has one. The
//! paper does not say how a group of ranks is named; `MPI_Comm` is what programs have.
//!
//! **Codes, and no handlers.** Handlers are MPI's. A call returns the class of its error.
//!
//! **Where Table 4.2 leaves something open.** It gives `bcs_probe` a `BCS_Request` and no source or tag. There is no
//! request before anything is posted, so a probe names what a receive would. It gives `bcs_test` a request to read and
//! not to write: so a request goes by value, and the handle of one that is spent is stale.

mod collectives;
mod messages;
mod modes;
mod requests;

pub use collectives::*;
pub use messages::*;
pub use modes::{BCS_All, BCS_Blocking, BCS_Request, BCS_Status, BCS_Vectorial};
pub use requests::*;

/// Defines functions of the header by what they come to.
macro_rules! calls {
    ($(
        fn $name:ident($($argument:ident : $type:ty),* $(,)?) $body:block
    )*) => {$(
        #[unsafe(export_name = concat!("entry_", stringify!($name)))]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            $crate::answer::returning(stringify!($name), || -> $crate::answer::Outcome { $body })
        }
    )*};
}
pub(crate) use calls;

/// The header and the library are the same.
mod prototypes {
    use super::*;
    use crate::c::*;
    use std::ffi::{c_int, c_void};

    include!(concat!(env!("OUT_DIR"), "/bcs_prototypes.rs"));
}
