//! Defaults of the options of `bcs run`, from variables and files.
//!
//! There is one table of options: the command line's. A key in `bcs.toml` is the long name of an
//! option (`ranks`, `label`, `verbose` for `-n`, `-l`, `-v`). A variable is `BCS_` and that name in
//! capitals. A value becomes the *default* of the option, after the option's own parser has
//! accepted it. So a flag takes precedence over a variable, and a variable over a file.

use crate::cli;
use crate::cli::option_name::key;
use clap::{Arg, Command};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error in a variable or file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct BadConfiguration {
    place: String,
    what: String,
}

/// Values of one option, and the place where they were found, as a user looks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredValue {
    /// The values as on the command line: several only if the option may be repeated.
    pub values: Vec<String>,
    /// The variable, or file and line.
    pub place: String,
}

/// All values that were found, by the id of the option.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    settings: BTreeMap<String, ConfiguredValue>,
}

/// Returns the variable of an option.
#[must_use]
pub fn variable(option: &Arg) -> String {
    format!("BCS_{}", key(option).replace('-', "_").to_uppercase())
}

/// The variable for the time limit of a job, in seconds; launchers of other libraries read it, too.
const MPIEXEC_TIMEOUT: &str = "MPIEXEC_TIMEOUT";

/// Returns the variable by which other launchers know an option.
fn elsewhere(option: &Arg) -> Option<String> {
    (key(option) == "timeout").then(|| MPIEXEC_TIMEOUT.to_owned())
}

/// Converts a number of seconds to a duration. Zero and less is no limit, as with other launchers.
fn seconds(number: &str) -> Result<Option<String>, BadConfiguration> {
    match number.parse::<i64>() {
        Ok(seconds) => Ok((seconds > 0).then(|| format!("{seconds}s"))),
        Err(_) => Err(BadConfiguration {
            place: MPIEXEC_TIMEOUT.into(),
            what: format!("'{number}' is no whole number of seconds"),
        }),
    }
}

/// Returns the files, the most important one first.
#[must_use]
pub fn files() -> Vec<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || Some(Path::new(&set("HOME")?).join(".config"));
    let user = set("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home);
    let user = user.map(|directory| directory.join("bcs/bcs.toml"));
    std::iter::once("bcs.toml".into()).chain(user).collect()
}

impl Configuration {
    /// Reads files that exist, the most important first, and variables, which are more important.
    ///
    /// # Errors
    /// [`BadConfiguration`], if there is an unknown key, a value that the option does not take, or
    /// a file that cannot be read.
    pub fn load(
        files: &[PathBuf],
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, BadConfiguration> {
        let options = cli::run_options();
        let mut all = Self::default();
        for option in options.get_arguments() {
            let set = |name: &String| lookup(name).filter(|value| !value.is_empty());
            let mut names = std::iter::once(variable(option)).chain(elsewhere(option));
            let Some((place, value)) = names.find_map(|name| set(&name).map(|value| (name, value)))
            else {
                continue;
            };
            let Ok(value) = value.into_string() else {
                let what = "its value is not UTF-8".into();
                return Err(BadConfiguration { place, what });
            };
            let value = match place.as_str() {
                MPIEXEC_TIMEOUT => seconds(&value)?,
                _ => Some(value),
            };
            let Some(value) = value else {
                continue;
            };
            let values = vec![value];
            all.add(&options, option, ConfiguredValue { values, place })?;
        }
        for file in files {
            match std::fs::read_to_string(file) {
                Ok(text) => all.read(&options, file, &text)?,
                Err(error) if absent(&error) || is_hidden(file, &error) => {}
                Err(error) => {
                    return Err(BadConfiguration {
                        place: file.display().to_string(),
                        what: format!("it cannot be read: {error}"),
                    });
                }
            }
        }
        Ok(all)
    }

    fn read(&mut self, options: &Command, file: &Path, text: &str) -> Result<(), BadConfiguration> {
        let place = |offset: usize| {
            let line = text[..offset].matches('\n').count() + 1;
            format!("{}, line {line}", file.display())
        };
        let table = DeTable::parse(text).map_err(|error| BadConfiguration {
            place: place(error.span().map_or(0, |span| span.start)),
            what: error.message().lines().collect::<Vec<_>>().join(", "),
        })?;
        for (name, value) in table.get_ref() {
            let place = place(name.span().start);
            let name: &str = name.get_ref();
            let Some(option) = options.get_arguments().find(|option| key(option) == name) else {
                let what = unknown(options, name);
                return Err(BadConfiguration { place, what });
            };
            let Some(values) = texts(option, value) else {
                let what = format!("{name} takes {}", kind(option));
                return Err(BadConfiguration { place, what });
            };
            self.add(options, option, ConfiguredValue { values, place })?;
        }
        Ok(())
    }

    /// Adds a setting if the option accepts it; a setting that was added before takes precedence.
    fn add(
        &mut self,
        options: &Command,
        option: &Arg,
        setting: ConfiguredValue,
    ) -> Result<(), BadConfiguration> {
        for value in &setting.values {
            if let Err(what) = check(options, option, value) {
                let place = setting.place;
                return Err(BadConfiguration { place, what });
            }
        }
        let id = option.get_id().to_string();
        self.settings.entry(id).or_insert(setting);
        Ok(())
    }

    /// Makes the settings the defaults of a command that has some or all options of `bcs run`.
    #[must_use]
    pub fn apply(&self, command: Command) -> Command {
        command.mut_args(|option| match self.settings.get(option.get_id().as_str()) {
            Some(setting) => option.default_values(setting.values.clone()),
            None => option,
        })
    }

    /// Returns where the default of an option was found, if it is not the built-in one.
    #[must_use]
    pub fn place(&self, option: &Arg) -> Option<&str> {
        let setting = self.settings.get(option.get_id().as_str())?;
        Some(&setting.place)
    }
}

/// Returns the advice about an unknown key.
fn unknown(options: &Command, name: &str) -> String {
    let short = |option: &&Arg| {
        option
            .get_short()
            .is_some_and(|short| short.to_string() == name)
    };
    match options.get_arguments().find(short) {
        Some(option) => format!("write {}: {name} is only for the command line", key(option)),
        None => {
            let shown = options
                .get_arguments()
                .filter(|option| !option.is_hide_set());
            let nearest =
                cli::foreign_options::nearest(name, shown.map(|option| key(option).to_owned()));
            let meant = cli::foreign_options::did_you_mean(nearest.as_deref());
            format!("there is no option {name}{meant}; `bcs config` prints all")
        }
    }
}

/// Returns whether it is unknown if the file exists. Then it is in a folder that we may not read,
/// and no user has named it.
fn is_hidden(file: &Path, error: &std::io::Error) -> bool {
    let is_refused = |error: &std::io::Error| error.kind() == std::io::ErrorKind::PermissionDenied;
    is_refused(error)
        && file
            .symlink_metadata()
            .is_err_and(|error| is_refused(&error))
}

/// Returns whether a variable is read elsewhere: by the runtime itself, by builds, or by tests.
fn is_read_elsewhere(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "BCS_COMMAND",
        "BCS_HOST_NAME",
        "BCS_MACHINE_PROFILE",
        "BCS_NODE_NAME",
        "BCS_SLOT",
        "BCS_SLOT_FOLDER",
        "BCS_SOCKET",
        "BCS_CC",
        "BCS_CXX",
        "BCS_STRANGERS",
    ];
    const TESTS: [&str; 10] = [
        "_ROUNDS",
        "_SEED",
        "_SEEDS",
        "_SECONDS",
        "_FAULTS",
        "_CALLS",
        "_CASES",
        "_PROGRAMS",
        "_APPS",
        "_TESTS",
    ];
    const STARTS: [&str; 3] = ["BCS_TEST_", "BCS_REQUIRE_", "BCS_MPI"];
    NAMES.contains(&name)
        || TESTS.iter().any(|end| name.ends_with(end))
        || STARTS.iter().any(|start| name.starts_with(start))
}

/// Finds variables of the environment that look like an option's and are not. They may belong to
/// the program, but they may also be misspelt.
pub fn strangers(names: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    let ours = |name: &String| name.starts_with("BCS_") && !is_read_elsewhere(name);
    let mut strangers: Vec<String> = names.filter(ours).collect();
    if !strangers.is_empty() {
        let options = cli::run_options();
        strangers.retain(|name| {
            options
                .get_arguments()
                .all(|option| variable(option) != *name)
        });
        strangers.sort_unstable();
    }
    strangers
}

/// Returns the message about a variable that nothing reads.
#[must_use]
pub fn nothing_reads(name: &str) -> String {
    let options = cli::run_options();
    let shown = options
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let bare = |name: &str| name.trim_start_matches("BCS_").to_owned();
    let nearest =
        cli::foreign_options::nearest(&bare(name), shown.map(|option| bare(&variable(option))));
    let nearest = nearest.map(|near| format!("BCS_{near}"));
    let meant = cli::foreign_options::did_you_mean(nearest.as_deref());
    format!("nothing reads the variable {name}{meant}")
}

fn absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Returns whether an option can be given more than once.
#[must_use]
pub fn repeats(option: &Arg) -> bool {
    matches!(option.get_action(), clap::ArgAction::Append)
}

/// Returns the value of a key as on the command line.
fn texts(option: &Arg, value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
    let text = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    };
    match value.get_ref() {
        DeValue::Array(values) if repeats(option) => values.iter().map(text).collect(),
        _ => Some(vec![text(value)?]),
    }
}

fn kind(option: &Arg) -> &'static str {
    if repeats(option) {
        "a string, or an array of strings"
    } else {
        "a string, a whole number, true or false"
    }
}

/// Checks a value with the option's own parser.
fn check(options: &Command, option: &Arg, value: &str) -> Result<(), String> {
    if !option.get_action().takes_values() {
        return match value {
            "true" | "false" => Ok(()),
            _ => Err(format!(
                "{} is either true or false, not '{value}'",
                key(option)
            )),
        };
    }
    let flag = match (option.get_long(), option.get_short()) {
        (Some(long), _) => format!("--{long}={value}"),
        (None, short) => format!("-{}={value}", short.expect("an option has a name")),
    };
    let parsed = options
        .clone()
        .try_get_matches_from(["bcs run".into(), flag]);
    parsed.map(|_| ()).map_err(|error| cli::complaint(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches as _;

    fn options(
        files: &[&str],
        variables: &[(&str, &str)],
        flags: &[&str],
    ) -> Result<cli::RunOptions, String> {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..files.len())
            .map(|number| directory.path().join(number.to_string()))
            .collect();
        for (path, text) in paths.iter().zip(files) {
            std::fs::write(path, text).unwrap();
        }
        let lookup = |name: &str| {
            let found = variables.iter().find(|(of, _)| *of == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let found = Configuration::load(&paths, lookup).map_err(|error| {
            let directory = format!("{}/", directory.path().display());
            error.to_string().replace(&directory, "")
        })?;
        let command = found.apply(cli::run_options());
        let words = std::iter::once(&"bcs run").chain(flags);
        let matches = command.try_get_matches_from(words).unwrap();
        Ok(cli::RunOptions::from_arg_matches(&matches).unwrap())
    }

    #[test]
    fn a_flag_goes_before_a_variable_before_a_file() {
        let files = [
            "ranks = 2\nlabel = true\nenv = [\"A=1\", \"B=2\"]\n",
            "ranks = 3\nppn = 5\n[ignored]\n",
        ];
        let error = options(&files, &[], &[]).unwrap_err();
        assert_eq!(
            error,
            "1, line 3: there is no option ignored; `bcs config` prints all"
        );
        let files = [files[0], "ranks = 3\nppn = 5\n"];
        let merged = options(&files, &[], &[]).unwrap();
        assert_eq!((merged.application.ranks, merged.ppn), (Some(2), Some(5)));
        assert!(merged.label);
        assert_eq!(merged.application.env.len(), 2);
        let merged = options(&files, &[("BCS_RANKS", "7"), ("BCS_PPN", "")], &[]).unwrap();
        assert_eq!((merged.application.ranks, merged.ppn), (Some(7), Some(5)));
        let merged = options(&files, &[], &["--nodes", "2"]).unwrap();
        assert_eq!(
            (merged.nodes, merged.ppn),
            (Some(2), None),
            "they contradict each other"
        );
        let merged = options(&files, &[("BCS_RANKS", "7")], &["-n", "9"]).unwrap();
        assert_eq!(merged.application.ranks, Some(9));
        let minute = Some(std::time::Duration::from_secs(60));
        let merged = options(&[], &[("MPIEXEC_TIMEOUT", "60")], &[]).unwrap();
        assert_eq!(merged.timeout.map(|time| time.value), minute);
        let both = [("MPIEXEC_TIMEOUT", "9"), ("BCS_TIMEOUT", "1m")];
        let timeout = options(&[], &both, &[]).unwrap().timeout;
        assert_eq!(timeout.map(|time| time.value), minute);
        let error = options(&[], &[("MPIEXEC_TIMEOUT", "never")], &[]).unwrap_err();
        assert_eq!(
            error,
            "MPIEXEC_TIMEOUT: 'never' is no whole number of seconds"
        );
        for none in ["0", "-1"] {
            let merged = options(&[], &[("MPIEXEC_TIMEOUT", none)], &[]).unwrap();
            assert_eq!(merged.timeout, None);
        }
    }

    #[test]
    fn a_variable_that_nothing_reads_is_a_stranger() {
        let names = [
            "BCS_TIMESLICE",
            "BCS_TIME_SLICE",
            "BCS_SLOT",
            "BCS_KILL_SEED",
            "PATH",
        ];
        assert_eq!(strangers(names.map(OsString::from)), ["BCS_TIMESLICE"]);
        assert_eq!(
            nothing_reads("BCS_TIMESLICE"),
            "nothing reads the variable BCS_TIMESLICE (did you mean BCS_TIME_SLICE?)"
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let error = |file: &str| options(&[file], &[], &[]).unwrap_err();
        assert_eq!(
            error("\nstrobe = \"never\"\n"),
            "0, line 2: invalid value 'never' for '--strobe <S>' \
             [possible values: fixed, elastic, auto]"
        );
        assert_eq!(
            error("label = \"yes\""),
            "0, line 1: label is either true or false, not 'yes'"
        );
        assert_eq!(
            error("ranks = [1]"),
            "0, line 1: ranks takes a string, a whole number, true or false"
        );
        assert_eq!(
            error("n = 1"),
            "0, line 1: write ranks: n is only for the command line"
        );
        assert!(error("ranks = 1\nranks = 2").starts_with("0, line 2: duplicate key"));
        let error = options(&[], &[("BCS_TIMEOUT", "soon")], &[]).unwrap_err();
        assert!(
            error.starts_with("BCS_TIMEOUT: invalid value 'soon' for '--timeout <D>': this is no"),
            "{error}"
        );
    }
}
