//! The label at the beginning of each file of a dump.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::DumpError;

/// The version of all formats that this program writes, and the only one that it reads. It rises
/// when a member changes its meaning or is removed. New members, columns and distributions do not
/// change it.
pub(super) const VERSION: u64 = 2;

/// The head of a table or a histogram log.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Label<T> {
    pub(super) format: String,
    pub(super) version: u64,
    #[serde(flatten)]
    pub(super) content: T,
}

impl<T> Label<T> {
    pub(super) fn new(format: &str, content: T) -> Self {
        Self {
            format: format.to_owned(),
            version: VERSION,
            content,
        }
    }
}

/// The part of a label that decides whether the rest can be understood.
#[derive(Deserialize)]
struct LabelKind {
    format: Option<String>,
    version: Option<u64>,
}

/// Parses a JSON object whose label names this format. The caller checks whether the object is
/// complete.
pub(super) fn labelled<T: for<'a> Deserialize<'a>>(
    path: &Path,
    json: &[u8],
    format: &'static str,
) -> Result<T, DumpError> {
    let foreign = |found: String| DumpError::Foreign {
        path: path.to_owned(),
        expected: format,
        found,
    };
    let kind: LabelKind = serde_json::from_slice(json).map_err(|error| match error.classify() {
        Category::Data => foreign(format!("another JSON value ({error})")),
        _ => foreign(format!("what is not JSON ({error})")),
    })?;
    match kind.format {
        Some(found) if found == format => {}
        Some(found) => return Err(foreign(format!("{found:?}"))),
        None => return Err(foreign("an object without one".to_owned())),
    }
    let malformed = |what: String| DumpError::malformed(path, what);
    match kind.version {
        Some(VERSION) => {}
        Some(found) if found > VERSION => {
            return Err(DumpError::Newer {
                path: path.to_owned(),
                found,
                known: VERSION,
            });
        }
        Some(found @ 1..VERSION) => {
            return Err(DumpError::Older {
                path: path.to_owned(),
                found,
                known: VERSION,
            });
        }
        Some(found) => return Err(malformed(format!("there never was a version {found}"))),
        None => return Err(malformed("it has no version".to_owned())),
    }
    serde_json::from_slice(json).map_err(|error| malformed(error.to_string()))
}
