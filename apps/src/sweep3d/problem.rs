//! The physics: cross sections, the external source, and the discrete ordinates.

use std::ops::Range;

/// Total cross section, the same everywhere.
pub(super) const SIGMA_TOTAL: f64 = 1.0;

/// Isotropic scattering cross section.
pub(super) const SIGMA_SCATTER_0: f64 = 0.5;

/// Scattering cross section of the first moments, with the factor 2 l + 1 of order l = 1.
pub(super) const SIGMA_SCATTER_1: f64 = (2.0 * 1.0 + 1.0) * 0.2;

/// Strength of the external source where there is one.
pub(super) const SOURCE: f64 = 1.0;

/// A discrete direction: its cosines with I, J, K in the (+, +, +) octant, and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ordinate {
    /// mu, eta, xi, all positive.
    pub cosines: [f64; 3],
    /// The weight; all weights of the eight octants add up to one.
    pub weight: f64,
}

/// Returns the ordinates of an octant: three of the set S4 or six of the set S6.
pub(super) fn ordinates(mm: usize) -> Vec<Ordinate> {
    let table: &[(f64, f64, f64)] = match mm {
        3 => {
            const A: f64 = 0.301_638_78;
            const C: f64 = 0.904_449_05;
            const W: f64 = 1.0 / 3.0 / 8.0;
            &[(A, C, W), (C, A, W), (A, A, W)]
        }
        6 => {
            const A: f64 = 0.230_091_94;
            const B: f64 = 0.688_134_32;
            const C: f64 = 0.945_576_76;
            const W1: f64 = 0.169_446_56 / 8.0;
            const W2: f64 = 0.163_886_77 / 8.0;
            &[
                (A, C, W1),
                (B, B, W2),
                (A, B, W2),
                (C, A, W1),
                (B, A, W2),
                (A, A, W1),
            ]
        }
        _ => unreachable!("a checked deck has 3 or 6 angles per octant"),
    };
    let ordinate = |&(mu, eta, weight): &(f64, f64, f64)| Ordinate {
        cosines: [mu, eta, (1.0 - mu * mu - eta * eta).sqrt()],
        weight,
    };
    table.iter().map(ordinate).collect()
}

/// Returns the points with an external source in a direction of `points` points, from 0: its centre
/// third. A direction with a reflective low face has only its upper half; the source is at the
/// centre third of the whole direction.
pub(super) fn source_range(points: usize, reflective: bool) -> Range<usize> {
    let third = if points < 3 { 0 } else { (points + 1) / 3 };
    if reflective {
        0..third
    } else {
        third..points - third
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_all_octants_add_up_to_one() {
        for mm in [3, 6] {
            let ordinates = ordinates(mm);
            assert_eq!(ordinates.len(), mm);
            let sum: f64 = ordinates.iter().map(|ordinate| 8.0 * ordinate.weight).sum();
            // The published weights have eight digits.
            assert!((sum - 1.0).abs() < 1e-7, "S{mm}: {sum}");
        }
    }

    #[test]
    fn the_source_is_in_the_centre_third() {
        assert_eq!(source_range(50, false), 17..33);
        assert_eq!(source_range(18, false), 6..12);
        assert_eq!(source_range(9, true), 0..3);
        assert_eq!(source_range(2, false), 0..2);
        assert!(source_range(2, true).is_empty());
    }
}
