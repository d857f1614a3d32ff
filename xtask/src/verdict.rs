//! The result of a check, and its output.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

/// The judgement of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The bar was held: exit code 0.
    Held,
    /// The bar was missed: exit code 1.
    Missed,
    /// This machine cannot tell: exit code 77, which Automake and Meson take for a skipped test.
    CannotTell,
}

impl Verdict {
    /// Returns its exit code.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Verdict::Held => 0,
            Verdict::Missed => 1,
            Verdict::CannotTell => 77,
        }
    }

    /// Returns the verdict on several checks: missed if one missed, otherwise unknown if one is
    /// unknown. Returns `None` for no checks, since those did not hold. It consumes all of
    /// `verdicts`.
    #[must_use]
    pub fn of_all(verdicts: impl Iterator<Item = Verdict>) -> Option<Verdict> {
        verdicts.reduce(|one, other| match (one, other) {
            (Verdict::Missed, _) | (_, Verdict::Missed) => Verdict::Missed,
            (Verdict::CannotTell, _) | (_, Verdict::CannotTell) => Verdict::CannotTell,
            (Verdict::Held, Verdict::Held) => Verdict::Held,
        })
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> ExitCode {
        verdict.exit_code().into()
    }
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOutcome {
    /// The judgement.
    pub verdict: Verdict,
    /// The measured figure, or the reason why there is none.
    pub figure: String,
    /// The bar; empty when nothing was measured.
    pub bar: String,
}

impl CheckOutcome {
    /// Makes an outcome that needs no statistics.
    #[must_use]
    pub fn exact(held: bool, figure: impl Into<String>, bar: impl Into<String>) -> Self {
        let verdict = if held { Verdict::Held } else { Verdict::Missed };
        Self {
            verdict,
            figure: figure.into(),
            bar: bar.into(),
        }
    }

    /// Combines several outcomes. Each has its own line in the figure and in the bar.
    ///
    /// # Panics
    ///
    /// When there are no outcomes.
    #[must_use]
    pub fn of_all(outcomes: &[CheckOutcome]) -> Self {
        let verdicts = outcomes.iter().map(|outcome| outcome.verdict);
        let lines = |of: fn(&CheckOutcome) -> &str| {
            let lines: Vec<&str> = outcomes.iter().map(of).collect();
            lines.join("\n          ")
        };
        Self {
            verdict: Verdict::of_all(verdicts).expect("there is an outcome"),
            figure: lines(|outcome| &outcome.figure),
            bar: lines(|outcome| &outcome.bar),
        }
    }

    /// Converts the result of a check. An error is a miss, since an unproven property does not
    /// hold, unless it is [`UnsuitableMachine`].
    #[must_use]
    pub fn from_result(result: anyhow::Result<CheckOutcome>) -> Self {
        result.unwrap_or_else(|error| {
            let cannot_tell = error.chain().any(|cause| cause.is::<UnsuitableMachine>());
            let verdict = if cannot_tell {
                Verdict::CannotTell
            } else {
                Verdict::Missed
            };
            Self {
                verdict,
                figure: format!("{error:#}"),
                bar: String::new(),
            }
        })
    }
}

impl fmt::Display for CheckOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            Verdict::Held => "held",
            Verdict::Missed => "missed",
            Verdict::CannotTell => "this machine cannot tell",
        };
        if self.bar.is_empty() {
            return write!(f, "{verdict}: {}", self.figure);
        }
        write!(
            f,
            "{verdict}\n  figure: {}\n  bar:    {}",
            self.figure, self.bar
        )
    }
}

/// The error of a check that cannot run on this machine; the text is the reason. It may have
/// contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsuitableMachine(pub String);

impl fmt::Display for UnsuitableMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for UnsuitableMachine {}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::Verdict::{CannotTell as Unknown, Held, Missed};
    use super::*;

    #[test]
    fn one_miss_outweighs_all_and_nothing_is_not_held() {
        let of = |verdicts: &[Verdict]| Verdict::of_all(verdicts.iter().copied());
        assert_eq!(of(&[Held, Held]), Some(Held));
        assert_eq!(of(&[Held, Unknown, Held]), Some(Unknown));
        assert_eq!(of(&[Unknown, Missed, Held]), Some(Missed));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn several_outcomes_are_one_with_a_line_each() {
        let held = CheckOutcome::exact(true, "1", "at most 2");
        let missed = CheckOutcome::exact(false, "3", "at most 2");
        assert_eq!(
            CheckOutcome::of_all(&[held, missed]).to_string(),
            "missed\n  figure: 1\n          3\n  bar:    at most 2\n          at most 2"
        );
    }

    #[test]
    fn an_error_is_a_miss_unless_the_machine_cannot_tell() {
        let broken = CheckOutcome::from_result(Err(anyhow!("rank 3 died").context("run 7 failed")));
        assert_eq!(broken.verdict, Missed);
        assert_eq!(broken.to_string(), "missed: run 7 failed: rank 3 died");

        let unknown: anyhow::Result<CheckOutcome> =
            Err(UnsuitableMachine("no python3".to_owned()).into());
        let unknown = CheckOutcome::from_result(unknown.context("failed to install MPICH"));
        assert_eq!(unknown.verdict.exit_code(), 77);
        assert_eq!(
            unknown.to_string(),
            "this machine cannot tell: failed to install MPICH: no python3"
        );
    }
}
