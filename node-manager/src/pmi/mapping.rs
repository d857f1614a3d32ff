//! The value of `PMI_process_mapping`: which ranks are on one node.

use bcs_core::job::{NodeId, Placement};
use bcs_core::pmi::VALUE_BYTES;

/// Returns the mapping, `(vector,(first_node,nodes,ranks_of_each),...)`. It is empty, which means
/// unknown, if it is longer than a value may be.
pub(crate) fn process_mapping(placement: &Placement) -> String {
    // The first node, the number of nodes, and the ranks of each.
    let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
    for node in 0..placement.nodes() {
        let ranks = placement.starting_on(NodeId::from_index(node)).count();
        match blocks.last_mut() {
            Some((_, nodes, of_each)) if *of_each == ranks => *nodes += 1,
            _ => blocks.push((node, 1, ranks)),
        }
    }
    let blocks = blocks.iter();
    let blocks = blocks.map(|(first, nodes, of_each)| format!(",({first},{nodes},{of_each})"));
    let mapping = format!("(vector{})", blocks.collect::<String>());
    match mapping.len() < VALUE_BYTES {
        true => mapping,
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_nodes_are_one_block() {
        let of = |counts: &[usize]| process_mapping(&Placement::counts(counts).unwrap());
        assert_eq!(of(&[4]), "(vector,(0,1,4))");
        assert_eq!(of(&[2, 2, 2]), "(vector,(0,3,2))");
        assert_eq!(of(&[2, 2, 1, 2]), "(vector,(0,2,2),(2,1,1),(3,1,2))");
        let uneven: Vec<usize> = (0..200).map(|node| 1 + node % 2).collect();
        assert_eq!(of(&uneven), "");
    }
}
