//! Objects that were not freed. Ranks that have left the same are one line.

use super::entry::{LeakEntry, describe};
use super::places::LeakPlaces;
use std::fmt::Write as _;

/// The most ranges of ranks that a line names.
const RANGES: usize = 8;

/// Returns a line for each set of ranks that have left as many objects from the same places.
pub(super) fn lines(entries: &[LeakEntry], places: &mut LeakPlaces<'_>) -> Vec<String> {
    let mut sets: Vec<(String, Vec<&LeakEntry>)> = Vec::new();
    for entry in entries {
        let own = [*entry];
        let left = describe(&own, entry.count.into()) + &places.words(&own);
        match sets.iter_mut().find(|(known, _)| *known == left) {
            Some((_, ranks)) => ranks.push(entry),
            None => sets.push((left, vec![entry])),
        }
    }
    let line = |(left, of): (String, Vec<&LeakEntry>)| match of[..] {
        [one] => format!("  rank {} on node {} has {left}", one.rank, one.node),
        _ => {
            let ranks: Vec<u32> = of.iter().map(|entry| entry.rank).collect();
            format!("  ranks {} have each {left}", rank_set(ranks))
        }
    };
    sets.into_iter().map(line).collect()
}

/// "0 to 3, 5 and 7"
fn rank_set(mut ranks: Vec<u32>) -> String {
    ranks.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if rank <= *last + 1 => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let others: u32 = ranges
        .iter()
        .skip(RANGES)
        .map(|(first, last)| last - first + 1)
        .sum();
    ranges.truncate(RANGES);
    let range = |&(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    let mut text = ranges.iter().map(range).collect::<Vec<_>>().join(", ");
    if others > 0 {
        let _infallible = write!(text, " and {others} more");
    } else if let Some((most, last)) = text.clone().rsplit_once(", ") {
        text = format!("{most} and {last}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_follow_each_other_are_a_range() {
        assert_eq!(rank_set(vec![0]), "0");
        assert_eq!(rank_set(vec![1, 0]), "0 and 1");
        assert_eq!(rank_set(vec![0, 1, 2, 3, 5, 7, 8]), "0 to 3, 5, 7 and 8");
        let many = (0..40).step_by(2).collect();
        assert_eq!(rank_set(many), "0, 2, 4, 6, 8, 10, 12, 14 and 12 more");
    }
}
