//! Face currents, the input of diffusion synthetic acceleration (DSA).
//!
//! The benchmark accumulates them because the production code that it represents does. The printed
//! results do not depend on them.

use super::fields::Fields;
use super::octant::SweepStep;
use super::problem::SIGMA_TOTAL;
use super::ray::Ray;

/// Net currents through the faces of a process's cells. Each array is longer by one in its own
/// direction, so it contains both faces of every cell, and the entry faces of the subgrid.
#[derive(Debug)]
pub(super) struct Currents {
    /// Grid points in I, J, K.
    extent: [usize; 3],
    /// Through I-faces, as `[k][j][it + 1]`.
    pub i: Vec<f64>,
    /// Through J-faces, as `[k][jt + 1][it]`.
    pub j: Vec<f64>,
    /// Through K-faces, as `[kt + 1][jt][it]`.
    pub k: Vec<f64>,
}

impl Currents {
    /// Makes zero currents.
    pub(super) fn new(extent: [usize; 3]) -> Currents {
        let [it, jt, kt] = extent;
        Currents {
            extent,
            i: vec![0.0; (it + 1) * jt * kt],
            j: vec![0.0; it * (jt + 1) * kt],
            k: vec![0.0; it * jt * (kt + 1)],
        }
    }

    /// Clears them for the next iteration.
    pub(super) fn clear(&mut self) {
        self.i.fill(0.0);
        self.j.fill(0.0);
        self.k.fill(0.0);
    }

    /// Adds the inflows of a block through the entry faces of the subgrid, because the kernel adds
    /// outflows only. The faces lie as in [`Faces`](super::block::Faces), with room for `mk`
    /// planes.
    pub(super) fn enter<const NM: usize>(
        &mut self,
        step: &SweepStep,
        rays: &[Ray<NM>],
        mk: usize,
        [i_face, j_face, k_face]: [&[f64]; 3],
    ) {
        let [it, jt, kt] = self.extent;
        let entry = |axis: usize, points: usize| {
            if step.octant.is_positive(axis) {
                0
            } else {
                points
            }
        };
        let [entry_i, entry_j, entry_k] = [entry(0, it), entry(1, jt), entry(2, kt)];
        for (angle, ray) in rays.iter().enumerate() {
            for (plane, k) in step.grid_planes(kt).enumerate() {
                let inflow = &i_face[(angle * mk + plane) * jt..][..jt];
                let faces = self.i[k * jt * (it + 1)..]
                    .iter_mut()
                    .skip(entry_i)
                    .step_by(it + 1);
                for (current, inflow) in faces.zip(inflow) {
                    *current += ray.current[0] * inflow;
                }
                let inflow = &j_face[(angle * mk + plane) * it..][..it];
                let faces = &mut self.j[(k * (jt + 1) + entry_j) * it..][..it];
                for (current, inflow) in faces.iter_mut().zip(inflow) {
                    *current += ray.current[1] * inflow;
                }
            }
            if step.enters_k() {
                let inflow = &k_face[angle * jt * it..][..jt * it];
                let faces = &mut self.k[entry_k * jt * it..][..jt * it];
                for (current, inflow) in faces.iter_mut().zip(inflow) {
                    *current += ray.current[2] * inflow;
                }
            }
        }
    }

    /// Returns the largest violation of the balance of a cell, relative to the neutrons born in it
    /// or removed: outflow plus removal equals birth. `cell` is [dx, dy, dz]; `weights` is the sum
    /// of the weights of all angles in all octants.
    pub(super) fn largest_imbalance(&self, fields: &Fields, cell: [f64; 3], weights: f64) -> f64 {
        let [it, jt, kt] = self.extent;
        let [dx, dy, dz] = cell;
        let mut largest = 0.0_f64;
        for k in 0..kt {
            for j in 0..jt {
                let (flux, source) = fields.scalar_line(j, k);
                let i_faces = &self.i[(k * jt + j) * (it + 1)..][..it + 1];
                let j_faces = |j: usize| &self.j[(k * (jt + 1) + j) * it..][..it];
                let k_faces = |k: usize| &self.k[(k * jt + j) * it..][..it];
                for i in 0..it {
                    let divergence = (i_faces[i + 1] - i_faces[i]) * dy * dz
                        + (j_faces(j + 1)[i] - j_faces(j)[i]) * dx * dz
                        + (k_faces(k + 1)[i] - k_faces(k)[i]) * dx * dy;
                    let removed = SIGMA_TOTAL * flux[i] * dx * dy * dz;
                    let born = source[i] * dx * dy * dz * weights;
                    let scale = removed.abs().max(born.abs()).max(f64::MIN_POSITIVE);
                    largest = largest.max((divergence + removed - born).abs() / scale);
                }
            }
        }
        largest
    }

    /// Returns the bytes of the currents.
    pub(super) fn bytes(&self) -> usize {
        (self.i.len() + self.j.len() + self.k.len()) * size_of::<f64>()
    }
}
