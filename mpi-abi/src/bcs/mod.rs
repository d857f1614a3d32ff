//! The BCS API in C (`include/bcs.h`): the twelve calls of the paper's Table 4.1.
//!
//! | file | is |
//! |---|---|
//! | `modes.rs` | the types of the header, and the modes of a call |
//! | `requests.rs` | posted operations, and their results |
//! | `messages.rs` | sends, receives and probes |
//! | `collectives.rs` | the calls of all ranks of a communicator |
//!
//! **On communicators, and not on an endpoint.** The paper builds each MPI call from one of these
//! (Table 4.2). Here both use the same methods of [`Comm`](bcs_mpi::mpi::Comm), which post on the
//! rank's [`Endpoint`](bcs_mpi::bcs::Endpoint). These methods check the arguments of a C program
//! and count for the MDS: a `bcs_send` that blocks is a row of `MPI_Send`. The endpoint trusts its
//! caller, and a rank has one endpoint. The paper does not say how a group of ranks is named;
//! `MPI_Comm` is what programs have.
//!
//! **Codes, and no handlers.** Handlers are MPI's. A call returns the class of its error.
//!
//! **Where Table 4.2 is ambiguous.** It gives `bcs_probe` a `BCS_Request` and no source or tag.
//! There is no request before anything is posted, so a probe takes the arguments of a receive. The
//! table gives `bcs_test` a request to read and not to write. So a request is passed by value, and
//! its handle is stale after completion.

mod collectives;
mod messages;
mod modes;
mod requests;

pub use collectives::*;
pub use messages::*;
pub use modes::{BCS_All, BCS_Blocking, BCS_Request, BCS_Status, BCS_Vectorial};
pub use requests::*;

/// Defines functions of the header from their results.
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

/// Checks that the header and the library agree.
mod prototypes {
    use super::*;
    use crate::c::*;
    use std::ffi::{c_int, c_void};

    include!(concat!(env!("OUT_DIR"), "/bcs_prototypes.rs"));
}
