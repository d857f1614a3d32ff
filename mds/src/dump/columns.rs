//! A table as a file: a line of JSON that describes the columns, and then each column as words of
//! eight bytes, the least significant first. So a line of numpy reads it
//! ([docs/dumps.md](../../../docs/dumps.md)):
//!
//! ```text
//! {"format":"bcs-mds-table","version":2,"job":"..","of":3,"table":"near","rows":2,
//!  "columns":[{"name":"slice",..},..]}
//! slice slice messages messages bytes bytes collectives collectives
//! ```
//!
//! A file may have columns that its reader does not know, and in any order; it must have those that
//! its reader knows.

use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::limits::MOST_HEAD_BYTES;

use super::label::{Label, labelled};
use super::{DumpError, Row};

const FORMAT: &str = "bcs-mds-table";

/// The number of bytes of a word.
const WORD: usize = size_of::<u64>();

/// The owner of a table: a rank or a node of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner<'a> {
    /// The run.
    pub(super) job: &'a str,
    /// The rank or the node.
    pub(super) number: u32,
}

/// The first line, without format and version.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    job: String,
    of: u32,
    table: String,
    rows: usize,
    columns: Vec<ColumnHeader>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ColumnHeader {
    name: String,
    unit: String,
}

/// Writes `rows` as the table of `owner`.
pub(super) fn write<R: Row>(to: &mut impl Write, owner: Owner<'_>, rows: &[R]) -> io::Result<()> {
    let columns = R::COLUMNS.iter().map(|column| ColumnHeader {
        name: column.name.to_owned(),
        unit: column.unit.to_owned(),
    });
    let head = Head {
        job: owner.job.to_owned(),
        of: owner.number,
        table: R::TABLE.to_owned(),
        rows: rows.len(),
        columns: columns.collect(),
    };
    serde_json::to_writer(&mut *to, &Label::new(FORMAT, head))?;
    to.write_all(b"\n")?;
    for column in 0..R::COLUMNS.len() {
        for row in rows {
            let word = row.words().nth(column).unwrap_or_default();
            to.write_all(&word.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Parses `bytes` as the table of `owner`, and returns its rows.
///
/// # Errors
///
/// If the bytes are anything but all of that table. `path` is only for the message.
pub(super) fn read<R: Row>(
    path: &Path,
    bytes: &[u8],
    owner: Owner<'_>,
) -> Result<Vec<R>, DumpError> {
    let truncated = || DumpError::Truncated {
        path: path.to_owned(),
        length: bytes.len(),
    };
    let line = bytes
        .iter()
        .take(MOST_HEAD_BYTES)
        .position(|byte| *byte == b'\n');
    let Some(line) = line else {
        return match bytes {
            [] => Err(truncated()),
            [b'{', ..] if bytes.len() < MOST_HEAD_BYTES => Err(truncated()),
            _ => Err(DumpError::Foreign {
                path: path.to_owned(),
                expected: FORMAT,
                found: "no line of JSON at its head".to_owned(),
            }),
        };
    };
    let (head, words) = (&bytes[..line], &bytes[line + 1..]);
    let Label { content: head, .. } = labelled::<Label<Head>>(path, head, FORMAT)?;
    belongs(path, &head, R::TABLE, owner)?;
    let column_bytes = head.rows.checked_mul(WORD);
    let all_bytes = column_bytes.and_then(|bytes| bytes.checked_mul(head.columns.len()));
    let (Some(column_bytes), Some(all_bytes)) = (column_bytes, all_bytes) else {
        return Err(DumpError::malformed(
            path,
            "it says that it has too many rows",
        ));
    };
    if words.len() < all_bytes {
        return Err(truncated());
    }
    if words.len() > all_bytes {
        let more = words.len() - all_bytes;
        return Err(DumpError::malformed(
            path,
            format!("{more} bytes follow its end"),
        ));
    }
    let places = places::<R>(path, &head.columns)?;
    let mut rows = Vec::with_capacity(head.rows);
    let mut row = vec![0; places.len()];
    for index in 0..head.rows {
        for (word, place) in row.iter_mut().zip(&places) {
            *word = word_at(words, place * column_bytes + index * WORD);
        }
        rows.extend(R::from_words(&row));
    }
    Ok(rows)
}

fn belongs(path: &Path, head: &Head, table: &str, owner: Owner<'_>) -> Result<(), DumpError> {
    if head.job != owner.job {
        return Err(DumpError::TwoRuns {
            path: path.to_owned(),
            job: head.job.clone(),
            other: owner.job.to_owned(),
        });
    }
    if (head.table.as_str(), head.of) != (table, owner.number) {
        return Err(DumpError::Misnamed {
            path: path.to_owned(),
            content: format!("the table {:?} of number {}", head.table, head.of),
        });
    }
    Ok(())
}

/// Returns where in the file the columns of the row are.
fn places<R: Row>(path: &Path, columns: &[ColumnHeader]) -> Result<Vec<usize>, DumpError> {
    let place = |column: &super::Column| {
        let found = columns.iter().position(|named| named.name == column.name);
        let found = found.filter(|place| columns[*place].unit == column.unit);
        found.ok_or_else(|| {
            let what = format!("it has no column {:?} in {}", column.name, column.unit);
            DumpError::malformed(path, what)
        })
    };
    R::COLUMNS.iter().map(place).collect()
}

fn word_at(words: &[u8], at: usize) -> u64 {
    let bytes = words
        .get(at..at + WORD)
        .and_then(|bytes| bytes.try_into().ok());
    u64::from_le_bytes(bytes.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::super::LocalSliceRow;
    use super::*;

    const OWNER: Owner<'static> = Owner {
        job: "job 1",
        number: 3,
    };

    fn rows() -> Vec<LocalSliceRow> {
        let row = |slice| LocalSliceRow {
            slice,
            messages: slice * 10,
            bytes: u64::MAX - slice,
            collectives: 1,
        };
        (1..=3).map(row).collect()
    }

    fn file() -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, OWNER, &rows()).unwrap();
        bytes
    }

    fn read_near(bytes: &[u8]) -> Result<Vec<LocalSliceRow>, DumpError> {
        read(Path::new("rank-00003.near"), bytes, OWNER)
    }

    /// Returns the file with some text of its head replaced.
    fn changed(from: &str, to: &str) -> Vec<u8> {
        let file = file();
        let line = file.iter().position(|byte| *byte == b'\n').unwrap();
        let head = std::str::from_utf8(&file[..line]).unwrap();
        assert!(head.contains(from), "{head}");
        let mut bytes = head.replacen(from, to, 1).into_bytes();
        bytes.extend(&file[line..]);
        bytes
    }

    #[test]
    fn a_table_is_its_head_and_its_columns() {
        let bytes = file();
        assert_eq!(read_near(&bytes).unwrap(), rows());
        let line = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        assert_eq!(bytes.len(), line + 1 + 4 * 3 * 8);
        let second_column: Vec<u64> = (0..3)
            .map(|row| word_at(&bytes[line + 1..], (3 + row) * 8))
            .collect();
        assert_eq!(second_column, [10, 20, 30]);
        let head = r#"{"format":"bcs-mds-table","version":2,"job":"job 1","of":3,"table":"near","rows":3,"#;
        assert!(bytes.starts_with(head.as_bytes()));
    }

    #[test]
    fn a_table_of_no_rows_is_one() {
        let mut bytes = Vec::new();
        write::<LocalSliceRow>(&mut bytes, OWNER, &[]).unwrap();
        assert_eq!(read_near(&bytes).unwrap(), []);
    }

    #[test]
    fn columns_are_known_by_their_names_and_others_passed_over() {
        let swapped = changed("\"name\":\"bytes\"", "\"name\":\"bytez\"");
        assert!(
            read_near(&swapped)
                .unwrap_err()
                .to_string()
                .contains("\"bytes\" in bytes")
        );
        let one_more = changed(
            "\"columns\":[",
            "\"columns\":[{\"name\":\"new\",\"unit\":\"ns\"},",
        );
        let line = one_more.iter().position(|byte| *byte == b'\n').unwrap();
        let mut widened = one_more[..=line].to_vec();
        widened.extend([0; 3 * 8]);
        widened.extend(&one_more[line + 1..]);
        assert_eq!(read_near(&widened).unwrap(), rows());
    }

    #[test]
    fn a_table_that_lies_is_refused() {
        for (from, to, expected) in [
            ("\"rows\":3", "\"rows\":4", "breaks off"),
            ("\"rows\":3", "\"rows\":2", "32 bytes follow its end"),
            (
                "\"rows\":3",
                "\"rows\":18446744073709551615",
                "too many rows",
            ),
            ("\"rows\":3", "\"rows\":-1", "invalid value"),
            ("job 1", "job 2", "run \"job 2\""),
            ("\"of\":3", "\"of\":4", "of number 4"),
            ("\"near\"", "\"calls\"", "table \"calls\""),
            ("\"version\":2", "\"version\":3", "version 3"),
            ("bcs-mds-table", "parquet", "found \"parquet\""),
        ] {
            let message = read_near(&changed(from, to)).unwrap_err().to_string();
            assert!(message.contains(expected), "{expected:?} in {message:?}");
        }
    }
}
