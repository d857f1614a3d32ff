//! Which cores ranks may use.

use serde::{Deserialize, Serialize};

/// Which cores the ranks of a job may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankCores {
    /// All that the job may.
    All,
    /// Each of them all of these.
    Any(Vec<usize>),
    /// Each of them one of these, in turn. Nodes that are emulated on one machine share its cores, so a
    /// node goes on where the one before it stopped.
    OneEach(Vec<usize>),
}

impl RankCores {
    /// The cores of a rank; none: all of the job's.
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
