//! The machine manager: the `bcs` command.
//!
//! One binary has all roles of a job, so that there is one thing to install and no version to
//! mismatch:
//!
//! | command line | role |
//! |---|---|
//! | `bcs run ...` | launcher: places ranks, starts node managers, forwards output, ends the job; hosts the Strobe Sender unless the driver is `shared` |
//! | `bcs node-manager` | node manager (hidden; `bcs run` starts it as `/proc/self/exe`) |
//! | `bcs app NAME ...` | a rank that runs a built-in program (hidden; started by a node manager) |
//!
//! `bcs run` reads from top to bottom as [`commands`]`::run` (what was asked for), [`program`]
//! (what is to be run), [`launch`] (the processes), [`dispatcher`] (what happens meanwhile),
//! [`job_control`] (what is to be done about it), [`verdict`] and [`exit_code`] (what is said in
//! the end).

pub mod bandwidth;
pub mod builtin;
pub mod cli;
pub mod commands;
pub mod cores;
pub mod dispatcher;
pub mod exit_code;
pub mod job_control;
pub mod launch;
pub mod output;
pub mod program;
pub mod quantities;
pub mod signals;
pub mod terminal_input;
pub mod verdict;

use std::ffi::OsString;
use std::process::ExitCode;

/// The whole program.
///
/// The hidden roles are told apart before the command line is parsed: hundreds of ranks may be
/// starting, and they have no options.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|role| role.to_str()) {
        Some("node-manager") => node_manager::run(),
        Some("app") => builtin::main(arguments.split_off(2)),
        _ => commands::dispatch(arguments),
    }
}
