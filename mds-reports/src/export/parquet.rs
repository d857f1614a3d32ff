//! Tables as files of Apache Parquet. Absent values are null.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::Int64Type;
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use mds::dump::{Dumps, NONE, Row};

use super::tables::{Sink, tables};

/// The number of rows that are written together, so that ranks with a few rows make no groups of
/// their own.
const GROUP_ROWS: usize = 1 << 17;

/// Writes a file for each table, with all ranks or nodes together. The metadata of a file hold the
/// units of its columns. Makes `dir` if it is missing. Returns the files.
///
/// # Errors
///
/// Those of the file system.
pub fn write_parquet(dumps: &Dumps, dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(dir)?;
    let mut files = Files {
        dir,
        written: Vec::new(),
    };
    tables(dumps, &mut files)?;
    Ok(files.written)
}

/// The destination of tables.
struct Files<'a> {
    dir: &'a Path,
    written: Vec<PathBuf>,
}

impl Sink for Files<'_> {
    fn table<'a, R: Row + 'a>(
        &mut self,
        owner: &'static str,
        rows: impl Iterator<Item = (u32, &'a [R])>,
    ) -> io::Result<()> {
        let path = self.dir.join(format!("{}.parquet", R::TABLE));
        let file = File::create(&path)?;
        write::<R>(file, owner, rows).map_err(io::Error::other)?;
        self.written.push(path);
        Ok(())
    }
}

fn write<'a, R: Row + 'a>(
    file: File,
    owner: &str,
    rows: impl Iterator<Item = (u32, &'a [R])>,
) -> Result<()> {
    let units = R::COLUMNS.iter().map(|column| {
        let name = format!("unit of {}", column.name);
        KeyValue::new(name, column.unit.to_owned())
    });
    let properties = WriterProperties::builder().set_key_value_metadata(Some(units.collect()));
    let schema = schema::<R>(owner)?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
    let mut columns = vec![Vec::new(); 1 + R::COLUMNS.len()];
    for (owner, rows) in rows {
        for row in rows {
            let words = std::iter::once(u64::from(owner)).chain(row.words());
            for (column, word) in columns.iter_mut().zip(words) {
                column.push(word);
            }
            if columns[0].len() == GROUP_ROWS {
                write_group(&mut writer, &mut columns)?;
            }
        }
    }
    if !columns[0].is_empty() {
        write_group(&mut writer, &mut columns)?;
    }
    writer.close().map(drop)
}

fn schema<R: Row>(owner: &str) -> Result<TypePtr> {
    let column = |name: &str, repetition| {
        let unsigned = LogicalType::Integer {
            bit_width: 64,
            is_signed: false,
        };
        let column = Type::primitive_type_builder(name, Physical::INT64)
            .with_logical_type(Some(unsigned))
            .with_repetition(repetition);
        column.build().map(Arc::new)
    };
    let mut columns = vec![column(owner, Repetition::REQUIRED)?];
    for one in R::COLUMNS {
        columns.push(column(one.name, Repetition::OPTIONAL)?);
    }
    let table = Type::group_type_builder(R::TABLE).with_fields(columns);
    table.build().map(Arc::new)
}

/// Writes the columns, and empties them.
fn write_group(writer: &mut SerializedFileWriter<File>, columns: &mut [Vec<u64>]) -> Result<()> {
    let mut group = writer.next_row_group()?;
    for (at, words) in columns.iter_mut().enumerate() {
        let Some(mut column) = group.next_column()? else {
            break;
        };
        // The owner is never absent, so its column needs no definition levels.
        let there = words.iter().map(|word| i16::from(*word != NONE));
        let levels: Option<Vec<i16>> = (at > 0).then(|| there.collect());
        let present = words.iter().filter(|word| at == 0 || **word != NONE);
        let values: Vec<i64> = present.map(|word| word.cast_signed()).collect();
        column
            .typed::<Int64Type>()
            .write_batch(&values, levels.as_deref(), None)?;
        column.close()?;
        words.clear();
    }
    group.close().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mds::dump::{CallRow, RankDump};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn read(path: &Path) -> SerializedFileReader<File> {
        SerializedFileReader::new(File::open(path).unwrap()).unwrap()
    }

    #[test]
    fn tables_are_read_back_as_they_were() {
        let call = |begun_ns, peer| CallRow {
            begun_ns,
            ended_ns: u64::MAX - 1,
            peer,
            ..CallRow::default()
        };
        let rank = |rank, calls| RankDump {
            rank,
            calls,
            ..RankDump::default()
        };
        let dumps = Dumps {
            ranks: vec![
                rank(3, vec![call(1, NONE), call(2, 7)]),
                rank(4, vec![call(3, 0); GROUP_ROWS]),
            ],
            ..Dumps::default()
        };
        let dir = tempfile::tempdir().unwrap();
        let files = write_parquet(&dumps, &dir.path().join("new")).unwrap();
        let names: Vec<_> = files.iter().filter_map(|path| path.file_stem()).collect();
        assert_eq!(names, ["calls", "messages", "near", "slices", "strobes"]);
        let calls = read(&files[0]);
        assert_eq!(calls.num_row_groups(), 2);
        let rows: Vec<_> = calls
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len(), 2 + GROUP_ROWS);
        let field = |row: usize, name: &str| {
            let mut columns = rows[row].get_column_iter();
            columns.find(|column| column.0 == name).unwrap().1.clone()
        };
        assert_eq!(field(0, "rank"), Field::ULong(3));
        assert_eq!(field(0, "ended_ns"), Field::ULong(u64::MAX - 1));
        assert_eq!(
            (field(0, "peer"), field(1, "peer")),
            (Field::Null, Field::ULong(7))
        );
        assert_eq!(field(GROUP_ROWS + 1, "rank"), Field::ULong(4));
        let metadata = calls
            .metadata()
            .file_metadata()
            .key_value_metadata()
            .unwrap();
        let unit = metadata
            .iter()
            .find(|one| one.key == "unit of bytes")
            .unwrap();
        assert_eq!(unit.value.as_deref(), Some("bytes"));
        assert_eq!(read(&files[4]).num_row_groups(), 0, "a table without rows");
    }
}
