//! Ports that one OS thread works with, those of all NICs of a job and of the Strobe Sender among them.
//!
//! Nobody else is on the fabric then, and between two calls nothing changes. So a Compare-And-Write is decided
//! where it is asked for, which is the one order that all of them have; and who is signalled is noted here, in
//! the place of a bell.
//!
//! The words here are loaded and stored, never exchanged: no two threads work with such ports at once.

use super::segment::{RawRequest, Segment};
use super::sequencer::evaluate_and_write;
use bcs_core::job::{NicThreadId, NodeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What such ports share.
#[derive(Clone, Debug)]
pub struct ColocatedPorts(Arc<ColocatedState>);

#[derive(Debug)]
struct ColocatedState {
    /// A bit for each NIC thread that was signalled and has not been told.
    signalled: Box<[AtomicU64]>,
    /// How often a node has reported progress.
    reports: AtomicU64,
    /// Looks at requests that wait that came out false, as [`Sequencer::retries`](super::Sequencer::retries).
    retries: AtomicU64,
}

fn count(word: &AtomicU64) {
    word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl ColocatedPorts {
    /// For the ports of so many nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let words = (nodes * NicThreadId::COUNT).div_ceil(64);
        Self(Arc::new(ColocatedState {
            signalled: (0..words).map(|_| AtomicU64::new(0)).collect(),
            reports: AtomicU64::new(0),
            retries: AtomicU64::new(0),
        }))
    }

    /// The next NIC thread that was signalled.
    #[must_use]
    pub fn take_signalled(&self) -> Option<(NodeId, NicThreadId)> {
        for (at, word) in self.0.signalled.iter().enumerate() {
            let bits = word.load(Ordering::Relaxed);
            if bits != 0 {
                word.store(bits & (bits - 1), Ordering::Relaxed);
                let number = at * 64 + bits.trailing_zeros() as usize;
                let thread = NicThreadId::ALL[number % NicThreadId::COUNT];
                return Some((NodeId::from_index(number / NicThreadId::COUNT), thread));
            }
        }
        None
    }

    /// Looks at requests that wait that came out false (paper Table 5.1).
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.0.retries.load(Ordering::Relaxed)
    }

    pub(super) fn signal(&self, node: NodeId, thread: NicThreadId) {
        let number = node.index() * NicThreadId::COUNT + thread.index();
        let word = &self.0.signalled[number / 64];
        let bits = word.load(Ordering::Relaxed) | 1 << (number % 64);
        word.store(bits, Ordering::Relaxed);
    }

    pub(super) fn report(&self) {
        count(&self.0.reports);
    }

    pub(super) fn reports(&self) -> u64 {
        self.0.reports.load(Ordering::Relaxed)
    }

    /// The verdict of a Compare-And-Write, if it need not wait.
    pub(super) fn judge(&self, segment: &Segment, request: &RawRequest) -> Option<bool> {
        let verdict = evaluate_and_write(segment, request);
        if verdict.is_none() {
            count(&self.0.retries);
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_that_was_signalled_is_told_once() {
        let colocated = ColocatedPorts::new(40);
        let of = |node: usize, thread| (NodeId::from_index(node), thread);
        let all = [
            of(0, NicThreadId::ALL[0]),
            of(10, NicThreadId::ALL[3]),
            of(10, NicThreadId::ALL[4]),
            of(39, NicThreadId::ALL[NicThreadId::COUNT - 1]),
        ];
        for (node, thread) in all.into_iter().rev().chain(all) {
            colocated.signal(node, thread);
        }
        let told: Vec<_> = std::iter::from_fn(|| colocated.take_signalled()).collect();
        assert_eq!(told, all);
    }
}
