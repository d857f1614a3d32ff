//! The values to try: a strobe mode, a slice length and an eager limit.

use crate::quantities::parse_duration;
use bcs_core::job::{BadJob, Settings, StrobeMode};
use serde::Serialize;
use std::time::Duration;

/// Values of the options that are tried together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// `--strobe`.
    #[serde(serialize_with = "as_word")]
    pub strobe: StrobeMode,
    /// `--time-slice`.
    pub time_slice_ns: u64,
    /// `--eager-limit`.
    pub eager_limit: u64,
}

fn as_word<S: serde::Serializer>(strobe: &StrobeMode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*strobe))
}

/// Returns the name of a strobe mode on the command line.
#[must_use]
pub fn name(strobe: StrobeMode) -> &'static str {
    match strobe {
        StrobeMode::Fixed => "fixed",
        StrobeMode::Elastic => "elastic",
        StrobeMode::Auto => "auto",
    }
}

impl Setting {
    /// Formats the slice as a user writes it.
    #[must_use]
    pub fn slice(&self) -> String {
        let slice = Duration::from_nanos(self.time_slice_ns);
        humantime::format_duration(slice).to_string()
    }

    /// Returns the options, by their names: as on the command line, and in `bcs.toml`.
    #[must_use]
    pub fn options(&self) -> [(&'static str, String); 3] {
        [
            ("strobe", name(self.strobe).to_owned()),
            ("time-slice", self.slice()),
            ("eager-limit", self.eager_limit.to_string()),
        ]
    }

    /// Checks it against the limits.
    ///
    /// # Errors
    /// [`BadJob`] names the value and the range.
    pub fn check(&self) -> Result<(), BadJob> {
        Settings {
            strobe: self.strobe,
            time_slice_ns: self.time_slice_ns,
            eager_limit: usize::try_from(self.eager_limit).unwrap_or(usize::MAX),
            ..Settings::default()
        }
        .check()
    }
}

/// Lengths of slices to try: a list, or the ends of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slices {
    /// Exactly these lengths.
    List(Vec<Duration>),
    /// A number of lengths between these, each longer than the one before by the same factor.
    Range(Duration, Duration),
}

impl Slices {
    /// Parses `50us-8ms`, or `100us,500us,2ms`.
    ///
    /// # Errors
    /// The error in the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((first, last)) = text.split_once('-') {
            let (first, last) = (parse_duration(first)?, parse_duration(last)?);
            return match first < last {
                true => Ok(Self::Range(first, last)),
                false => Err("a range goes from a shorter slice to a longer one".into()),
            };
        }
        let list: Result<_, _> = text.split(',').map(parse_duration).collect();
        list.map(Self::List)
    }

    /// Returns the lengths in nanoseconds, in rising order. A range gives this number of lengths,
    /// rounded to two digits.
    #[must_use]
    pub fn lengths_ns(&self, count: usize) -> Vec<u64> {
        let ns = |slice: &Duration| u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
        let mut lengths: Vec<u64> = match self {
            Self::List(list) => list.iter().map(ns).collect(),
            Self::Range(first, last) => {
                let (first, last) = (ns(first), ns(last));
                let factor = last as f64 / first.max(1) as f64;
                let between = |number: usize| {
                    let share = number as f64 / (count - 1) as f64;
                    two_digits(first as f64 * factor.powf(share))
                };
                let inner = (1..count.saturating_sub(1)).map(between);
                std::iter::once(first).chain(inner).chain([last]).collect()
            }
        };
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between two lengths that are whole numbers"
)]
fn two_digits(ns: f64) -> u64 {
    let unit = 10_f64.powf(ns.max(1.0).log10().floor() - 1.0).max(1.0);
    ((ns / unit).round() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_divided_evenly_and_rounded() {
        let us = |text: &str, count| {
            let slices = Slices::parse(text).unwrap().lengths_ns(count);
            slices.iter().map(|ns| ns / 1000).collect::<Vec<_>>()
        };
        assert_eq!(
            us("50us-8ms", 12),
            [
                50, 79, 130, 200, 320, 500, 800, 1300, 2000, 3200, 5000, 8000
            ]
        );
        assert_eq!(us("100us-123us", 2), [100, 123]);
        assert_eq!(us("2ms,100us,2ms", 12), [100, 2000]);
    }

    #[test]
    fn what_is_no_range_is_said() {
        assert!(Slices::parse("8ms-50us").unwrap_err().contains("shorter"));
        assert!(Slices::parse("fast").unwrap_err().contains("500us"));
    }

    #[test]
    fn a_setting_is_written_as_a_user_does() {
        let setting = Setting {
            strobe: StrobeMode::Fixed,
            time_slice_ns: 1_300_000,
            eager_limit: 4096,
        };
        let [strobe, slice, eager] = setting.options();
        assert_eq!(strobe, ("strobe", "fixed".to_owned()));
        assert_eq!(slice, ("time-slice", "1ms 300us".to_owned()));
        assert_eq!(eager, ("eager-limit", "4096".to_owned()));
        assert!(crate::quantities::parse_duration(&slice.1).is_ok());
        let long = Setting {
            time_slice_ns: 1 << 40,
            ..setting
        };
        assert!(long.check().is_err());
    }
}
