//! The errors of dumps.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a dump could not be written or read. Every message names the file, what was found and what
/// to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The file system refused to write.
    #[error("failed to write the MDS dump {}: {source}", path.display())]
    Write {
        /// The dump that was to be written.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The file system refused to read.
    #[error("failed to read {}: {source}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The directory holds no dump at all.
    #[error(
        "failed to find MDS dumps in {}: no rank-*.json or node-*.json there that can be read; \
         name the directory that a run was given with --mds",
        path.display()
    )]
    NoDumps {
        /// The directory.
        path: PathBuf,
    },
    /// The file ends too early.
    #[error(
        "failed to read {}: it breaks off after {length} bytes; dumps are never written in part, so \
         it was cut short later: copy it again, or delete it",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
    },
    /// The file is of another kind.
    #[error(
        "failed to read {}: expected the format \"{expected}\", found {found}; \
         move it out of this directory, or name the directory of a run",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The format that a file of this name has.
        expected: &'static str,
        /// The format that it has instead.
        found: String,
    },
    /// The file is longer than any dump.
    #[error(
        "failed to read {}: it has {length} bytes and no file of its kind has more than {most}; move it out of this \
         directory",
        path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its length in bytes, as far as it was read.
        length: u64,
        /// The largest length of a file of its kind.
        most: u64,
    },
    /// An earlier program wrote the file.
    #[error(
        "failed to read {}: it is in version {found} of its format and this program reads version {known}; \
         use the program that wrote it, or run again",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u64,
        /// The version that this program can read.
        known: u64,
    },
    /// A later program wrote the file.
    #[error(
        "failed to read {}: it is in version {found} of its format and this program knows version {known}; \
         use the program that wrote it, or a newer one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u64,
        /// The newest version that this program can read.
        known: u64,
    },
    /// The file claims to be a dump, but its content is not one.
    #[error("failed to read {}: {what}; it was changed after it was written: run again", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The defect, and its place in the file.
        what: String,
    },
    /// A file that another file refers to is missing.
    #[error(
        "failed to find {}, of which {} speaks; copy it there, or do without what it holds",
        path.display(), beside.display()
    )]
    Absent {
        /// The file.
        path: PathBuf,
        /// The file that refers to it.
        beside: PathBuf,
    },
    /// Ranks or nodes of the run left no dump, or none that can be read.
    #[error(
        "failed to find dumps of {missing} in {}; the report is about the others", path.display()
    )]
    Missing {
        /// The directory.
        path: PathBuf,
        /// The missing ranks or nodes: `ranks 3 and 5 to 7`.
        missing: String,
    },
    /// The name of the file and its content disagree.
    #[error(
        "failed to read {}: by its content it is {content}; give it back the name it was written under",
        path.display()
    )]
    Misnamed {
        /// The file.
        path: PathBuf,
        /// The name that belongs to its content.
        content: String,
    },
    /// One directory holds dumps of two runs.
    #[error(
        "failed to read {} together with the dumps beside it: it is of run \"{job}\" and they are of run \
         \"{other}\"; delete those of one run, and give every run a directory of its own",
        path.display()
    )]
    TwoRuns {
        /// The file that differs from the first.
        path: PathBuf,
        /// Its run.
        job: String,
        /// The run of the first file.
        other: String,
    },
}

impl DumpError {
    pub(super) fn malformed(path: &Path, what: impl Into<String>) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}
