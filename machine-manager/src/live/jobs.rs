//! Finds the running jobs.

use super::client::{JobAnswer, JobConnection, JobQueryError};
use super::name::JobName;
use super::question::Question;
use std::time::{Duration, Instant};

/// The time for a job to describe itself. Its `bcs run` does nothing that takes long.
const PATIENCE: Duration = Duration::from_secs(1);

/// The list of all sockets that are open on the machine, among which we search.
const TABLE: &str = "/proc/net/unix";

/// The job in question cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum JobLookupError {
    /// The list of sockets cannot be read.
    #[error("failed to read {TABLE}, where running jobs are found: {0}")]
    Table(#[from] std::io::Error),
    /// There is no job.
    #[error("no job of this user runs here")]
    None,
    /// There is no job of this name.
    #[error("no job {called} of this user runs here; there are: {}", list(.there))]
    Unknown {
        /// The name in question.
        called: String,
        /// The jobs that exist.
        there: Vec<JobName>,
    },
    /// There are several, and none was named.
    #[error("name one of the jobs that run here: {}", list(.0))]
    Several(Vec<JobName>),
}

fn list(names: &[JobName]) -> String {
    let names: Vec<String> = names.iter().map(JobName::to_string).collect();
    names.join(", ")
}

/// Returns the sockets that this user may query; root may query all. Some may not be jobs.
fn names() -> std::io::Result<Vec<JobName>> {
    let user = rustix::process::geteuid().as_raw();
    let table = std::fs::read(TABLE)?;
    let mut names = JobName::listed(&String::from_utf8_lossy(&table));
    names.retain(|name| user == 0 || name.user == user);
    Ok(names)
}

/// Returns whether the process of this name listens there, or accepts nobody at the moment.
fn is_job(name: &JobName) -> bool {
    match JobConnection::connect(name) {
        Ok(_) | Err(JobQueryError::Silent(_)) => true,
        Err(_) => false,
    }
}

/// Finds a job by its id or the process of its `bcs run`. Without a name, finds the only job.
///
/// # Errors
/// [`JobLookupError`].
pub fn find(called: Option<&str>) -> Result<JobName, JobLookupError> {
    let mut there = names()?;
    there.retain(is_job);
    match called {
        _ if there.is_empty() => Err(JobLookupError::None),
        Some(called) => match there.iter().find(|name| name.is(called)) {
            Some(name) => Ok(name.clone()),
            None => Err(JobLookupError::Unknown {
                called: called.to_owned(),
                there,
            }),
        },
        None => match <[JobName; 1]>::try_from(there) {
            Ok([name]) => Ok(name),
            Err(there) => Err(JobLookupError::Several(there)),
        },
    }
}

/// Returns all jobs, with their descriptions. All are queried at once, so one that does not answer
/// delays no other.
///
/// # Errors
/// When the kernel does not list sockets.
pub fn all() -> std::io::Result<Vec<(JobName, Result<JobAnswer, JobQueryError>)>> {
    let call = |name: JobName| {
        let call = JobConnection::connect(&name);
        if let Ok(call) = &call {
            call.ask(Question::Job);
        }
        (name, call)
    };
    let calls: Vec<_> = names()?.into_iter().map(call).collect();
    let until = Instant::now() + PATIENCE;
    let hear = |(name, call): (JobName, Result<JobConnection, JobQueryError>)| {
        let answered = call.and_then(|call| call.hear(&name, until));
        match answered {
            Err(JobQueryError::Ended(_) | JobQueryError::Impostor(_)) => None,
            answered => Some((name, answered)),
        }
    };
    Ok(calls.into_iter().filter_map(hear).collect())
}
