//! Results do not depend on the number of ranks.

use super::{built_in, solve};
use apps::sage::Deck;

fn same_on_all(deck: &Deck) {
    let alone = solve(deck, 1).unwrap();
    assert!(alone.mesh.len() > 1);
    for ranks in [2, 3, 4, 8] {
        let together = solve(deck, ranks).unwrap();
        assert_eq!(
            (alone.cycles, alone.time.to_bits()),
            (together.cycles, together.time.to_bits()),
            "{ranks} ranks"
        );
        assert_eq!(
            alone.energies.map(f64::to_bits),
            together.energies.map(f64::to_bits),
            "{ranks} ranks"
        );
        assert!(
            alone.mesh == together.mesh,
            "{ranks} ranks: some cell differs"
        );
    }
}

#[test]
fn any_number_of_ranks_computes_the_same() {
    for (name, cycles) in [
        ("sod", 30),
        ("sedov", 40),
        ("triple_point", 30),
        ("timing_h", 6),
        ("timing_c", 5),
    ] {
        let mut deck = built_in(name);
        deck.cycles = cycles;
        if name.starts_with("timing") {
            deck.mesh.cells = vec![6, 5, 4];
        }
        same_on_all(&deck);
    }
}
