//! The kernel: sweeps one block, some angles of an octant in some K-planes.
//!
//! A cell needs the outflows of its three upstream neighbours. I-lines whose J and K places add up
//! to the same number (a JK-diagonal) do not need each other, nor do the angles of a line. The
//! block is cut into strips of `LINES` planes, so that memory is read and written plane by plane.
//! The lines of a strip's diagonal are swept together with `ANGLES` angles each, and three loops go
//! over a stretch of them:
//!
//! 1. everything of a cell's flux except the part of the I-inflow: vector code along I;
//! 2. the recurrence along I, the only serial part. It waits for the latency of a multiplication
//!    and two additions a cell, so all `LINES * ANGLES` recurrences go through the loop together;
//! 3. the J- and K-outflows, the flux moments and the face currents: vector code along I again.
//!
//! The angles of a line add to the flux moments in their order, so every grouping into blocks gives
//! the same digits. The original pipelines the angles of a block over diagonals, to have more
//! independent lines for the CPUs of an SMP. Taking a line's angles together computes the same, and
//! reads and writes the moments once instead of `ANGLES` times.

use std::array;
use std::ops::Range;

use super::currents::Currents;
use super::fixup::{Stretch, sweep_with_fixups};
use super::octant::SweepStep;
use super::ray::Ray;

/// Longest stretch of a line between the three loops. Its working set, about 20 KiB, stays in a
/// first-level cache, and a constant keeps the rows of a [`Pencil`] at constant offsets.
const STRETCH: usize = 64;

/// The fluxes through a block's faces: inflows before the sweep, outflows after it.
///
/// They are in the block's order of angles. An angle has room for `mk` planes even if the block is
/// a short one. I and J count planes in the order of the sweep; the other indices count from the
/// low face.
#[derive(Debug, Default)]
pub(super) struct Faces {
    /// Through the I-faces, as `[angle][plane of the block][j]`.
    pub i: Vec<f64>,
    /// Through the J-faces, as `[angle][plane of the block][i]`.
    pub j: Vec<f64>,
    /// Through the K-faces, as `[angle][j][i]`.
    pub k: Vec<f64>,
}

/// The input and the output of the sweep of a block.
#[derive(Debug)]
pub(super) struct Block<'a, const NM: usize> {
    /// The block's place in the iteration.
    pub step: &'a SweepStep,
    /// Grid points in I, J, K of this process.
    pub extent: [usize; 3],
    /// Room for planes in the I and J faces.
    pub mk: usize,
    /// The angles of the block.
    pub rays: &'a [Ray<NM>],
    /// Whether negative outflows are fixed up.
    pub fixups: bool,
    /// Source moments, as `[k][j][moment][i]`.
    pub source: &'a [f64],
    /// Flux moments, as `[k][j][moment][i]`.
    pub flux: &'a mut [f64],
    /// Face fluxes.
    pub faces: &'a mut Faces,
    /// Face currents, if the deck requests them.
    pub currents: Option<&'a mut Currents>,
}

/// An I-line of a block.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    /// Plane of the block, in the order of the sweep.
    plane: usize,
    /// J and K from the low face.
    j: usize,
    k: usize,
}

/// A line with `ANGLES` angles, in the middle of its sweep.
#[derive(Debug, Clone, Copy)]
struct Pencil<const ANGLES: usize> {
    line: Line,
    /// I-inflow of the stretch.
    inflow: [f64; ANGLES],
    /// I-outflow of the stretch.
    outflow: [f64; ANGLES],
    /// Twice the flux of each cell, less the part of the I-inflow.
    rest: [[f64; STRETCH]; ANGLES],
    /// Twice the flux of each cell.
    doubled: [[f64; STRETCH]; ANGLES],
    /// I-outflow of each cell.
    i_outflow: [[f64; STRETCH]; ANGLES],
}

impl<const ANGLES: usize> Pencil<ANGLES> {
    const EMPTY: Pencil<ANGLES> = Pencil {
        line: Line {
            plane: 0,
            j: 0,
            k: 0,
        },
        inflow: [0.0; ANGLES],
        outflow: [0.0; ANGLES],
        rest: [[0.0; STRETCH]; ANGLES],
        doubled: [[0.0; STRETCH]; ANGLES],
        i_outflow: [[0.0; STRETCH]; ANGLES],
    };
}

impl<const NM: usize> Block<'_, NM> {
    /// Sweeps the block and returns the number of cells that needed a fix-up.
    pub(super) fn sweep(mut self) -> u64 {
        // mm is 3 or 6, so its divisors are 1, 2, 3 and 6.
        match self.rays.len() {
            1 => self.sweep_angles::<1, 6>(0),
            2 => self.sweep_angles::<2, 3>(0),
            3 => self.sweep_angles::<3, 2>(0),
            6 => self.sweep_angles::<3, 2>(0) + self.sweep_angles::<3, 2>(3),
            angles => unreachable!("{angles} angles in a block"),
        }
    }

    /// Sweeps `ANGLES` angles from number `first` of the block on, `LINES` lines at a time.
    #[inline(always)]
    fn sweep_angles<const ANGLES: usize, const LINES: usize>(&mut self, first: usize) -> u64 {
        let [_, jt, kt] = self.extent;
        let rays: [Ray<NM>; ANGLES] = array::from_fn(|angle| self.rays[first + angle]);
        let mut pencils = [Pencil::<ANGLES>::EMPTY; LINES];
        let planes = self.step.planes.len();
        let upwards = [0, 1, 2].map(|axis| self.step.octant.is_positive(axis));
        let mut fixed = 0;
        for strip in (0..planes).step_by(LINES) {
            let strip = strip..(strip + LINES).min(planes);
            for diagonal in 0..jt + strip.len() - 1 {
                let lowest = (diagonal + 1).saturating_sub(jt);
                let lines = strip.len().min(diagonal + 1) - lowest;
                for (index, pencil) in pencils[..lines].iter_mut().enumerate() {
                    let plane = strip.start + lowest + index;
                    let (j, k) = (diagonal - lowest - index, self.step.planes.start + plane);
                    pencil.line = Line {
                        plane,
                        j: if upwards[1] { j } else { jt - 1 - j },
                        k: if upwards[2] { k } else { kt - 1 - k },
                    };
                }
                if lines == LINES {
                    fixed += self.sweep_lines::<ANGLES, LINES>(&mut pencils, &rays, first);
                } else {
                    for pencil in &mut pencils[..lines] {
                        fixed += self.sweep_lines(array::from_mut(pencil), &rays, first);
                    }
                }
            }
        }
        fixed
    }

    /// Sweeps independent lines from end to end, stretch by stretch.
    #[inline(always)]
    fn sweep_lines<const ANGLES: usize, const LINES: usize>(
        &mut self,
        pencils: &mut [Pencil<ANGLES>; LINES],
        rays: &[Ray<NM>; ANGLES],
        first: usize,
    ) -> u64 {
        let it = self.extent[0];
        let (mk, jt) = (self.mk, self.extent[1]);
        let upwards = self.step.octant.is_positive(0);
        let i_face = |line: Line, angle: usize| ((first + angle) * mk + line.plane) * jt + line.j;
        for pencil in pencils.iter_mut() {
            pencil.outflow = array::from_fn(|angle| self.faces.i[i_face(pencil.line, angle)]);
        }
        let mut fixed = 0;
        for done in (0..it).step_by(STRETCH) {
            let length = STRETCH.min(it - done);
            let start = if upwards { done } else { it - done - length };
            let cells = start..start + length;
            for pencil in pencils.iter_mut() {
                pencil.inflow = pencil.outflow;
                self.prepare(pencil, rays, first, cells.clone());
            }
            let streaming = rays.each_ref().map(|ray| ray.doubled_streaming[0]);
            if upwards {
                march::<ANGLES, LINES, true>(pencils, streaming, length);
            } else {
                march::<ANGLES, LINES, false>(pencils, streaming, length);
            }
            for pencil in pencils.iter_mut() {
                fixed += self.finish(pencil, rays, first, cells.clone());
            }
        }
        for pencil in pencils.iter() {
            for angle in 0..ANGLES {
                self.faces.i[i_face(pencil.line, angle)] = pencil.outflow[angle];
            }
        }
        fixed
    }

    /// Returns where a stretch of a line starts in the J-face of an angle.
    fn in_j_face(&self, line: Line, angle: usize, start: usize) -> usize {
        (angle * self.mk + line.plane) * self.extent[0] + start
    }

    /// Returns where a stretch of a line starts in the K-face of an angle.
    fn in_k_face(&self, line: Line, angle: usize, start: usize) -> usize {
        (angle * self.extent[1] + line.j) * self.extent[0] + start
    }

    /// Returns where a stretch of a line starts in the moments.
    fn in_moments(&self, line: Line, start: usize) -> usize {
        (line.k * self.extent[1] + line.j) * NM * self.extent[0] + start
    }

    /// Loop 1: computes the part of twice the flux that does not depend on the I-inflow.
    #[inline(always)]
    fn prepare<const ANGLES: usize>(
        &self,
        pencil: &mut Pencil<ANGLES>,
        rays: &[Ray<NM>; ANGLES],
        first: usize,
        cells: Range<usize>,
    ) {
        let length = cells.len();
        let line = &self.source[self.in_moments(pencil.line, cells.start)..];
        let source: [&[f64]; NM] = array::from_fn(|n| &line[n * self.extent[0]..][..length]);
        for (angle, (rest, ray)) in pencil.rest.iter_mut().zip(rays).enumerate() {
            let j_face =
                &self.faces.j[self.in_j_face(pencil.line, first + angle, cells.start)..][..length];
            let k_face =
                &self.faces.k[self.in_k_face(pencil.line, first + angle, cells.start)..][..length];
            for (i, rest) in rest[..length].iter_mut().enumerate() {
                let mut sum = ray.doubled_moments[0] * source[0][i];
                #[expect(
                    clippy::needless_range_loop,
                    reason = "the compiler unrolls this one, but not a zip of short arrays"
                )]
                for n in 1..NM {
                    sum += ray.doubled_moments[n] * source[n][i];
                }
                *rest = sum
                    + ray.doubled_streaming[1] * j_face[i]
                    + ray.doubled_streaming[2] * k_face[i];
            }
        }
    }

    /// Loop 3: computes outflows, flux moments and currents, after fix-ups where they are needed.
    #[inline(always)]
    fn finish<const ANGLES: usize>(
        &mut self,
        pencil: &mut Pencil<ANGLES>,
        rays: &[Ray<NM>; ANGLES],
        first: usize,
        cells: Range<usize>,
    ) -> u64 {
        let length = cells.len();
        let it = self.extent[0];
        let moments = self.in_moments(pencil.line, cells.start);
        let mut fixed = 0;
        for (angle, ray) in rays.iter().enumerate() {
            let j_face = self.in_j_face(pencil.line, first + angle, cells.start);
            let k_face = self.in_k_face(pencil.line, first + angle, cells.start);
            let j_face = &mut self.faces.j[j_face..][..length];
            let k_face = &mut self.faces.k[k_face..][..length];
            let doubled = &mut pencil.doubled[angle][..length];
            let i_outflow = &mut pencil.i_outflow[angle][..length];
            if self.fixups && any_negative(i_outflow, doubled, j_face, k_face) {
                let line = &self.source[moments..];
                let stretch = Stretch {
                    source: array::from_fn(|n| &line[n * it..][..length]),
                    rest: &pencil.rest[angle][..length],
                    doubled,
                    i_outflow,
                    j_face,
                    k_face,
                };
                let upwards = self.step.octant.is_positive(0);
                let (outflow, cells) =
                    sweep_with_fixups(stretch, ray, pencil.inflow[angle], upwards);
                pencil.outflow[angle] = outflow;
                fixed += cells;
            } else {
                for ((j_face, k_face), doubled) in j_face.iter_mut().zip(k_face).zip(&*doubled) {
                    *j_face = doubled - *j_face;
                    *k_face = doubled - *k_face;
                }
            }
        }
        let line = &mut self.flux[moments..];
        for n in 0..NM {
            let flux = &mut line[n * it..][..length];
            add(
                flux,
                &pencil.doubled,
                rays.each_ref().map(|ray| ray.flux[n]),
            );
        }
        if self.currents.is_some() {
            self.add_currents(pencil, rays, first, cells);
        }
        fixed
    }

    /// Adds the outflows of a stretch to the face currents.
    #[inline(always)]
    fn add_currents<const ANGLES: usize>(
        &mut self,
        pencil: &Pencil<ANGLES>,
        rays: &[Ray<NM>; ANGLES],
        first: usize,
        cells: Range<usize>,
    ) {
        let [it, jt, _] = self.extent;
        let length = cells.len();
        let Line { j, k, .. } = pencil.line;
        // The outflow face of a cell is its upper one, number + 1, in an upward sweep.
        let up = [0, 1, 2].map(|axis| usize::from(self.step.octant.is_positive(axis)));
        let (mk, line) = (self.mk, pencil.line);
        let Some(currents) = self.currents.as_deref_mut() else {
            return;
        };
        let i = &mut currents.i[(k * jt + j) * (it + 1) + cells.start + up[0]..][..length];
        add(
            i,
            &pencil.i_outflow,
            rays.each_ref().map(|ray| ray.current[0]),
        );
        let start = ((first * mk + line.plane) * it) + cells.start;
        let j_faces: [&[f64]; ANGLES] =
            array::from_fn(|angle| &self.faces.j[start + angle * mk * it..][..length]);
        let row = &mut currents.j[(k * (jt + 1) + j + up[1]) * it + cells.start..][..length];
        add_rows(row, j_faces, rays.each_ref().map(|ray| ray.current[1]));
        let start = ((first * jt + j) * it) + cells.start;
        let k_faces: [&[f64]; ANGLES] =
            array::from_fn(|angle| &self.faces.k[start + angle * jt * it..][..length]);
        let row = &mut currents.k[((k + up[2]) * jt + j) * it + cells.start..][..length];
        add_rows(row, k_faces, rays.each_ref().map(|ray| ray.current[2]));
    }
}

/// Loop 2: computes the recurrence along I, for all pencils and angles together.
#[inline(always)]
fn march<const ANGLES: usize, const LINES: usize, const UPWARDS: bool>(
    pencils: &mut [Pencil<ANGLES>; LINES],
    streaming: [f64; ANGLES],
    length: usize,
) {
    let length = length.min(STRETCH);
    let mut flowing: [[f64; ANGLES]; LINES] = array::from_fn(|line| pencils[line].inflow);
    for step in 0..length {
        let i = if UPWARDS { step } else { length - 1 - step };
        for (pencil, flowing) in pencils.iter_mut().zip(&mut flowing) {
            for angle in 0..ANGLES {
                let doubled = pencil.rest[angle][i] + streaming[angle] * flowing[angle];
                flowing[angle] = doubled - flowing[angle];
                pencil.doubled[angle][i] = doubled;
                pencil.i_outflow[angle][i] = flowing[angle];
            }
        }
    }
    for (pencil, flowing) in pencils.iter_mut().zip(flowing) {
        pencil.outflow = flowing;
    }
}

/// Returns whether any outflow of a stretch is negative.
#[inline(always)]
fn any_negative(i_outflow: &[f64], doubled: &[f64], j_face: &[f64], k_face: &[f64]) -> bool {
    let mut negative = false;
    for (((i_outflow, doubled), j_face), k_face) in
        i_outflow.iter().zip(doubled).zip(j_face).zip(k_face)
    {
        negative |= (*i_outflow < 0.0) | (doubled - j_face < 0.0) | (doubled - k_face < 0.0);
    }
    negative
}

/// Adds to `sums` the rows of a pencil, each times its factor, in the order of the angles.
#[inline(always)]
fn add<const ANGLES: usize>(
    sums: &mut [f64],
    rows: &[[f64; STRETCH]; ANGLES],
    factors: [f64; ANGLES],
) {
    add_rows(sums, rows.each_ref().map(|row| &row[..sums.len()]), factors);
}

/// Adds to `sums` rows of the same length, each times its factor, in the order of the angles.
#[inline(always)]
fn add_rows<const ANGLES: usize>(sums: &mut [f64], rows: [&[f64]; ANGLES], factors: [f64; ANGLES]) {
    for (i, sum) in sums.iter_mut().enumerate() {
        let mut total = *sum;
        for angle in 0..ANGLES {
            total += factors[angle] * rows[angle][i];
        }
        *sum = total;
    }
}
