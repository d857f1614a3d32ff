//! What SAGE prints, read back.

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;

/// The longest run takes a minute or so on two cores.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs of one problem, which all have to find the same state to the bit, on whatever layout.
#[derive(Debug, Default)]
pub struct SageReference {
    /// Of the first run.
    digest: Mutex<Option<String>>,
}

impl SageReference {
    /// Runs SAGE once, and gives its time in seconds, the start of the job excluded.
    ///
    /// # Errors
    ///
    /// It failed, or found something else than the first run.
    pub fn solve(&self, command: &mut Command) -> Result<f64> {
        self.judge(&process::run(command, LIMIT)?.succeeded()?.stdout)
    }

    /// The same of a run that has ended, by what it said.
    ///
    /// # Errors
    ///
    /// It said no state, or another one than the first run.
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

/// The digest of the state at the end, and the seconds to it.
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
