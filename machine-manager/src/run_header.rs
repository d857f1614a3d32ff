//! `run.json`: the description of a recorded run.

use crate::launch::{JobPlan, StartedJob};
use bcs_core::clock::now_ns;
use mds::dump::{RunDump, write_run};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The header of the dumps of a job that is recorded, until its end is known.
#[derive(Debug)]
pub struct RunHeader {
    directory: PathBuf,
    dump: RunDump,
}

impl RunHeader {
    /// Makes the header of a job that is about to be started; returns `None` if it is not recorded.
    #[must_use]
    pub fn of(job: &JobPlan) -> Option<Self> {
        let directory = job.mds.clone()?;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let since_1970 = since_1970.map_or(0, |since| since.as_nanos());
        let machine = rustix::system::uname();
        let dump = RunDump {
            command: command(job),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: machine.nodename().to_string_lossy().into_owned(),
            began_unix_ns: u64::try_from(since_1970).unwrap_or(u64::MAX),
            began_ns: now_ns(),
            nodes: number(job.placement.nodes()),
            ranks: number(job.placement.ranks()),
            recorded: job.record.to_string(),
            ..RunDump::default()
        };
        Some(Self { directory, dump })
    }

    /// Adds what is known when the job has been started: its name, and the settings of the runtime.
    pub fn started(&mut self, launched: &StartedJob) {
        let named = |name: &dyn std::fmt::Debug| format!("{name:?}").to_lowercase();
        let settings = &launched.settings;
        launched.job.clone_into(&mut self.dump.job);
        self.dump.time_slice_ns = settings.time_slice_ns;
        self.dump.strobe = named(&settings.strobe);
        self.dump.nic_threads = named(&settings.driver);
        self.dump.intranode = named(&settings.intranode);
        self.dump.eager_limit = settings.eager_limit as u64;
        self.dump.bandwidth = settings.link_bandwidth;
        let measured = launched.bandwidth.as_ref();
        let since_1970 = measured.map(|one| one.measured.duration_since(UNIX_EPOCH));
        self.dump.bandwidth_measured_unix_s = since_1970.and_then(Result::ok).map(|s| s.as_secs());
    }

    /// Writes the header, at the end.
    ///
    /// # Errors
    /// In words, when the file system refuses; that does not change the result of the job.
    pub fn write(mut self, exit_code: u8) -> Result<(), String> {
        self.dump.ended_ns = now_ns();
        self.dump.exit_code = exit_code.into();
        let written = write_run(&self.directory, &self.dump);
        written.map(drop).map_err(|error| error.to_string())
    }
}

/// Returns the programs with their arguments, separated by colons.
#[must_use]
pub fn command(job: &JobPlan) -> Vec<String> {
    let mut command = Vec::new();
    for application in &job.applications {
        if !command.is_empty() {
            command.push(":".to_owned());
        }
        let words = application.arguments.iter();
        let words: Vec<String> = words
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        // This binary runs a built-in program, in a role that users do not know.
        let built_in = words.starts_with(&["bcs".to_owned(), "app".to_owned()]);
        command.extend(words.into_iter().skip(if built_in { 2 } else { 0 }));
    }
    command
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
