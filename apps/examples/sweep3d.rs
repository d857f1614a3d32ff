//! SWEEP3D on threads of one process, to measure its kernel without a runtime:
//! `cargo run --release -p apps --example sweep3d -- RANKS [--deck FILE] [--comm nonblocking]`.

#[path = "../tests/threads/mod.rs"]
mod threads;

use std::process::ExitCode;

bcs_mpi::slot_heap!();

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(ranks) = arguments.next().and_then(|ranks| ranks.parse().ok()) else {
        eprintln!("sweep3d: the first argument is the number of ranks: give 1 or more");
        return ExitCode::from(2);
    };
    let arguments: Vec<String> = arguments.collect();
    let codes = threads::run(ranks, |rank| apps::sweep3d::command(rank, &arguments));
    // All ranks exit with the same code.
    codes.into_iter().next().unwrap_or(ExitCode::FAILURE)
}
