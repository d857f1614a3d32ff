//! The output of rank 0.

use std::io::{self, IsTerminal as _, Write};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use super::deck::Deck;
use super::outcome::SageOutcome;

/// The resolution of the progress bar.
const PARTS: u64 = 1000;

/// The report of a run; ranks other than 0 print nothing. If standard error is a terminal, it also
/// shows a progress bar there.
pub(crate) struct SageReport<'a> {
    out: Option<&'a mut dyn Write>,
    title: String,
    ranks: usize,
    last: (Instant, u64, f64),
    cells: usize,
    bar: ProgressBar,
    /// The end of the run in time and in cycles.
    end: (f64, u64),
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{bar:40} {percent} %, {elapsed}, {eta} left");
    style.unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the parts"
)]
fn part(done: f64) -> u64 {
    (done.clamp(0.0, 1.0) * PARTS as f64) as u64
}

impl<'a> SageReport<'a> {
    pub(crate) fn new(out: Option<&'a mut dyn Write>, deck: &Deck, ranks: usize) -> Self {
        let last = (Instant::now(), 0, 0.0);
        let has_bar = out.is_some() && io::stderr().is_terminal();
        Self {
            out,
            title: deck.title.clone(),
            ranks,
            last,
            cells: 0,
            bar: match has_bar {
                true => ProgressBar::new(PARTS).with_style(style()),
                false => ProgressBar::hidden(),
            },
            end: (deck.end_time, deck.cycles),
        }
    }

    pub(crate) fn begins(&mut self, cells: usize) -> io::Result<()> {
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        writeln!(out, "{}", self.title)?;
        writeln!(out, "{} ranks, {cells} cells", self.ranks)?;
        writeln!(
            out,
            "{:>8} {:>14} {:>14} {:>10} {:>12}",
            "cycle", "time", "dt", "cells", "ns per cell"
        )?;
        self.last = (Instant::now(), 0, 0.0);
        self.cells = cells;
        Ok(())
    }

    /// Prints a line about the cycles since the last line: the time, the mean step, and the wall
    /// time per cell and cycle.
    pub(crate) fn cycle(&mut self, cycle: u64, time: f64, cells: usize) -> io::Result<()> {
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        let (then, cycles, before) = self.last;
        let cycles = (cycle - cycles) as f64;
        let grind = then.elapsed().as_secs_f64() * 1e9 / (cycles * cells as f64);
        let step = (time - before) / cycles;
        let bar = &self.bar;
        bar.suspend(|| {
            writeln!(
                out,
                "{cycle:>8} {time:>14.6e} {step:>14.6e} {cells:>10} {grind:>12.1}"
            )
        })?;
        let (end_time, cycles) = self.end;
        let done = (time / end_time).max(cycle as f64 / cycles as f64);
        bar.set_position(part(done));
        self.last = (Instant::now(), cycle, time);
        Ok(())
    }

    pub(crate) fn ends(&mut self, outcome: &SageOutcome) -> io::Result<()> {
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        self.bar.finish_and_clear();
        let SageOutcome {
            cycles,
            time,
            masses,
            energies,
            momenta,
            cells,
            ..
        } = outcome;
        writeln!(out, "{cycles} cycles, time {time:e}, {cells} cells")?;
        let total = |what: &str, out: &mut dyn Write, [before, after]: [f64; 2]| {
            writeln!(out, "{what:<12} {before:>24.16e} {after:>24.16e}")
        };
        writeln!(
            out,
            "{:<12} {:>24} {:>24}",
            "total", "at the beginning", "at the end"
        )?;
        for (n, (before, after)) in masses[0].iter().zip(&masses[1]).enumerate() {
            total(&format!("mass {}", n + 1), out, [*before, *after])?;
        }
        for (n, (before, after)) in momenta[0].iter().zip(&momenta[1]).enumerate() {
            total(&format!("momentum {}", n + 1), out, [*before, *after])?;
        }
        total("energy", out, *energies)?;
        writeln!(out, "digest {:016x}", outcome.digest)?;
        let grind = outcome.elapsed_s * 1e9 / outcome.updates.max(1) as f64;
        writeln!(
            out,
            "elapsed time {:.3} s, grind time {grind:.1} ns per cell and cycle",
            outcome.elapsed_s
        )
    }
}
