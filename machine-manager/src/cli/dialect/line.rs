//! The state machine over the words of a command line.
//!
//! It is either among options, of the first program or of one behind a colon, or in what belongs to a program,
//! which goes on to the next lone colon.

use super::far::{self, Mapping};
use super::known::{self, Known};
use super::table::{Means, Whose};
use super::{Translated, Untranslatable, World};
use clap::{Arg, Command};
use std::collections::VecDeque;
use std::ffi::OsString;

/// A translation under way.
pub(super) struct Line<'a> {
    /// What may stand before the first program, and before others.
    options: [&'a Command; 2],
    world: &'a World<'a>,
    /// What is still to be read.
    rest: VecDeque<OsString>,
    /// The program that is being read, counted from 1.
    number: usize,
    /// What was read of it, in our words.
    own: Vec<OsString>,
    /// `--env` of all programs.
    everybodys: Vec<OsString>,
    /// Programs that are done: their options, and what follows these.
    done: Vec<(Vec<OsString>, Vec<OsString>)>,
    /// Hosts, and the option that named them.
    hosts: Option<(String, String)>,
    /// Whether the words come from a file.
    in_file: bool,
    translated: Translated,
}

/// An option as it stands in the line: how it is spelled, and the value behind its `=`.
struct Spelled {
    word: String,
    value: Option<String>,
}

impl<'a> Line<'a> {
    pub(super) fn new(options: &'a Command, further: &'a Command, world: &'a World<'a>) -> Self {
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
            translated: Translated::default(),
        }
    }

    pub(super) fn translate(mut self, words: &[OsString]) -> Result<Translated, Untranslatable> {
        self.rest = words.iter().cloned().collect();
        loop {
            if let Err(what) = self.options_of_a_program() {
                return Err(match self.number {
                    1 => what,
                    number => Untranslatable::Further {
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
    fn whole(mut self) -> Translated {
        let words = &mut self.translated.words;
        if let Some((_, list)) = self.hosts {
            words.push(format!("--hosts={list}").into());
        }
        for (index, (own, program)) in self.done.into_iter().enumerate() {
            if index > 0 {
                words.push(":".into());
            }
            // What a program has of its own comes later, and counts.
            words.extend(self.everybodys.iter().cloned());
            words.extend(own);
            words.extend(program);
        }
        self.translated
    }

    /// Reads until a program begins, or a colon, or the end.
    fn options_of_a_program(&mut self) -> Result<(), Untranslatable> {
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

    fn option(&mut self, text: String) -> Result<(), Untranslatable> {
        let spelled = self.spelled(text);
        match known::find(self.known(), &spelled.word) {
            Some(Known::Ours(option)) => self.ours(option, spelled),
            Some(Known::Theirs(means)) => self.theirs(means, spelled),
            Some(Known::ShortHelp) if self.number == 1 => {
                self.translated.short_help = true;
                self.own.push("--help".into());
                Ok(())
            }
            Some(Known::Told) if self.number == 1 && spelled.value.is_none() => {
                self.own.push(spelled.word.into());
                Ok(())
            }
            // What only the first program may have is not misspelt.
            _ if self.number > 1 && known::find(self.options[0], &spelled.word).is_some() => {
                Err(unknown(spelled.word, None))
            }
            _ => {
                let nearest = known::misspelt(self.known(), &spelled.word);
                Err(unknown(spelled.word, nearest))
            }
        }
    }

    /// Takes a value off that is part of the word: behind `=`, or digits behind the letter of a number (`-n4`).
    fn spelled(&self, text: String) -> Spelled {
        if let Some((word, value)) = text.split_once('=') {
            return Spelled {
                word: word.to_owned(),
                value: Some(value.to_owned()),
            };
        }
        let number = text.strip_prefix("-n").unwrap_or_default();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        match is_number {
            true => Spelled {
                word: "-n".to_owned(),
                value: Some(number.to_owned()),
            },
            false => Spelled {
                word: text,
                value: None,
            },
        }
    }

    /// One of ours, with its value.
    fn ours(&mut self, option: &Arg, spelled: Spelled) -> Result<(), Untranslatable> {
        let name = known::spelling(option);
        let Spelled { word, value } = spelled;
        if !option.get_action().takes_values() {
            return match value {
                None => {
                    // Two spellings of one flag are no contradiction.
                    if !self.own.iter().any(|word| *word == *name) {
                        self.own.push(name.into());
                    }
                    Ok(())
                }
                Some(value) => Err(Untranslatable::Value {
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
    ) -> Result<OsString, Untranslatable> {
        let missing = |found: &str| Untranslatable::NoValue {
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
    fn text(&mut self, spelled: &mut Spelled) -> Result<String, Untranslatable> {
        if let Some(value) = spelled.value.take() {
            return Ok(value);
        }
        let value = self.value(&spelled.word, false)?;
        value.into_string().map_err(|value| Untranslatable::Value {
            word: spelled.word.clone(),
            value: value.display().to_string(),
            why: "it is not UTF-8".into(),
        })
    }

    fn theirs(&mut self, means: Means, mut spelled: Spelled) -> Result<(), Untranslatable> {
        let word = spelled.word.clone();
        let bad = |value: &str, why: String| Untranslatable::Value {
            word: word.clone(),
            value: value.to_owned(),
            why,
        };
        match means {
            Means::Ours(key) => match known::by_key(self.known(), key) {
                Some(option) => self.ours(option, spelled),
                None => Err(unknown(word, None)),
            },
            Means::Nothing => Ok(()),
            Means::Instead(instead) => Err(Untranslatable::Foreign {
                word,
                instead: instead.to_owned(),
            }),
            Means::Export(whose) => {
                let name = self.text(&mut spelled)?;
                self.export(&word, &name, whose);
                Ok(())
            }
            Means::ExportList(whose) => {
                let names = self.text(&mut spelled)?;
                let names = names.split(',').filter(|name| !name.is_empty());
                names.for_each(|name| self.export(&word, name, whose));
                Ok(())
            }
            Means::Assign(whose) => {
                let name = self.text(&mut spelled)?;
                let mut assignment = OsString::from(&name);
                if !name.contains('=') {
                    let value = self.rest.pop_front().filter(|value| value != ":");
                    let value = value.ok_or_else(|| Untranslatable::NoValue {
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
            Means::Hosts => {
                let list = self.text(&mut spelled)?;
                self.add_hosts(word, list)
            }
            Means::HostFile => {
                let path = self.text(&mut spelled)?;
                let text = (self.world.file)(&path);
                let text =
                    text.map_err(|error| bad(&path, format!("it cannot be read: {error}")))?;
                let list = far::hosts(&text).map_err(|why| bad(&path, why))?;
                self.add_hosts(word, list)
            }
            Means::Map => {
                let value = self.text(&mut spelled)?;
                match far::mapping(&value).map_err(|why| bad(&value, why))? {
                    Mapping::PerNode(ranks) => self.own.push(format!("--ppn={ranks}").into()),
                    Mapping::InOrder => self.translated.notes.push(format!(
                        "{word} {value} changes nothing: consecutive ranks share a node in any case"
                    )),
                }
                Ok(())
            }
            Means::Bind => {
                let value = self.text(&mut spelled)?;
                let bound = far::binding(&value).map_err(|why| bad(&value, why))?;
                self.own.push(format!("--bind={bound}").into());
                Ok(())
            }
            Means::ConfigFile => {
                let path = self.text(&mut spelled)?;
                self.read_line(&path).map_err(|why| bad(&path, why))
            }
        }
    }

    /// Exports a variable of the launcher's. One that is not set is worth a word, and no more: so it is with
    /// others, and scripts count on it.
    fn export(&mut self, word: &str, name: &str, whose: Whose) {
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

    fn set(&mut self, assignment: OsString, whose: Whose) {
        let mut option = OsString::from("--env=");
        option.push(assignment);
        match whose {
            // Behind a colon nothing is everybody's any more.
            Whose::Everybodys if self.number == 1 => self.everybodys.push(option),
            _ => self.own.push(option),
        }
    }

    fn add_hosts(&mut self, word: String, list: String) -> Result<(), Untranslatable> {
        match &mut self.hosts {
            None => self.hosts = Some((word, list)),
            Some((before, all)) if *before == word => *all = format!("{all},{list}"),
            Some((before, _)) => {
                return Err(Untranslatable::Value {
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

fn unknown(word: String, nearest: Option<String>) -> Untranslatable {
    Untranslatable::Unknown { word, nearest }
}
