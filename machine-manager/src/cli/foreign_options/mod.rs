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
mod translator;

use std::ffi::OsString;
use std::io;

pub use option_lookup::nearest;

/// The inputs of a translation outside the command line.
pub struct TranslatorInputs<'a> {
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The text of a file.
    pub file: &'a dyn Fn(&str) -> io::Result<String>,
}

impl TranslatorInputs<'_> {
    /// The one around this process.
    pub const REAL: TranslatorInputs<'static> = TranslatorInputs {
        variable: &|name| std::env::var_os(name),
        file: &|path| std::fs::read_to_string(path),
    };
}

impl std::fmt::Debug for TranslatorInputs<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("World").finish_non_exhaustive()
    }
}

/// A command line in our words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslatedLine {
    /// The words that clap parses.
    pub words: Vec<OsString>,
    /// Messages to the user about words that change nothing.
    pub notes: Vec<String>,
    /// Whether the help was asked for by a letter, which a script may have meant otherwise.
    pub short_help: bool,
}

/// An error: a word has no translation.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslationError {
    /// A word that nobody knows.
    #[error("there is no option {word}{}", did_you_mean(nearest.as_deref()))]
    Unknown {
        /// As given.
        word: String,
        /// The option that the user may have meant.
        nearest: Option<String>,
    },
    /// A word of others that means nothing here.
    #[error("{word} is an option of other launchers: {instead}")]
    Foreign {
        /// As given.
        word: String,
        /// What to do.
        instead: String,
    },
    /// A value is missing.
    #[error("{word} needs {what}")]
    NoValue {
        /// As given.
        word: String,
        /// The value that the option needs, and the word that was found.
        what: String,
    },
    /// A value that cannot be had.
    #[error("{word} {value}: {why}")]
    Value {
        /// The option.
        word: String,
        /// The value that was given.
        value: String,
        /// The defect of the value, and the remedy.
        why: String,
    },
    /// One of the above behind a colon.
    #[error(
        "program {number} (after a ':'): {what}; only -n, --wdir and --env may stand there, other \
         options stand before the first program"
    )]
    Further {
        /// Counted from 1.
        number: usize,
        /// The error of that program.
        what: Box<TranslationError>,
    },
}

/// The end of a sentence about a name that does not exist.
#[must_use]
pub fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean {name}?)"))
}

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
