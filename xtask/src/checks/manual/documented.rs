//! The examples in the documentation of a file, which are tests.

use anyhow::{Context, Result};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::types::File;

/// The languages of blocks whose code is run.
const RUN: [&str; 3] = ["", "rust", "should_panic"];

/// Returns the examples that are run, as files.
pub(super) fn examples(path: &str, text: &str) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for comment in comments(text) {
        let (mut runs, mut code) = (false, String::new());
        for event in Parser::new(&comment) {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))) => {
                    runs = RUN.contains(&&*kind);
                }
                Event::Text(text) if runs => code += &text,
                Event::End(TagEnd::CodeBlock) if runs => {
                    let program = program(&code);
                    let file = File::parse("", &program, false);
                    files.push(file.with_context(|| format!("in an example of {path}"))?);
                    (runs, code) = (false, String::new());
                }
                _ => {}
            }
        }
    }
    Ok(files)
}

/// Returns the documentation comments, without the comment markers.
fn comments(text: &str) -> Vec<String> {
    let mut comments = vec![String::new()];
    for line in text.lines() {
        let line = line.trim_start();
        let documents = ["///", "//!"]
            .iter()
            .find_map(|sign| line.strip_prefix(sign));
        let last = comments.last_mut().expect("there is one from the start");
        match documents {
            Some(line) => {
                last.push_str(line.strip_prefix(' ').unwrap_or(line));
                last.push('\n');
            }
            None if last.is_empty() => {}
            None => comments.push(String::new()),
        }
    }
    comments
}

/// Returns the program that rustdoc makes of an example, with its hidden lines and a function
/// around it.
fn program(code: &str) -> String {
    let shown = |line: &str| match line.trim_start().strip_prefix('#') {
        Some("") => String::new(),
        Some(hidden) if hidden.starts_with(' ') => hidden.to_owned(),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = code.lines().map(shown).collect();
    let whole = lines.join("\n");
    if whole.contains("fn main()") {
        return whole;
    }
    format!("fn main() {{\n{whole}\n}}")
}
