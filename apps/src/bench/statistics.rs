//! The printed figures of a row's samples.

use serde::{Deserialize, Serialize};

use super::options::{BenchCase, BenchOperation, BufferMode};

/// The quartiles of the samples: a quarter, half and three quarters of them lie below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quartiles {
    /// The first quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub q3: f64,
}

impl Quartiles {
    /// Computes the quartiles of `samples`, with linear interpolation; zeros if `samples` is empty.
    #[must_use]
    pub fn of(samples: &[f64]) -> Quartiles {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        // The place is given in quarters, so that it is exact.
        let at = |quarters: usize| {
            let place = sorted.len().saturating_sub(1) * quarters;
            let sample = |index: usize| sorted.get(index).or(sorted.last()).copied();
            let (low, high) = (sample(place / 4), sample(place / 4 + 1));
            let share = [0.0, 0.25, 0.5, 0.75][place % 4];
            let (low, high) = (low.unwrap_or_default(), high.unwrap_or_default());
            low + share * (high - low)
        };
        Quartiles {
            q1: at(1),
            median: at(2),
            q3: at(3),
        }
    }
}

/// The measurement of a row: a line of output.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// The timed operation.
    pub op: BenchOperation,
    /// The size of a message.
    pub bytes: usize,
    /// Which buffers, and who used them.
    pub mode: BufferMode,
    /// Processes of the job.
    pub ranks: usize,
    /// Microseconds of one operation: the median of the samples' means.
    pub us: f64,
    /// The first quartile of the samples.
    pub q1: f64,
    /// The third quartile of the samples.
    pub q3: f64,
    /// Operations in a sample.
    pub iterations: u64,
    /// In `lag`, the CPU time of the waiting rank that used most, in per cent of the wall time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
}

impl BenchRow {
    /// Returns the row: the part that does not change from run to run.
    #[must_use]
    pub fn case(&self) -> BenchCase {
        BenchCase {
            op: self.op,
            bytes: self.bytes,
            mode: self.mode,
        }
    }

    /// Parses the rows of a program's output, which may have other lines, too.
    ///
    /// # Errors
    /// A line begins like a row but is not valid.
    pub fn of_output(output: &str) -> Result<Vec<BenchRow>, serde_json::Error> {
        output
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(serde_json::from_str)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_few_and_many_samples() {
        let of = |samples: &[f64]| {
            let Quartiles { q1, median, q3 } = Quartiles::of(samples);
            [q1, median, q3]
        };
        assert_eq!(of(&[]), [0.0; 3]);
        assert_eq!(of(&[3.0]), [3.0; 3]);
        assert_eq!(of(&[4.0, 2.0]), [2.5, 3.0, 3.5]);
        assert_eq!(of(&[5.0, 1.0, 3.0, 2.0, 4.0]), [2.0, 3.0, 4.0]);
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0]), [1.75, 2.5, 3.25]);
    }

    #[test]
    fn rows_are_found_in_output_and_read_back() {
        let row = BenchRow {
            op: BenchOperation::Bcast,
            bytes: 1024,
            mode: BufferMode::Touched,
            ranks: 2,
            us: 1.5,
            q1: 1.25,
            q3: 1.75,
            iterations: 100,
            cpu_percent: None,
        };
        let line = serde_json::to_string(&row).unwrap();
        assert_eq!(
            line,
            r#"{"op":"bcast","bytes":1024,"mode":"touched","ranks":2,"us":1.5,"q1":1.25,"q3":1.75,"iterations":100}"#
        );
        let output = format!("a warning of somebody\n{line}\n");
        assert_eq!(BenchRow::of_output(&output).unwrap(), [row]);
        assert!(BenchRow::of_output(&line[..20]).is_err(), "half a row");
    }
}
