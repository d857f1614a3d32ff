//! The common parts of all archives: the version, the summary, and how much is compressed.

use std::io::Write as _;
use std::num::NonZero;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;

/// The version of all archives.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One sentence about the package.
pub(super) const SUMMARY: &str = "MPI runtime after Buffered Coscheduling, with the MPI 5.0 standard ABI, \
                       deadlock detection and per-slice monitoring";

/// The time to spend on compression. Any reader of the format reads both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// A second, for tests.
    Quick,
    /// Most of a minute for each archive, which is 3 to 4 % smaller.
    Smallest,
}

/// Rounds of the compressor that searches for the smallest form. More of them gain 0.1 %.
const ROUNDS: NonZero<u8> = NonZero::new(5).expect("there are some");

impl Effort {
    /// Compresses a file with gzip.
    pub(super) fn gzip(self, bytes: &[u8]) -> Result<Vec<u8>> {
        let compressed = match self {
            Self::Quick => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes).and_then(|()| encoder.finish())
            }
            Self::Smallest => {
                let mut compressed = Vec::new();
                let options = zopfli::Options {
                    iteration_count: ROUNDS.into(),
                    ..zopfli::Options::default()
                };
                zopfli::compress(options, zopfli::Format::Gzip, bytes, &mut compressed)
                    .map(|()| compressed)
            }
        };
        compressed.context("failed to compress an archive")
    }

    /// Returns the level for a file in a wheel. Levels above 9 are rounds of that compressor.
    pub(super) fn zip_level(self) -> i64 {
        match self {
            Self::Quick => 1,
            Self::Smallest => 9 + i64::from(ROUNDS.get()),
        }
    }
}
