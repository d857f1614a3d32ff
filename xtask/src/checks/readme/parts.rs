//! The commands, files and expected outputs in a document.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DocumentPart {
    /// A command from an indented block, with its line.
    Command { line: usize, text: String },
    /// A file: a block of a language after a paragraph that ends with the name, in code, and a
    /// colon.
    File { path: String, text: String },
    /// The output of the previous command: a block with the language `text output`.
    Output { line: usize, text: String },
}

impl DocumentPart {
    pub(super) fn is_command(&self, other: &str) -> bool {
        matches!(self, Self::Command { text, .. } if text == other)
    }
}

/// Returns the parts of a document. Other blocks, such as pictures, are left out.
pub(super) fn of(document: &str) -> Vec<DocumentPart> {
    let mut parts = Vec::new();
    let mut block: Option<(usize, CodeBlockKind<'_>, String)> = None;
    let mut paragraph = Paragraph::default();
    for (event, place) in Parser::new(document).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let line = 1 + document[..place.start].matches('\n').count();
                block = Some((line, kind, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((line, kind, text)) = block.take() {
                    add(&mut parts, line, &kind, text, paragraph.file.take());
                }
            }
            Event::Text(more) if block.is_some() => {
                block.iter_mut().for_each(|(.., text)| text.push_str(&more));
            }
            Event::Start(Tag::Paragraph | Tag::Heading { .. }) => paragraph = Paragraph::default(),
            Event::Code(code) => {
                paragraph.code = Some(code.to_string());
                paragraph.file = None;
            }
            Event::Text(text) => {
                let code = paragraph.code.take();
                paragraph.file = code.filter(|_| text.as_ref() == ":");
            }
            _ => {}
        }
    }
    parts
}

/// The last words of the paragraph before a block.
#[derive(Default)]
struct Paragraph {
    code: Option<String>,
    file: Option<String>,
}

fn add(
    parts: &mut Vec<DocumentPart>,
    line: usize,
    kind: &CodeBlockKind<'_>,
    text: String,
    file: Option<String>,
) {
    let language = match kind {
        CodeBlockKind::Indented => return parts.extend(commands(line, &text)),
        CodeBlockKind::Fenced(language) => language.as_ref(),
    };
    match (language, file) {
        ("text output", _) => parts.push(DocumentPart::Output { line, text }),
        ("rust" | "toml", Some(path)) => parts.push(DocumentPart::File { path, text }),
        _ => {}
    }
}

/// Returns the commands of a block. A command is one line, or several lines joined by a backslash;
/// comments are skipped.
fn commands(first: usize, block: &str) -> Vec<DocumentPart> {
    let mut commands = Vec::new();
    let mut joined = String::new();
    for (line, text) in (first..).zip(block.lines()) {
        if let Some(begun) = text.strip_suffix('\\') {
            joined += begun;
            continue;
        }
        let text = std::mem::take(&mut joined) + text;
        let text = text.split(" #").next().unwrap_or_default().trim();
        if !text.is_empty() && !text.starts_with('#') {
            let text = text.to_owned();
            commands.push(DocumentPart::Command { line, text });
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: usize, text: &str) -> DocumentPart {
        let text = text.to_owned();
        DocumentPart::Command { line, text }
    }

    #[test]
    fn what_is_indented_is_typed() {
        let document = "Do:\n\n    cargo build   # long\n    # nothing\n    bcs run \\\n      hello\n\nand `x`.\n";
        let expected = [command(3, "cargo build"), command(6, "bcs run   hello")];
        assert_eq!(of(document), expected);
    }

    #[test]
    fn files_have_a_name_before_them_and_outputs_call_themselves_so() {
        let document = "The `a` file is `src/main.rs`:\n\n```rust\nfn main() {}\n```\n\nA picture:\n\n\
                        ```text\n+--+\n```\n\nIt says\n\n```text output\nhello\n...\n```\n\n```rust\nno name\n```\n";
        let file = DocumentPart::File {
            path: "src/main.rs".to_owned(),
            text: "fn main() {}\n".to_owned(),
        };
        let output = DocumentPart::Output {
            line: 15,
            text: "hello\n...\n".to_owned(),
        };
        assert_eq!(of(document), [file, output]);
    }
}
