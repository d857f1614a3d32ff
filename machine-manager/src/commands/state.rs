//! `bcs state`: shows what all ranks of a job do now.

use super::live_errors::{no_answer, no_job};
use crate::cli::StateArgs;
use crate::live::client::ask;
use crate::live::jobs;
use crate::live::question::Question;
use crate::live::snapshot::JobSnapshot;
use crate::standard_output::print;
use source_lines::SourceLines;
use std::process::ExitCode;

/// The output is incomplete: a node has not answered.
const INCOMPLETE: u8 = 1;

pub(super) fn run(arguments: &StateArgs) -> ExitCode {
    let name = match jobs::find(arguments.job.as_deref()) {
        Ok(name) => name,
        Err(error) => return no_job(&error),
    };
    let moment = match ask(&name, Question::State) {
        Ok(answered) => JobSnapshot::of(answered, &mut SourceLines::default()),
        Err(error) => return no_answer(&error),
    };
    print(match arguments.json {
        true => format!("{:#}", moment.json()),
        false => moment.lines().join("\n"),
    });
    match moment.silent.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(INCOMPLETE),
    }
}
