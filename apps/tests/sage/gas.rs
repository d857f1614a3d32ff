//! The gas against exact solutions.

use super::exact::{State, density};
use super::{built_in, solve};
use apps::sage::Cell;

/// The error of Sod's density in the mean over the tube.
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
    let error = |cell: &Cell| {
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

/// The constant of the similarity solution for gamma = 1.4 in the plane: R^4 = E t^2 / (ALPHA rho).
const ALPHA: f64 = 0.984_074;

#[test]
fn the_blast_wave_is_where_the_similarity_solution_has_it() {
    for time in [0.1, 0.3, 0.5] {
        let mut deck = built_in("sedov");
        deck.end_time = time;
        let outcome = solve(&deck, 2).unwrap();
        // A quarter of the energy is in a quarter of the plane.
        let exact = (4.0 * 0.25 * time * time / ALPHA).powf(0.25);
        // The shock is where the density along the diagonal and the axis is halfway up from outside: within a fine cell of its peak's outer flank.
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

/// The mean radius at which the density has risen halfway to the peak, over all directions.
fn shock(cells: &[Cell]) -> f64 {
    const SECTORS: u32 = 16;
    let width = std::f64::consts::FRAC_PI_2 / f64::from(SECTORS);
    let radius = |cell: &Cell| cell.middle.iter().map(|x| x * x).sum::<f64>().sqrt();
    let radii = (0..SECTORS).map(|n| {
        let angles = f64::from(n) * width..f64::from(n + 1) * width;
        let is_in = |cell: &&Cell| angles.contains(&cell.middle[1].atan2(cell.middle[0]));
        let mut ray: Vec<&Cell> = cells.iter().filter(is_in).collect();
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
