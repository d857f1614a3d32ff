//! Fix-ups of negative outflows.
//!
//! They are rare: one cell in five hundred of the published problem. The kernel therefore first
//! computes a stretch of a line without checks, and calls this module only when an outflow is
//! negative.

use super::ray::{Ray, denominator};

/// A stretch of an I-line for one angle, with the kernel's results for it.
pub(super) struct Stretch<'a, const NM: usize> {
    /// Source moments of the cells.
    pub source: [&'a [f64]; NM],
    /// Twice the flux of each cell, less the part of the I-inflow.
    pub rest: &'a [f64],
    /// Twice the flux of each cell.
    pub doubled: &'a mut [f64],
    /// I-outflow of each cell.
    pub i_outflow: &'a mut [f64],
    /// J-inflow of each cell; its J-outflow afterwards.
    pub j_face: &'a mut [f64],
    /// K-inflow of each cell; its K-outflow afterwards.
    pub k_face: &'a mut [f64],
}

/// Sweeps a stretch again, upwards or downwards in I, with fix-ups. Takes its I-inflow; returns its
/// I-outflow and the number of cells that needed a fix.
///
/// A cell without a fix gets exactly the arithmetic of the kernel. The decomposition decides which
/// cells share a stretch with a bad one, and the result must not depend on it.
#[cold]
#[inline(never)]
pub(super) fn sweep_with_fixups<const NM: usize>(
    stretch: Stretch<'_, NM>,
    ray: &Ray<NM>,
    mut inflow: f64,
    upwards: bool,
) -> (f64, u64) {
    let mut fixed = 0;
    let cells = stretch.rest.len();
    for step in 0..cells {
        let i = if upwards { step } else { cells - 1 - step };
        let inflows = [inflow, stretch.j_face[i], stretch.k_face[i]];
        // Before the first fix the kernel's fluxes are valid.
        let mut doubled = if fixed == 0 {
            stretch.doubled[i]
        } else {
            stretch.rest[i] + ray.doubled_streaming[0] * inflow
        };
        let mut outflows = inflows.map(|inflow| doubled - inflow);
        if (outflows[0] < 0.0) | (outflows[1] < 0.0) | (outflows[2] < 0.0) {
            let source = stretch.source.map(|moment| moment[i]);
            doubled = 2.0 * fix(ray, source, inflows, &mut outflows);
            fixed += 1;
        }
        stretch.doubled[i] = doubled;
        stretch.i_outflow[i] = outflows[0];
        stretch.j_face[i] = outflows[1];
        stretch.k_face[i] = outflows[2];
        inflow = outflows[0];
    }
    (inflow, fixed)
}

/// Sets negative outflows, of which there is at least one, to zero one after the other. Returns the
/// flux that balances the cell.
fn fix<const NM: usize>(
    ray: &Ray<NM>,
    source: [f64; NM],
    inflows: [f64; 3],
    outflows: &mut [f64; 3],
) -> f64 {
    let streaming = ray.streaming;
    let mut below = denominator(streaming);
    let mut above = ray.moments[0] * source[0];
    for (moment, source) in ray.moments.iter().zip(source).skip(1) {
        above += moment * source;
    }
    for direction in 0..3 {
        above += streaming[direction] * inflows[direction];
    }
    let mut flux = 0.0;
    let mut direction = 0;
    while direction < 3 {
        if outflows[direction] >= 0.0 {
            direction += 1;
            continue;
        }
        below -= streaming[direction];
        above -= 0.5 * streaming[direction] * inflows[direction];
        flux = above / below;
        outflows[direction] = 0.0;
        for (outflow, inflow) in outflows.iter_mut().zip(inflows) {
            if *outflow != 0.0 {
                *outflow = 2.0 * flux - inflow;
            }
        }
        // After a fix in I, the loop goes on with J: I itself is zero now. A fix in J or K may have
        // made an outflow negative that was checked before.
        direction = usize::from(direction == 0);
    }
    flux
}

#[cfg(test)]
mod tests {
    use super::super::octant::Octant;
    use super::super::problem::{SIGMA_TOTAL, ordinates};
    use super::*;

    /// No outflow is negative after any fixup, and outflow plus removal equals inflow plus birth.
    /// Some of the cells need their I-outflow fixed after J or K.
    #[test]
    fn fixed_cells_stay_in_balance_without_negative_outflows() {
        let source = 0.01;
        let mut fixed = 0;
        let mut fixed_again = 0;
        for ordinate in ordinates(6) {
            let ray = Ray::<1>::new(&ordinate, &Octant::ALL[7], [0.1, 0.2, 0.3]);
            for case in 0..11 * 11 * 11 {
                let inflows = [case % 11, case / 11 % 11, case / 121].map(f64::from);
                let streaming: f64 = (0..3).map(|d| ray.streaming[d] * inflows[d]).sum();
                let doubled = 2.0 * (source + streaming) / denominator(ray.streaming);
                let before = inflows.map(|inflow| doubled - inflow);
                if before.iter().all(|&outflow| outflow >= 0.0) {
                    continue;
                }
                let mut outflows = before;
                let flux = fix(&ray, [source], inflows, &mut outflows);
                assert!(
                    outflows.iter().all(|&outflow| outflow >= 0.0),
                    "{inflows:?}"
                );
                // streaming is 2 cosine / d, so half of it times a face flux crosses the face.
                let net: f64 = (0..3)
                    .map(|d| 0.5 * ray.streaming[d] * (inflows[d] - outflows[d]))
                    .sum();
                let balance = source + net - SIGMA_TOTAL * flux;
                assert!(balance.abs() < 1e-11, "{inflows:?}: {balance:e}");
                fixed += 1;
                fixed_again += u32::from(before[0] > 0.0 && outflows[0] == 0.0);
            }
        }
        assert!(fixed > 1000 && fixed_again > 10, "{fixed} {fixed_again}");
    }

    #[test]
    fn a_cell_without_a_negative_outflow_is_left_alone() {
        let ray = Ray::<1>::new(&ordinates(3)[0], &Octant::ALL[7], [1.0; 3]);
        let mut j_face = [0.5, 0.5];
        let mut k_face = [0.5, 0.5];
        let rest = [1.0, 1.0];
        let first = rest[1] + ray.doubled_streaming[0] * 0.5;
        let second = rest[0] + ray.doubled_streaming[0] * (first - 0.5);
        let (mut doubled, mut i_outflow) = ([second, first], [0.0; 2]);
        let stretch = Stretch {
            source: [&[0.0, 0.0]],
            rest: &rest,
            doubled: &mut doubled,
            i_outflow: &mut i_outflow,
            j_face: &mut j_face,
            k_face: &mut k_face,
        };
        let (outflow, fixed) = sweep_with_fixups(stretch, &ray, 0.5, false);
        assert_eq!(fixed, 0);
        assert_eq!(doubled, [second, first]);
        assert_eq!(i_outflow[1], first - 0.5);
        assert_eq!(outflow, i_outflow[0]);
        assert_eq!(j_face[0], doubled[0] - 0.5);
    }
}
