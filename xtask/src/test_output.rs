//! Figures from the output of a test that is run by hand because it measures time.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;

/// The time limit, which includes the build of the tests.
const LIMIT: Duration = Duration::from_secs(1_800);

/// The output of a test.
#[derive(Debug)]
pub struct TestOutput(String);

impl TestOutput {
    /// Runs the test.
    ///
    /// # Errors
    ///
    /// The test failed.
    pub fn run(test: &mut Command) -> Result<Self> {
        Ok(Self(process::run(test, LIMIT)?.succeeded()?.stdout))
    }

    /// Returns the number after a text, which may follow the name of the test.
    ///
    /// # Errors
    ///
    /// There is no such number.
    pub fn figure(&self, text: &str) -> Result<f64> {
        let said = &self.0;
        let rest = said.split_once(text);
        let number = rest.and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        number.with_context(|| format!("no number after `{text}` in `{said}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_behind_the_name_of_their_test() {
        let said = "running 1 test\ntest it ... a send: 75.2 ns\na receive: 74.8 ns\nok\n";
        let said = TestOutput(said.to_owned());
        assert_eq!(said.figure("a send:").unwrap(), 75.2);
        assert!(said.figure("a slice:").is_err());
    }
}
