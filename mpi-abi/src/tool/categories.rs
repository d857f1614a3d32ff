//! The categories of variables (MPI 5.0, 15.3.9): one category that contains all others.

use super::control::ControlVariable;
use super::performance::PerformanceVariable;
use super::places::{nth, number};
use super::{ToolOutcome, control, performance};
use crate::c::*;
use std::ffi::c_int;

/// A category of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// The category that contains all others.
    Everything,
    Settings,
    Bounds,
    Beat,
    Messages,
    Handles,
    Recorder,
}

impl Category {
    pub const ALL: &[Self] = &[
        Self::Everything,
        Self::Settings,
        Self::Bounds,
        Self::Beat,
        Self::Messages,
        Self::Handles,
        Self::Recorder,
    ];

    /// Returns the category of an index.
    ///
    /// # Errors
    /// If there is none.
    pub fn nth(index: c_int) -> ToolOutcome<Self> {
        nth(Self::ALL, index).copied()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Everything => "bcs",
            Self::Settings => "bcs_settings",
            Self::Bounds => "bcs_bounds",
            Self::Beat => "bcs_beat",
            Self::Messages => "bcs_messages",
            Self::Handles => "bcs_handles",
            Self::Recorder => "bcs_recorder",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Everything => "all that BCS-MPI shows",
            Self::Settings => "how the job is set",
            Self::Bounds => "bounds of the library",
            Self::Beat => "slices, and who takes part in them on this machine",
            Self::Messages => "requests and messages of this rank",
            Self::Handles => "handles that the program has",
            Self::Recorder => "what the recorder of this rank has counted (bcs run --mds)",
        }
    }

    /// Returns the audience of its variables.
    pub fn verbosity(self) -> c_int {
        match self {
            Self::Everything | Self::Settings | Self::Recorder => MPI_T_VERBOSITY_USER_BASIC,
            Self::Handles => MPI_T_VERBOSITY_USER_DETAIL,
            Self::Beat | Self::Messages => MPI_T_VERBOSITY_TUNER_BASIC,
            Self::Bounds => MPI_T_VERBOSITY_TUNER_DETAIL,
        }
    }

    /// Returns the indices of the categories in it.
    pub fn parts(self) -> impl Iterator<Item = c_int> {
        let all = match self {
            Self::Everything => 1..Self::ALL.len(),
            _ => 0..0,
        };
        all.map(number)
    }

    /// Returns the indices of its control variables.
    pub fn control(self) -> impl Iterator<Item = c_int> {
        let has = move |of: &ControlVariable| of.category == self;
        indices(control::ALL, has)
    }

    /// Returns the indices of its performance variables.
    pub fn performance(self) -> impl Iterator<Item = c_int> {
        let has = move |of: &PerformanceVariable| of.category == self;
        indices(performance::ALL, has)
    }
}

fn indices<T>(all: &'static [T], wanted: impl Fn(&T) -> bool) -> impl Iterator<Item = c_int> {
    let numbered = all.iter().enumerate().filter(move |(_, of)| wanted(of));
    numbered.map(|(index, _)| number(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_is_in_a_category_of_everything() {
        let parts: Vec<Category> = Category::Everything
            .parts()
            .map(|index| Category::nth(index).unwrap())
            .collect();
        let count = |of: fn(Category) -> usize| parts.iter().map(|part| of(*part)).sum::<usize>();
        assert_eq!(count(|part| part.control().count()), control::ALL.len());
        assert_eq!(
            count(|part| part.performance().count()),
            performance::ALL.len()
        );
        assert!(parts.iter().all(|part| part.parts().count() == 0));
        assert!(!parts.contains(&Category::Everything));
        for (index, category) in Category::ALL.iter().enumerate() {
            assert_eq!(*category as usize, index);
        }
    }
}
