//! What the sequencer of a job on several machines has written by Compare-And-Writes, one after the other.
//!
//! Its segment has the variables of all nodes. Those of nodes elsewhere are mirrors: such a node says what it has
//! stored ([`WriteLog::update_mirror`]), and is told what the sequencer has written ([`WriteLog::take_untold`]). Both may cross. What the
//! node stored before it knew of a write is older than that write, for the node applies it when it is told: so the
//! mirror keeps the write. In the end both sides have the same.

use super::segment::{RawRequest, Segment};
use bcs_core::job::{NodeId, NodeSet};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A write of a Compare-And-Write that held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteLogEntry {
    /// Counts them, from 1.
    pub number: u64,
    /// The nodes.
    pub set: NodeSet,
    /// The index of the variable.
    pub variable: usize,
    /// What was written.
    pub value: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct WriteLog(Arc<Mutex<WriteLogState>>);

#[derive(Debug, Default)]
struct WriteLogState {
    count: u64,
    /// The last write of a variable of a node.
    last: HashMap<(NodeId, usize), u64>,
    /// Those that other machines have not been told.
    untold: Vec<WriteLogEntry>,
}

impl WriteLog {
    fn lock(&self) -> MutexGuard<'_, WriteLogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges a request, and notes what that has written. No mirror changes meanwhile.
    pub(super) fn evaluate_and_log(
        &self,
        segment: &Segment,
        judge: impl FnOnce() -> Option<bool>,
        request: &RawRequest,
    ) -> Option<bool> {
        let mut entries = self.lock();
        let holds = judge();
        if let (Some(true), Some((variable, value))) = (holds, request.write) {
            entries.count += 1;
            let number = entries.count;
            segment.writes().store(number, Ordering::Release);
            for node in request.set.iter() {
                entries.last.insert((node, variable), number);
            }
            entries.untold.push(WriteLogEntry {
                number,
                set: request.set,
                variable,
                value,
            });
        }
        holds
    }

    /// A node elsewhere has stored a variable when it knew of the first `told` writes.
    pub fn update_mirror(
        &self,
        segment: &Segment,
        node: NodeId,
        variable: usize,
        value: u64,
        told: u64,
    ) {
        let entries = self.lock();
        let last = entries.last.get(&(node, variable));
        if last.is_none_or(|&last| last <= told) {
            // PROGRESS: as if the node had stored it here.
            let mirrored = segment.variable(node, variable);
            mirrored.store(value, Ordering::Release);
        }
    }

    /// Gives those that other machines have not been told, in their order.
    pub fn take_untold(&self, into: &mut Vec<WriteLogEntry>) {
        into.append(&mut self.lock().untold);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Comparison, Variable};

    #[test]
    fn what_was_stored_before_a_write_was_known_does_not_undo_it() {
        let segment = Segment::private(2, 1).unwrap();
        let (ledger, node) = (WriteLog::default(), NodeId(1));
        let variable = Variable::Scratch(0).index();
        let value = || segment.variable(node, variable).load(Ordering::Relaxed);
        ledger.update_mirror(&segment, node, variable, 3, 0);
        assert_eq!(value(), 3);
        let request = RawRequest {
            variable,
            comparison: Comparison::Equal,
            operand: 3,
            write: Some((variable, 9)),
            wait: false,
            set: NodeSet::only(node),
        };
        let judge = || super::super::sequencer::evaluate_and_write(&segment, &request);
        assert_eq!(
            ledger.evaluate_and_log(&segment, judge, &request),
            Some(true)
        );
        ledger.update_mirror(&segment, node, variable, 4, 0);
        assert_eq!(value(), 9, "the node has stored 4 before it was told of 9");
        ledger.update_mirror(&segment, node, variable, 5, 1);
        assert_eq!(value(), 5);
        let mut told = Vec::new();
        ledger.take_untold(&mut told);
        assert_eq!((told.len(), told[0].number, told[0].value), (1, 1, 9));
        ledger.take_untold(&mut told);
        let writes = segment.writes().load(Ordering::Relaxed);
        assert_eq!((told.len(), writes), (1, 1));
    }
}
