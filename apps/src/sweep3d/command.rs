//! The command line of SWEEP3D.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use super::{Communication, Deck, Sweep3dArguments, Sweep3dError, run};
use crate::MessagePassing;
use crate::abi::MpiChoice;
use crate::shared_text::deck_text;
use crate::usage::{FAILURE, complain, parse, refuse};

/// The name in messages.
const PROGRAM: &str = "sweep3d";

/// Solve a neutron transport problem by sweeps: the benchmark of the paper's section 6.3.
#[derive(Debug, Parser)]
#[command(name = PROGRAM)]
struct Sweep3dOptions {
    /// Input deck of five lines in the original format; without it, the published problem of
    /// 50 x 50 x 50 cells on a process grid fitted to the job
    #[arg(long, value_name = "FILE")]
    deck: Option<PathBuf>,

    /// How neighbours exchange messages
    #[arg(long, value_enum, default_value_t)]
    comm: Communication,

    /// Which MPI: ours, or a library that has the ABI of MPI 5.0, in a job of its own launcher
    #[arg(long, value_name = "bcs|abi:PATH", default_value = "bcs")]
    mpi: MpiChoice,
}

/// Runs SWEEP3D as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints the report to standard output, or one line of complaint to standard error. All
/// processes exit alike: 0, 2 if the arguments or the deck are wrong, 1 if the run failed.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    let options: Sweep3dOptions = match parse(mpi, PROGRAM, arguments) {
        Ok(options) => options,
        Err(code) => return code,
    };
    // The caller has already evaluated `mpi` (`abi::run`).
    let Sweep3dOptions {
        deck: path,
        comm,
        mpi: _,
    } = options;
    let text = match &path {
        None => None,
        Some(path) => match deck_text(mpi, PROGRAM, path) {
            Ok(text) => Some(text),
            Err(code) => return code,
        },
    };
    let deck = match text {
        None => Ok(Deck::published_50_cubed(mpi.size())),
        Some(text) => text.parse(),
    };
    let outcome = deck
        .map_err(Sweep3dError::Deck)
        .and_then(|deck| run(mpi, &Sweep3dArguments { deck, comm }, &mut io::stdout()));
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    match (&error, &path) {
        (Sweep3dError::Deck(error), Some(path)) => {
            refuse(mpi, PROGRAM, format_args!("{}: {error}", path.display()))
        }
        (Sweep3dError::Deck(error), None) => {
            refuse(mpi, PROGRAM, format_args!("the built-in deck: {error}"))
        }
        _ => {
            complain(mpi, PROGRAM, &error);
            ExitCode::from(FAILURE)
        }
    }
}
