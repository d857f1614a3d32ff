//! Table 6.1 of the BCS-MPI paper: the cost of recording SAGE.

use anyhow::{Context, Result};

use super::Section;
use super::content::{PaperContent, PaperTable};
use super::published::{self, PublishedResult};
use super::run::{PaperRun, measure_in_turns};
use crate::bootstrap::{median, median_interval};
use crate::sage::SageReference;

pub(super) const SECTION: Section = Section {
    name: "table-6.1",
    heading: "BCS-MPI, Table 6.1: what the MDS costs",
    fill,
};

const DECKS: [&str; 2] = ["timing_h", "timing_c"];

const LAYOUT: &str = "-n 2 --nodes 2";

/// The recorded data: values of `--mds-record`.
const RECORDED: [&str; 2] = ["mmds", "emds"];

/// The seed of the bootstrap.
const SEED: u64 = 0x00BC_500D;

fn fill(run: &PaperRun<'_>, content: &mut PaperContent) -> Result<()> {
    content.published(&PublishedResult::of(&published::TABLE_6_1)?);
    let rounds = run.choose(5, 20);
    content.text(format!(
        "Ours: medians of {rounds} rounds in turns of `bcs run {LAYOUT} sage`, and the ratio in a round, with its 95 % interval."
    ));
    let mut table = PaperTable::new([
        "Input deck",
        "MDS disabled",
        "MMDS enabled",
        "Overhead",
        "EMDS enabled",
        "Overhead",
    ]);
    let mut told = Vec::new();
    for deck in DECKS {
        let (cells, overheads) = line(run, deck, rounds)?;
        table.line(cells);
        told.extend(overheads.iter().map(|overhead| overhead.told(deck)));
    }
    content.table(table);
    content.text(told.join(" "));
    content.text(
        "*Why they differ.* The check `mds-overhead` counts events and what each costs, which is sharper than run times \
        are on this machine. The paper's runs take minutes, and its EMDS shares the small caches of a \
        network card, where ours has those of a core.",
    );
    Ok(())
}

/// The additional run time due to recording, in percent.
struct Overhead {
    what: &'static str,
    middle: f64,
    low: f64,
    high: f64,
}

impl Overhead {
    /// Returns the result as a sentence.
    fn told(&self, deck: &str) -> String {
        let (what, middle) = (self.what.to_uppercase(), self.middle.abs());
        if self.low > 0.0 {
            return format!("With the {what} {deck} takes {middle:.2} % longer, beyond noise.");
        }
        if self.high < 0.0 {
            return format!(
                "With the {what} {deck} takes {middle:.2} % less, beyond the noise between rounds: recording makes nothing faster, \
                so the runs differ in something else, and what it costs these runs do not say."
            );
        }
        format!("With the {what} the difference of {deck} is within noise.")
    }
}

fn line(run: &PaperRun<'_>, deck: &str, rounds: usize) -> Result<(Vec<String>, Vec<Overhead>)> {
    let dir = tempfile::tempdir().context("failed to make a directory for the dumps")?;
    let gas = SageReference::default();
    let cycles = run.choose("15", "60");
    let samples = measure_in_turns(1 + RECORDED.len(), rounds, |side| {
        let mut command = run.workspace.bcs(["run"])?;
        command.args(LAYOUT.split_whitespace());
        if let Some(what) = side.checked_sub(1).map(|side| RECORDED[side]) {
            command
                .args(["--mds-record", what, "--mds"])
                .arg(dir.path());
        }
        command.args(["sage", "--deck", deck, "--cycles", cycles]);
        Ok(vec![gas.solve(&mut command)?])
    })?;
    let seconds: Vec<Vec<f64>> = samples.iter().map(|rounds| rounds.concat()).collect();
    Ok(cells(deck, &seconds))
}

fn cells(deck: &str, seconds: &[Vec<f64>]) -> (Vec<String>, Vec<Overhead>) {
    let time = |side: usize| format!("{:.3} s", median(&seconds[side]));
    let mut cells = vec![deck.to_owned(), time(0)];
    let mut overheads = Vec::new();
    for side in 1..seconds.len() {
        let pairs = seconds[side].iter().zip(&seconds[0]);
        let more: Vec<f64> = pairs
            .map(|(with, without)| (with / without - 1.0) * 100.0)
            .collect();
        let interval = median_interval(&more, SEED);
        let overhead = format!(
            "{:.2} % ({:.2} to {:.2})",
            median(&more),
            interval.low,
            interval.high
        );
        cells.extend([time(side), overhead]);
        overheads.push(Overhead {
            what: RECORDED[side - 1],
            middle: median(&more),
            low: interval.low,
            high: interval.high,
        });
    }
    (cells, overheads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overheads_are_ratios_in_a_round() {
        let seconds = [
            vec![1.0, 2.0, 4.0],
            vec![1.1, 2.2, 4.4],
            vec![1.0, 2.0, 4.0],
        ];
        let (cells, overheads) = cells("deck", &seconds);
        assert_eq!(cells[..3], ["deck", "2.000 s", "2.200 s"]);
        assert_eq!(cells[3], "10.00 % (10.00 to 10.00)");
        assert_eq!(cells[5], "0.00 % (0.00 to 0.00)");
        let told: Vec<String> = overheads.iter().map(|one| one.told("deck")).collect();
        assert_eq!(
            told,
            [
                "With the MMDS deck takes 10.00 % longer, beyond noise.",
                "With the EMDS the difference of deck is within noise."
            ]
        );
        let faster = Overhead {
            what: "mmds",
            middle: -2.3,
            low: -3.96,
            high: -0.17,
        };
        let told = faster.told("deck");
        assert!(
            told.contains("2.30 % less") && told.contains("recording makes nothing faster"),
            "{told}"
        );
    }
}
