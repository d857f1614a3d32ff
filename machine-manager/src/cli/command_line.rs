//! A command line: read, translated, parsed, and answered where it asks for nothing but an answer.

use super::foreign_options::{self, TranslationError, TranslatorInputs};
use super::{Cli, FurtherApplication, complaint};
use crate::exit_code;
use crate::standard_output::print_all;
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// The subcommands whose options `bcs.toml` and variables can give defaults to.
pub const CONFIGURED: [&str; 4] = ["run", "bench", "tune", "config"];

/// Those of them that start a program.
const STARTS_PROGRAMS: [&str; 2] = ["run", "tune"];

/// A command line in our words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BcsCommandLine {
    /// How `bcs run` is called.
    name: String,
    arguments: Vec<OsString>,
    /// Whether help is no success: it was asked for by a letter, where a program was to run.
    short_help: bool,
    /// Messages to the user about words that change nothing.
    pub notes: Vec<String>,
}

/// An answer that is printed instead of running a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlyAnswer {
    /// The text.
    pub text: String,
    /// The exit code of `bcs`. The text is what the user requested only if this is 0.
    pub code: u8,
}

impl EarlyAnswer {
    fn bad(text: &str) -> Self {
        Self {
            text: format!("bcs: {text}\n"),
            code: exit_code::BAD_INPUT,
        }
    }

    /// Says it.
    #[must_use]
    pub fn give(&self) -> ExitCode {
        match self.code {
            exit_code::SUCCESS => {
                print_all(self.text.as_bytes());
            }
            _ => eprint!("{}", self.text),
        }
        ExitCode::from(self.code)
    }
}

impl BcsCommandLine {
    /// Reads the words of a command line, the name of the binary first. `name` is what `bcs run` is
    /// called.
    ///
    /// # Errors
    /// The answer, if there is a word that means nothing here.
    pub fn read(name: &str, arguments: &[OsString]) -> Result<Self, EarlyAnswer> {
        let plain = Self {
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            short_help: false,
            notes: Vec::new(),
        };
        let Some((_, [subcommand, words @ ..])) = arguments.split_first() else {
            return Ok(plain);
        };
        if !CONFIGURED.iter().any(|name| subcommand == *name) {
            return Ok(plain);
        }
        let all = Cli::command();
        let Some(options) = all.find_subcommand(subcommand) else {
            return Ok(plain);
        };
        let further = FurtherApplication::command();
        let translated =
            foreign_options::translate(options, &further, words, &TranslatorInputs::REAL);
        let translated = translated.map_err(|error| {
            let see = match error {
                TranslationError::Unknown { .. } | TranslationError::NoValue { .. } => {
                    format!("; see `bcs {} --help`", subcommand.display())
                }
                _ => String::new(),
            };
            EarlyAnswer::bad(&format!("{error}{see}"))
        })?;
        Ok(Self {
            arguments: [&arguments[..2], &translated.words].concat(),
            // Other programs use the letter for other things, and a script must not believe that a
            // program has run.
            short_help: translated.short_help
                && STARTS_PROGRAMS.iter().any(|name| subcommand == *name),
            notes: translated.notes,
            ..plain
        })
    }

    /// Parses it with a command that has its defaults.
    ///
    /// # Errors
    /// The answer, if there is nothing to be done, or nothing that could be.
    pub fn parse(&self, command: Command) -> Result<(ArgMatches, Cli), EarlyAnswer> {
        // A user of `mpiexec --version` wants to know whose launcher it is.
        let name = format!("{} (BCS-MPI)", self.name);
        let shows_all = self.arguments.iter().any(|word| word == "--help-all");
        let command = command.mut_subcommand("run", |run| {
            // The line of an option already names its values.
            let run = run.mut_args(|option| match option.get_action().takes_values() {
                true => option.hide_possible_values(!shows_all),
                false => option,
            });
            run.display_name(name)
        });
        let parsed = command.try_get_matches_from(&self.arguments);
        let parsed = parsed.and_then(|matches| {
            let cli = Cli::from_arg_matches(&matches)?;
            Ok((matches, cli))
        });
        parsed.map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp if self.short_help => EarlyAnswer {
                text: styled(&error),
                code: exit_code::BAD_INPUT,
            },
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => EarlyAnswer {
                text: styled(&error),
                code: exit_code::BAD_INPUT,
            },
            _ if error.use_stderr() => EarlyAnswer::bad(&self.complaint(&error)),
            _ => EarlyAnswer {
                text: styled(&error),
                code: exit_code::SUCCESS,
            },
        })
    }

    /// A complaint of clap in one line: what is wrong, and where to look.
    fn complaint(&self, error: &clap::Error) -> String {
        if error.kind() == ErrorKind::MissingSubcommand {
            return complaint(error);
        }
        let all = Cli::command();
        let named = self
            .arguments
            .get(1)
            .and_then(|word| all.find_subcommand(word));
        match named {
            Some(command) => format!(
                "{}; see `bcs {} --help`",
                complaint(error),
                command.get_name()
            ),
            None => format!("{}; see `bcs help`", complaint(error)),
        }
    }
}

/// Help with headings that stand out, for people who have not asked for plain text.
fn styled(error: &clap::Error) -> String {
    let text = error.render();
    match std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => text.ansi().to_string(),
        false => text.to_string(),
    }
}
