//! The cores that ranks may use.

use serde::{Deserialize, Serialize};

/// The cores that the ranks of a job may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankCores {
    /// All ranks may use all cores of the job.
    All,
    /// Every rank may use all of these.
    Any(Vec<usize>),
    /// Each rank may use one of these, in turn. Nodes that are emulated on one machine share its
    /// cores, so a node continues where the one before it stopped.
    OneEach(Vec<usize>),
}

impl RankCores {
    /// Returns the cores of a rank; an empty list means all of the job's.
    #[must_use]
    pub fn cores_of(&self, rank: u32) -> &[usize] {
        match self {
            Self::All => &[],
            Self::Any(cores) => cores,
            Self::OneEach(cores) => {
                let turn = (rank as usize).checked_rem(cores.len());
                turn.map_or(&[], |turn| &cores[turn..=turn])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_taken_in_turn() {
        let each = RankCores::OneEach(vec![1, 4, 6]);
        let taken: Vec<&[usize]> = (0..5).map(|rank| each.cores_of(rank)).collect();
        assert_eq!(taken, [[1], [4], [6], [1], [4]]);
        assert_eq!(RankCores::Any(vec![1, 4]).cores_of(7), [1, 4]);
        for all in [RankCores::All, RankCores::OneEach(Vec::new())] {
            assert!(all.cores_of(0).is_empty());
        }
    }
}
