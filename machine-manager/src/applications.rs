//! The programs of a job: one, or several separated by a lone colon (MPMD). They are found and
//! checked before anything is started.

use crate::cli::{self, ApplicationOptions, FurtherApplication, ProgramArgs};
use crate::program::{BadProgram, Program};
use clap::FromArgMatches as _;
use node_manager::control::Application;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A program that cannot be run as requested.
#[derive(Debug, thiserror::Error)]
pub enum BadApplication {
    /// The program itself.
    #[error(transparent)]
    Program(#[from] BadProgram),
    /// Its working directory.
    #[error("directory {path} for --wdir cannot be used: {error}")]
    Directory {
        /// As given.
        path: String,
        /// The error.
        error: std::io::Error,
    },
    /// One of several programs has no number of ranks.
    #[error(
        "program {number} of {count} has no rank: give its -n a number from 1, or leave it out"
    )]
    NoRanks {
        /// Counted from 1.
        number: usize,
        /// The number of programs.
        count: usize,
    },
    /// The words after a colon are wrong.
    #[error(
        "program {number} (after a ':'): {what}; only -n, --wdir and --env may stand there, other \
         options stand before the first program"
    )]
    Line {
        /// Counted from 1.
        number: usize,
        /// The error.
        what: String,
    },
    /// A debugger that cannot be run.
    #[error("--debugger {command}: {what}")]
    Debugger {
        /// As given.
        command: String,
        /// The error.
        what: String,
    },
    /// No program is named.
    #[error("no program is named before or after a ':': name one, or leave the ':' out")]
    Nothing,
}

/// Finds all programs of a command line: the first with its parsed options, further ones with the
/// options behind their colons. `further` parses these: it is the command of
/// [`FurtherApplication`], with the configured defaults. If there is one program without a number
/// of ranks, it has `alone` of them.
///
/// # Errors
/// [`BadApplication`] names the program and the error.
pub fn find(
    (first, alone): (&ApplicationOptions, usize),
    line: &[OsString],
    search: Option<&OsStr>,
    mut further: clap::Command,
) -> Result<Vec<Application>, BadApplication> {
    let lines: Vec<&[OsString]> = line.split(|word| word == ":").collect();
    if lines.iter().any(|line| line.is_empty()) {
        return Err(BadApplication::Nothing);
    }
    let default = if lines.len() == 1 { alone } else { 1 };
    let mut applications = vec![application((first, default), lines[0], search)?];
    for (number, line) in (2..).zip(&lines[1..]) {
        let bad = |what| BadApplication::Line { number, what };
        let words = line.iter().cloned();
        let parsed = further
            .try_get_matches_from_mut(std::iter::once("bcs run".into()).chain(words))
            .and_then(|matches| FurtherApplication::from_arg_matches(&matches))
            .map_err(|error| bad(cli::complaint(&error)))?;
        let ProgramArgs::Line(line) = &parsed.program;
        applications.push(application((&parsed.options, 1), line, search)?);
    }
    let count = applications.len();
    match applications.iter().position(|one| one.ranks == 0) {
        Some(index) if count > 1 => Err(BadApplication::NoRanks {
            number: index + 1,
            count,
        }),
        _ => Ok(applications),
    }
}

fn application(
    (options, ranks): (&ApplicationOptions, usize),
    line: &[OsString],
    search: Option<&OsStr>,
) -> Result<Application, BadApplication> {
    let mut program = Program::find(line, search)?;
    let directory = options.wdir.as_deref().map(directory).transpose()?;
    if directory.is_some() {
        // A relative path starts where `bcs run` does, as in the search for the program.
        let absolute = std::path::absolute(&program.file);
        program.file = absolute.map_or(program.file, PathBuf::into_os_string);
    }
    let environment = options.env.iter();
    Ok(Application {
        ranks: options.ranks.unwrap_or(ranks),
        program: program.file,
        arguments: program.arguments,
        environment: environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        directory,
    })
}

/// Returns the same programs, with one rank under a debugger: that rank becomes an application of
/// its own.
///
/// # Errors
/// [`BadApplication::Debugger`] describes the error in the command.
pub fn under_debugger(
    applications: Vec<Application>,
    rank: usize,
    command: &str,
    search: Option<&OsStr>,
) -> Result<Vec<Application>, BadApplication> {
    let bad = |what: String| BadApplication::Debugger {
        command: command.to_owned(),
        what,
    };
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| bad("it cannot be taken apart into words".into()))?;
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    let debugger = Program::find(&words, search).map_err(|error| bad(error.to_string()))?;
    let mut before = 0;
    let mut parts = Vec::with_capacity(applications.len() + 2);
    for one in applications {
        let place = rank.checked_sub(before).filter(|&place| place < one.ranks);
        before += one.ranks;
        let Some(place) = place else {
            parts.push(one);
            continue;
        };
        let some = |ranks| Application {
            ranks,
            ..one.clone()
        };
        let debugged = Application {
            program: debugger.file.clone(),
            arguments: [&debugger.arguments, debugged(&one).as_slice()].concat(),
            ..some(1)
        };
        let all = [some(place), debugged, some(one.ranks - place - 1)];
        parts.extend(all.into_iter().filter(|part| part.ranks > 0));
    }
    Ok(parts)
}

/// Returns a program and its arguments as a debugger takes them. For a built-in program the file is
/// ours, by a name that is valid in another process, too.
fn debugged(application: &Application) -> Vec<OsString> {
    let file = match application.program == "/proc/self/exe" {
        true => std::env::current_exe().map_or("bcs".into(), PathBuf::into_os_string),
        false => application.program.clone(),
    };
    let arguments = application.arguments.iter().skip(1).cloned();
    std::iter::once(file).chain(arguments).collect()
}

fn directory(path: &Path) -> Result<PathBuf, BadApplication> {
    let check = || {
        let path = std::fs::canonicalize(path)?;
        if path.to_str().is_none() {
            return Err(std::io::Error::other("its name is not UTF-8"));
        }
        // Fails if it is no directory.
        rustix::fs::access(path.join("."), rustix::fs::Access::EXEC_OK)?;
        Ok(path)
    };
    check().map_err(|error| BadApplication::Directory {
        path: path.display().to_string(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn find_words(words: &str) -> Result<Vec<Application>, BadApplication> {
        find_words_for(Some(2), words)
    }

    fn find_words_for(
        ranks: Option<usize>,
        words: &str,
    ) -> Result<Vec<Application>, BadApplication> {
        let first = ApplicationOptions {
            ranks,
            wdir: None,
            env: Vec::new(),
        };
        let line: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        let further = FurtherApplication::command();
        find((&first, 8), &line, Some("/bin".as_ref()), further)
    }

    #[test]
    fn a_program_alone_has_as_many_ranks_as_there_is_room_for() {
        let ranks = |words| {
            let found = find_words_for(None, words).unwrap();
            found.iter().map(|one| one.ranks).collect::<Vec<_>>()
        };
        assert_eq!(ranks("true"), [8]);
        assert_eq!(ranks("true : true : -n 3 true"), [1, 1, 3]);
    }

    #[test]
    fn colons_separate_programs_that_have_options_of_their_own() {
        let found = find_words("true -n : -n 3 --wdir / --env A=1 echo -n x : -n 4 hello").unwrap();
        let ranks: Vec<usize> = found.iter().map(|one| one.ranks).collect();
        assert_eq!(ranks, [2, 3, 4]);
        assert_eq!(found[0].arguments, ["true", "-n"]);
        assert_eq!(found[1].arguments, ["echo", "-n", "x"]);
        assert_eq!(found[1].directory.as_deref(), Some(Path::new("/")));
        assert_eq!(found[1].environment, [("A".into(), "1".into())]);
        assert_eq!(found[0].directory, None, "nobody else's options count");
    }

    #[test]
    fn a_debugged_rank_is_a_program_of_its_own() {
        let programs = || find_words("true x : -n 3 echo y").unwrap();
        let search = Some("/bin".as_ref());
        for (rank, expected) in [
            (0, "1 env -i /bin/true x, 1 true x, 3 echo y"),
            (3, "2 true x, 1 echo y, 1 env -i /bin/echo y, 1 echo y"),
        ] {
            let parts = under_debugger(programs(), rank, "env -i", search).unwrap();
            let parts: Vec<String> = parts
                .iter()
                .map(|part| {
                    format!(
                        "{} {}",
                        part.ranks,
                        part.arguments.join(" ".as_ref()).display()
                    )
                })
                .collect();
            assert_eq!(parts.join(", "), expected);
        }
        let error = under_debugger(programs(), 0, "no-such-debugger", search).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("--debugger no-such-debugger: program no-such")
        );
        assert!(under_debugger(programs(), 0, "gdb '", search).is_err());
    }

    #[test]
    fn what_is_wrong_after_a_colon_is_named_with_its_place() {
        let message = |words| find_words(words).unwrap_err().to_string();
        assert!(message("true :").contains("before or after a ':'"));
        assert!(message(": true").contains("before or after a ':'"));
        let other = message("true : -n 2 --time-slice 1ms true");
        assert!(
            other.starts_with("program 2 (after a ':'): unexpected argument '--time-slice' found;"),
            "{other}"
        );
        assert!(message("true : -n 2").contains("no program is named"));
    }
}
