//! The writes that the sequencer of a job on several machines has made by Compare-And-Writes, one
//! after the other.
//!
//! Its segment has the variables of all nodes. Those of remote machines' nodes are mirrors. Such a
//! node reports what it has stored ([`WriteLog::update_mirror`]), and is notified of what the
//! sequencer has written ([`WriteLog::take_untold`]). The two may cross. A value that the node
//! stored before it knew of a write is older than that write, for the node applies the write when
//! it is notified. So the mirror keeps the write. In the end both sides have the same value.

use super::segment::{RawRequest, Segment};
use bcs_core::job::{NodeId, NodeSet};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A write of a Compare-And-Write that held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteLogEntry {
    /// The number of the write, from 1.
    pub number: u64,
    /// The nodes.
    pub set: NodeSet,
    /// The index of the variable.
    pub variable: usize,
    /// The value.
    pub value: u64,
}

/// A log of the sequencer's writes.
#[derive(Clone, Debug, Default)]
pub struct WriteLog(Arc<Mutex<WriteLogState>>);

#[derive(Debug, Default)]
struct WriteLogState {
    count: u64,
    /// The number of the last write of a variable of a node.
    last: HashMap<(NodeId, usize), u64>,
    /// Writes of which other machines have not been notified.
    untold: Vec<WriteLogEntry>,
}

impl WriteLog {
    fn lock(&self) -> MutexGuard<'_, WriteLogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges a request, and logs its write. No mirror changes meanwhile.
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

    /// Records that a remote node has stored a variable when it knew of the first `told` writes.
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

    /// Moves the writes of which other machines have not been notified to `into`, in their order.
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
