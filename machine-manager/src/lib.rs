//! The machine manager: the `bcs` command.
//!
//! One binary has all roles of a job, so that there is one thing to install and no version to
//! mismatch:
//!
//! | command line | role |
//! |---|---|
//! | `bcs run ...` | launcher: places ranks, starts node managers, forwards output, ends the job |
//! | `bcsrun`, `mpiexec`, `mpirun` | the same, by the name under which the binary is called |
//! | `bcs node-manager` | node manager (hidden; `bcs run` starts it as `/proc/self/exe`) |
//! | `bcs app NAME ...` | a rank that runs a built-in program (hidden; started by a node manager) |
//!
//! `bcs run` reads from top to bottom as [`commands`]`::run` (what was asked for), [`applications`] and
//! [`program`] (what is to be run), [`placing`] (where), [`launch`] (the processes), [`dispatcher`] (what happens meanwhile),
//! [`job_control`] (what is to be done about it), [`verdict`], [`exit_code`], [`at_finalize`] and [`source_lines`] (what is said in
//! the end, and of which lines). How others see and end a running job is in [`live`].

pub mod applications;
pub mod at_finalize;
pub mod bandwidth;
pub mod bench;
pub mod builtin;
pub mod cli;
pub mod commands;
pub mod configuration;
pub mod cores;
pub mod dispatcher;
pub mod doctor;
pub mod exit_code;
pub mod hosts;
pub mod job_control;
pub mod launch;
pub mod live;
pub mod lookout;
pub mod output;
pub mod placing;
pub mod program;
pub mod quantities;
pub mod run_header;
pub mod shared_input;
pub mod signals;
pub mod source_lines;
mod strays;
pub mod terminal_input;
pub mod tune;
pub mod verdict;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// Names under which the binary may be called, and is `bcs run` then.
const NAMES_OF_RUN: [&str; 3] = ["bcsrun", "mpiexec", "mpirun"];

fn means_run(name: &OsStr) -> bool {
    let name = Path::new(name).file_name();
    NAMES_OF_RUN.iter().any(|run| name == Some(run.as_ref()))
}

/// The whole program.
///
/// The hidden roles are told apart before the command line is parsed: hundreds of ranks may be
/// starting, and they have no options.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.first().is_some_and(|name| means_run(name)) {
        arguments.splice(..1, ["bcs".into(), "run".into()]);
        return commands::dispatch(arguments);
    }
    match arguments.get(1).and_then(|role| role.to_str()) {
        Some("node-manager") => node_manager::run(),
        Some(hosts::ROLE) => node_manager::run_far(),
        Some("app") => builtin::main(arguments.split_off(2)),
        _ => commands::dispatch(arguments),
    }
}
