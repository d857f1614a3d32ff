//! The command line of SWEEP3D.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use super::{Arguments, Communication, Deck, Error, run};
use crate::MessagePassing;
use crate::abi::Mpi;
use crate::usage::{FAILURE, USAGE, complain, parse};

/// The name in messages.
const PROGRAM: &str = "sweep3d";

/// Longest deck, in bytes. One has five lines of numbers and perhaps remarks after them.
const LONGEST_DECK: u64 = 64 * 1024;

/// Solve a neutron transport problem by sweeps: the benchmark of the paper's section 6.3.
#[derive(Debug, Parser)]
#[command(name = PROGRAM)]
struct Options {
    /// Input deck of five lines in the original format; without it, the published problem of
    /// 50 x 50 x 50 cells on a process grid fitted to the job
    #[arg(long, value_name = "FILE")]
    deck: Option<PathBuf>,

    /// How neighbours exchange messages
    #[arg(long, value_enum, default_value_t)]
    comm: Communication,

    /// Which MPI: ours, or a library that has the ABI of MPI 5.0, in a job of its own launcher
    #[arg(long, value_name = "bcs|abi:PATH", default_value = "bcs")]
    mpi: Mpi,
}

/// Runs SWEEP3D as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints the report to standard output, or one line of complaint to standard error. All
/// processes exit alike: 0, 2 if the arguments or the deck are wrong, 1 if the run failed.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    let options: Options = match parse(mpi, PROGRAM, arguments) {
        Ok(options) => options,
        Err(code) => return code,
    };
    // Whoever called this has chosen by the same option (`abi::run`).
    let Options {
        deck: path,
        comm,
        mpi: _,
    } = options;
    let text = match &path {
        None => None,
        Some(path) => match shared_text(mpi, path) {
            Ok(Ok(text)) => Some(text),
            Ok(Err(complaint)) => {
                complain(mpi, PROGRAM, complaint);
                return ExitCode::from(USAGE);
            }
            Err(error) => {
                complain(
                    mpi,
                    PROGRAM,
                    format_args!("failed to pass the deck on: {error}"),
                );
                return ExitCode::from(FAILURE);
            }
        },
    };
    let deck = match text {
        None => Ok(Deck::published_50_cubed(mpi.size())),
        Some(text) => text.parse(),
    };
    let outcome = deck
        .map_err(Error::Deck)
        .and_then(|deck| run(mpi, &Arguments { deck, comm }, &mut io::stdout()));
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    match (&error, &path) {
        (Error::Deck(error), Some(path)) => {
            complain(mpi, PROGRAM, format_args!("{}: {error}", path.display()));
        }
        (Error::Deck(error), None) => {
            complain(mpi, PROGRAM, format_args!("the built-in deck: {error}"));
        }
        _ => complain(mpi, PROGRAM, &error),
    }
    ExitCode::from(if matches!(error, Error::Deck(_)) {
        USAGE
    } else {
        FAILURE
    })
}

/// The text of a file as rank 0 sees it, on all processes: the file need not be on every node, and
/// all processes come to the same verdict about it. The inner error is for rank 0 to print.
fn shared_text<M: MessagePassing>(
    mpi: &M,
    path: &Path,
) -> Result<Result<String, String>, M::Error> {
    let text = if mpi.rank() == 0 {
        read(path)
    } else {
        Ok(String::new())
    };
    // Minus one stands for a file that cannot be used.
    let mut length = [text.as_ref().map_or(-1.0, |text| f64::from(size(text)))];
    mpi.bcast(&mut length, 0)?;
    if length[0] < 0.0 {
        return Ok(Err(text
            .err()
            .unwrap_or_else(|| "rank 0 cannot read the deck".to_owned())));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a length from rank 0, at most a deck's"
    )]
    #[expect(clippy::cast_sign_loss, reason = "not negative, as just checked")]
    let mut bytes = vec![0.0; length[0] as usize];
    if let Ok(text) = &text {
        for (element, byte) in bytes.iter_mut().zip(text.bytes()) {
            *element = f64::from(byte);
        }
    }
    mpi.bcast(&mut bytes, 0)?;
    #[expect(clippy::cast_possible_truncation, reason = "bytes as elements")]
    #[expect(clippy::cast_sign_loss, reason = "bytes as elements")]
    let bytes: Vec<u8> = bytes.into_iter().map(|element| element as u8).collect();
    Ok(Ok(String::from_utf8_lossy(&bytes).into_owned()))
}

fn size(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

/// Reads a deck, or says what is wrong with the file.
fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LONGEST_DECK + 1).read_to_string(&mut text))
        .map_err(|error| {
            format!(
                "failed to read the deck {}: {error}; give a deck's path",
                path.display()
            )
        })?;
    if text.len() as u64 > LONGEST_DECK {
        return Err(format!(
            "{} is longer than {LONGEST_DECK} bytes: a deck is five lines of numbers",
            path.display()
        ));
    }
    Ok(text)
}
