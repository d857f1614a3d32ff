//! The content of a section: paragraphs, tables and pictures, in the order in which they were
//! added.

use std::fmt::Display;

use anyhow::Result;

use super::picture::{Panel, picture};
use super::published::PublishedResult;
use crate::verdict::{CheckOutcome, Verdict};

/// A part of a section.
#[derive(Debug, PartialEq)]
pub(super) enum ContentPart {
    /// A paragraph, in Markdown.
    Text(String),
    /// A list.
    List(Vec<String>),
    /// A table.
    Table(PaperTable),
    /// A picture, and its file.
    Picture {
        /// The file name, with `.svg`.
        file: String,
        /// The caption.
        caption: String,
        /// The picture.
        svg: String,
    },
}

/// A table: its heads, and lines of the same length.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PaperTable {
    /// The heads of the columns.
    pub(super) heads: Vec<String>,
    /// The lines.
    pub(super) lines: Vec<Vec<String>>,
}

impl PaperTable {
    /// Makes an empty table.
    pub(super) fn new<const COLUMNS: usize>(heads: [&str; COLUMNS]) -> Self {
        Self {
            heads: heads.map(str::to_owned).to_vec(),
            lines: Vec::new(),
        }
    }

    /// Adds a line.
    pub(super) fn line(&mut self, cells: impl IntoIterator<Item = impl Display>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        assert_eq!(cells.len(), self.heads.len(), "a cell for each column");
        self.lines.push(cells);
    }
}

/// A section in progress.
#[derive(Debug)]
pub(super) struct PaperContent {
    /// The parts of the section.
    pub(super) parts: Vec<ContentPart>,
    /// Whether the section is complete.
    pub(super) verdict: Verdict,
}

impl PaperContent {
    /// Makes an empty section.
    pub(super) fn new() -> Self {
        Self {
            parts: Vec::new(),
            verdict: Verdict::Held,
        }
    }

    /// Adds a paragraph.
    pub(super) fn text(&mut self, text: impl Into<String>) {
        self.parts.push(ContentPart::Text(text.into()));
    }

    /// Adds a table.
    pub(super) fn table(&mut self, table: PaperTable) {
        self.parts.push(ContentPart::Table(table));
    }

    /// Adds a picture of some panels, for the file `name.svg`.
    ///
    /// # Errors
    ///
    /// There is nothing to draw.
    pub(super) fn picture(&mut self, name: &str, caption: &str, panels: &[Panel]) -> Result<()> {
        self.svg(name, caption, picture(panels)?);
        Ok(())
    }

    /// Adds a finished picture.
    pub(super) fn svg(&mut self, name: &str, caption: &str, svg: String) {
        self.parts.push(ContentPart::Picture {
            file: format!("{name}.svg"),
            caption: caption.to_owned(),
            svg,
        });
    }

    /// Adds the paper's result: its source and caption, its table, and its text.
    pub(super) fn published(&mut self, published: &PublishedResult) {
        let PublishedResult { paper, place, .. } = published;
        self.text(format!("**{place}** of *{paper}*: {}", published.caption));
        if let Some(table) = &published.table {
            self.table(PaperTable {
                heads: table.heads.clone(),
                lines: table.lines.clone(),
            });
        }
        if !published.says.is_empty() {
            self.text("The paper says:");
            self.parts.push(ContentPart::List(published.says.clone()));
        }
    }

    /// Adds a part by `fill`. If that fails, a sentence with the reason follows the content that it
    /// had added.
    pub(super) fn attempt(&mut self, what: &str, fill: impl FnOnce(&mut Self) -> Result<()>) {
        let Err(error) = fill(self) else {
            return;
        };
        let CheckOutcome {
            verdict, figure, ..
        } = CheckOutcome::from_result(Err(error));
        self.verdict = Verdict::of_all([self.verdict, verdict].into_iter())
            .expect("two verdicts are some verdicts");
        let how = match verdict {
            Verdict::CannotTell => "cannot be shown on this machine",
            _ => "failed",
        };
        let reason = figure.replace('\n', " ");
        self.text(format!("**{what} {how}:** {reason}."));
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;
    use crate::verdict::UnsuitableMachine;

    #[test]
    fn what_fails_leaves_a_sentence_behind_what_it_had_said() {
        let mut content = PaperContent::new();
        content.attempt("A", |content| {
            content.text("half");
            bail!("the other half\nis gone")
        });
        content.attempt("B", |_| Err(UnsuitableMachine("one core".into()).into()));
        let text = |text: &str| ContentPart::Text(text.to_owned());
        let expected = [
            text("half"),
            text("**A failed:** the other half is gone."),
            text("**B cannot be shown on this machine:** one core."),
        ];
        assert_eq!(content.parts, expected);
        assert_eq!(content.verdict, Verdict::Missed, "the worse one counts");
    }

    #[test]
    #[should_panic(expected = "a cell for each column")]
    fn lines_are_as_long_as_the_heads() {
        PaperTable::new(["a", "b"]).line(["1"]);
    }
}
