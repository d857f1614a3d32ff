//! SR, the Strobe Receiver: the counterpart of SS on every node (paper section 4.1).
//!
//! - **Owns** the completion side of the node's ranks: request slots, completion counters, and the
//!   list of ranks to ring.
//! - **Takes** microstrobes and completion blocks from the fabric; `Finished`, `Completed`,
//!   `Awaited` and `SendsCompleted` from the other threads.
//! - **Emits** `Phase` to the threads that a microphase needs; the report that the node has
//!   finished it, and in which later ones it has no work; completions to ranks.
//! - **Invariants.** A cut is taken at the DEM strobe, before the strobe releases any completion
//!   (law 1). Under strobes by the clock nothing is released between two strobes. There is one
//!   microphase at a time: SS does not strike the next before all nodes have reported this one.

use super::slice_log::SliceLog;
use super::{NicThread, NicThreadContext, NodeConfig, Outbox, TableLeak};
use crate::blocks::{CompletedSend, CompletionBlock, Microstrobe};
use crate::failure::NicFailureCause;
use crate::mail::{Cut, Mail, RequestCompletion};
use bcs_core::job::{Microphase, NicThreadId, NodeId, NodeSet};
use bcs_fabric::{Port, Variable};
use mds::dump::NodeDump;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The Strobe Receiver of a node.
#[derive(Debug)]
pub struct StrobeReceiver {
    config: NodeConfig,
    signals_seen: u64,
    /// The current microstrobe, or the last one.
    current: Option<Microstrobe>,
    /// Threads that have not finished the microphase.
    unfinished: usize,
    /// The microphases of this slice in which the node has work.
    work: [bool; 5],
    /// Completions that wait for the next strobe (by the clock).
    held: Vec<RequestCompletion>,
    /// The number of sends whose completions other nodes have still to report: while it is 0, no
    /// lane of completions holds anything. Sends to a dead node are never subtracted, and then the
    /// lanes are read in vain.
    awaited: usize,
    /// The last slice in which each lane of completions was read.
    lane_read: Vec<u64>,
    alive: NodeSet,
    /// The record, if there is one.
    log: Option<SliceLog>,
    /// Whether BS and BR take descriptors, or drop what they held back, in this microphase.
    takes: bool,
    cut: Arc<Cut>,
}

impl StrobeReceiver {
    /// Creates the SR of a node.
    #[must_use]
    pub fn new(config: NodeConfig) -> Self {
        let nodes = config.placement.nodes();
        Self {
            log: SliceLog::new(&config),
            config,
            signals_seen: 0,
            current: None,
            unfinished: 0,
            work: [false; 5],
            held: Vec::new(),
            awaited: 0,
            lane_read: vec![0; nodes],
            alive: NodeSet::first_nodes(nodes),
            takes: false,
            cut: Arc::default(),
        }
    }

    fn begin(&mut self, strobe: Microstrobe, context: &mut NicThreadContext<'_>) {
        self.current = Some(strobe);
        if let Some(log) = &mut self.log {
            log.begin(&strobe, (context.clock)(), context.worked_ns);
        }
        self.takes = strobe.phase == Microphase::Dem || strobe.alive != self.alive;
        if strobe.alive != self.alive {
            self.announce_lost_nodes(strobe.alive, context);
        }
        let cut = (strobe.phase == Microphase::Dem).then(|| {
            self.config.page.note_remote_slice(strobe.slice);
            self.take_cut()
        });
        let threads: &[NicThreadId] = match strobe.phase {
            Microphase::Dem => &[NicThreadId::BufferSender, NicThreadId::BufferReceiver],
            Microphase::Msm => &[NicThreadId::BufferReceiver],
            Microphase::Pm => &[NicThreadId::DmaHelper],
            Microphase::Bbm => &[NicThreadId::CollectiveHelper],
            Microphase::Rm => &[NicThreadId::ReduceHelper],
        };
        self.unfinished = threads.len();
        for &thread in threads {
            let phase = Mail::Phase {
                slice: strobe.slice,
                phase: strobe.phase,
                cut: cut.clone(),
            };
            context.out.send(thread, phase);
        }
        if strobe.phase == Microphase::Dem {
            self.work = [false; 5];
            Self::release_completions(&self.config, &std::mem::take(&mut self.held), context.out);
        }
    }

    /// Takes the cut. The users of the last one have released it, so nothing need be allocated.
    fn take_cut(&mut self) -> Arc<Cut> {
        let Cut(tails) = Arc::make_mut(&mut self.cut);
        tails.clear();
        let served = self.config.ranks[..self.config.served()].iter();
        tails.extend(served.clone().map(|(_, memory)| memory.tails()));
        if let Some(log) = &mut self.log {
            log.set_blocked(served.filter(|(_, memory)| memory.is_waiting()).count());
        }
        self.cut.clone()
    }

    fn announce_lost_nodes(&mut self, alive: NodeSet, context: &mut NicThreadContext<'_>) {
        let lost = self
            .alive
            .iter()
            .filter(|&node| !alive.contains(node))
            .collect();
        self.alive = alive;
        for thread in NicThreadId::ALL {
            if thread != NicThreadId::StrobeReceiver {
                context.out.send(thread, Mail::NodesLost(lost));
            }
        }
    }

    fn finished(&mut self, phase: Microphase, work: [bool; 5], context: &mut NicThreadContext<'_>) {
        let strobe = self
            .current
            .expect("a thread finished a microphase that was begun");
        assert_eq!(
            phase, strobe.phase,
            "a thread finished another microphase than the current"
        );
        for (all, one) in self.work.iter_mut().zip(work) {
            *all |= one;
        }
        self.unfinished -= 1;
        if self.unfinished > 0 {
            return;
        }
        if let Some(log) = &mut self.log {
            log.finished(phase, (context.clock)());
        }
        // DEM decides whether there is anything to schedule, MSM what to transmit.
        let decided: &[Microphase] = match phase {
            Microphase::Dem => &[Microphase::Msm],
            Microphase::Msm => &[Microphase::Pm, Microphase::Bbm, Microphase::Rm],
            _ => &[],
        };
        for &later in decided {
            if !self.work[later.index()] {
                context.port.store(Variable::Quiet(later), strobe.slice);
            }
        }
        context
            .port
            .store_and_report(Variable::Finished, strobe.sequence);
        if self.takes {
            self.config.ring_for_space(context.out);
        }
    }

    fn completed(&mut self, batch: Vec<RequestCompletion>, out: &mut Outbox) {
        if !self.config.settings.strobe.is_elastic() {
            // Law 1: they are released at the next strobe, which must come.
            self.held.extend(batch);
            self.config.page.arm();
            return;
        }
        Self::release_completions(&self.config, &batch, out);
    }

    /// Reports to ranks that their requests are complete. Consecutive completions of one rank are
    /// counted together: counting waits until all writes have left this core.
    pub(crate) fn release_completions(
        config: &NodeConfig,
        batch: &[RequestCompletion],
        out: &mut Outbox,
    ) {
        for releases in batch.chunk_by(|one, next| one.rank == next.rank) {
            let rank = releases[0].rank;
            let Some(local) = config.local(rank) else {
                continue;
            };
            let memory = &config.ranks[local].1;
            let complete = |it: &RequestCompletion| memory.complete(it.request, &it.completion);
            let completed = releases.iter().map(|it| u64::from(complete(it))).sum();
            if completed > 0 {
                memory.completions().fetch_add(completed, Ordering::Release);
                out.ring(rank);
            }
        }
    }

    /// Reads the completions that other nodes' DHs have put since the last call.
    fn read_completions(&mut self, context: &mut NicThreadContext<'_>) {
        let Some(strobe) = self.current else { return };
        let mut sends = Vec::new();
        for lane in (0..self.lane_read.len()).map(NodeId::from_index) {
            if self.lane_read[lane.index()] >= strobe.slice {
                continue;
            }
            let before = sends.len();
            let read = CompletionBlock::read(context.port, lane, strobe.slice, &mut sends);
            if let Err(what) = read {
                let cause = NicFailureCause::BadBlock { lane, what };
                context.out.failures.push(self.config.failure(cause));
            }
            if sends.len() > before {
                self.lane_read[lane.index()] = strobe.slice;
            }
        }
        self.awaited = self.awaited.saturating_sub(sends.len());
        self.complete_awaited_sends(&sends, context);
    }

    /// Completes sends that other nodes have reported as complete.
    fn complete_awaited_sends(
        &mut self,
        sends: &[CompletedSend],
        context: &mut NicThreadContext<'_>,
    ) {
        if sends.is_empty() {
            return;
        }
        let batch = sends.iter().map(|send| RequestCompletion {
            rank: send.rank,
            request: send.request,
            completion: send.completion(),
        });
        self.completed(batch.collect(), context.out);
        let settled = sends.iter().map(|send| (send.rank, send.request));
        let settled = Mail::AwaitedSendsCompleted(settled.collect());
        context.out.send(NicThreadId::BufferSender, settled);
    }
}

impl NicThread for StrobeReceiver {
    fn handle(&mut self, mail: Mail, context: &mut NicThreadContext<'_>) {
        match mail {
            Mail::Finished { phase, work, tally } => {
                if let Some(log) = &mut self.log {
                    log.count(phase, &tally);
                }
                self.finished(phase, work, context);
            }
            Mail::Completed(batch) => self.completed(batch, context.out),
            Mail::Awaited(sends) => self.awaited += sends,
            Mail::SendsCompleted(sends) => self.complete_awaited_sends(&sends, context),
            other => unreachable!("SR does not take {other:?}"),
        }
    }

    fn needs_polling(&self) -> bool {
        false
    }

    fn waits_for_slice(&self) -> Option<&'static str> {
        (!self.held.is_empty()).then_some("completions that the next strobe releases")
    }

    fn poll(&mut self, context: &mut NicThreadContext<'_>) -> bool {
        let signals = context.port.signal_count();
        if signals == self.signals_seen {
            return false;
        }
        self.signals_seen = signals;
        // The strobe is read first: all that was put before it is visible then, and what comes
        // while the lanes are read belongs to the slice before. It begins last: lanes are reused
        // once this node has finished the next DEM. A signal does not tell a completion from a
        // microstrobe: a strobe may be seen before its signal.
        let strobe = Microstrobe::read(context.port);
        if self.awaited > 0 {
            self.read_completions(context);
        }
        if let Some(strobe) = strobe
            && self
                .current
                .is_none_or(|current| strobe.sequence > current.sequence)
        {
            self.begin(strobe, context);
        }
        true
    }

    fn table_leaks(&self, _port: &dyn Port) -> Vec<TableLeak> {
        vec![TableLeak::program_leak("completions", self.held.len())]
    }

    fn take_recording(&mut self, worked_ns: u64) -> Option<NodeDump> {
        Some(self.log.take()?.finish(worked_ns))
    }
}
