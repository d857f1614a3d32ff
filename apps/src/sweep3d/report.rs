//! The printed report. It has the layout of the original, because scripts parse it.

use std::io::{self, Write};

use super::deck::{Deck, FixUps, Stop};
use super::estimates::Estimates;
use super::exchange::Communication;
use super::results::{Balance, Iteration, Times};

/// Digits that distinguish any two doubles, and one more, like the original.
const ERROR_DIGITS: usize = 18;

/// Digits of the balance. Later ones depend on the order of sums, and so on the decomposition.
const BALANCE_DIGITS: usize = 15;

/// The plane of fluxes that `iprint` prints, from 1.
pub(super) const PRINTED_PLANE: usize = 5;

/// The destination of the report: a writer on rank 0, nothing elsewhere.
///
/// A write error is stored, not returned, so that rank 0 continues the communication for which the
/// others wait until all can stop together.
pub(super) struct Sweep3dReport<'a> {
    out: Option<&'a mut dyn Write>,
    failure: Option<io::Error>,
}

impl<'a> Sweep3dReport<'a> {
    /// Makes a report to `out`, or one that discards everything.
    pub(super) fn new(out: Option<&'a mut dyn Write>) -> Sweep3dReport<'a> {
        Sweep3dReport { out, failure: None }
    }

    /// Prints a part, if this process prints and no write has failed.
    pub(super) fn print(&mut self, part: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if let (Some(out), None) = (&mut self.out, &self.failure) {
            self.failure = part(*out).err();
        }
    }

    /// Returns whether a write failed.
    pub(super) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Takes the write error, if any.
    pub(super) fn failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }
}

/// Prints the problem. `bytes` is the memory that the first process needs for it.
pub(super) fn header(
    out: &mut dyn Write,
    deck: &Deck,
    communication: Communication,
    bytes: usize,
) -> io::Result<()> {
    let estimates = Estimates::new(deck);
    let set = if deck.mm == 3 { 4 } else { 6 };
    let Deck {
        npe_i,
        npe_j,
        mk,
        mmi,
        it_g,
        jt_g,
        kt,
        mm,
        isct,
        ..
    } = deck;
    writeln!(
        out,
        " SWEEP3D - discrete ordinates neutron transport over BCS-MPI"
    )?;
    writeln!(
        out,
        " S{set}P{isct}   - {mm:>2} angles/octant, {:>2} moments",
        deck.moments()
    )?;
    writeln!(out, " Global grid: {it_g} x {jt_g} x {kt}")?;
    writeln!(
        out,
        " Domains: {npe_i} x {npe_j} of at most {} x {} x {kt}",
        it_g.div_ceil(*npe_i),
        jt_g.div_ceil(*npe_j),
    )?;
    writeln!(
        out,
        " Blocks: {} of {mk} k-planes, {} of {mmi} angles",
        kt.div_ceil(*mk),
        mm / mmi
    )?;
    let boundaries = deck
        .reflective
        .map(|reflective| if reflective { "reflective" } else { "vacuum" });
    writeln!(out, " Low boundaries: {}", boundaries.join(" "))?;
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    writeln!(out, " Memory estimate: {mebibytes:.1} MiB per process")?;
    let communication = match communication {
        Communication::Blocking => "blocking",
        Communication::NonBlocking => "nonblocking",
    };
    writeln!(
        out,
        " Messages per iteration: {} ({communication})",
        estimates.messages_per_iteration
    )?;
    writeln!(
        out,
        " Domain efficiency: {:.4}",
        estimates.domain_efficiency
    )?;
    writeln!(
        out,
        " Multitasking efficiency: {:.4} ({} CPUs)",
        estimates.multitasking_efficiency, deck.ncpu
    )?;
    writeln!(out, " Total efficiency: {:.4}", estimates.efficiency())?;
    writeln!(
        out,
        " DSA face currents: {}",
        if deck.dsa { "on" } else { "off" }
    )?;
    match deck.fixups {
        FixUps::Never => writeln!(out, " Flux fix-ups: off")?,
        FixUps::Always => writeln!(out, " Flux fix-ups: on")?,
        FixUps::After(n) => writeln!(out, " Flux fix-ups: on after {n} iterations")?,
    }
    match deck.stop {
        Stop::After(n) => writeln!(out, " Iterations: {n}")?,
        Stop::Converged(epsi) => writeln!(out, " Iterations: until err <= {epsi:e}")?,
    }
    writeln!(out)?;
    writeln!(out, " Iteration Monitor:")?;
    out.flush()
}

/// Prints a line of the iteration monitor, and flushes it, so that the user can watch a long run.
pub(super) fn iteration(
    out: &mut dyn Write,
    number: usize,
    iteration: &Iteration,
) -> io::Result<()> {
    writeln!(
        out,
        "  its = {number:>2}  err =  {}   fixs =  {}",
        significant(iteration.err, ERROR_DIGITS),
        iteration.fixups
    )?;
    out.flush()
}

/// Prints the balance of the neutrons.
pub(super) fn balance(out: &mut dyn Write, balance: &Balance) -> io::Result<()> {
    let print = |value| significant(value, BALANCE_DIGITS);
    writeln!(out)?;
    writeln!(out, " Balance quantities:")?;
    writeln!(out, "  External Source: {}", print(balance.external_source))?;
    writeln!(out, "  Absorption: {}", print(balance.absorption))?;
    for (axis, [low, high]) in ["I", "J", "K"].into_iter().zip(balance.leakage) {
        writeln!(out, "  {axis}-leakages: {} {}", print(low), print(high))?;
    }
    Ok(())
}

/// Prints the times.
pub(super) fn times(out: &mut dyn Write, times: &Times) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, " CPU     time was: {:.6}", times.cpu_s)?;
    writeln!(out, " Elapsed time was: {:.6}", times.elapsed_s)?;
    writeln!(out, " CPU grind time: {:.6}", times.cpu_grind_us)?;
    writeln!(out, " Wall grind time: {:.6}", times.elapsed_grind_us)?;
    out.flush()
}

/// Prints a process's part of a plane of a flux moment, all numbers from 1. `flux` is `[j][i]`,
/// with `it` points in I.
pub(super) fn plane(
    out: &mut dyn Write,
    process: usize,
    moment: usize,
    it: usize,
    flux: &[f64],
) -> io::Result<()> {
    writeln!(out)?;
    writeln!(
        out,
        " Flux moment {moment}, plane k = {PRINTED_PLANE}, process {process}:"
    )?;
    for (index, row) in flux.chunks_exact(it).enumerate() {
        write!(out, "  j = {:>3}", index + 1)?;
        for value in row {
            write!(out, " {value:>13.5e}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Prints that a flat grid has no plane of fluxes to print.
pub(super) fn no_plane(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    writeln!(
        out,
        " Flux moments: the grid has no plane k = {PRINTED_PLANE}"
    )
}

/// Formats a number with `digits` significant digits like Fortran's G format: without an exponent
/// from 0.1 on, otherwise as a fraction between 0.1 and 1 with an exponent of ten.
pub(super) fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return format!("{value:.*}", digits - 1);
    }
    if !value.is_finite() {
        return value.to_string();
    }
    // The exponent after rounding to these digits, for a mantissa from 1 to 10.
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or(0) + 1;
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let mantissa = mantissa.replace('.', "");
    match usize::try_from(exponent) {
        Ok(0) => format!("{sign}0.{mantissa}"),
        Ok(before) if before <= digits => {
            format!("{sign}{}.{}", &mantissa[..before], &mantissa[before..])
        }
        _ => format!("{sign}0.{mantissa}E{exponent:+03}"),
    }
}

#[cfg(test)]
mod tests {
    use super::significant;

    #[test]
    fn numbers_look_as_published() {
        for text in [
            "1.00000000000000000",
            "1.77512975262900663",
            "0.659083802218004111",
            "0.627896461395282685E-01",
            "0.261752203210804436E-03",
        ] {
            // A double represents 16 of the published digits, sometimes 17.
            let ours = significant(text.parse().unwrap(), 18);
            assert_eq!(ours.len(), text.len());
            assert_eq!(ours[..17], text[..17]);
            assert_eq!(
                ours.split_once('E').map(|e| e.1),
                text.split_once('E').map(|e| e.1)
            );
        }
        assert_eq!(significant(4.096, 15), "4.09600000000000");
        assert_eq!(significant(-0.125, 15), "-0.125000000000000");
        assert_eq!(significant(0.0, 18), "0.00000000000000000");
        assert_eq!(significant(1e-120, 4), "0.1000E-119");
        assert_eq!(significant(1.5e20, 4), "0.1500E+21");
        assert_eq!(significant(0.099_999_999, 3), "0.100");
    }
}
