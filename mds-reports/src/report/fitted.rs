//! Tables and lines that are no wider than a terminal.

use comfy_table::{ContentArrangement, Table};

/// The indentation of the second line of a long one.
const INDENTATION: usize = 4;

/// Returns the text of a table. If a terminal shows it, cells are broken so that it fits.
pub(super) fn fitted(mut table: Table, terminal: Option<usize>) -> String {
    if let Some(columns) = terminal {
        // The preset has spaces on both sides of each cell.
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(columns).unwrap_or(u16::MAX));
    }
    table.trim_fmt()
}

/// Breaks lines that are too long for the terminal at spaces. Tables fit already; a word that is
/// too long stays whole.
pub(super) fn folded(text: &str, terminal: Option<usize>) -> String {
    let Some(columns) = terminal else {
        return text.to_owned();
    };
    let lines = text
        .lines()
        .map(|line| match line.chars().count() <= columns {
            true => line.to_owned(),
            false => broken(line, columns),
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn broken(line: &str, columns: usize) -> String {
    let indented = line.chars().take_while(|letter| *letter == ' ').count();
    let mut text = " ".repeat(indented);
    let mut column = indented;
    for (number, word) in line[indented..].split(' ').enumerate() {
        let wide = word.chars().count();
        if number > 0 && column + 1 + wide > columns {
            text.push('\n');
            text.push_str(&" ".repeat(INDENTATION));
            column = INDENTATION;
        } else if number > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += wide;
    }
    text
}
