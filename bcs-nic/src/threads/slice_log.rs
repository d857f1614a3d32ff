//! SR's record of the slices of its node (paper Table 5.2), if recording is on.

use super::NodeConfig;
use crate::blocks::Microstrobe;
use crate::mail::MicrophaseTally;
use bcs_core::job::{Microphase, NicThreadId};
use mds::dump::{NodeDump, SliceRow};
use mds::emds::SliceRecorder;

/// The slices of a node.
#[derive(Debug)]
pub(super) struct SliceLog {
    recorder: SliceRecorder,
    /// The slice under way, or the last one; `None` before the first.
    row: Option<SliceRow>,
    phase_began_ns: u64,
    /// How long SR's routines had taken when the slice was struck.
    worked_ns: u64,
}

impl SliceLog {
    pub(super) fn new(config: &NodeConfig) -> Option<Self> {
        let window = config.emds?;
        Some(Self {
            recorder: SliceRecorder::new(u32::from(config.node.0), 1, window),
            row: None,
            phase_began_ns: 0,
            worked_ns: 0,
        })
    }

    /// Begins a microphase. If its microstrobe strikes a slice, the one before is over.
    pub(super) fn begin(&mut self, strobe: &Microstrobe, now_ns: u64, worked_ns: u64) {
        self.phase_began_ns = now_ns;
        if strobe.phase == Microphase::Dem {
            self.end_slice(worked_ns);
            self.row = Some(SliceRow {
                demanded: u64::from(strobe.demanded),
                ..SliceRow::struck(strobe.slice, now_ns)
            });
        }
    }

    /// Records how many ranks of the node are blocked when the cut is taken.
    pub(super) fn set_blocked(&mut self, ranks: usize) {
        if let Some(row) = &mut self.row {
            row.bpts = ranks as u64;
        }
    }

    fn end_slice(&mut self, worked_ns: u64) {
        if let Some(mut row) = self.row.take() {
            row.ltr_sr_ns = worked_ns - self.worked_ns;
            self.recorder.slice(row);
        }
        self.worked_ns = worked_ns;
    }

    /// Records that a NIC thread has finished its part of a microphase.
    pub(super) fn count(&mut self, phase: Microphase, tally: &MicrophaseTally) {
        let Some(row) = &mut self.row else { return };
        match phase {
            Microphase::Dem => {
                row.np2pdem += tally.point_to_point;
                row.ncolldem += tally.collectives;
            }
            Microphase::Msm => row.np2pmsm += tally.point_to_point,
            Microphase::Pm => {}
            Microphase::Bbm | Microphase::Rm => {
                row.ncollmsm += tally.collectives;
                row.collectives_waiting = row.collectives_waiting.saturating_sub(tally.ending);
            }
        }
        if let Some(queues) = tally.queues.as_deref() {
            row.budget_bytes = queues.budget_bytes;
            row.scheduled_bytes = queues.scheduled_bytes;
            row.carried_bytes = queues.carried_bytes;
            row.receives_waiting = queues.receives;
            row.messages_waiting = queues.messages;
            row.collectives_waiting = queues.collectives;
        }
        if let Some((thread, ns)) = tally.worked {
            let routines = match thread {
                NicThreadId::StrobeReceiver => &mut row.ltr_sr_ns,
                NicThreadId::BufferSender => &mut row.ltr_bs_ns,
                NicThreadId::BufferReceiver => &mut row.ltr_br_ns,
                NicThreadId::DmaHelper => &mut row.ltr_dh_ns,
                NicThreadId::CollectiveHelper => &mut row.ltr_ch_ns,
                NicThreadId::ReduceHelper => &mut row.ltr_rh_ns,
            };
            *routines += ns;
        }
    }

    /// Records that all threads of the node have finished a microphase.
    pub(super) fn finished(&mut self, phase: Microphase, now_ns: u64) {
        let Some(row) = &mut self.row else { return };
        let took = match phase {
            Microphase::Dem => &mut row.ltdem_ns,
            Microphase::Msm => &mut row.ltmsm_ns,
            Microphase::Pm => &mut row.ltpm_ns,
            Microphase::Bbm => &mut row.ltbbm_ns,
            Microphase::Rm => &mut row.ltrm_ns,
        };
        *took = now_ns - self.phase_began_ns;
        row.ltts_ns = now_ns - row.strobe_ns;
    }

    /// Returns what was recorded.
    pub(super) fn finish(mut self, worked_ns: u64) -> NodeDump {
        let end = self.row.as_ref().map_or(1, |row| row.slice + 1);
        self.end_slice(worked_ns);
        self.recorder.finish(end)
    }
}
