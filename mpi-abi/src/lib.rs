//! `libmpi_abi.so.1`: the MPI 5.0 standard ABI in C (chapter 20) over [`bcs_mpi`].
//!
//! | module | is |
//! |---|---|
//! | [`c`] | the types of the ABI, and its constants, made of `standard/constants.txt` |
//! | [`answer`] | how a call answers: error codes, error handlers, panics |
//! | [`caller`] | where in the program a call is |
//! | [`table`], [`objects`] | what handles stand for |
//! | [`files`] | the error handler of `MPI_FILE_NULL`, which functions of files ask |
//! | [`general`] | requests whose operation the program does itself |
//! | [`combining`] | functions of the program's that combine elements |
//! | [`keyvals`] | attribute keys, whose functions are the program's |
//! | [`state`] | whether this process has called `MPI_Init` |
//! | [`tool`] | the variables that tools look at (`MPI_T_...`) |
//! | [`calls`] | the functions, by chapter |
//! | [`bcs`] | the BCS API of the paper, for C: twelve functions beside the standard's |
//! | [`rest`] | those that are not there yet; checks of the others against `standard/functions.txt` |
//!
//! **Handles** are a generation, a kind and an index, and never an address: whoever gives a stale handle, or one of
//! another kind, or a random number, gets the error class of that kind.
//!
//! **Both names.** Each function is `PMPI_...`, and also the weak `MPI_...`: a tool that wraps `MPI_Send` is what
//! programs call, and calls `PMPI_Send` itself. Both leave where they were called from ([`caller`]), and jump to the
//! function in Rust, `entry_PMPI_...`, which nobody outside sees.
//!
//! **What is generated.** `standard/` has the standard's list of functions and constants. `build.rs` makes of it the
//! names, the constants, a check that each function has the type that the standard says, and an answer,
//! `MPI_ERR_UNSUPPORTED_OPERATION`, of each that nobody has written. What somebody has written is in `calls`. The BCS API's
//! header is `include/bcs.h`, and checked likewise.
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
pub mod files;
pub mod generalized_request;
pub mod instances;
pub mod keyvals;
pub mod objects;
pub mod state;
pub mod table;
pub mod tool;
pub mod unsupported;

#[global_allocator]
static HEAP: slot_heap::SlotHeap = slot_heap::SlotHeap;

std::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/names.s")));
