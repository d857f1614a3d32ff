//! A grid with reflective low faces is the upper part of a grid twice as large.

mod threads;

use apps::sweep3d::{Communication, Deck, FixUps, Stop, Sweep3dArguments, Sweep3dOutcome, run};

/// Returns an 18-cubed vacuum problem, cut down to 9 points in the directions that reflect.
fn deck(mm: usize, isct: usize, fixups: FixUps, reflective: [bool; 3]) -> Deck {
    let [it_g, jt_g, kt] = reflective.map(|reflective| if reflective { 9 } else { 18 });
    Deck {
        mk: 4,
        mmi: 3,
        it_g,
        jt_g,
        kt,
        mm,
        isct,
        dx: 0.5,
        dy: 0.5,
        dz: 0.5,
        stop: Stop::After(10),
        reflective,
        fixups,
        ..Deck::published_50_cubed(1)
    }
}

fn solve(mut deck: Deck, [npe_i, npe_j]: [usize; 2]) -> Sweep3dOutcome {
    (deck.npe_i, deck.npe_j) = (npe_i, npe_j);
    let arguments = Sweep3dArguments {
        deck,
        comm: Communication::NonBlocking,
    };
    let outcomes = threads::run(npe_i * npe_j, |rank| {
        run(rank, &arguments, &mut std::io::sink()).unwrap()
    });
    outcomes.into_iter().next().unwrap()
}

fn compare(mm: usize, isct: usize, fixups: FixUps) {
    let whole = solve(deck(mm, isct, fixups, [false; 3]), [1, 1]);
    assert!(
        whole
            .iterations
            .iter()
            .any(|iteration| iteration.fixups > 0),
        "fix-ups are tested"
    );
    for reflective in 1..8 {
        let reflective = [0, 1, 2].map(|axis| reflective >> axis & 1 == 1);
        let parts: u32 = reflective
            .iter()
            .map(|&reflective| 1 + u32::from(reflective))
            .product();
        for grid in [[1, 1], [2, 3]] {
            let part = solve(deck(mm, isct, fixups, reflective), grid);
            let case = format!("S{mm}P{isct}, reflective {reflective:?} on {grid:?}");
            for (part, whole) in part.iterations.iter().zip(&whole.iterations) {
                assert!(
                    (part.err / whole.err - 1.0).abs() < 1e-12,
                    "{case}: {part:?} {whole:?}"
                );
                assert_eq!(part.fixups * i64::from(parts), whole.fixups, "{case}");
            }
            let near = |part: f64, whole: f64, what| {
                let error = (part * f64::from(parts) - whole).abs();
                assert!(error < 1e-11, "{case}: {what} {part} of {whole}");
            };
            near(
                part.balance.external_source,
                whole.balance.external_source,
                "external source",
            );
            near(
                part.balance.absorption,
                whole.balance.absorption,
                "absorption",
            );
            for (axis, mirror) in reflective.into_iter().enumerate() {
                let [low, high] = part.balance.leakage[axis];
                let [whole_low, whole_high] = whole.balance.leakage[axis];
                // The mirror of a direction does not cut its high face.
                near(
                    high,
                    if mirror { 2.0 * whole_high } else { whole_high },
                    "high leakage",
                );
                // The outflow through a mirror comes back.
                near(low, if mirror { 0.0 } else { whole_low }, "low leakage");
            }
            assert!(
                part.dsa_imbalance.unwrap() < 1e-12,
                "{case}: {:?}",
                part.dsa_imbalance
            );
        }
    }
}

#[test]
fn reflective_parts_equal_the_whole_in_s6p1() {
    compare(6, 1, FixUps::After(2));
}

#[test]
fn reflective_parts_equal_the_whole_in_s4p0() {
    // With `Never`, fluxes that pass zero would make the error a quotient of rounding errors.
    compare(3, 0, FixUps::Always);
}
