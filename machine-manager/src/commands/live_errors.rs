//! Why a command cannot look at a running job.

use crate::exit_code;
use crate::live::client::JobQueryError;
use crate::live::jobs::JobLookupError;
use std::process::ExitCode;

/// Prints why there is no such job.
pub(super) fn no_job(error: &JobLookupError) -> ExitCode {
    eprintln!("bcs: {error}");
    ExitCode::from(match error {
        JobLookupError::Table(_) => exit_code::RUNTIME,
        JobLookupError::None | JobLookupError::Unknown { .. } | JobLookupError::Several(_) => {
            exit_code::BAD_INPUT
        }
    })
}

/// Prints why a job has not answered.
pub(super) fn no_answer(error: &JobQueryError) -> ExitCode {
    eprintln!("bcs: {error}");
    ExitCode::from(match error {
        JobQueryError::Ended(_) => exit_code::BAD_INPUT,
        _ => exit_code::RUNTIME,
    })
}
