//! How the master's BR refuses a collective: all nodes have arrived, and not all at the same one.
//!
//! No rank may wait for it, and each one gets a call that differs from its own. The only way to
//! read another node's variable is Compare-And-Write, so the program consists of those:
//!
//! 1. *Compare* each node's arrival with this node's: the others are *odd*.
//! 2. *Search* what the first odd node called, by halving: 64 of them for 64 bits. That is much for
//!    one word, and nothing for a program that is about to fail.
//! 3. *Tell* the nodes that agree with this one what the odd one called, and the odd ones what this
//!    one called (`Called`).
//! 4. *Go*, with the value that means "refused". All nodes see it in their next DEM.

use super::communicator::NicCommunicator;
use crate::collective::StepGrant;
use bcs_core::job::{NodeId, NodeSet};
use bcs_fabric::{CompareAndWrite, Comparison, Variable};

#[derive(Clone, Copy, Debug)]
enum RefusalStep {
    Compare { place: usize },
    Search { low: u64, high: u64 },
    TellAlike { called: u64 },
    TellOdd,
    Go,
}

/// A refusal under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectiveRefusal {
    odd: NodeSet,
    step: RefusalStep,
}

impl CollectiveRefusal {
    /// Begins to refuse the first pending collective of a communicator of this node.
    pub(super) fn new(communicator: &NicCommunicator) -> Self {
        let me = communicator.group.master();
        let mut others = communicator.group.set;
        others.remove(me);
        if communicator.front().agreed() {
            let first = Self {
                odd: NodeSet::EMPTY,
                step: RefusalStep::Compare { place: 0 },
            };
            return first;
        }
        // The ranks of this node already disagree: all others are notified.
        let step = if others.is_empty() {
            RefusalStep::Go
        } else {
            RefusalStep::TellOdd
        };
        Self { odd: others, step }
    }

    /// Returns the next Compare-And-Write.
    pub(super) fn next_compare_and_write(&self, communicator: &NicCommunicator) -> CompareAndWrite {
        let group = &communicator.group;
        let slot = communicator.slot.expect("it has a slot");
        let front = communicator.front();
        let called = Variable::Called(slot);
        let ask = |set, variable, comparison, operand, write| CompareAndWrite {
            set,
            variable,
            comparison,
            operand,
            write,
            wait: false,
        };
        let write = |set, write| ask(set, called, Comparison::AtLeast, 0, Some(write));
        match self.step {
            RefusalStep::Compare { place } => ask(
                NodeSet::only(group.nodes[place]),
                Variable::Arrived(slot),
                Comparison::Equal,
                front.arrival(),
                None,
            ),
            RefusalStep::Search { low, high } => {
                let odd = self.first_odd().expect("searched on an odd node");
                let middle = upper_middle(low, high);
                ask(
                    NodeSet::only(odd),
                    called,
                    Comparison::AtLeast,
                    middle,
                    None,
                )
            }
            RefusalStep::TellAlike { called: theirs } => {
                let mut alike = group.set;
                self.odd.iter().for_each(|node| alike.remove(node));
                write(alike, (called, theirs))
            }
            RefusalStep::TellOdd => write(self.odd, (called, front.called)),
            RefusalStep::Go => write(
                group.set,
                (
                    Variable::Go(slot),
                    StepGrant::refusal(front.sequence).encode(),
                ),
            ),
        }
    }

    /// Handles the verdict. Returns the next step, or `None` at the end.
    pub(super) fn decided(mut self, holds: bool, communicator: &NicCommunicator) -> Option<Self> {
        let nodes = &communicator.group.nodes;
        self.step = match self.step {
            RefusalStep::Compare { place } => {
                if !holds {
                    self.odd.insert(nodes[place]);
                }
                match place + 1 {
                    next if next < nodes.len() => RefusalStep::Compare { place: next },
                    _ => {
                        self.first_odd()?; // the node has died, and so has the communicator
                        RefusalStep::Search {
                            low: 0,
                            high: u64::MAX,
                        }
                    }
                }
            }
            RefusalStep::Search { low, high } => {
                let middle = upper_middle(low, high);
                let (low, high) = if holds {
                    (middle, high)
                } else {
                    (low, middle - 1)
                };
                if low < high {
                    RefusalStep::Search { low, high }
                } else {
                    RefusalStep::TellAlike { called: low }
                }
            }
            RefusalStep::TellAlike { .. } => RefusalStep::TellOdd,
            RefusalStep::TellOdd => RefusalStep::Go,
            RefusalStep::Go => return None,
        };
        Some(self)
    }

    fn first_odd(&self) -> Option<NodeId> {
        self.odd.iter().next()
    }
}

/// Returns the middle of a range, but never its lower end.
fn upper_middle(low: u64, high: u64) -> u64 {
    low + (high - low) / 2 + 1
}
