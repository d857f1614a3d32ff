//! Parses the output of SAGE.

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;

/// The longest run takes a minute or so on two cores.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs of one problem, which must all reach the same state to the bit, in any layout.
#[derive(Debug, Default)]
pub struct SageReference {
    /// The digest of the first run.
    digest: Mutex<Option<String>>,
}

impl SageReference {
    /// Runs SAGE once, and returns its time in seconds, without the start of the job.
    ///
    /// # Errors
    ///
    /// The run failed, or its state differs from the first run's.
    pub fn solve(&self, command: &mut Command) -> Result<f64> {
        self.judge(&process::run(command, LIMIT)?.succeeded()?.stdout)
    }

    /// Judges a finished run by its output, and returns the same time.
    ///
    /// # Errors
    ///
    /// The output has no state, or another one than the first run's.
    pub fn judge(&self, said: &str) -> Result<f64> {
        let (digest, seconds) = answer(said)?;
        let mut first = self.digest.lock().unwrap_or_else(PoisonError::into_inner);
        let first = first.get_or_insert_with(|| digest.to_owned());
        ensure!(
            digest == first,
            "SAGE found the state {digest}, and {first} in the first run"
        );
        Ok(seconds)
    }
}

/// Returns the digest of the final state, and the seconds of the cycles.
fn answer(said: &str) -> Result<(&str, f64)> {
    let behind = |head: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(head));
        line.and_then(|rest| rest.split_whitespace().next())
    };
    let digest = behind("digest ").context("SAGE did not say the digest of its state")?;
    let seconds = behind("elapsed time ").and_then(|word| word.parse().ok());
    Ok((
        digest,
        seconds.context("SAGE did not say how long it took")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_and_time_are_read() {
        let said = "60 cycles\ndigest 00ff\nelapsed time 1.763 s, grind time 771.1 ns per cell and cycle\n";
        assert_eq!(answer(said).unwrap(), ("00ff", 1.763));
        assert!(answer("digest 00ff\n").is_err() && answer("elapsed time 1 s\n").is_err());
    }

    #[test]
    fn another_state_is_an_error() {
        let gas = SageReference::default();
        let run = |digest: &str| {
            let said = format!("digest {digest}\nelapsed time 2.5 s");
            gas.solve(Command::new("echo").arg(said))
        };
        assert_eq!(run("a").unwrap(), 2.5);
        assert_eq!(run("a").unwrap(), 2.5);
        let error = run("b").unwrap_err().to_string();
        assert_eq!(error, "SAGE found the state b, and a in the first run");
    }
}
