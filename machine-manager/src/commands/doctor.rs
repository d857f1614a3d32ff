//! `bcs doctor`.

use crate::cli::DoctorArgs;
use crate::doctor::{self, Health};
use crate::standard_output::print;
use crate::{cores, exit_code};
use bcs_core::job::{NicThreading, Settings};
use std::process::ExitCode;

pub(super) fn run(arguments: &DoctorArgs) -> ExitCode {
    let settings = Settings {
        time_slice_ns: u64::try_from(arguments.time_slice.as_nanos()).unwrap_or(u64::MAX),
        ..Settings::default()
    };
    let bad_input = |error: &dyn std::error::Error| {
        eprintln!("bcs: {error}");
        ExitCode::from(exit_code::BAD_INPUT)
    };
    if let Err(error) = settings.check() {
        return bad_input(&error);
    }
    let cores = match cores::of_job(arguments.nics.nic_cores.as_ref()) {
        Ok(cores) => cores,
        Err(error) => return bad_input(&error),
    };
    let driver = arguments.nics.nic_threads.map(NicThreading::from);
    let findings = doctor::examine(arguments.time_slice, driver, &cores);
    let mut bad = 0;
    for finding in &findings {
        print(finding);
        bad += usize::from(finding.health == Health::Bad);
    }
    if bad == 0 {
        return ExitCode::SUCCESS;
    }
    eprintln!("bcs: {bad} of {} things will not work here", findings.len());
    ExitCode::FAILURE
}
