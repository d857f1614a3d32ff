//! The owners of cells: every rank owns a stretch of the curve.

use super::key::Key;

/// The starts of all ranks' stretches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Partition {
    /// The first place of each rank. A rank without cells has the start of the next rank with
    /// cells.
    starts: Vec<u64>,
}

impl Partition {
    /// Makes a partition from the first cell of each rank, as a word; `None` for ranks without
    /// cells.
    pub(crate) fn new(firsts: impl DoubleEndedIterator<Item = Option<u64>>) -> Self {
        let mut next = u64::MAX;
        let mut starts: Vec<u64> = firsts
            .rev()
            .map(|first| {
                next = first.unwrap_or(next);
                next
            })
            .collect();
        starts.reverse();
        if let Some(first) = starts.iter().copied().min() {
            // The curve may begin outside of the box; the first rank with cells owns this part,
            // too.
            starts
                .iter_mut()
                .filter(|start| **start == first)
                .for_each(|start| *start = 0);
        }
        Self { starts }
    }

    /// Returns the rank that owns the cell at a place. The place of a cell is its low corner.
    pub(crate) fn owner<const D: usize>(&self, place: Key<D>) -> usize {
        self.starts
            .partition_point(|start| *start <= place.word())
            .saturating_sub(1)
    }
}

/// Returns the share of a rank of `cells` cells, as a range.
pub(crate) fn share(cells: usize, rank: usize, ranks: usize) -> std::ops::Range<usize> {
    let cut = |rank: usize| {
        let cut = cells as u128 * rank as u128 / ranks as u128;
        usize::try_from(cut).expect("a part of the cells")
    };
    cut(rank)..cut(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_belong_to_the_rank_whose_stretch_they_are_in() {
        let cells: Vec<Key<1>> = (0..4).map(|x| Key::new([x << 9], 1)).collect();
        // Rank 1 has no cells.
        let firsts = [Some(cells[0].word()), None, Some(cells[2].word())];
        let partition = Partition::new(firsts.into_iter());
        let owners: Vec<usize> = cells.iter().map(|cell| partition.owner(*cell)).collect();
        assert_eq!(owners, [0, 0, 2, 2]);
        assert_eq!(partition.owner(cells[1].child(1)), 0);
    }

    #[test]
    fn shares_are_all_there_is() {
        for (cells, ranks) in [(0, 3), (2, 3), (10, 3), (1 << 40, 7)] {
            let shares: Vec<_> = (0..ranks).map(|rank| share(cells, rank, ranks)).collect();
            assert!(shares.windows(2).all(|two| two[0].end == two[1].start));
            assert_eq!((shares[0].start, shares[ranks - 1].end), (0, cells));
        }
    }
}
