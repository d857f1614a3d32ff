//! The state machine over the words of a command line.
//!
//! It is either among options, of the first program or of one behind a colon, or in what belongs to
//! a program, which goes on to the next lone colon.

use super::host_values::{self, RankMapping};
use super::option_lookup::{self, OptionMeaning};
use super::table::{EnvironmentScope, ForeignOption};
use super::translation::{TranslatedLine, TranslationError, TranslatorInputs};
use clap::{Arg, Command};
use std::collections::VecDeque;
use std::ffi::OsString;

/// A translation under way.
pub(super) struct Translator<'a> {
    /// The options allowed before the first program, and before others.
    options: [&'a Command; 2],
    world: &'a TranslatorInputs<'a>,
    /// The words that are still to be read.
    rest: VecDeque<OsString>,
    /// The program that is being read, counted from 1.
    number: usize,
    /// The options of that program read so far, in our words.
    own: Vec<OsString>,
    /// `--env` of all programs.
    everybodys: Vec<OsString>,
    /// Programs that are done: their options, and what follows these.
    done: Vec<(Vec<OsString>, Vec<OsString>)>,
    /// Hosts, and the option that named them.
    hosts: Option<(String, String)>,
    /// Whether the words come from a file.
    in_file: bool,
    translated: TranslatedLine,
}

/// An option as it stands in the line: how it is spelled, and the value behind its `=`.
struct SpelledOption {
    word: String,
    value: Option<String>,
}

impl<'a> Translator<'a> {
    pub(super) fn new(
        options: &'a Command,
        further: &'a Command,
        world: &'a TranslatorInputs<'a>,
    ) -> Self {
        Self {
            options: [options, further],
            world,
            rest: VecDeque::new(),
            number: 1,
            own: Vec::new(),
            everybodys: Vec::new(),
            done: Vec::new(),
            hosts: None,
            in_file: false,
            translated: TranslatedLine::default(),
        }
    }

    pub(super) fn translate(
        mut self,
        words: &[OsString],
    ) -> Result<TranslatedLine, TranslationError> {
        self.rest = words.iter().cloned().collect();
        loop {
            if let Err(what) = self.options_of_a_program() {
                return Err(match self.number {
                    1 => what,
                    number => TranslationError::Further {
                        number,
                        what: Box::new(what),
                    },
                });
            }
            let end = self.rest.iter().position(|word| word == ":");
            let program = self.rest.drain(..end.unwrap_or(self.rest.len())).collect();
            self.done.push((std::mem::take(&mut self.own), program));
            if self.rest.pop_front().is_none() {
                return Ok(self.whole());
            }
            self.number += 1;
        }
    }

    /// All of it, when what concerns all programs is known.
    fn whole(mut self) -> TranslatedLine {
        let words = &mut self.translated.words;
        if let Some((_, list)) = self.hosts {
            words.push(format!("--hosts={list}").into());
        }
        for (index, (own, program)) in self.done.into_iter().enumerate() {
            if index > 0 {
                words.push(":".into());
            }
            // A program's own options come later, and take precedence.
            words.extend(self.everybodys.iter().cloned());
            words.extend(own);
            words.extend(program);
        }
        self.translated
    }

    /// Reads until a program begins, or a colon, or the end.
    fn options_of_a_program(&mut self) -> Result<(), TranslationError> {
        while let Some(word) = self.rest.front() {
            let Some(text) = word.to_str() else {
                return Ok(());
            };
            if !text.starts_with('-') || text == "-" || text == "--" {
                return Ok(());
            }
            let text = text.to_owned();
            self.rest.pop_front();
            self.option(text)?;
        }
        Ok(())
    }

    fn known(&self) -> &'a Command {
        self.options[usize::from(self.number > 1)]
    }

    fn option(&mut self, text: String) -> Result<(), TranslationError> {
        let spelled = self.spelled(text);
        match option_lookup::find(self.known(), &spelled.word) {
            Some(OptionMeaning::Ours(option)) => self.ours(option, spelled),
            Some(OptionMeaning::Theirs(means)) => self.theirs(means, spelled),
            Some(OptionMeaning::ShortHelp) if self.number == 1 => {
                self.translated.short_help = true;
                self.own.push("--help".into());
                Ok(())
            }
            Some(OptionMeaning::Told) if self.number == 1 && spelled.value.is_none() => {
                self.own.push(spelled.word.into());
                Ok(())
            }
            // An option that only the first program may have is not misspelt.
            _ if self.number > 1
                && option_lookup::find(self.options[0], &spelled.word).is_some() =>
            {
                Err(unknown(spelled.word, None))
            }
            _ => {
                let nearest = option_lookup::misspelt(self.known(), &spelled.word);
                Err(unknown(spelled.word, nearest))
            }
        }
    }

    /// Takes a value off that is part of the word: behind `=`, or digits behind the letter of a
    /// number (`-n4`).
    fn spelled(&self, text: String) -> SpelledOption {
        if let Some((word, value)) = text.split_once('=') {
            return SpelledOption {
                word: word.to_owned(),
                value: Some(value.to_owned()),
            };
        }
        let number = text.strip_prefix("-n").unwrap_or_default();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        match is_number {
            true => SpelledOption {
                word: "-n".to_owned(),
                value: Some(number.to_owned()),
            },
            false => SpelledOption {
                word: text,
                value: None,
            },
        }
    }

    /// One of ours, with its value.
    fn ours(&mut self, option: &Arg, spelled: SpelledOption) -> Result<(), TranslationError> {
        let name = option_lookup::spelling(option);
        let SpelledOption { word, value } = spelled;
        if !option.get_action().takes_values() {
            return match value {
                None => {
                    // Two spellings of one flag do not contradict each other.
                    if !self.own.iter().any(|word| *word == *name) {
                        self.own.push(name.into());
                    }
                    Ok(())
                }
                Some(value) => Err(TranslationError::Value {
                    word,
                    value,
                    why: "it takes no value: leave it out".into(),
                }),
            };
        }
        let value = match value {
            Some(value) => value.into(),
            None => self.value(&word, option.is_allow_hyphen_values_set())?,
        };
        let mut whole = OsString::from(name);
        whole.push("=");
        whole.push(value);
        self.own.push(whole);
        Ok(())
    }

    /// The next word, which is to be a value.
    fn value(
        &mut self,
        word: &str,
        may_look_like_an_option: bool,
    ) -> Result<OsString, TranslationError> {
        let missing = |found: &str| TranslationError::NoValue {
            word: word.to_owned(),
            what: format!("a value, but {found}"),
        };
        let Some(next) = self.rest.pop_front() else {
            return Err(missing("nothing follows"));
        };
        let dashed = next.to_str().and_then(|next| next.strip_prefix('-'));
        let is_number = |dashed: &str| dashed.starts_with(|first: char| first.is_ascii_digit());
        match dashed {
            Some(dashed)
                if !may_look_like_an_option && !dashed.is_empty() && !is_number(dashed) =>
            {
                Err(missing(&format!(
                    "-{dashed} follows, which looks like an option"
                )))
            }
            _ if next == ":" => Err(missing("a ':' follows")),
            _ => Ok(next),
        }
    }

    /// The value of one of theirs, as text.
    fn text(&mut self, spelled: &mut SpelledOption) -> Result<String, TranslationError> {
        if let Some(value) = spelled.value.take() {
            return Ok(value);
        }
        let value = self.value(&spelled.word, false)?;
        value
            .into_string()
            .map_err(|value| TranslationError::Value {
                word: spelled.word.clone(),
                value: value.display().to_string(),
                why: "it is not UTF-8".into(),
            })
    }

    fn theirs(
        &mut self,
        means: ForeignOption,
        mut spelled: SpelledOption,
    ) -> Result<(), TranslationError> {
        let word = spelled.word.clone();
        let bad = |value: &str, why: String| TranslationError::Value {
            word: word.clone(),
            value: value.to_owned(),
            why,
        };
        match means {
            ForeignOption::Ours(key) => match option_lookup::by_key(self.known(), key) {
                Some(option) => self.ours(option, spelled),
                None => Err(unknown(word, None)),
            },
            ForeignOption::Nothing => Ok(()),
            ForeignOption::Instead(instead) => Err(TranslationError::Foreign {
                word,
                instead: instead.to_owned(),
            }),
            ForeignOption::Export(whose) => {
                let name = self.text(&mut spelled)?;
                self.export(&word, &name, whose);
                Ok(())
            }
            ForeignOption::ExportList(whose) => {
                let names = self.text(&mut spelled)?;
                let names = names.split(',').filter(|name| !name.is_empty());
                names.for_each(|name| self.export(&word, name, whose));
                Ok(())
            }
            ForeignOption::Assign(whose) => {
                let name = self.text(&mut spelled)?;
                let mut assignment = OsString::from(&name);
                if !name.contains('=') {
                    let value = self.rest.pop_front().filter(|value| value != ":");
                    let value = value.ok_or_else(|| TranslationError::NoValue {
                        word,
                        what: format!(
                            "a name and a value, as in {name}=1, but only {name} follows"
                        ),
                    })?;
                    assignment.push("=");
                    assignment.push(value);
                }
                self.set(assignment, whose);
                Ok(())
            }
            _ if self.number > 1 => Err(unknown(word, None)),
            ForeignOption::Hosts => {
                let list = self.text(&mut spelled)?;
                self.add_hosts(word, list)
            }
            ForeignOption::HostFile => {
                let path = self.text(&mut spelled)?;
                let text = (self.world.file)(&path);
                let text =
                    text.map_err(|error| bad(&path, format!("it cannot be read: {error}")))?;
                let list = host_values::hosts(&text).map_err(|why| bad(&path, why))?;
                self.add_hosts(word, list)
            }
            ForeignOption::Map => {
                let value = self.text(&mut spelled)?;
                match host_values::mapping(&value).map_err(|why| bad(&value, why))? {
                    RankMapping::PerNode(ranks) => self.own.push(format!("--ppn={ranks}").into()),
                    RankMapping::InOrder => self.translated.notes.push(format!(
                        "{word} {value} changes nothing: consecutive ranks share a node in any case"
                    )),
                }
                Ok(())
            }
            ForeignOption::Bind => {
                let value = self.text(&mut spelled)?;
                let bound = host_values::binding(&value).map_err(|why| bad(&value, why))?;
                self.own.push(format!("--bind={bound}").into());
                Ok(())
            }
            ForeignOption::ConfigFile => {
                let path = self.text(&mut spelled)?;
                self.read_line(&path).map_err(|why| bad(&path, why))
            }
        }
    }

    /// Exports a variable of the launcher's. One that is not set is worth a word, and no more: so
    /// it is with others, and scripts count on it.
    fn export(&mut self, word: &str, name: &str, whose: EnvironmentScope) {
        if name.contains('=') {
            return self.set(name.into(), whose);
        }
        match (self.world.variable)(name) {
            Some(value) => {
                let mut assignment = OsString::from(name);
                assignment.push("=");
                assignment.push(value);
                self.set(assignment, whose);
            }
            None => self.translated.notes.push(format!(
                "{word} {name} exports nothing: the variable is not set; write {word} {name}=VALUE to set it"
            )),
        }
    }

    fn set(&mut self, assignment: OsString, whose: EnvironmentScope) {
        let mut option = OsString::from("--env=");
        option.push(assignment);
        match whose {
            // Behind a colon an option is only for that program.
            EnvironmentScope::Everybodys if self.number == 1 => self.everybodys.push(option),
            _ => self.own.push(option),
        }
    }

    fn add_hosts(&mut self, word: String, list: String) -> Result<(), TranslationError> {
        match &mut self.hosts {
            None => self.hosts = Some((word, list)),
            Some((before, all)) if *before == word => *all = format!("{all},{list}"),
            Some((before, _)) => {
                return Err(TranslationError::Value {
                    why: format!("{before} names hosts, too; leave one of the two out"),
                    word,
                    value: list,
                });
            }
        }
        Ok(())
    }

    /// The rest of the line is in a file: a program in each line of it, with its options before it.
    fn read_line(&mut self, path: &str) -> Result<(), String> {
        if std::mem::replace(&mut self.in_file, true) {
            return Err("a file of options cannot name another one".into());
        }
        if let Some(word) = self.rest.front() {
            let word = word.display();
            return Err(format!(
                "nothing may follow it, but '{word}' does: write it into the file"
            ));
        }
        let text =
            (self.world.file)(path).map_err(|error| format!("it cannot be read: {error}"))?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words = shlex::split(line).ok_or_else(|| {
                format!("line {number} cannot be taken apart into words: a quote is not closed")
            })?;
            if !self.rest.is_empty() {
                self.rest.push_back(":".into());
            }
            self.rest.extend(words.into_iter().map(OsString::from));
        }
        match self.rest.is_empty() {
            true => Err("it names no program: give one in each line, as in -n 4 ./a.out".into()),
            false => Ok(()),
        }
    }
}

fn unknown(word: String, nearest: Option<String>) -> TranslationError {
    TranslationError::Unknown { word, nearest }
}
