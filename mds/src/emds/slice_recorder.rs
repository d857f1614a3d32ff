//! The local figures of Table 5.2, gathered by the Strobe Receiver of one node.

use crate::Distribution;
use crate::dump::{DistributionDump, NONE, NodeDump, SliceRow};
use crate::selection::SliceWindow;

use super::rows::Rows;
use super::{PendingRows, SliceLog, enter};

impl SliceRow {
    /// Returns the row of a slice that has just been struck: no work is counted, and no microphase
    /// has a time.
    #[must_use]
    pub fn struck(slice: u64, strobe_ns: u64) -> Self {
        Self {
            slice,
            strobe_ns,
            letts_ns: NONE,
            ltdem_ns: NONE,
            ltmsm_ns: NONE,
            ltpm_ns: NONE,
            ltbbm_ns: NONE,
            ltrm_ns: NONE,
            ..Self::default()
        }
    }

    /// Returns LTRi, by the names that a [`NodeDump`] uses.
    fn routines(&self) -> [(&'static str, u64); 6] {
        [
            ("sr", self.ltr_sr_ns),
            ("bs", self.ltr_bs_ns),
            ("br", self.ltr_br_ns),
            ("dh", self.ltr_dh_ns),
            ("ch", self.ltr_ch_ns),
            ("rh", self.ltr_rh_ns),
        ]
    }
}

/// Records the slices of one node, in memory that does not grow: 520 KiB, and 216 bytes for each
/// row of the window.
#[derive(Debug)]
pub struct SliceRecorder {
    notes: PendingRows<SliceRow>,
    rows: Rows<SliceRow>,
    log: SliceLog,
    ltdem_ns: Distribution,
    ltmsm_ns: Distribution,
    ltpm_ns: Distribution,
    ltbbm_ns: Distribution,
    ltrm_ns: Distribution,
    ltts_ns: Distribution,
    ltr_ns: [Distribution; 6],
    /// The node, and the totals so far.
    totals: NodeDump,
}

impl SliceRecorder {
    /// Makes a recorder for `node`, from slice number `first_slice` on.
    #[must_use]
    pub fn new(node: u32, first_slice: u64, window: SliceWindow) -> Self {
        Self {
            notes: PendingRows::new(),
            rows: Rows::new(window),
            log: SliceLog::new(first_slice),
            ltdem_ns: Distribution::new(),
            ltmsm_ns: Distribution::new(),
            ltpm_ns: Distribution::new(),
            ltbbm_ns: Distribution::new(),
            ltrm_ns: Distribution::new(),
            ltts_ns: Distribution::new(),
            ltr_ns: std::array::from_fn(|_| Distribution::new()),
            totals: NodeDump {
                node,
                ..NodeDump::default()
            },
        }
    }

    /// Records one struck slice that has ended, and fills in LETTS. Slices come in rising order;
    /// the numbers left out were empty slices.
    pub fn slice(&mut self, row: SliceRow) {
        if !self.notes.note(row) {
            self.enter_notes();
        }
    }

    fn enter_notes(&mut self) {
        let mut notes = std::mem::take(&mut self.notes.0);
        notes.drain(..).for_each(|row| self.enter(row));
        self.notes.0 = notes;
    }

    fn enter(&mut self, mut row: SliceRow) {
        if let Some(gap_ns) = self.log.struck(row.slice, row.strobe_ns) {
            row.letts_ns = gap_ns;
        }
        enter(&mut self.ltdem_ns, row.ltdem_ns);
        enter(&mut self.ltmsm_ns, row.ltmsm_ns);
        enter(&mut self.ltpm_ns, row.ltpm_ns);
        enter(&mut self.ltbbm_ns, row.ltbbm_ns);
        enter(&mut self.ltrm_ns, row.ltrm_ns);
        enter(&mut self.ltts_ns, row.ltts_ns);
        for (distribution, (_, time_ns)) in self.ltr_ns.iter_mut().zip(row.routines()) {
            if time_ns > 0 {
                distribution.record(time_ns);
            }
        }
        let totals = &mut self.totals;
        totals.np2pdem += row.np2pdem;
        totals.np2pmsm += row.np2pmsm;
        totals.ncolldem += row.ncolldem;
        totals.ncollmsm += row.ncollmsm;
        totals.bpts += row.bpts;
        totals.budget_bytes += row.budget_bytes;
        totals.scheduled_bytes += row.scheduled_bytes;
        totals.carried_bytes += row.carried_bytes;
        totals.demanded += row.demanded;
        self.rows.keep(row.slice, row);
    }

    /// Returns what was recorded. `end_slice` is the number that the next slice would have had:
    /// earlier slices that were not struck were empty. The node with the Strobe Sender then adds
    /// [`NodeDump::global`].
    #[must_use]
    pub fn finish(mut self, end_slice: u64) -> NodeDump {
        self.enter_notes();
        self.log.passed_before(end_slice);
        let (slices, slices_dropped) = self.rows.finish();
        let names = SliceRow::default().routines().map(|(name, _)| name);
        let routines = names.into_iter().zip(&self.ltr_ns);
        NodeDump {
            slices_struck: self.ltts_ns.count(),
            empty_runs: (&self.log.empty_runs).into(),
            letts_ns: (&self.log.gap_ns).into(),
            ltdem_ns: (&self.ltdem_ns).into(),
            ltmsm_ns: (&self.ltmsm_ns).into(),
            ltpm_ns: (&self.ltpm_ns).into(),
            ltbbm_ns: (&self.ltbbm_ns).into(),
            ltrm_ns: (&self.ltrm_ns).into(),
            ltts_ns: (&self.ltts_ns).into(),
            ltr_ns: routines
                .map(|(name, times_ns)| (name.to_owned(), DistributionDump::from(times_ns)))
                .collect(),
            slices,
            slices_dropped,
            ..self.totals
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::Row;

    fn recorder(node: u32, first_slice: u64) -> SliceRecorder {
        SliceRecorder::new(node, first_slice, SliceWindow::default())
    }

    #[test]
    fn numbers_left_out_are_empty_slices_counted_in_runs() {
        let mut recorder = recorder(0, 1);
        for slice in [4_u64, 5, 9] {
            recorder.slice(SliceRow::struck(slice, slice * 500));
        }
        let dump = recorder.finish(12);
        assert_eq!(dump.slices_struck, 3);
        assert_eq!(dump.empty_slices(), 3 + 3 + 2);
        assert_eq!(dump.empty_runs.histogram, [(2, 1), (3, 2)]);
        assert_eq!(
            (dump.letts_ns.count, dump.letts_ns.min, dump.letts_ns.total),
            (2, 500, 2500)
        );
        let letts: Vec<u64> = dump.slices.iter().map(|row| row.letts_ns).collect();
        assert_eq!(letts, [NONE, 500, 2000]);
    }

    #[test]
    fn a_skipped_microphase_has_no_time_and_counts_add_up() {
        let mut recorder = recorder(7, 0);
        recorder.slice(SliceRow {
            ltdem_ns: 900,
            np2pdem: 4,
            bpts: 2,
            ltr_bs_ns: 70,
            ..SliceRow::struck(0, 10)
        });
        recorder.slice(SliceRow {
            np2pdem: 3,
            bpts: 1,
            ..SliceRow::struck(1, 20)
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
        let routines = ["bs", "ch"].map(|name| (dump.ltr_ns[name].count, dump.ltr_ns[name].total));
        assert_eq!(routines, [(1, 70), (0, 0)]);
    }

    /// More slices than are buffered at a time, and more than the window has room for.
    #[test]
    fn rows_are_of_the_window_and_totals_of_the_run() {
        let row = |slice| SliceRow {
            np2pmsm: 2,
            demanded: slice % 2,
            ..SliceRow::struck(slice, slice * 10)
        };
        let mut recorder = SliceRecorder::new(0, 1, SliceWindow::Last(100));
        (1..=1_000).for_each(|slice| recorder.slice(row(slice)));
        let dump = recorder.finish(1_001);
        assert_eq!(
            (dump.slices_struck, dump.np2pmsm, dump.demanded),
            (1_000, 2_000, 500)
        );
        assert_eq!(dump.slices_dropped, 900);
        let numbers: Vec<u64> = dump.slices.iter().map(|row| row.slice).collect();
        assert_eq!(numbers, (901..=1_000).collect::<Vec<_>>());
        let expected = SliceRow {
            letts_ns: 10,
            ..row(950)
        };
        assert_eq!(dump.slices[49], expected);
    }

    /// As the documentation of the recorder says.
    #[test]
    fn a_row_takes_216_bytes() {
        assert_eq!((size_of::<SliceRow>(), SliceRow::COLUMNS.len()), (216, 27));
    }
}
