//! What a rank records of itself for the MDS (paper section 5.1): the one place that knows the
//! recorder.

use bcs_core::clock::now_ns;
use bcs_core::lockstep;
pub(crate) use mds::mmds::Primitive;
use mds::mmds::RankRecorder;
use std::path::PathBuf;
use std::sync::Mutex;

/// The recorder of a rank, if it records.
#[derive(Debug)]
pub(crate) struct Recording {
    recorder: Option<Mutex<Option<RankRecorder>>>,
    destination: Option<Destination>,
}

/// Where a recording goes.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// The directory.
    pub(crate) directory: PathBuf,
    /// The name of the run.
    pub(crate) job: String,
}

/// When a call began; nothing if nobody records, so that nobody looks at the clock either.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun(Option<u64>);

impl Begun {
    /// For what is not to be recorded.
    pub(crate) const UNKNOWN: Self = Self(None);

    /// Whether it is not recorded.
    pub(crate) fn is_unknown(self) -> bool {
        self.0.is_none()
    }
}

impl Recording {
    /// Records, if there is where to.
    pub(crate) fn new(rank: u32, destination: Option<Destination>) -> Self {
        let recorder = || Mutex::new(Some(RankRecorder::new(rank, now_ns())));
        Self {
            recorder: destination.is_some().then(recorder),
            destination,
        }
    }

    fn with(&self, record: impl FnOnce(&mut RankRecorder)) {
        if let Some(recorder) = &self.recorder
            && let Some(recorder) = lockstep::lock(recorder).as_mut()
        {
            record(recorder);
        }
    }

    /// A call begins.
    pub(crate) fn begin(&self) -> Begun {
        Begun(self.recorder.is_some().then(now_ns))
    }

    /// A call, or what it started, is complete.
    pub(crate) fn end(&self, begun: Begun, primitive: Primitive, bytes: u64) {
        if let Begun(Some(begun)) = begun {
            self.with(|recorder| {
                recorder.record(primitive, now_ns().saturating_sub(begun), Some(bytes));
            });
        }
    }

    /// Makes a blocking call: computation ends when it begins and goes on when it ends.
    pub(crate) fn blocking<T>(
        &self,
        primitive: Primitive,
        bytes: u64,
        call: impl FnOnce() -> T,
    ) -> T {
        let begun = self.begin();
        let Begun(Some(begun_ns)) = begun else {
            return call();
        };
        self.with(|recorder| recorder.blocking_begin(begun_ns));
        let answer = call();
        self.with(|recorder| {
            let now_ns = now_ns();
            recorder.blocking_end(now_ns);
            recorder.record(primitive, now_ns.saturating_sub(begun_ns), Some(bytes));
        });
        answer
    }

    /// Writes what was recorded. Returns why that failed, if it did.
    pub(crate) fn dump(&self) -> Result<(), String> {
        let (Some(recorder), Some(to)) = (&self.recorder, &self.destination) else {
            return Ok(());
        };
        let Some(recorder) = lockstep::lock(recorder).take() else {
            return Ok(());
        };
        let mut dump = recorder.finish(now_ns());
        dump.job.clone_from(&to.job);
        let written = mds::dump::write_rank(&to.directory, &dump);
        written.map(|_| ()).map_err(|error| error.to_string())
    }
}
