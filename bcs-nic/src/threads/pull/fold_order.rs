//! The order in which contributions are folded, so that the association is canonical (law 9): at
//! each place of the tree the local ranks in communicator order, then the results of its children,
//! in ascending order.
//!
//! This list of instructions is for a node that has all contributions at hand. The tree gives only
//! the association, and no node waits for the partial result of another.

use crate::blocks::MemoryOffer;
use crate::collective::NicGroup;

/// The next step. Partial results form a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldInstruction {
    /// Begins a new partial result with this contribution.
    Begin(MemoryOffer),
    /// Combines the latest partial result with this contribution.
    Fold(MemoryOffer),
    /// Combines the partial result before the latest with the latest.
    Join,
}

/// Returns the order, given the arrivals by place in the tree.
pub(super) fn fold_order(group: &NicGroup, arrivals: &[Vec<MemoryOffer>]) -> Vec<FoldInstruction> {
    let mut notes = Vec::new();
    write(0, group, arrivals, &mut notes);
    notes
}

fn write(
    place: usize,
    group: &NicGroup,
    arrivals: &[Vec<MemoryOffer>],
    notes: &mut Vec<FoldInstruction>,
) {
    let (first, others) = arrivals[place].split_first().expect("a node has a member");
    notes.push(FoldInstruction::Begin(*first));
    notes.extend(others.iter().map(|offer| FoldInstruction::Fold(*offer)));
    for child in group.children(place) {
        match &arrivals[child][..] {
            // If one contribution is the whole result of its place, it needs no partial result of
            // its own.
            [only] if group.children(child).next().is_none() => {
                notes.push(FoldInstruction::Fold(*only))
            }
            _ => {
                write(child, group, arrivals, notes);
                notes.push(FoldInstruction::Join);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::Placement;

    /// Returns the order as an expression with brackets.
    fn told(members: usize, nodes: usize) -> String {
        let placement = Placement::block(members, nodes).unwrap();
        let ranks = 0..u32::try_from(members).unwrap();
        let group = NicGroup::new(ranks.collect(), &placement).unwrap();
        let offer = |rank| MemoryOffer {
            rank,
            input: 0,
            output: 0,
            spoilt_by: None,
        };
        let on = |node: &_| placement.ranks_of(*node).map(offer).collect();
        let arrivals: Vec<Vec<MemoryOffer>> = group.nodes.iter().map(on).collect();
        let mut stack: Vec<String> = Vec::new();
        for note in fold_order(&group, &arrivals) {
            match note {
                FoldInstruction::Begin(offer) => stack.push(offer.rank.to_string()),
                FoldInstruction::Fold(offer) => {
                    let top = stack.last_mut().unwrap();
                    *top = format!("({top}{})", offer.rank);
                }
                FoldInstruction::Join => {
                    let right = stack.pop().unwrap();
                    let left = stack.pop().unwrap();
                    stack.push(format!("({left}{right})"));
                }
            }
        }
        assert_eq!(stack.len(), 1);
        stack.remove(0)
    }

    #[test]
    fn the_association_is_that_of_the_tree() {
        assert_eq!(told(2, 2), "(01)");
        assert_eq!(told(3, 3), "((01)2)");
        assert_eq!(told(4, 4), "((01)(23))");
        assert_eq!(told(4, 2), "((01)(23))");
        assert_eq!(told(8, 4), "(((01)(23))((45)(67)))");
        assert_eq!(told(6, 6), "(((01)(23))(45))");
        assert_eq!(told(6, 2), "(((01)2)((34)5))");
    }
}
