//! The cores that a job may use.

use bcs_core::job::Cores;
use std::ops::RangeInclusive;

pub use node_manager::cores::{allowed, usable};

/// Returns the cores of a job that is started here, and those that are named for its NICs.
///
/// # Errors
/// [`BadCores`] when this process may not use one of the latter.
pub fn of_job(of_nics: Option<&CoreList>) -> Result<Cores, BadCores> {
    let allowed = allowed();
    let of_nics = of_nics.map(|list| list.among(&allowed)).transpose()?;
    Ok(Cores {
        allowed,
        usable: usable(),
        of_nics: of_nics.unwrap_or_default(),
    })
}

/// Cores as users list them: `2-5,7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreList(Vec<RangeInclusive<usize>>);

/// An error in a list of cores.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCores {
    /// A core that does not exist, or that this process may not use.
    #[error(
        "--nic-cores names core {core}, which does not exist or may not be used by this process: \
         choose among {allowed}"
    )]
    NotAllowed {
        /// The core.
        core: usize,
        /// The cores that may be used.
        allowed: String,
    },
    /// The same core again.
    #[error("--nic-cores names core {0} twice: name each core once")]
    Twice(usize),
    /// The cores that may be used are unknown.
    #[error("--nic-cores: the kernel does not say which cores may be used; leave it out")]
    Unknown,
}

impl CoreList {
    /// Parses numbers, and ranges of them, between commas. Returns `None` if the text is something
    /// else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let part = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = number(first)?..=number(last)?;
            (!range.is_empty()).then_some(range)
        };
        let parts: Option<_> = text.split(',').map(part).collect();
        parts.map(Self)
    }

    /// Returns the cores in the order of the list. (A range may be absurdly long, but its first
    /// core that is not allowed comes soon.)
    fn among(&self, allowed: &[usize]) -> Result<Vec<usize>, BadCores> {
        if allowed.is_empty() {
            return Err(BadCores::Unknown);
        }
        let mut found = Vec::new();
        for core in self.0.iter().cloned().flatten() {
            if !allowed.contains(&core) {
                let allowed = ranges(allowed);
                return Err(BadCores::NotAllowed { core, allowed });
            }
            if found.contains(&core) {
                return Err(BadCores::Twice(core));
            }
            found.push(core);
        }
        Ok(found)
    }
}

/// Formats ascending numbers as the kernel's tools write them: `0-3,8`.
#[must_use]
pub fn ranges(numbers: &[usize]) -> String {
    numbers
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_in_its_order() {
        let among = |text| CoreList::parse(text).unwrap().among(&[0, 1, 2, 3, 8, 9]);
        assert_eq!(among("3"), Ok(vec![3]));
        assert_eq!(among("8-9, 0-2"), Ok(vec![8, 9, 0, 1, 2]));
        let allowed = "0-3,8-9".to_owned();
        let error = BadCores::NotAllowed { core: 4, allowed };
        assert_eq!(among("2-18446744073709551615"), Err(error));
        assert_eq!(among("1,0-3"), Err(BadCores::Twice(1)));
        assert_eq!(
            CoreList::parse("0").unwrap().among(&[]),
            Err(BadCores::Unknown)
        );
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", "x", "1,", "3-1", "-1", "1-2-3", "0x1"] {
            assert_eq!(CoreList::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_as_the_kernel_does() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }
}
