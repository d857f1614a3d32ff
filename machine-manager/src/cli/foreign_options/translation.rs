//! The inputs of a translation, its result, and its errors.

use std::ffi::OsString;
use std::io;

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
