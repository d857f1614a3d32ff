//! The local figures of Table 5.2, gathered by the Strobe Receiver of one node.

use crate::Distribution;
use crate::dump::NodeDump;

use super::{Notes, SliceLog};

/// What one struck slice was on one node. The names are those of Table 5.2; the phases that it leaves to
/// *LTRi* are named alike. `None` is a microphase that was skipped because no node had work in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SliceFigures {
    /// The number of the slice.
    pub slice: u64,
    /// When the strobe arrived; LETTS is the time between two of these.
    pub strobe_ns: u64,
    /// LTDEM: local time of the descriptor exchange microphase.
    pub ltdem_ns: Option<u64>,
    /// LMSM: local time of the message scheduling microphase.
    pub lmsm_ns: Option<u64>,
    /// LTPM: local time of the point-to-point microphase.
    pub ltpm_ns: Option<u64>,
    /// LTBBM: local time of the broadcast and barrier microphase.
    pub ltbbm_ns: Option<u64>,
    /// LTRM: local time of the reduce microphase.
    pub ltrm_ns: Option<u64>,
    /// LTTS: local time of the whole slice, from its strobe to the end of its last microphase.
    pub ltts_ns: u64,
    /// NP2PDEM: point-to-point descriptors processed in the DEM.
    pub np2pdem: u64,
    /// NP2PMSM: point-to-point operations scheduled in the MSM.
    pub np2pmsm: u64,
    /// NCOLLDEM: collectives processed in the DEM.
    pub ncolldem: u64,
    /// NCOLLMSM: collectives scheduled in the MSM.
    pub ncollmsm: u64,
    /// BPTS: processes that were blocked during the slice.
    pub bpts: u64,
}

/// Records the slices of one node, in memory that does not grow (300 KiB).
#[derive(Debug)]
pub struct SliceRecorder {
    node: u32,
    notes: Notes<SliceFigures>,
    log: SliceLog,
    ltdem_ns: Distribution,
    lmsm_ns: Distribution,
    ltpm_ns: Distribution,
    ltbbm_ns: Distribution,
    ltrm_ns: Distribution,
    ltts_ns: Distribution,
    np2pdem: u64,
    np2pmsm: u64,
    ncolldem: u64,
    ncollmsm: u64,
    bpts: u64,
}

impl SliceRecorder {
    /// A recorder for `node`, from slice number `first_slice` on.
    #[must_use]
    pub fn new(node: u32, first_slice: u64) -> Self {
        Self {
            node,
            notes: Notes::new(),
            log: SliceLog::new(first_slice),
            ltdem_ns: Distribution::new(),
            lmsm_ns: Distribution::new(),
            ltpm_ns: Distribution::new(),
            ltbbm_ns: Distribution::new(),
            ltrm_ns: Distribution::new(),
            ltts_ns: Distribution::new(),
            np2pdem: 0,
            np2pmsm: 0,
            ncolldem: 0,
            ncollmsm: 0,
            bpts: 0,
        }
    }

    /// One struck slice is over. Slices come in rising order; the numbers left out were empty slices.
    pub fn slice(&mut self, figures: &SliceFigures) {
        if let Some(notes) = self.notes.note(*figures) {
            notes.iter().for_each(|figures| self.enter(figures));
        }
    }

    fn enter(&mut self, figures: &SliceFigures) {
        self.log.struck(figures.slice, figures.strobe_ns);
        let microphases = [
            (&mut self.ltdem_ns, figures.ltdem_ns),
            (&mut self.lmsm_ns, figures.lmsm_ns),
            (&mut self.ltpm_ns, figures.ltpm_ns),
            (&mut self.ltbbm_ns, figures.ltbbm_ns),
            (&mut self.ltrm_ns, figures.ltrm_ns),
            (&mut self.ltts_ns, Some(figures.ltts_ns)),
        ];
        for (distribution, time_ns) in microphases {
            if let Some(time_ns) = time_ns {
                distribution.record(time_ns);
            }
        }
        self.np2pdem += figures.np2pdem;
        self.np2pmsm += figures.np2pmsm;
        self.ncolldem += figures.ncolldem;
        self.ncollmsm += figures.ncollmsm;
        self.bpts += figures.bpts;
    }

    /// Gives what was recorded. `end_slice` is the number that the next slice would have had: those before
    /// it that were not struck were empty. The node with the Strobe Sender then adds
    /// [`NodeDump::global`].
    #[must_use]
    pub fn finish(mut self, end_slice: u64) -> NodeDump {
        let notes = self.notes.take();
        notes.iter().for_each(|figures| self.enter(figures));
        self.log.passed_before(end_slice);
        NodeDump {
            job: String::new(),
            node: self.node,
            slices_struck: self.ltts_ns.count(),
            empty_runs: (&self.log.empty_runs).into(),
            letts_ns: (&self.log.gap_ns).into(),
            ltdem_ns: (&self.ltdem_ns).into(),
            ltmsm_ns: (&self.lmsm_ns).into(),
            ltpm_ns: (&self.ltpm_ns).into(),
            ltbbm_ns: (&self.ltbbm_ns).into(),
            ltrm_ns: (&self.ltrm_ns).into(),
            ltts_ns: (&self.ltts_ns).into(),
            np2pdem: self.np2pdem,
            np2pmsm: self.np2pmsm,
            ncolldem: self.ncolldem,
            ncollmsm: self.ncollmsm,
            bpts: self.bpts,
            ..NodeDump::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_left_out_are_empty_slices_counted_in_runs() {
        let mut recorder = SliceRecorder::new(0, 1);
        for slice in [4_u64, 5, 9] {
            recorder.slice(&SliceFigures {
                slice,
                strobe_ns: slice * 500,
                ..Default::default()
            });
        }
        let dump = recorder.finish(12);
        assert_eq!(dump.slices_struck, 3);
        assert_eq!(dump.empty_slices(), 3 + 3 + 2);
        assert_eq!(dump.empty_runs.histogram, [(2, 1), (3, 2)]);
        assert_eq!(
            (dump.letts_ns.count, dump.letts_ns.min, dump.letts_ns.total),
            (2, 500, 2500)
        );
    }

    #[test]
    fn a_skipped_microphase_has_no_time_and_counts_add_up() {
        let mut recorder = SliceRecorder::new(7, 0);
        recorder.slice(&SliceFigures {
            ltdem_ns: Some(900),
            np2pdem: 4,
            bpts: 2,
            ..Default::default()
        });
        recorder.slice(&SliceFigures {
            slice: 1,
            np2pdem: 3,
            bpts: 1,
            ..Default::default()
        });
        let dump = recorder.finish(2);
        assert_eq!(
            (dump.node, dump.slices_struck, dump.empty_slices()),
            (7, 2, 0)
        );
        assert_eq!(
            (dump.ltdem_ns.count, dump.ltrm_ns.count, dump.ltts_ns.count),
            (1, 0, 2)
        );
        assert_eq!((dump.np2pdem, dump.bpts), (7, 3));
    }
}
