//! The MPI 5.0 standard ABI in C (chapter 20) over [`bcs_mpi`]: what `libmpi_abi.so.1` does.
//!
//! | module | is |
//! |---|---|
//! | [`c`] | the types of the ABI, and its constants, generated from `standard/constants.txt` |
//! | [`answer`] | the results of calls: error codes, error handlers, panics |
//! | [`caller`] | the place of a call in the program |
//! | [`python`] | the lines of Python that calls come from |
//! | [`table`], [`objects`] | the objects behind handles |
//! | [`error_function`] | functions of the program that handle errors |
//! | [`error_handlers`] | handles of error handlers |
//! | [`files`] | the error handler of `MPI_FILE_NULL`, which functions of files call |
//! | [`generalized_request`] | requests whose operation the program executes itself |
//! | [`combining`] | functions of the program that combine elements |
//! | [`keyvals`] | attribute keys with functions of the program |
//! | [`windows`] | windows, with their attributes and error handlers |
//! | [`instances`] | error codes that name an instance of an error |
//! | [`state`] | whether this process has called `MPI_Init` |
//! | [`tool`] | the variables for tools (`MPI_T_...`) |
//! | [`calls`] | the functions, by chapter |
//! | [`bcs`] | the BCS API of the paper, for C: twelve functions beside the standard's |
//! | [`unsupported`] | functions that are not implemented; checks of the others against `standard/functions.txt` |
//!
//! **Handles** are a generation, a kind and an index, and never an address. A stale handle, one of
//! another kind, or a random number returns the error class of the expected kind.
//!
//! **Both names.** Each function is `PMPI_...`, and also the weak `MPI_...`. If a tool wraps
//! `MPI_Send`, programs call the tool's function, which calls `PMPI_Send` itself. Both names store
//! their return address ([`caller`]), and jump to the function in Rust, `entry_PMPI_...`, which is
//! not visible outside. The names are in the crate `standard-abi`. The crate `mpich-abi` has the
//! names of MPICH's ABI, whose functions call the ones here.
//!
//! **What is generated.** `standard/` has the standard's list of functions and constants. From it
//! `build.rs` generates the constants, a check that each function has the standard's
//! type, and, for each function that is not implemented, one that returns
//! `MPI_ERR_UNSUPPORTED_OPERATION`. The implemented functions are in `calls`. The BCS API's header
//! is `include/bcs.h`, and is checked in the same way.
#![allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    reason = "names are the standard's"
)]
#![allow(
    unsafe_code,
    clippy::missing_safety_doc,
    clippy::not_unsafe_ptr_arg_deref,
    clippy::undocumented_unsafe_blocks,
    clippy::multiple_unsafe_ops_per_block,
    reason = "every function gets addresses from C; what the standard asks of their caller is the contract"
)]
#![allow(
    missing_docs,
    unreachable_pub,
    reason = "functions are documented in the standard"
)]

pub mod answer;
pub mod bcs;
pub mod c;
pub mod caller;
pub mod calls;
pub mod combining;
pub mod error_function;
pub mod error_handlers;
pub mod files;
pub mod generalized_request;
pub mod instances;
pub mod keyvals;
pub mod objects;
pub mod python;
pub mod state;
pub mod table;
pub mod tool;
pub mod unsupported;
pub mod windows;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;
