//! The end of a rank that cannot go on: it ends at once, and reports why.
//!
//! A thread that drains a queue under the endpoint's lock may find invalid data in node memory. A
//! panic would end that thread alone. The other threads, and the ranks that wait for them, would
//! wait for ever. So the whole process ends, as by `MPI_Abort` (MPI 5.0, 9.7), and its node manager
//! ends the job. A world of one has no node manager, and reports by itself why it ends.
#![expect(unsafe_code, reason = "ends the process")]

use super::state::SmartMap;

/// The code of `bcs exit-codes` for a failure of the runtime, not of the program.
const RUNTIME: i32 = 125;

impl SmartMap {
    /// Ends the process because a rank of this job wrote invalid data: `from`, or another one in
    /// its name. Nothing that follows from them can be right.
    pub(super) fn abort_on_corruption(&self, from: usize, what: &str) -> ! {
        let rank = self.source(from);
        self.abort_job(&format!("rank {rank} {what}: node memory was overwritten"))
    }

    /// Ends this process, and with it the job.
    pub(super) fn abort_job(&self, reason: &str) -> ! {
        if let Some(node_manager) = &self.node_manager {
            node_manager.aborts(RUNTIME, reason);
        } else {
            // Ranks that are threads of a test or of the simulator do not end a process.
            assert!(self.alone, "{reason}");
            eprintln!("aborted: {reason}");
        }
        // SAFETY: it ends the process. It does not run the handlers that are registered for exit:
        // they might call MPI, and this thread holds the endpoint's lock.
        unsafe { libc::_exit(RUNTIME) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::smartmap::peer_memory::PeerMemory;
    use crate::transport::smartmap::requests::LocalRequestState;
    use bcs_core::job::NodeRanks;
    use bcs_core::memory::NicMemory;
    use bcs_core::smartmap::NodeMemory;
    use bcs_core::smartmap::send_queue::QueueEntry;
    use bcs_core::wake::MachinePage;
    use std::sync::atomic::Ordering;

    /// Returns the end at place 1 of a node of two, and the node's memory.
    fn end() -> (SmartMap, NodeMemory) {
        let node = NodeMemory::private(2).unwrap();
        let memory = NicMemory::private(4096).unwrap();
        let page = MachinePage::private(1, 2).unwrap();
        let end = SmartMap::new(
            node.clone(),
            memory,
            page,
            (1, NodeRanks::consecutive(10, 2)),
            PeerMemory::open(),
        );
        (end, node)
    }

    /// Returns the message of an end that finds this entry in the queue from place 0.
    fn told(code: u32, words: [u64; 7]) -> String {
        let (mut end, node) = end();
        let mut queue = node.sender(0, 1);
        let room = queue.reserve(0).unwrap();
        queue.publish(room, &QueueEntry { code, words });
        let drained = std::panic::AssertUnwindSafe(|| end.drain());
        let panic = std::panic::catch_unwind(drained).unwrap_err();
        *panic.downcast::<String>().unwrap()
    }

    #[test]
    fn rubbish_names_who_is_said_to_send_it() {
        for (code, len) in [(0, 0), (2, u64::MAX), (2, 1 << 20), (4, 3), (5, u64::MAX)] {
            let told = told(code, [7, len, len, 1 << 60, 0, 0, 0]);
            assert!(told.starts_with("rank 10 "), "{told}");
            assert!(told.ends_with(": node memory was overwritten"), "{told}");
        }
    }

    #[test]
    fn news_may_be_any_number() {
        let (mut end, node) = end();
        node.event_count(1).store(u64::MAX, Ordering::Relaxed);
        let before = end.events();
        let slot = end.requests.open(LocalRequestState::Opened).unwrap();
        let done = LocalRequestState::Done(crate::transport::RequestOutcome::default());
        end.requests.set(slot, done);
        assert!(end.events() != before);
    }
}
