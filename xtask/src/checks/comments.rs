//! Comments are read by people on several continents. This check refuses the part of a private
//! language that a machine can find.
//!
//! It goes by words and not by grammar. The four patterns are those that most often made a sentence
//! of this project want a second reading.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::process;
use crate::verdict::CheckOutcome;
use crate::workspace::Workspace;

use super::Check;

pub(super) const CHECK: Check = Check {
    name: "comments",
    about: "comments fit in 100 columns, and begin no sentence with a headless clause",
    about_time: false,
    quick: true,
    run,
};

/// In a line, with which it fits beside another file.
const MAX_CHARACTERS: usize = 100;

const LIMIT: Duration = Duration::from_secs(30);

/// As many findings as are shown.
const SHOWN: usize = 20;

/// Words that begin a clause without a head ("What is long is pulled"), if no question follows.
const HEADLESS: [&str; 4] = ["Who ", "What ", "Whoever ", "Whatever "];

/// Familiar phrases that begin with one of them ("what to do").
const FAMILIAR: [&str; 1] = ["What to "];

fn run(workspace: &Workspace) -> Result<CheckOutcome> {
    let mut list = Command::new("git");
    list.args(["ls-files", "*.rs"])
        .current_dir(workspace.root());
    let listed = process::run(&mut list, LIMIT)?.succeeded()?.stdout;
    let (mut read, mut findings) = (0, Vec::new());
    for file in listed.lines() {
        let text = fs::read_to_string(workspace.root().join(file))
            .with_context(|| format!("failed to read {file}"))?;
        for block in blocks(&text) {
            read += block.lines.len();
            findings.extend(block.findings().map(|what| format!("{file}:{what}")));
        }
    }
    ensure!(read > 0, "the workspace has no comments");
    let figure = if findings.is_empty() {
        format!("{read} lines")
    } else {
        let shown = findings.iter().take(SHOWN).cloned().collect::<Vec<_>>();
        format!(
            "{} findings\n          {}",
            findings.len(),
            shown.join("\n          ")
        )
    };
    let bar = "no line too long, no sentence with one of the four patterns";
    Ok(CheckOutcome::exact(findings.is_empty(), figure, bar))
}

/// Comment lines that follow each other.
#[derive(Debug, Default, PartialEq, Eq)]
struct CommentBlock<'a> {
    /// The number of the first line.
    first: usize,
    /// The lines, with what stands before the comment.
    lines: Vec<&'a str>,
}

fn blocks(text: &str) -> Vec<CommentBlock<'_>> {
    let mut blocks = Vec::new();
    let mut block = CommentBlock::default();
    for (number, line) in (1..).zip(text.lines()) {
        if comment(line).is_some() {
            if block.lines.is_empty() {
                block.first = number;
            }
            block.lines.push(line);
        } else if !block.lines.is_empty() {
            blocks.push(std::mem::take(&mut block));
        }
    }
    blocks.extend((!block.lines.is_empty()).then_some(block));
    blocks
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.strip_prefix(['/', '!']).unwrap_or(text).trim_start())
}

impl CommentBlock<'_> {
    fn findings(&self) -> impl Iterator<Item = String> {
        let long = (self.first..)
            .zip(&self.lines)
            .filter_map(|(number, line)| {
                let characters = line.chars().count();
                let is_row = comment(line).is_some_and(|text| text.starts_with(['|', '[']));
                let is_long = characters > MAX_CHARACTERS && !is_row;
                is_long.then(|| format!("{number}: {characters} characters"))
            });
        let unclear = self.sentences().into_iter().filter_map(|sentence| {
            let why = pattern(&sentence)?;
            Some(format!("{}: {why}: {sentence}", self.first))
        });
        long.chain(unclear).collect::<Vec<_>>().into_iter()
    }

    /// Its sentences; tables and code have none.
    fn sentences(&self) -> Vec<String> {
        let mut sentences = vec![String::new()];
        let mut in_code = false;
        for text in self.lines.iter().filter_map(|line| comment(line)) {
            let fences = text.starts_with("```");
            in_code ^= fences;
            if fences || in_code || text.is_empty() || text.starts_with(['|', '#', '*', '-']) {
                sentences.push(String::new());
                continue;
            }
            for word in text.split_whitespace() {
                let sentence = sentences.last_mut().expect("never empty");
                *sentence += word;
                if word.ends_with(['.', '?', '!']) {
                    sentences.push(String::new());
                } else {
                    *sentence += " ";
                }
            }
        }
        sentences
    }
}

/// Which of the four patterns a sentence has.
fn pattern(sentence: &str) -> Option<&'static str> {
    let sentence = sentence.trim_end();
    let begins = |words: &[&str]| words.iter().any(|word| sentence.starts_with(word));
    let is_none = |verb: &str| {
        let there = [format!("there {verb}"), format!("There {verb}")];
        sentence.contains(verb) && !there.iter().any(|there| sentence.contains(there))
    };
    if begins(&HEADLESS) && !begins(&FAMILIAR) && !sentence.ends_with('?') {
        Some("a clause without a head begins it")
    } else if sentence.contains("so many ") && !sentence.contains("so many that") {
        Some("`so many` stands for a number")
    } else if [" is none", " are none", " was none", " were none"]
        .into_iter()
        .any(|verb| is_none(verb.trim_start()))
    {
        Some("`none` is a predicate")
    } else if sentence.starts_with("Of ") && !sentence.starts_with("Of course") {
        Some("a phrase with `of` is in front")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_patterns_are_found_and_what_looks_like_them_is_not() {
        let unclear = [
            "What is long is pulled.",
            "Whoever waits rings.",
            "It takes so many slices.",
            "The others are none.",
            "Of two threads one sees it.",
        ];
        for sentence in unclear {
            assert!(pattern(sentence).is_some(), "{sentence}");
        }
        let clear = [
            "What to do then:",
            "What does it wait for?",
            "There are so many that a list is too long.",
            "There are none.",
            "Of course it ends.",
            "It tells what is long.",
        ];
        for sentence in clear {
            assert_eq!(pattern(sentence), None, "{sentence}");
        }
    }

    #[test]
    fn sentences_go_over_lines_and_leave_out_tables_and_code() {
        let text = "fn f() {} // no block\n/// One, over\n/// two lines. Another\n/// one.\n///\n/// | What a | table |\n/// ```\n/// What code;\n/// ```\nfn g() {}\n";
        let blocks = blocks(text);
        assert_eq!(blocks.len(), 1);
        assert_eq!(blocks[0].first, 2);
        let sentences = blocks[0].sentences();
        let sentences: Vec<_> = sentences.iter().filter(|it| !it.is_empty()).collect();
        assert_eq!(sentences, ["One, over two lines.", "Another one."]);
    }

    #[test]
    fn a_long_line_is_found_unless_it_is_a_row() {
        let long = "x".repeat(MAX_CHARACTERS);
        let text = format!("// {long}\n// | {long}\n");
        let found: Vec<_> = blocks(&text)[0].findings().collect();
        assert_eq!(found, ["1: 103 characters"]);
    }
}
