//! Tests conduction of heat against the spreading of a Gaussian.

use super::{built_in, solve};
use apps::sage::{Deck, SageCell};

const DECK: &str = "
title = 'heat spreads from a point'
end_time = 1.0

[mesh]
cells = [32, 32]
low = [-1.0, -1.0]
size = 2.0

[[material]]
gamma = 2.0
conductivity = 0.01

[[region]]
density = 1.0
pressure = 0.5
bump = { middle = [0.0, 0.0], height = 1.0, width = 0.01 }

[conduction]
implicit = 0.5
only = true
";

/// Returns the mean error of the temperature. With these materials the temperature is pressure over
/// density.
fn error(cells: u32, ranks: usize) -> f64 {
    let mut deck: Deck = DECK.parse().unwrap();
    deck.mesh.cells = vec![cells; 2];
    let outcome = solve(&deck, ranks).unwrap();
    let width = 0.01 + 0.01 * outcome.time;
    let error = |cell: &SageCell| {
        let square: f64 = cell.middle.iter().map(|x| x * x).sum();
        let exact = 0.5 + 0.01 / width * (-square / (4.0 * width)).exp();
        (cell.pressure / cell.density() - exact).abs() * cell.edge * cell.edge
    };
    outcome.mesh.iter().map(error).sum()
}

#[test]
fn heat_spreads_as_it_should_to_second_order() {
    let errors = [32, 64, 128].map(|cells| error(cells, 1));
    let order = (errors[0] / errors[2]).log2() / 2.0;
    println!("{errors:?}: order {order}");
    assert!(order >= 1.9, "{errors:?}: order {order}");
}

#[test]
fn energy_is_conserved_while_heat_is_conducted() {
    let mut deck = built_in("timing_c");
    deck.mesh.cells = vec![8, 8, 8];
    deck.cycles = 10;
    let outcome = solve(&deck, 2).unwrap();
    let [before, after] = outcome.energies;
    assert!(
        (after / before - 1.0).abs() < 1e-12,
        "energy {before} to {after}"
    );
}
