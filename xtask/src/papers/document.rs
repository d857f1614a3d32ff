//! The document: the sections as Markdown, and their pictures next to it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::content::{ContentPart, PaperContent, PaperTable};

/// The folder of the pictures, next to the document and with the same name.
const PICTURES: &str = "papers";

/// The document's file.
const FILE: &str = "papers.md";

/// The circumstances of the measurement.
#[derive(Debug)]
pub(super) struct MeasurementContext {
    /// The day and the time.
    pub(super) when: String,
    /// The machine.
    pub(super) machine: String,
    /// The measured commit.
    pub(super) commit: String,
    /// The command that makes this document.
    pub(super) command: String,
    /// The duration, in words.
    pub(super) took: String,
}

impl MeasurementContext {
    fn circumstances(&self) -> String {
        let Self {
            when,
            machine,
            commit,
            took,
            ..
        } = self;
        format!("on {when}, in {took}, of commit {commit}, on {machine}")
    }
}

/// A section with its heading.
#[derive(Debug)]
pub(super) struct Chapter {
    /// The heading.
    pub(super) heading: &'static str,
    /// The content below it.
    pub(super) content: PaperContent,
}

/// Writes the document and its pictures into a folder, and removes pictures of an earlier document.
///
/// # Errors
///
/// A file cannot be written there.
pub(super) fn write(
    folder: &Path,
    occasion: &MeasurementContext,
    chapters: &[Chapter],
) -> Result<()> {
    let pictures = folder.join(PICTURES);
    let context = || format!("failed to remove pictures from {}", pictures.display());
    fs::create_dir_all(&pictures).with_context(context)?;
    for entry in fs::read_dir(&pictures).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.extension().is_some_and(|extension| extension == "svg") {
            fs::remove_file(&path).with_context(context)?;
        }
    }
    write_pictures(&pictures, chapters)?;
    let path = folder.join(FILE);
    fs::write(&path, text(occasion, chapters))
        .with_context(|| format!("failed to write {}", path.display()))
}

/// Replaces sections of the document in a folder, and records in each when it was measured.
///
/// # Errors
///
/// There is no document, it has no such section, or it cannot be written.
pub(super) fn replace(
    folder: &Path,
    occasion: &MeasurementContext,
    chapters: &[Chapter],
) -> Result<()> {
    let path = folder.join(FILE);
    let document = fs::read_to_string(&path)
        .with_context(|| format!("failed to read {}, which has the others", path.display()))?;
    let document = replaced(document, occasion, chapters)?;
    write_pictures(&folder.join(PICTURES), chapters)?;
    fs::write(&path, document).with_context(|| format!("failed to write {}", path.display()))
}

fn replaced(
    mut document: String,
    occasion: &MeasurementContext,
    chapters: &[Chapter],
) -> Result<String> {
    for chapter in chapters {
        let head = head(chapter);
        let start = document
            .find(&head)
            .with_context(|| format!("the document has no section `{}`", chapter.heading))?;
        let rest = start + head.len();
        let end = document[rest..]
            .find("\n## ")
            .map_or(document.len(), |next| rest + next + 1);
        let mut section = format!(
            "{head}*`{}` measured this section again {}.*\n\n",
            occasion.command,
            occasion.circumstances()
        );
        add_all(&mut section, chapter);
        document.replace_range(start..end, &section);
    }
    end_with_a_line(&mut document);
    Ok(document)
}

/// Returns the line of a section's heading, and the empty line below it.
fn head(chapter: &Chapter) -> String {
    format!("## {}\n\n", chapter.heading)
}

fn write_pictures(folder: &Path, chapters: &[Chapter]) -> Result<()> {
    let context = || format!("failed to write the pictures into {}", folder.display());
    fs::create_dir_all(folder).with_context(context)?;
    for part in chapters.iter().flat_map(|chapter| &chapter.content.parts) {
        if let ContentPart::Picture { file, svg, .. } = part {
            fs::write(folder.join(file), svg).with_context(context)?;
        }
    }
    Ok(())
}

fn text(occasion: &MeasurementContext, chapters: &[Chapter]) -> String {
    let mut text = format!(
        "# The papers, measured here\n\n\
        `{}` wrote this file {}. Do not edit it.\n\n\
        Every number is from that run, or from the later one that its section names, but for those that are said to \
        be a paper's; these are in `xtask/src/papers/published`, each with its source. The papers are at hand as text, so of a figure only \
        what the text says is compared. Absolute times are those of this machine in that hour.\n\n",
        occasion.command,
        occasion.circumstances()
    );
    for chapter in chapters {
        text.push_str(&head(chapter));
        add_all(&mut text, chapter);
    }
    end_with_a_line(&mut text);
    text
}

fn add_all(text: &mut String, chapter: &Chapter) {
    let parts = &chapter.content.parts;
    parts.iter().for_each(|part| add(text, part));
}

fn end_with_a_line(text: &mut String) {
    text.truncate(text.trim_end().len());
    text.push('\n');
}

fn add(text: &mut String, part: &ContentPart) {
    // Writing to a string does not fail.
    let _ = match part {
        ContentPart::Text(paragraph) => write!(text, "{paragraph}\n\n"),
        ContentPart::List(items) => {
            items.iter().for_each(|item| {
                let _ = writeln!(text, "- {item}");
            });
            writeln!(text)
        }
        ContentPart::Table(table) => {
            add_table(text, table);
            writeln!(text)
        }
        ContentPart::Picture { file, caption, .. } => {
            write!(text, "![{caption}]({PICTURES}/{file})\n\n*{caption}*\n\n")
        }
    };
}

fn add_table(text: &mut String, table: &PaperTable) {
    let mut add = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    add(&table.heads);
    let rules = table.heads.iter().enumerate();
    let rules: Vec<String> = rules
        .map(|(column, _)| if column == 0 { "---" } else { "---:" }.to_owned())
        .collect();
    add(&rules);
    table.lines.iter().for_each(|line| add(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occasion() -> MeasurementContext {
        let word = str::to_owned;
        MeasurementContext {
            when: word("a day"),
            machine: word("a machine"),
            commit: word("abc"),
            command: word("cargo xtask papers --quick"),
            took: word("4 s"),
        }
    }

    fn chapter() -> Chapter {
        let mut content = PaperContent::new();
        content.text("Said.");
        content
            .parts
            .push(ContentPart::List(vec!["one".into(), "two".into()]));
        let mut table = PaperTable::new(["n", "us | ms"]);
        table.line([2.0, 3.5]);
        content.table(table);
        content.svg("figure", "A curve", "<svg/>".into());
        Chapter {
            heading: "Table 1",
            content,
        }
    }

    #[test]
    fn the_document_has_what_its_sections_say_in_order() {
        let text = text(&occasion(), &[chapter()]);
        let (head, rest) = text.split_once("## Table 1\n\n").unwrap();
        for word in ["a day", "a machine", "abc", "papers --quick", "4 s"] {
            assert!(head.contains(word), "{word}");
        }
        let expected = "Said.\n\n- one\n- two\n\n| n | us \\| ms |\n| --- | ---: |\n| 2 | 3.5 |\n\n\
            ![A curve](papers/figure.svg)\n\n*A curve*\n";
        assert_eq!(rest, expected);
    }

    #[test]
    fn a_section_that_is_measured_again_takes_its_place() {
        let chapter_of = |heading, said: &str| {
            let mut content = PaperContent::new();
            content.text(said);
            Chapter { heading, content }
        };
        let before = ["A", "B", "C"].map(|heading| chapter_of(heading, "Before."));
        let document = text(&occasion(), &before);
        let again = "*`cargo xtask papers --quick` measured this section again on a day, in 4 s, of commit abc, \
            on a machine.*\n\nAfter.\n";
        for (heading, expected) in [
            (
                "B",
                format!("## A\n\nBefore.\n\n## B\n\n{again}\n## C\n\nBefore.\n"),
            ),
            (
                "C",
                format!("## A\n\nBefore.\n\n## B\n\nBefore.\n\n## C\n\n{again}"),
            ),
        ] {
            let after = [chapter_of(heading, "After.")];
            let document = replaced(document.clone(), &occasion(), &after).unwrap();
            assert_eq!(&document[document.find("## A").unwrap()..], expected);
        }
        let unknown = [chapter_of("D", "")];
        assert!(replaced(document, &occasion(), &unknown).is_err());
    }

    #[test]
    fn pictures_lie_beside_it_and_those_of_before_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let pictures = folder.path().join(PICTURES);
        fs::create_dir(&pictures).unwrap();
        for name in ["old.svg", "kept.txt"] {
            fs::write(pictures.join(name), "").unwrap();
        }
        write(folder.path(), &occasion(), &[chapter()]).unwrap();
        assert_eq!(
            fs::read_to_string(pictures.join("figure.svg")).unwrap(),
            "<svg/>"
        );
        assert!(!pictures.join("old.svg").exists() && pictures.join("kept.txt").exists());
        assert!(folder.path().join(FILE).is_file());
    }
}
