//! Runs the programs over another MPI: a library that has the standard ABI (MPI 5.0, chapter 20),
//! loaded at run time.
//!
//! `sweep3d --mpi abi:/path/to/libmpi_abi.so.1` runs the same binary as `sweep3d` alone; `bcs run`
//! or another implementation's `mpiexec` starts it. Two runs therefore differ only in the MPI.
//!
//! [`Library`] holds the functions. [`World`] is `MPI_COMM_WORLD` as a program's view of an MPI, and
//! [`ChosenWorld`] is that or ours.

mod chosen;
mod library;
mod world;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

pub use chosen::{ChosenError, ChosenRequest, ChosenWorld};
pub use library::{AbiError, Library};
pub use world::{AbiRequest, World};

/// The MPI that a program uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MpiChoice {
    /// Ours.
    Bcs,
    /// The library at this path.
    Abi(PathBuf),
}

impl FromStr for MpiChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "bcs" => Ok(Self::Bcs),
            Some(("abi", path)) if !path.is_empty() => Ok(Self::Abi(path.into())),
            _ => Err("give bcs, or abi: and the path of a libmpi_abi.so.1".to_owned()),
        }
    }
}

impl MpiChoice {
    /// Finds the value of `--mpi` among the arguments of a program. The program cannot report an
    /// error before it knows its MPI. If the value is wrong, this returns our MPI, over which the
    /// program's own parser reports the error.
    fn among(arguments: &[OsString]) -> Self {
        let mut words = arguments.iter().filter_map(|word| word.to_str());
        let mut said = None;
        while let Some(word) = words.next() {
            said = match word.strip_prefix("--mpi") {
                Some("") => words.next(),
                Some(value) => value.strip_prefix('='),
                None => said,
            };
        }
        said.and_then(|text| text.parse().ok()).unwrap_or(Self::Bcs)
    }
}

/// Runs a program over the MPI that its option `--mpi` names, from MPI_Init to MPI_Finalize.
pub fn run(
    name: &str,
    program: fn(&ChosenWorld<'_>, &[String]) -> ExitCode,
    arguments: Vec<OsString>,
) -> ExitCode {
    let path = match MpiChoice::among(&arguments) {
        MpiChoice::Bcs => {
            return crate::bcs::run(
                name,
                |world, arguments| program(&ChosenWorld::Bcs(world), arguments),
                arguments,
            );
        }
        MpiChoice::Abi(path) => path,
    };
    let failed = |what: &str, error: AbiError| {
        eprintln!("{name}: failed to {what}: {error}");
        ExitCode::from(crate::usage::FAILURE)
    };
    let world = match Library::load(&path).and_then(World::init) {
        Ok(world) => world,
        Err(error) => return failed("start MPI", error),
    };
    let lossy = |word: OsString| word.to_string_lossy().into_owned();
    let arguments: Vec<String> = arguments.into_iter().map(lossy).collect();
    let code = program(&ChosenWorld::Abi(&world), &arguments);
    // All processes exit with the same code, so no process waits for another in vain.
    match world.finalize() {
        Ok(()) => code,
        Err(error) => failed("finish MPI", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_found_as_the_programs_parser_finds_it() {
        let among = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            MpiChoice::among(&words)
        };
        let abi = MpiChoice::Abi("/a/libmpi_abi.so.1".into());
        assert_eq!(among("--deck x"), MpiChoice::Bcs);
        assert_eq!(among("--mpi bcs"), MpiChoice::Bcs);
        assert_eq!(among("--deck x --mpi abi:/a/libmpi_abi.so.1"), abi);
        assert_eq!(among("--mpi=abi:/a/libmpi_abi.so.1 --comm blocking"), abi);
        assert_eq!(among("--mpi abi: --deck x"), MpiChoice::Bcs);
        assert!("abi:".parse::<MpiChoice>().is_err() && "mpich".parse::<MpiChoice>().is_err());
    }
}
