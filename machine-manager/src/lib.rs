//! The machine manager: the `bcs` command.
//!
//! One binary has all roles of a job, so there is one file to install and no version to mismatch:
//!
//! | command line | role |
//! |---|---|
//! | `bcs run ...` | launcher: places ranks, starts node managers, forwards output, ends the job |
//! | `bcsrun`, `mpiexec`, `mpirun` | the same, by the name under which the binary is called |
//! | `bcs node-manager` | node manager (hidden; `bcs run` starts it as `/proc/self/exe`) |
//! | `bcs app NAME ...` | a rank that runs a built-in program (hidden; started by a node manager) |
//!
//! `bcs run` reads from top to bottom as [`commands`]`::run` (the request), [`applications`] and
//! [`program`] (what to run), [`placing`] (where), [`launch`] (the processes), [`dispatcher`] (the
//! events), [`job_control`] (the reactions), [`verdict`], [`exit_code`], [`leak_reporter`] and
//! [`mod@source_lines`] (the final report, and the lines it names). How others see and end a
//! running job is in [`live`].

/// The standard library's macro panics if standard error is full or closed, which would hide the
/// original error.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _nobody_hears = writeln!(std::io::stderr(), $($words)*);
    }};
}

/// As above.
macro_rules! eprint {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _nobody_hears = write!(std::io::stderr(), $($words)*);
    }};
}

pub mod adoption;
pub mod agent_links;
pub mod applications;
pub mod bench;
pub mod builtin;
pub mod cli;
mod closed_streams;
pub mod commands;
pub mod configuration;
pub mod cores;
pub mod deadlock_detector;
pub mod dispatcher;
pub mod doctor;
pub mod exit_code;
pub mod foreign_mpi;
pub mod hosts;
pub mod input_broadcast;
pub mod job_control;
pub mod launch;
pub mod launcher_standard_error;
pub mod leak_reporter;
pub mod live;
mod names_of_run;
pub mod output;
pub mod placing;
pub mod pmi_exchange;
pub mod program;
pub mod quantities;
pub mod run_header;
pub mod signals;
pub mod spawn_service;
pub mod standard_output;
mod strays;
pub mod terminal_input;
pub mod tune;
pub mod verdict;

use names_of_run::means_run;
use std::ffi::OsString;
use std::process::ExitCode;

/// Returns the name that the first argument gives the program, if it gives one. A package that
/// cannot contain symbolic links has scripts in their place, and a script cannot choose the name of
/// the program that it runs.
fn called_as(arguments: &[OsString]) -> Option<OsString> {
    let name = arguments.get(1)?.to_str()?.strip_prefix("--called-as=")?;
    Some(name.into())
}

/// Runs the whole program.
///
/// The hidden roles are recognised before the command line is parsed: hundreds of ranks may be
/// starting, and they have no options.
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    if arguments.get(1).is_none_or(|role| role != "app") {
        signals::fail_beyond_file_size();
    }
    if let Some(name) = called_as(&arguments) {
        arguments.remove(1);
        arguments[0] = name;
    }
    if let Some(name) = arguments.first().and_then(|name| means_run(name)) {
        arguments.splice(..1, ["bcs".into(), "run".into()]);
        return standard_output::with_output_failure(commands::dispatch(name, &arguments));
    }
    let adopts = arguments
        .last()
        .is_some_and(|last| last == node_manager::ADOPTING);
    match arguments.get(1).and_then(|role| role.to_str()) {
        Some("node-manager") => node_manager::run(adopts),
        Some(node_manager::FAR_ROLE) => {
            let parent = arguments.get(2).and_then(|parent| parent.to_str());
            let parent = parent.filter(|&parent| parent != node_manager::ADOPTING);
            node_manager::run_far(parent, adopts)
        }
        Some(adoption::JOB_ROLE) => adoption::main(&arguments[2..], commands::adopt),
        Some(adoption::NODE_ROLE) => adoption::start_node_manager(&arguments[2..]),
        Some("app") => builtin::main(arguments.split_off(2)),
        _ => standard_output::with_output_failure(commands::dispatch("bcs run", &arguments)),
    }
}
