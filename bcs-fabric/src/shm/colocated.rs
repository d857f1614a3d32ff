//! Ports that one OS thread works with, those of all NICs of a job and of the Strobe Sender among
//! them.
//!
//! No other thread is on the fabric then, and nothing changes between two calls. So a call of
//! Compare-And-Write decides it at once, which gives all of them one order. A bit here records that
//! a NIC thread is signalled, in place of a bell.
//!
//! The words here are loaded and stored, never exchanged: no two threads work with such ports at
//! once.

use super::segment::{RawRequest, Segment};
use super::sequencer::evaluate_and_write;
use bcs_core::job::{NicThreadId, NodeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The state that such ports share.
#[derive(Clone, Debug)]
pub struct ColocatedPorts(Arc<ColocatedState>);

#[derive(Debug)]
struct ColocatedState {
    /// A bit for each NIC thread that was signalled and has not been notified.
    signalled: Box<[AtomicU64]>,
    /// The number of times that nodes have reported progress.
    reports: AtomicU64,
    /// Evaluations of waiting requests that came out false, as
    /// [`Sequencer::retries`](super::Sequencer::retries).
    retries: AtomicU64,
}

fn count(word: &AtomicU64) {
    word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl ColocatedPorts {
    /// Makes the state for the ports of `nodes` nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let words = (nodes * NicThreadId::COUNT).div_ceil(64);
        Self(Arc::new(ColocatedState {
            signalled: (0..words).map(|_| AtomicU64::new(0)).collect(),
            reports: AtomicU64::new(0),
            retries: AtomicU64::new(0),
        }))
    }

    /// Takes the next NIC thread that was signalled.
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

    /// Returns how many evaluations of waiting requests came out false (paper Table 5.1).
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

    /// Returns the verdict of a Compare-And-Write, or `None` if it has to wait.
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
