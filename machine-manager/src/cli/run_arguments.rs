//! The command line of a run: that of `bcs tune`, with other settings.
//!
//! A run is a `bcs run` of its own, and reads variables and `bcs.toml` itself. So we pass on only
//! the options of our command line.

use super::complaints::complaint;
use super::foreign_options::{self, TranslatorInputs};
use super::option_name::key;
use super::run::run_options;
use crate::tune::setting::Setting;
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Two options that exclude each other.
const EXCLUSIVE: [&str; 2] = ["nodes", "ppn"];

/// Options of `bcs run` by their names, with their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunArguments {
    given: BTreeMap<String, Vec<OsString>>,
}

impl RunArguments {
    /// Returns the options on a command line.
    #[must_use]
    pub fn given(matches: &ArgMatches) -> Self {
        let all = run_options();
        let given = all.get_arguments().filter_map(|option| {
            let id = option.get_id().as_str();
            let here = matches.value_source(id) == Some(ValueSource::CommandLine);
            let raw = || matches.get_raw(id).into_iter().flatten();
            let values = || raw().map(OsStr::to_owned).collect();
            here.then(|| (id.to_owned(), values()))
        });
        Self {
            given: given.collect(),
        }
    }

    /// Parses options from a text with blanks between its words.
    ///
    /// # Errors
    /// The error in the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        let options = run_options();
        let translated =
            foreign_options::translate(&options, &options, &words, &TranslatorInputs::REAL);
        let words = translated.map_err(|error| error.to_string())?.words;
        let words = std::iter::once("bcs run".into()).chain(words);
        let parsed = run_options().try_get_matches_from(words);
        let matches = parsed.map_err(|error| complaint(&error))?;
        Ok(Self::given(&matches))
    }

    /// Returns these options, replaced by others where both are given.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        let mut given = self.given.clone();
        if EXCLUSIVE
            .iter()
            .any(|name| others.given.contains_key(*name))
        {
            EXCLUSIVE.iter().for_each(|name| _ = given.remove(*name));
        }
        given.extend(others.given.clone());
        Self { given }
    }

    /// Returns these options with another setting.
    #[must_use]
    pub fn with_setting(&self, setting: &Setting) -> Self {
        let options = setting.options().into_iter();
        let given = options.map(|(name, value)| (name.replace('-', "_"), vec![value.into()]));
        self.with(&Self {
            given: given.collect(),
        })
    }

    /// Returns the words of a command line.
    #[must_use]
    pub fn words(&self) -> Vec<OsString> {
        let all = run_options();
        let mut words = Vec::new();
        for option in all.get_arguments() {
            let Some(values) = self.given.get(option.get_id().as_str()) else {
                continue;
            };
            let flag = match option.get_long() {
                Some(_) => format!("--{}", key(option)),
                None => format!("-{}", option.get_short().unwrap_or_default()),
            };
            if !option.get_action().takes_values() {
                words.push(flag.into());
                continue;
            }
            for value in values {
                let mut word = OsString::from(&flag);
                word.push("=");
                word.push(value);
                words.push(word);
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::job::StrobeMode;

    fn words(options: &RunArguments) -> String {
        let words = options.words();
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn options_are_passed_on_as_given() {
        let given =
            RunArguments::parse("-np 4 --ppn 2 --env A=1 --env B=c=d -v --time-slice 1ms").unwrap();
        assert_eq!(
            words(&given),
            "-n=4 --env=A=1 --env=B=c=d --ppn=2 --time-slice=1ms --verbose"
        );
        assert_eq!(RunArguments::parse(&words(&given)), Ok(given.clone()));
        let one = RunArguments::parse("--nodes 1 --intranode nic").unwrap();
        assert_eq!(
            words(&given.with(&one)),
            "-n=4 --env=A=1 --env=B=c=d --nodes=1 --time-slice=1ms --intranode=nic --verbose"
        );
        let setting = Setting {
            strobe: StrobeMode::Fixed,
            time_slice_ns: 50_000,
            eager_limit: 0,
        };
        assert_eq!(
            words(&RunArguments::default().with_setting(&setting)),
            "--time-slice=50us --strobe=fixed --eager-limit=0"
        );
        let wrong = RunArguments::parse("--nods 1").unwrap_err();
        assert!(wrong.starts_with("there is no option --nods"), "{wrong}");
    }
}
