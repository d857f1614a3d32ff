//! The functions, by chapter of the standard.
//!
//! A function is written once for both of its forms, with the types [`N`](crate::c::narrow::N) and
//! the like where they differ:
//!
//! ```text
//! calls! {
//!     fn PMPI_Send | PMPI_Send_c(buf: *const c_void, count: N, ..., comm: MPI_Comm) {
//!         at(comm)?.run(|comm| comm.send(buffer(buf, count, datatype)?, dest, tag))
//!     }
//! }
//! ```

mod attributes;
mod buffers;
pub(crate) mod collectives;
mod communicators;
mod datatypes;
mod environment;
mod epochs;
mod error_handling;
mod fortran;
mod generalized;
mod groups;
mod infos;
mod integers;
mod memory;
mod neighborhoods;
mod one_sided;
mod operations;
mod packing;
mod partitioned;
mod point_to_point;
pub(crate) mod reducing;
mod requests;
mod sessions;
mod spawning;
mod statuses;
mod taken_requests;
mod tool;
mod tool_control;
mod tool_events;
mod tool_performance;
mod topologies;
mod windows;

pub use collectives::*;
pub use communicators::*;
pub use environment::*;
pub use epochs::*;
pub use groups::*;
pub use integers::*;
pub use neighborhoods::*;
pub use one_sided::*;
pub use operations::*;
mod type_attributes;
mod type_contents;

pub use attributes::*;
pub use buffers::*;
pub use datatypes::*;
pub use error_handling::*;
pub use fortran::*;
pub use generalized::*;
pub use infos::*;
pub use memory::*;
pub use packing::*;
pub use partitioned::*;
pub use point_to_point::*;
pub use reducing::*;
pub use requests::*;
pub use sessions::*;
pub use spawning::*;
pub use statuses::*;
pub use tool::*;
pub use tool_control::*;
pub use tool_events::*;
pub use tool_performance::*;
pub use topologies::*;
pub use type_attributes::*;
pub use type_contents::*;
pub use windows::*;

/// Defines functions of the ABI from their results.
macro_rules! calls {
    ($(
        fn $name:ident $(| $large:ident)? ($($argument:ident : $type:ty),* $(,)?) $body:block
    )*) => {
        /// With counts of C's `int`.
        #[allow(unused_imports, reason = "not every function has a count")]
        mod small {
            use super::*;
            use $crate::c::narrow::*;
            $( $crate::calls::one!(small $name $(| $large)? ($($argument: $type),*) $body); )*
        }
        /// With counts of `MPI_Count`.
        #[allow(unused_imports, reason = "not every function has a large form")]
        mod large {
            use super::*;
            use $crate::c::wide::*;
            $( $crate::calls::one!(large $name $(| $large)? ($($argument: $type),*) $body); )*
        }
        #[allow(unused_imports, reason = "some chapter has no large function")]
        pub use large::*;
        pub use small::*;
    };
}
pub(crate) use calls;

/// One form of a function.
macro_rules! one {
    (small $name:ident | $large:ident $arguments:tt $body:block) => {
        $crate::calls::define!($name $arguments $body);
    };
    (small $name:ident $arguments:tt $body:block) => {
        $crate::calls::define!($name $arguments $body);
    };
    (large $name:ident | $large:ident $arguments:tt $body:block) => {
        $crate::calls::define!($large $arguments $body);
    };
    (large $name:ident $arguments:tt $body:block) => {};
}
pub(crate) use one;

macro_rules! define {
    ($name:ident ($($argument:ident : $type:ty),*) $body:block) => {
        #[unsafe(export_name = concat!("entry_", stringify!($name)))]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
            $crate::answer::enter(stringify!($name), || -> $crate::answer::Outcome { $body })
        }
    };
}
pub(crate) use define;

/// Defines functions of the tool information interface, which call no error handler.
macro_rules! tool_calls {
    ($(
        fn $name:ident ($($argument:ident : $type:ty),* $(,)?) $body:block
    )*) => {
        $(
            #[unsafe(export_name = concat!("entry_", stringify!($name)))]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
                $crate::tool::interface::call(stringify!($name), || -> $crate::tool::ToolOutcome { $body })
            }
        )*
    };
}
pub(crate) use tool_calls;
