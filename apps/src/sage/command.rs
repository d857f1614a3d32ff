//! The command line of SAGE.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::Parser;

use super::deck::BUILT_IN;
use super::plot::plot;
use super::run::failed_on_0;
use super::{Deck, SageArguments, SageError, SageOutcome, run, vtu};
use crate::MessagePassing;
use crate::abi::MpiChoice;
use crate::shared_text::deck_text;
use crate::usage::{FAILURE, complain, parse, refuse};

/// The name in messages.
const PROGRAM: &str = "sage";

/// Solve problems of gas dynamics on an adaptive mesh: an application like that of the paper's
/// section 6.2.
#[derive(Debug, Parser)]
#[command(name = PROGRAM)]
struct SageOptions {
    /// Input deck, a file in TOML, or the name of one that comes with the program: timing_h,
    /// timing_c, sod, sedov, triple_point
    #[arg(long, value_name = "FILE|NAME", default_value = "timing_h")]
    deck: String,

    /// Multiply the deck's cells of level 0 in each direction by this
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    scale: u32,

    /// Levels above level 0, instead of the deck's
    #[arg(long)]
    levels: Option<u8>,

    /// Cycles after which the run ends, instead of the deck's
    #[arg(long)]
    cycles: Option<u64>,

    /// Write a checkpoint at the end
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// Write it also after every N cycles
    #[arg(long, value_name = "N", requires = "checkpoint", value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: Option<u64>,

    /// Go on from a checkpoint of the same deck, on any number of ranks
    #[arg(long, value_name = "FILE")]
    restart: Option<PathBuf>,

    /// Write the cells at the end, as ParaView opens them
    #[arg(long, value_name = "FILE.vtu")]
    dump: Option<PathBuf>,

    /// Draw the density at the end, with its cells
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Which MPI: ours, or a library that has the ABI of MPI 5.0, in a job of its own launcher
    #[arg(long, value_name = "bcs|abi:PATH", default_value = "bcs")]
    mpi: MpiChoice,
}

/// Runs SAGE as a program whose arguments, without its name, are `arguments`.
///
/// Rank 0 prints the report to standard output, or one line of complaint to standard error. All
/// processes exit alike: 0, 2 if the arguments or the deck are wrong, 1 if the run failed.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    let options: SageOptions = match parse(mpi, PROGRAM, arguments) {
        Ok(options) => options,
        Err(code) => return code,
    };
    let built_in = BUILT_IN.iter().find(|(name, _)| *name == options.deck);
    let text = match built_in {
        Some((_, text)) => (*text).to_owned(),
        None => match deck_text(mpi, PROGRAM, options.deck.as_ref()) {
            Ok(text) => text,
            Err(code) => return code,
        },
    };
    let deck = text.parse::<Deck>().map(|deck| {
        let mut deck = deck.scaled(options.scale);
        deck.mesh.levels = options.levels.unwrap_or(deck.mesh.levels);
        deck.cycles = options.cycles.unwrap_or(deck.cycles);
        deck
    });
    let files = [options.dump, options.plot];
    let title = deck
        .as_ref()
        .map_or(String::new(), |deck| deck.title.clone());
    let every = options.checkpoint_every.unwrap_or(u64::MAX);
    let outcome = deck.map_err(SageError::Deck).and_then(|deck| {
        let arguments = SageArguments {
            deck,
            gather: files.iter().any(Option::is_some),
            restart: options.restart,
            checkpoint: options.checkpoint.map(|path| (path, every)),
        };
        run(mpi, &arguments, &mut io::stdout())
    });
    let error = match outcome {
        Ok(outcome) => return write(mpi, &files, &title, &outcome),
        Err(error) => error,
    };
    match error {
        SageError::Deck(_) | SageError::Unfilled { .. } => {
            refuse(mpi, PROGRAM, format_args!("deck {}: {error}", options.deck))
        }
        SageError::Restart(_) => refuse(mpi, PROGRAM, format_args!("--restart {error}")),
        _ => {
            complain(mpi, PROGRAM, &error);
            ExitCode::from(FAILURE)
        }
    }
}

/// Writes the cells, and the picture of them, on rank 0. All ranks get the exit code.
fn write<M: MessagePassing>(
    mpi: &M,
    [dump, picture]: &[Option<PathBuf>; 2],
    title: &str,
    outcome: &SageOutcome,
) -> ExitCode {
    let dumped = of_rank_0(mpi, dump, |path| {
        vtu::write(path, &outcome.mesh, outcome.time)
    });
    let drawn = of_rank_0(mpi, picture, |path| {
        let title = format!("{title}: density at {:.6}", outcome.time);
        fs::write(path, plot(&outcome.mesh, &title)?)
    });
    ExitCode::from(if dumped && drawn { 0 } else { FAILURE })
}

/// Tells all ranks whether rank 0 has written a file, if there is one to write.
fn of_rank_0<M: MessagePassing>(
    mpi: &M,
    path: &Option<PathBuf>,
    write: impl FnOnce(&Path) -> io::Result<()>,
) -> bool {
    let Some(path) = path else {
        return true;
    };
    let written = match mpi.rank() {
        0 => write(path),
        _ => Ok(()),
    };
    let failed = failed_on_0(mpi, written.is_err());
    if let Err(error) = written {
        let path = path.display();
        complain(
            mpi,
            PROGRAM,
            format_args!("failed to write {path}: {error}"),
        );
    }
    !failed.unwrap_or(true)
}
