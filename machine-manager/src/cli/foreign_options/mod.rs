//! The options of other launchers (MPICH's and Open MPI's), in ours, before clap sees them.
//!
//! Clap would take `-hostfile` for the options `-h -o -s ...`, print its help and exit with 0: a
//! script that was written for another launcher would believe that its program had run. So every
//! word that stands where an option may stand is looked up here first: it is one of ours, or of a
//! [`table`] of theirs, or an error. A program's own words stay as they are.

mod host_values;
mod option_lookup;
mod table;
#[cfg(test)]
mod tests;
mod translation;
mod translator;

use std::ffi::OsString;

pub use option_lookup::nearest;
pub use translation::{TranslatedLine, TranslationError, TranslatorInputs, did_you_mean};

/// Translates what follows the name of a subcommand that has options of `bcs run`. `further` has
/// the options of programs behind colons.
///
/// # Errors
/// [`TranslationError`] says which word has no meaning here, and what to write.
pub fn translate(
    options: &clap::Command,
    further: &clap::Command,
    words: &[OsString],
    world: &TranslatorInputs<'_>,
) -> Result<TranslatedLine, TranslationError> {
    translator::Translator::new(options, further, world).translate(words)
}
