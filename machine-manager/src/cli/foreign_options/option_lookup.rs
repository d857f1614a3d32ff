//! The names of options: ours are in clap's list, theirs in the table.

use super::table::{ForeignOption, TABLE};
use crate::cli::option_name::key;
use clap::{Arg, Command};

/// Names that are less alike than this are no misspellings of each other.
const ALIKE: f64 = 0.8;

/// The meaning of a word that stands where an option may stand.
#[derive(Debug)]
pub(super) enum OptionMeaning<'a> {
    /// One of ours.
    Ours(&'a Arg),
    /// One of theirs.
    Theirs(ForeignOption),
    /// `--help`, `--help-all` or `--version`, spelled out: clap answers.
    Told,
    /// The help by a letter.
    ShortHelp,
}

/// Finds an option by its spelling, without a value.
pub(super) fn find<'a>(options: &'a Command, spelling: &str) -> Option<OptionMeaning<'a>> {
    match spelling {
        "--help" | "--help-all" | "--version" => return Some(OptionMeaning::Told),
        "-h" | "-help" | "-?" => return Some(OptionMeaning::ShortHelp),
        _ => {}
    }
    let is_spelled = |name: &&str| match name.starts_with('-') {
        true => *name == spelling,
        false => bare(spelling).is_some_and(|bare| bare == *name),
    };
    let theirs = TABLE.iter().find(|(names, _)| names.iter().any(is_spelled));
    // An exact spelling in the table takes precedence over ours: `-env A 1` is foreign, and `--env`
    // is in both.
    let exact = theirs.filter(|(names, _)| names.contains(&spelling));
    if let Some((_, means)) = exact {
        return Some(OptionMeaning::Theirs(*means));
    }
    match ours(options, spelling) {
        Some(option) => Some(OptionMeaning::Ours(option)),
        None => theirs.map(|(_, means)| OptionMeaning::Theirs(*means)),
    }
}

/// A name of several letters, without the one dash or two before it.
fn bare(spelling: &str) -> Option<&str> {
    let name = spelling.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    (name.len() > 1 && !name.starts_with('-')).then_some(name)
}

/// One of ours, whose long name may have one dash, too.
fn ours<'a>(options: &'a Command, spelling: &str) -> Option<&'a Arg> {
    let name = spelling.strip_prefix('-')?;
    let is_it = |option: &&Arg| match bare(spelling) {
        Some(long) => key(option) == long,
        None => name.chars().next() == option.get_short() && name.chars().count() == 1,
    };
    options.get_arguments().find(is_it)
}

/// The option of ours with this name in `bcs.toml`.
pub(super) fn by_key<'a>(options: &'a Command, name: &str) -> Option<&'a Arg> {
    let mut all = options.get_arguments();
    all.find(|option| key(option) == name)
}

/// How an option of ours is written in a command line.
pub(super) fn spelling(option: &Arg) -> String {
    match (option.get_long(), option.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => option.get_id().to_string(),
    }
}

/// The option that is spelled most like a word, if any is.
pub(super) fn misspelt(options: &Command, word: &str) -> Option<String> {
    let shown = options
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let ours = shown.map(spelling);
    let dashes = if word.starts_with("--") { "--" } else { "-" };
    let theirs = TABLE
        .iter()
        .filter(|(_, means)| !matches!(means, ForeignOption::Instead(_)));
    let theirs = theirs.flat_map(|(names, _)| names.iter());
    let theirs = theirs.map(|name| match name.starts_with('-') {
        true => (*name).to_owned(),
        false => format!("{dashes}{name}"),
    });
    let told = ["--help", "--version"].map(str::to_owned);
    nearest(word, ours.chain(told).chain(theirs))
}

/// The name most like another, if it is like it at all. The first counts of those that are equally
/// so.
#[must_use]
pub fn nearest(word: &str, names: impl IntoIterator<Item = String>) -> Option<String> {
    let letters = |name: &str| name.trim_start_matches('-').to_lowercase();
    let wanted = letters(word);
    let likeness = |name: &String| strsim::jaro_winkler(&letters(name), &wanted);
    let all = names.into_iter().map(|name| (likeness(&name), name));
    let alike = all.filter(|(likeness, _)| *likeness >= ALIKE);
    let best = alike.reduce(|best, other| if other.0 > best.0 { other } else { best });
    best.map(|(_, name)| name)
}
