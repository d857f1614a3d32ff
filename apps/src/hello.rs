//! `hello`: the smallest program, to see that a job starts everywhere.

use std::process::ExitCode;

use clap::Parser;

use crate::MessagePassing;
use crate::usage::{FAILURE, complain, parse};

/// Every process says hello.
#[derive(Debug, Parser)]
#[command(name = "hello")]
struct HelloOptions {
    /// Also say on which host and in which process
    #[arg(long = "where")]
    location: bool,
}

/// Runs `hello` as a program whose arguments, without its name, are `arguments`.
///
/// Every process prints one line, in no particular order, and leaves when all have printed.
pub fn command<M: MessagePassing>(mpi: &M, arguments: &[String]) -> ExitCode {
    let options: HelloOptions = match parse(mpi, "hello", arguments) {
        Ok(options) => options,
        Err(code) => return code,
    };
    println!("{}", greeting(mpi.rank(), mpi.size(), options.location));
    match mpi.barrier() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(
                mpi,
                "hello",
                format_args!("failed to wait for the others: {error}"),
            );
            ExitCode::from(FAILURE)
        }
    }
}

fn greeting(rank: usize, size: usize, location: bool) -> String {
    let mut line = format!("hello from rank {rank} of {size}");
    if location {
        let system = rustix::system::uname();
        let host = system.nodename().to_string_lossy().into_owned();
        line += &format!(" on {host}, process {}", std::process::id());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::greeting;

    #[test]
    fn the_greeting_names_the_rank_and_the_place() {
        assert_eq!(greeting(1, 4, false), "hello from rank 1 of 4");
        let with_location = greeting(1, 4, true);
        assert!(with_location.starts_with("hello from rank 1 of 4 on "));
        assert!(with_location.ends_with(&format!(", process {}", std::process::id())));
    }
}
