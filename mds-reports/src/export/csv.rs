//! Dumps as files of comma-separated values, whose first line has the names. Absent values are
//! empty.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::figures;
use mds::dump::{NONE, Row, RunDumps};

use super::tables::{Sink, tables};

/// Writes a file for each table, with all ranks or nodes together, and files of metrics, of call
/// sites and of the traffic between ranks. Makes `dir` if it is missing. Returns the files.
///
/// # Errors
///
/// Those of the file system.
pub fn write_csv(dumps: &RunDumps, dir: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(dir)?;
    let mut files = Files {
        dir,
        written: Vec::new(),
    };
    tables(dumps, &mut files)?;
    let more = [metrics(dumps, dir)?, sites(dumps, dir)?, flows(dumps, dir)?];
    Ok(files.written.into_iter().chain(more).collect())
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
        self.written.push(table(self.dir, owner, rows)?);
        Ok(())
    }
}

fn file(dir: &Path, name: &str) -> io::Result<(PathBuf, BufWriter<fs::File>)> {
    let path = dir.join(format!("{name}.csv"));
    let file = BufWriter::new(fs::File::create(&path)?);
    Ok((path, file))
}

fn table<'a, R: Row + 'a>(
    dir: &Path,
    owner: &str,
    rows: impl Iterator<Item = (u32, &'a [R])>,
) -> io::Result<PathBuf> {
    let (path, mut file) = file(dir, R::TABLE)?;
    let names: Vec<&str> = R::COLUMNS.iter().map(|column| column.name).collect();
    writeln!(file, "{owner},{}", names.join(","))?;
    for (number, rows) in rows {
        for row in rows {
            write!(file, "{number}")?;
            for word in row.words() {
                match word {
                    NONE => write!(file, ",")?,
                    word => write!(file, ",{word}")?,
                }
            }
            writeln!(file)?;
        }
    }
    file.flush()?;
    Ok(path)
}

fn metrics(dumps: &RunDumps, dir: &Path) -> io::Result<PathBuf> {
    let (path, mut file) = file(dir, "metrics")?;
    writeln!(file, "metric,count,min,average,p50,p95,p99,max,total")?;
    for metric in figures::known(dumps) {
        let figures = metric.distribution(dumps, None);
        let quantiles = [0.5, 0.95, 0.99].map(|share| figures.quantile(share));
        let [middle, most, high] =
            quantiles.map(|figure| figure.map_or(String::new(), |figure| figure.to_string()));
        writeln!(
            file,
            "{},{},{},{},{middle},{most},{high},{},{}",
            metric.name, figures.count, figures.min, figures.average, figures.max, figures.total
        )?;
    }
    file.flush()?;
    Ok(path)
}

fn sites(dumps: &RunDumps, dir: &Path) -> io::Result<PathBuf> {
    let (path, mut file) = file(dir, "sites")?;
    writeln!(file, "rank,site,place,call,count,total_ns,max_ns,bytes")?;
    for dump in &dumps.ranks {
        for (number, site) in dump.sites.iter().enumerate() {
            writeln!(
                file,
                "{},{number},{},{},{},{},{},{}",
                dump.rank,
                quoted(&site.place),
                site.primitive.map_or("", |primitive| primitive.name()),
                site.time_ns.count,
                site.time_ns.total,
                site.time_ns.max,
                site.bytes
            )?;
        }
    }
    file.flush()?;
    Ok(path)
}

fn flows(dumps: &RunDumps, dir: &Path) -> io::Result<PathBuf> {
    let (path, mut file) = file(dir, "flows")?;
    writeln!(file, "from,to,road,messages,bytes")?;
    for flow in figures::flows(dumps) {
        let road = format!("{:?}", flow.road).to_lowercase();
        let (messages, bytes) = (flow.sent.messages, flow.sent.bytes);
        writeln!(file, "{},{},{road},{messages},{bytes}", flow.from, flow.to)?;
    }
    file.flush()?;
    Ok(path)
}

/// Quotes a text that may hold commas and quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
