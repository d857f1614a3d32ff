//! `bcs mds`: shows the records of the Monitoring and Debugging System.

use crate::cli::{ExportArgs, ExportFormat, MatrixTransport, MdsCommand, SlicesArgs};
use crate::exit_code;
use crate::standard_output::{self, StandardOutput};
use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use mds::dump::{DumpError, MessageTransport, RunDumps, read_dir, read_summaries};
use mds_reports::figures::{self, Series};
use mds_reports::report::{self, ReportScope};
use mds_reports::trace::TraceWindow;
use source_lines::SourceLines;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// The output is incomplete: a file could not be read, or a rank is missing.
const INCOMPLETE: u8 = 1;

pub(super) fn run(command: MdsCommand) -> ExitCode {
    let mut faults = Vec::new();
    let shown = show(command, &mut faults);
    for fault in &faults {
        eprintln!("bcs: {fault}");
    }
    match shown {
        Ok(()) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(INCOMPLETE),
        // If the reader stops, that is no failure. A full disk is reported later.
        Err(_) if standard_output::has_ended() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bcs: {error:#}");
            ExitCode::from(exit_code::BAD_INPUT)
        }
    }
}

/// Does the request with the files that can be read; the errors of the others go to `faults`.
fn show(command: MdsCommand, faults: &mut Vec<DumpError>) -> anyhow::Result<()> {
    match command {
        MdsCommand::Report { dir, rank, json } => {
            let dumps = opened(read_dir(&dir), faults)?;
            let said = faults.iter().map(ToString::to_string).collect();
            match json {
                true => print_json(&mds_reports::export::report(&dumps, said)?),
                false => {
                    let whose = rank.map_or(ReportScope::AllRanks, ReportScope::Rank);
                    print(&report::full_report(
                        &dumps,
                        whose,
                        standard_output::terminal_columns(),
                    )?)
                }
            }
        }
        MdsCommand::Hist {
            dir,
            metric,
            rank,
            node,
        } => {
            let dumps = opened(read_summaries(&dir), faults)?;
            print(&histogram(&dumps, &metric, rank, node)?)
        }
        MdsCommand::Slices(arguments) => slices(&arguments, faults),
        MdsCommand::Matrix { dir, transport } => {
            let dumps = opened(read_summaries(&dir), faults)?;
            let transport = transport.map(|transport| match transport {
                MatrixTransport::Nic => MessageTransport::Nic,
                MatrixTransport::Smartmap => MessageTransport::Smartmap,
            });
            print(&report::matrix(&dumps, transport))
        }
        MdsCommand::Compare { one, other } => {
            let one = opened(read_summaries(&one), faults)?;
            let other = opened(read_summaries(&other), faults)?;
            print(&report::compare(&one, &other))
        }
        MdsCommand::Blame { dir, rank, json } => {
            let blame = figures::blame(&opened(read_dir(&dir), faults)?);
            match json {
                true => print_json(&report::blame_json(&blame)),
                false => print(&report::blame(&blame, rank)),
            }
        }
        MdsCommand::Html { dir, output } => {
            let dumps = opened(read_dir(&dir), faults)?;
            let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let page = mds_reports::page::page(&dumps, &said)?;
            let failed = || format!("failed to write {}", output.display());
            std::fs::write(&output, page).with_context(failed)
        }
        MdsCommand::Export(arguments) => {
            let dumps = opened(read_dir(&arguments.dir), faults)?;
            export(&dumps, &arguments)
        }
    }
}

/// Returns the dumps, with lines where the places of calls are addresses; adds their faults to the
/// others.
fn opened(
    read: Result<RunDumps, DumpError>,
    faults: &mut Vec<DumpError>,
) -> anyhow::Result<RunDumps> {
    // The error's sentence contains its cause already.
    let mut dumps = read.map_err(anyhow::Error::msg)?;
    faults.append(&mut dumps.faults);
    let mut source = SourceLines::default();
    for site in dumps.ranks.iter_mut().flat_map(|rank| &mut rank.sites) {
        if let Ok(place) = site.place.parse() {
            site.place = source.site_of_place(&place).to_string();
        }
    }
    Ok(dumps)
}

fn histogram(
    dumps: &RunDumps,
    name: &str,
    rank: Option<u32>,
    node: Option<u32>,
) -> anyhow::Result<String> {
    let metric = figures::find(dumps, name)?;
    let (of, kind) = match metric.is_of_ranks() {
        true => (rank, "rank"),
        false => (node, "node"),
    };
    let other = if metric.is_of_ranks() { node } else { rank };
    anyhow::ensure!(
        other.is_none(),
        "{} is a figure of each {kind}: choose one with --{kind}",
        metric.name
    );
    let title = match of {
        Some(number) => format!("{} of {kind} {number}", metric.name),
        None => metric.name.clone(),
    };
    let drawn = report::histogram(&title, &metric.distribution(dumps, of), metric.unit);
    Ok(format!("{}\n{drawn}", metric.about))
}

fn slices(arguments: &SlicesArgs, faults: &mut Vec<DumpError>) -> anyhow::Result<()> {
    let columns = arguments.columns.iter().map(|name| figures::column(name));
    let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
    let dumps = opened(read_summaries(&arguments.dir), faults)?;
    let series = Series::of(&dumps, arguments.node, arguments.from, arguments.to);
    let (Some(path), Some(column)) = (&arguments.plot, columns.first()) else {
        return print(&report::slices(&dumps, &series, &columns));
    };
    let whose = match arguments.node {
        Some(node) => format!("on node {node}"),
        None => "of the job".to_owned(),
    };
    let title = format!("{} by time slice, {whose}", column.name);
    let svg = mds_reports::plot::plot(&series, column, &title)?;
    std::fs::write(path, svg).with_context(|| format!("failed to write {}", path.display()))
}

fn export(dumps: &RunDumps, arguments: &ExportArgs) -> anyhow::Result<()> {
    let window = TraceWindow::between(dumps, arguments.from, arguments.to)?;
    anyhow::ensure!(
        arguments.format == ExportFormat::ChromeTrace || window == TraceWindow::ALL,
        "--from and --to need --format chrome-trace: the other formats hold the whole run"
    );
    let tables = match arguments.format {
        ExportFormat::Csv => mds_reports::export::write_csv,
        ExportFormat::Parquet => write_parquet,
        ExportFormat::Paraver => mds_reports::export::write_paraver,
        ExportFormat::Json | ExportFormat::ChromeTrace | ExportFormat::Folded => {
            return export_to_file(dumps, arguments, window);
        }
    };
    let dir = arguments.output.as_deref();
    let dir = dir.context("name a directory for the tables, or the file of Paraver, with -o")?;
    let failed = || format!("failed to write tables into {}", dir.display());
    for path in tables(dumps, dir).with_context(failed)? {
        print(&path.display().to_string())?;
    }
    Ok(())
}

#[cfg(feature = "parquet")]
use mds_reports::export::write_parquet;

/// Fails without the feature.
#[cfg(not(feature = "parquet"))]
fn write_parquet(_: &RunDumps, _: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    Err(io::Error::other(
        "this bcs was built without Parquet: build one with \
         `cargo build --release -p machine-manager --features parquet`, or export csv",
    ))
}

fn export_to_file(
    dumps: &RunDumps,
    arguments: &ExportArgs,
    window: TraceWindow,
) -> anyhow::Result<()> {
    let format = arguments.format;
    let Some(path) = &arguments.output else {
        return export_to(dumps, format, window, &mut BufWriter::new(StandardOutput));
    };
    let failed = || format!("failed to write {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(failed)?);
    if path.extension().is_none_or(|extension| extension != "gz") {
        return export_to(dumps, format, window, &mut file).with_context(failed);
    }
    let mut compressed = GzEncoder::new(file, Compression::default());
    export_to(dumps, format, window, &mut compressed).with_context(failed)?;
    let mut file = compressed.finish().with_context(failed)?;
    file.flush().with_context(failed)
}

fn export_to(
    dumps: &RunDumps,
    format: ExportFormat,
    window: TraceWindow,
    to: &mut impl Write,
) -> anyhow::Result<()> {
    match format {
        ExportFormat::ChromeTrace => mds_reports::trace::write(dumps, window, to).map(drop)?,
        ExportFormat::Folded => mds_reports::export::write_folded(dumps, to)?,
        _ => mds_reports::export::write_json(dumps, to)?,
    }
    Ok(())
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut out = StandardOutput;
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

fn print_json(value: &serde_json::Value) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}
