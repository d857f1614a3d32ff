//! In which order contributions are folded, so that the association is canonical (law 9): at each place of the
//! tree the local ranks in communicator order, then what its children come to, in ascending order.
//!
//! A score is that order written down for one who has all contributions at hand: the tree says how they
//! are associated, and nobody has to wait for what another node makes of its own.

use crate::blocks::MemoryOffer;
use crate::collective::NicGroup;

/// What is done next. Partial results are a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoldInstruction {
    /// A new partial result begins with this contribution.
    Begin(MemoryOffer),
    /// The latest one is combined with this contribution.
    Fold(MemoryOffer),
    /// The one before the latest is combined with it.
    Join,
}

/// The order, of arrivals by place in the tree.
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
            // A contribution that is all its place comes to needs no partial result of its own.
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

    /// The score in brackets.
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
