//! The output of a NIC thread: mail to the other threads of its node, failures, and bells to ring.

use crate::collective::ReadyCollective;
use crate::failure::NicFailure;
use crate::mail::{Chunk, Mail, MicrophaseTally, RequestCompletion};
use bcs_core::job::{Microphase, NicThreadId};
use bcs_core::request::{Completion, RequestId};

/// The output of a NIC thread.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Mail to other threads of the node, in order.
    pub mail: Vec<(NicThreadId, Mail)>,
    /// Failures that must end the job.
    pub failures: Vec<NicFailure>,
    /// Local ranks whose bells must ring.
    pub to_ring: Vec<u32>,
}

impl Outbox {
    /// Sends mail.
    pub fn send(&mut self, to: NicThreadId, mail: Mail) {
        self.mail.push((to, mail));
    }

    /// Completes a request of a local rank.
    pub fn complete(&mut self, rank: u32, request: RequestId, completion: Completion) {
        let release = RequestCompletion {
            rank,
            request,
            completion,
        };
        // Consecutive completions travel together.
        if let Some((NicThreadId::StrobeReceiver, Mail::Completed(batch))) = self.mail.last_mut() {
            return batch.push(release);
        }
        self.send(NicThreadId::StrobeReceiver, Mail::Completed(vec![release]));
    }

    /// Requests that a local rank's bell rings soon.
    pub fn ring(&mut self, rank: u32) {
        if self.to_ring.last() != Some(&rank) {
            self.to_ring.push(rank);
        }
    }

    /// Notifies SR that a microphase is finished.
    pub fn finish_microphase(
        &mut self,
        phase: Microphase,
        work: [bool; 5],
        tally: MicrophaseTally,
    ) {
        self.send(
            NicThreadId::StrobeReceiver,
            Mail::Finished { phase, work, tally },
        );
    }

    /// Completes the receive of a chunk, if it has one.
    pub(crate) fn complete_receive(&mut self, chunk: &Chunk, completion: Completion) {
        if chunk.has_receive() {
            let (rank, request) = chunk.receiver;
            self.complete(rank, request, completion);
        }
    }

    /// Notifies BR that CH or RH has ended a collective.
    pub(crate) fn report_over(&mut self, collective: &ReadyCollective) {
        if let Some(context) = collective.over_to {
            self.send(NicThreadId::BufferReceiver, Mail::CollectiveOver(context));
        }
    }
}
