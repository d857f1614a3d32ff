//! The global figures of Table 5.1, gathered by the Strobe Sender.

use crate::Distribution;
use crate::dump::StrobeDump;

use super::{Notes, SliceLog};

/// What one struck slice was for the whole machine. The names are those of Table 5.1. `None` is a
/// microphase that was skipped because no node had work in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StrobeFigures {
    /// The number of the slice.
    pub slice: u64,
    /// When the strobe was sent; GETTS is the time between two of these.
    pub strobe_ns: u64,
    /// GTDEM: time until all nodes had done the descriptor exchange microphase.
    pub gtdem_ns: Option<u64>,
    /// GTMSM: time until all nodes had done the message scheduling microphase.
    pub gtmsm_ns: Option<u64>,
    /// GTTS: time until all nodes had done the slice.
    pub gtts_ns: u64,
    /// USRSTS: Compare-And-Writes that came out false before the previous slice was over.
    pub usrsts: u64,
    /// USRDEM: Compare-And-Writes that came out false before the DEM was over.
    pub usrdem: u64,
    /// USRMSM: Compare-And-Writes that came out false before the MSM was over.
    pub usrmsm: u64,
}

/// Records the slices as the Strobe Sender sees them, in memory that does not grow (300 KiB).
#[derive(Debug)]
pub struct StrobeRecorder {
    notes: Notes<StrobeFigures>,
    log: SliceLog,
    gtdem_ns: Distribution,
    gtmsm_ns: Distribution,
    gtts_ns: Distribution,
    usrsts: Distribution,
    usrdem: Distribution,
    usrmsm: Distribution,
}

impl StrobeRecorder {
    /// A recorder from slice number `first_slice` on.
    #[must_use]
    pub fn new(first_slice: u64) -> Self {
        Self {
            notes: Notes::new(),
            log: SliceLog::new(first_slice),
            gtdem_ns: Distribution::new(),
            gtmsm_ns: Distribution::new(),
            gtts_ns: Distribution::new(),
            usrsts: Distribution::new(),
            usrdem: Distribution::new(),
            usrmsm: Distribution::new(),
        }
    }

    /// One struck slice is over. Slices come in rising order.
    pub fn slice(&mut self, figures: &StrobeFigures) {
        if let Some(notes) = self.notes.note(*figures) {
            notes.iter().for_each(|figures| self.enter(figures));
        }
    }

    fn enter(&mut self, figures: &StrobeFigures) {
        self.log.struck(figures.slice, figures.strobe_ns);
        // The retries of a microphase that was skipped are none, not zero.
        let dem = figures.gtdem_ns.map(|time_ns| (time_ns, figures.usrdem));
        let msm = figures.gtmsm_ns.map(|time_ns| (time_ns, figures.usrmsm));
        let phases = [
            (
                &mut self.gtts_ns,
                &mut self.usrsts,
                Some((figures.gtts_ns, figures.usrsts)),
            ),
            (&mut self.gtdem_ns, &mut self.usrdem, dem),
            (&mut self.gtmsm_ns, &mut self.usrmsm, msm),
        ];
        for (times, retries, figures) in phases {
            if let Some((time_ns, retried)) = figures {
                times.record(time_ns);
                retries.record(retried);
            }
        }
    }

    /// Gives what was recorded.
    #[must_use]
    pub fn finish(mut self) -> StrobeDump {
        let notes = self.notes.take();
        notes.iter().for_each(|figures| self.enter(figures));
        StrobeDump {
            getts_ns: (&self.log.gap_ns).into(),
            gtdem_ns: (&self.gtdem_ns).into(),
            gtmsm_ns: (&self.gtmsm_ns).into(),
            gtts_ns: (&self.gtts_ns).into(),
            usrsts: (&self.usrsts).into(),
            usrdem: (&self.usrdem).into(),
            usrmsm: (&self.usrmsm).into(),
            ..StrobeDump::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_times_and_retries_are_kept_apart() {
        let mut recorder = StrobeRecorder::new(0);
        let first = StrobeFigures {
            slice: 10,
            strobe_ns: 5_000,
            gtdem_ns: Some(70),
            gtts_ns: 200,
            usrdem: 3,
            ..Default::default()
        };
        recorder.slice(&first);
        recorder.slice(&StrobeFigures {
            slice: 12,
            strobe_ns: 6_000,
            gtdem_ns: None,
            ..first
        });
        let dump = recorder.finish();
        assert_eq!(dump.getts_ns.histogram, [(1_000, 1)]);
        assert_eq!((dump.gtdem_ns.total, dump.gtts_ns.total), (70, 400));
        assert_eq!(
            (dump.usrdem.count, dump.usrdem.total, dump.gtmsm_ns.count),
            (1, 3, 0)
        );
    }
}
