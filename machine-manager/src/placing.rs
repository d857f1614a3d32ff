//! Which ranks run on which node, and on which core: from what was asked for.

use bcs_core::job::{BadJob, Placement};

/// What cannot be placed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlacing {
    /// Too few or too many.
    #[error(transparent)]
    Job(#[from] BadJob),
    /// Two options that exclude each other.
    #[error(
        "--nodes {nodes} and --ppn {per_node} contradict each other: {ranks} ranks, {per_node} on \
         each node, take {needed}; leave one of the two out"
    )]
    Contradiction {
        /// `--nodes`.
        nodes: usize,
        /// `--ppn`.
        per_node: usize,
        /// How many ranks there are.
        ranks: usize,
        /// How many nodes `--ppn` asks for.
        needed: usize,
    },
}

/// Places ranks on nodes.
///
/// # Errors
/// [`BadPlacing`] says what is wrong with the numbers.
pub fn place(
    ranks: usize,
    nodes: Option<usize>,
    per_node: Option<usize>,
) -> Result<Placement, BadPlacing> {
    let Some(per_node) = per_node else {
        return Ok(Placement::block(ranks, nodes.unwrap_or(1))?);
    };
    let placement = Placement::full(ranks, per_node)?;
    let needed = placement.nodes();
    match nodes {
        Some(nodes) if nodes != needed => Err(BadPlacing::Contradiction {
            nodes,
            per_node,
            ranks,
            needed,
        }),
        _ => Ok(placement),
    }
}

/// The core of each rank: the cores in turn, rank by rank. Nodes that are emulated on one machine
/// share its cores, so a node goes on where the one before it stopped.
#[must_use]
pub fn bind_to_cores(ranks: usize, cores: &[usize]) -> Vec<usize> {
    cores.iter().copied().cycle().take(ranks).collect()
}

/// What `--report-bindings` says: a line per rank.
#[must_use]
pub fn report(placement: &Placement, bindings: &[usize], cores: &[usize]) -> Vec<String> {
    let all = ranges(cores);
    (0u32..)
        .take(placement.ranks())
        .map(|rank| {
            let node = placement.node_of(rank).expect("a rank of this placement");
            match bindings.get(rank as usize) {
                Some(core) => format!("rank {rank} on node {node} is bound to core {core}"),
                None => format!("rank {rank} on node {node} may use cores {all}"),
            }
        })
        .collect()
}

/// Numbers in ascending order as the kernel's tools write them: `0-3,8`.
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

    fn nodes_of(placement: &Placement) -> Vec<u32> {
        (0u32..)
            .map_while(|rank| placement.node_of(rank))
            .map(|node| u32::from(node.0))
            .collect()
    }

    #[test]
    fn ppn_decides_nodes_and_fills_them() {
        let placement = place(7, None, Some(3)).unwrap();
        assert_eq!(placement.nodes(), 3);
        assert_eq!(nodes_of(&placement), [0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(place(2, None, Some(8)).unwrap().nodes(), 1);
        assert_eq!(place(7, Some(3), Some(3)).unwrap(), placement);
    }

    #[test]
    fn without_ppn_nodes_share_evenly() {
        assert_eq!(nodes_of(&place(4, None, None).unwrap()), [0; 4]);
        assert_eq!(
            nodes_of(&place(7, Some(3), None).unwrap()),
            [0, 0, 0, 1, 1, 2, 2]
        );
    }

    #[test]
    fn ppn_and_nodes_may_not_contradict() {
        let error = place(7, Some(2), Some(3)).unwrap_err();
        assert!(matches!(error, BadPlacing::Contradiction { needed: 3, .. }));
        assert_eq!(
            place(7, None, Some(0)),
            Err(BadPlacing::Job(BadJob::NoRanksOnNode))
        );
    }

    #[test]
    fn cores_are_taken_in_turn() {
        assert_eq!(bind_to_cores(5, &[1, 4, 6]), [1, 4, 6, 1, 4]);
        assert!(bind_to_cores(5, &[]).is_empty());
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }
}
