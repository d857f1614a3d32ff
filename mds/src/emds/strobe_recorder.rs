//! The global figures of Table 5.1, gathered by the Strobe Sender.

use crate::Distribution;
use crate::dump::{NONE, StrobeDump, StrobeRow};
use crate::selection::SliceWindow;

use super::rows::Rows;
use super::{PendingRows, SliceLog, enter};

/// Records the slices from the Strobe Sender's view, in memory that does not grow: 300 KiB, and 88
/// bytes for each row of the window.
#[derive(Debug)]
pub struct StrobeRecorder {
    notes: PendingRows<StrobeRow>,
    rows: Rows<StrobeRow>,
    log: SliceLog,
    gtdem_ns: Distribution,
    gtmsm_ns: Distribution,
    gtts_ns: Distribution,
    usrsts: Distribution,
    usrdem: Distribution,
    usrmsm: Distribution,
}

impl StrobeRecorder {
    /// Makes a recorder from slice number `first_slice` on.
    #[must_use]
    pub fn new(first_slice: u64, window: SliceWindow) -> Self {
        Self {
            notes: PendingRows::new(),
            rows: Rows::new(window),
            log: SliceLog::new(first_slice),
            gtdem_ns: Distribution::new(),
            gtmsm_ns: Distribution::new(),
            gtts_ns: Distribution::new(),
            usrsts: Distribution::new(),
            usrdem: Distribution::new(),
            usrmsm: Distribution::new(),
        }
    }

    /// Records one struck slice that has ended, and fills in GETTS. Slices come in rising order.
    pub fn slice(&mut self, row: StrobeRow) {
        if !self.notes.note(row) {
            self.enter_notes();
        }
    }

    fn enter_notes(&mut self) {
        let mut notes = std::mem::take(&mut self.notes.0);
        notes.drain(..).for_each(|row| self.enter(row));
        self.notes.0 = notes;
    }

    fn enter(&mut self, mut row: StrobeRow) {
        let gap_ns = self.log.struck(row.slice, row.strobe_ns);
        row.getts_ns = gap_ns.unwrap_or(NONE);
        let phases = [
            (&mut self.gtts_ns, row.gtts_ns, &mut self.usrsts, row.usrsts),
            (
                &mut self.gtdem_ns,
                row.gtdem_ns,
                &mut self.usrdem,
                row.usrdem,
            ),
            (
                &mut self.gtmsm_ns,
                row.gtmsm_ns,
                &mut self.usrmsm,
                row.usrmsm,
            ),
        ];
        for (times, time_ns, retries, retried) in phases {
            enter(times, time_ns);
            // A microphase that was skipped has no number of retries, not zero retries.
            if time_ns != NONE {
                retries.record(retried);
            }
        }
        self.rows.keep(row.slice, row);
    }

    /// Returns what was recorded.
    #[must_use]
    pub fn finish(mut self) -> StrobeDump {
        self.enter_notes();
        let (strobes, strobes_dropped) = self.rows.finish();
        StrobeDump {
            getts_ns: (&self.log.gap_ns).into(),
            gtdem_ns: (&self.gtdem_ns).into(),
            gtmsm_ns: (&self.gtmsm_ns).into(),
            gtts_ns: (&self.gtts_ns).into(),
            usrsts: (&self.usrsts).into(),
            usrdem: (&self.usrdem).into(),
            usrmsm: (&self.usrmsm).into(),
            strobes,
            strobes_dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_times_and_retries_are_kept_apart() {
        let mut recorder = StrobeRecorder::new(0, SliceWindow::default());
        let first = StrobeRow {
            slice: 10,
            strobe_ns: 5_000,
            gtdem_ns: 70,
            gtmsm_ns: NONE,
            gtts_ns: 200,
            usrdem: 3,
            ..Default::default()
        };
        let second = StrobeRow {
            slice: 12,
            strobe_ns: 6_000,
            gtdem_ns: NONE,
            ..first
        };
        recorder.slice(first);
        recorder.slice(second);
        let dump = recorder.finish();
        assert_eq!(dump.getts_ns.histogram, [(1_000, 1)]);
        assert_eq!((dump.gtdem_ns.total, dump.gtts_ns.total), (70, 400));
        assert_eq!(
            (dump.usrdem.count, dump.usrdem.total, dump.gtmsm_ns.count),
            (1, 3, 0)
        );
        let with_gap = |row, getts_ns| StrobeRow { getts_ns, ..row };
        let rows = [with_gap(first, NONE), with_gap(second, 1_000)];
        assert_eq!(dump.strobes, rows);
    }

    /// As the documentation of the recorder says.
    #[test]
    fn a_row_takes_88_bytes() {
        assert_eq!(size_of::<StrobeRow>(), 88);
    }
}
