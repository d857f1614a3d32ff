//! Tests the gas against exact solutions.

use super::exact::{Blast, State, density};
use super::{built_in, solve};
use apps::sage::SageCell;
use apps::sage::plot::plot;

/// Returns the error of Sod's density, averaged over the tube.
fn sod_error(cells: u32) -> f64 {
    let mut deck = built_in("sod");
    deck.mesh.cells = vec![cells];
    let left = State {
        density: 1.0,
        velocity: 0.0,
        pressure: 1.0,
    };
    let right = State {
        density: 0.125,
        velocity: 0.0,
        pressure: 0.1,
    };
    let outcome = solve(&deck, 1).unwrap();
    let error = |cell: &SageCell| {
        let exact = density(left, right, 1.4, (cell.middle[0] - 0.5) / outcome.time);
        (cell.density() - exact).abs() * cell.edge
    };
    outcome.mesh.iter().map(error).sum()
}

#[test]
fn the_shock_tube_converges_to_the_exact_solution() {
    let errors: Vec<f64> = [100, 200, 400, 800].map(sod_error).to_vec();
    let order = (errors[0] / errors[3]).log2() / 3.0;
    println!("{errors:?}: order {order}");
    assert!(order >= 0.85, "{errors:?}: order {order}");
}

#[test]
fn the_contact_is_at_its_pixel() {
    let mut deck = built_in("sod");
    deck.mesh.cells = vec![400];
    let outcome = solve(&deck, 2).unwrap();
    let svg = plot(&outcome.mesh, "Sod").unwrap();
    let (_, points) = svg
        .lines()
        .filter_map(|line| line.split_once("points=\""))
        .max_by_key(|(_, points)| points.len())
        .unwrap();
    let points: Vec<(f64, f64)> = points[..points.find('"').unwrap()]
        .split_whitespace()
        .map(|point| point.split_once(',').unwrap())
        .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
        .collect();
    assert_eq!(points.len(), 400);
    // The first and the last point are half a cell from the ends of the tube, with densities 1 and
    // 0.125.
    let ((left, top), (right, bottom)) = (points[0], points[399]);
    let pixel = |x: f64| left + (x - 0.00125) / 0.9975 * (right - left);
    let height = |density: f64| top + (1.0 - density) / 0.875 * (bottom - top);
    // The densities at both sides of the contact, and its speed (Toro's first test).
    let halfway = height(f64::midpoint(0.42632, 0.26557));
    let falls = |pair: &&[(f64, f64)]| pair[0].1 <= halfway && pair[1].1 > halfway;
    let contact = points.windows(2).find(falls).unwrap()[0].0;
    let expected = pixel(0.5 + 0.92745 * outcome.time);
    assert!(
        (contact - expected).abs() <= 3.0,
        "{contact} and not {expected}"
    );
}

/// The constant of the similarity solution for gamma = 1.4 in the plane: R^4 = E t^2 / (ALPHA rho).
const ALPHA: f64 = 0.984_074;

#[test]
fn the_blast_wave_is_where_the_similarity_solution_has_it() {
    for time in [0.1, 0.3, 0.5] {
        let mut deck = built_in("sedov");
        deck.end_time = time;
        let outcome = solve(&deck, 2).unwrap();
        let exact = radius(time);
        // The shock is where the density along the diagonal and the axis reaches half of its rise
        // from outside: within a fine cell of the outer flank of its peak.
        let found = shock(&outcome.mesh);
        println!(
            "time {time}: {found} against {exact}: {}, {} cells",
            found / exact - 1.0,
            outcome.cells
        );
        assert!(
            (found / exact - 1.0).abs() < 0.01,
            "time {time}: {found} against {exact}"
        );
    }
}

/// Returns the radius of the shock in `sedov`, which has a quarter of the energy in a quarter of
/// the plane.
fn radius(time: f64) -> f64 {
    (4.0 * 0.25 * time * time / ALPHA).powf(0.25)
}

/// Returns the mean error of the density of `sedov`, and the cells at the end.
fn sedov_error(cells: u32, levels: u8) -> (f64, f64) {
    let mut deck = built_in("sedov");
    deck.mesh.cells = vec![cells; 2];
    deck.mesh.levels = levels;
    let outcome = solve(&deck, 2).unwrap();
    let (blast, shock) = (Blast::new(1.4), radius(outcome.time));
    let error = |cell: &SageCell| {
        let middle = cell.middle.iter().map(|x| x * x).sum::<f64>().sqrt();
        (cell.density() - blast.density(middle / shock)).abs() * cell.edge * cell.edge
    };
    (outcome.mesh.iter().map(error).sum(), outcome.cells as f64)
}

#[test]
fn refinement_pays() {
    let (error, cells) = sedov_error(16, 3);
    let (coarse, fine) = (sedov_error(64, 0), sedov_error(128, 0));
    // The cells of the uniform mesh that would have the same error, by interpolation between both
    // meshes and a little beyond.
    let order = (coarse.0 / fine.0).ln() / (fine.1 / coarse.1).ln();
    let uniform = coarse.1 * (coarse.0 / error).powf(1.0 / order);
    println!("{cells} cells {error:e}, uniform {coarse:?} {fine:?}: {uniform} cells");
    assert!(cells <= 0.4 * uniform, "{cells} cells instead of {uniform}");
}

/// Returns the mean radius at which the density has risen halfway to the peak, over all directions.
fn shock(cells: &[SageCell]) -> f64 {
    const SECTORS: u32 = 16;
    let width = std::f64::consts::FRAC_PI_2 / f64::from(SECTORS);
    let radius = |cell: &SageCell| cell.middle.iter().map(|x| x * x).sum::<f64>().sqrt();
    let radii = (0..SECTORS).map(|n| {
        let angles = f64::from(n) * width..f64::from(n + 1) * width;
        let is_in = |cell: &&SageCell| angles.contains(&cell.middle[1].atan2(cell.middle[0]));
        let mut ray: Vec<&SageCell> = cells.iter().filter(is_in).collect();
        ray.sort_by(|one, other| radius(one).total_cmp(&radius(other)));
        let peak = ray.iter().map(|cell| cell.density()).fold(0.0, f64::max);
        let half = 0.5 * (peak + 1.0);
        let risen = ray.into_iter().rfind(|cell| cell.density() >= half);
        radius(risen.expect("the peak at least"))
    });
    radii.sum::<f64>() / f64::from(SECTORS)
}

#[test]
fn nothing_is_lost_between_walls() {
    for name in ["sedov", "triple_point"] {
        let mut deck = built_in(name);
        deck.cycles = 60;
        let outcome = solve(&deck, 2).unwrap();
        let [before, after] = outcome.energies;
        assert!(
            (after / before - 1.0).abs() < 1e-12,
            "{name}: energy {before} to {after}"
        );
        for (before, after) in outcome.masses[0].iter().zip(&outcome.masses[1]) {
            assert!(
                (after / before - 1.0).abs() < 1e-12,
                "{name}: mass {before} to {after}"
            );
        }
    }
}
