//! A section of the document.

use anyhow::Result;

use super::content::PaperContent;
use super::run::PaperRun;

/// A section of the document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Its heading.
    pub(super) heading: &'static str,
    /// Measures. Content that was added before an error stays.
    pub(super) fill: fn(&PaperRun<'_>, &mut PaperContent) -> Result<()>,
}
