//! `bcs exit-codes`.

use std::process::ExitCode;

pub(super) fn run() -> ExitCode {
    crate::standard_output::print(crate::exit_code::TABLE);
    ExitCode::SUCCESS
}
