//! Tests SAGE against the same scheme on an array, and counts the allocations of a cycle.

mod counted_heap;
mod single_rank;

use std::time::Instant;

use super::deck::BUILT_IN;
use super::gas::Quantities;
use super::gas::uniform::UniformGas;
use super::initial::InitialState;
use super::mesh::key::Key;
use super::run::{ends, extent, materials};
use super::{Deck, SageArguments, SageCell, SageOutcome, run};
use single_rank::SingleRankJob;

fn built_in(name: &str) -> Deck {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap();
    text.parse().unwrap()
}

fn solve(deck: &Deck, gather: bool) -> SageOutcome {
    let arguments = SageArguments {
        deck: deck.clone(),
        gather,
        restart: None,
        checkpoint: None,
    };
    run(&SingleRankJob, &arguments, &mut std::io::sink()).unwrap()
}

/// Returns the deck's box as an array of cells of level 0, and their middles.
fn array<const D: usize, const M: usize>(deck: &Deck) -> (UniformGas<D, M>, Vec<[f64; D]>) {
    let (extent, materials) = (extent::<D>(deck), materials::<M>(deck));
    let edge = Key::<D>::new([0; D], 0).edge();
    let count: u32 = extent.cells.iter().product();
    let keys: Vec<Key<D>> = (0..count)
        .map(|mut n| {
            let corner = extent.cells.map(|cells| {
                let along = n % cells;
                n /= cells;
                along * edge
            });
            Key::new(corner, 0)
        })
        .collect();
    let mut filling = InitialState::new(deck, materials);
    filling.spread(&SingleRankJob, &extent, &keys).unwrap();
    let cells = keys.iter().map(|key| filling.cell(&extent, *key).unwrap());
    let edge = extent.edge(0);
    let sizes = extent.cells.map(|cells| cells as usize);
    let array = UniformGas::new(materials, ends(deck), sizes, edge, cells.collect());
    let middles = keys.iter().map(|key| extent.middle(*key)).collect();
    (array, middles)
}

/// Checks that after some cycles without refinement a mesh equals the array, to the bit.
fn is_the_array<const D: usize, const M: usize>(mut deck: Deck) {
    deck.mesh.levels = 0;
    deck.cycles = 12;
    let outcome = solve(&deck, true);
    let (mut array, middles) = array::<D, M>(&deck);
    let time = (0..deck.cycles).fold(0.0, |time, _| time + array.cycle(deck.courant));
    assert_eq!(outcome.time, time);
    assert_eq!(outcome.cells, middles.len());
    let materials = materials::<M>(&deck);
    for (middle, cell) in middles.iter().zip(&array.conserved) {
        let is_it = |cell: &&SageCell| cell.middle == middle;
        let found = outcome.mesh.iter().find(is_it).unwrap();
        let Quantities {
            masses,
            motion,
            energy,
            shares,
        } = materials.primitive(cell);
        assert_eq!(found.masses, masses);
        assert_eq!(found.velocity, motion);
        assert_eq!(found.pressure, energy);
        assert_eq!(found.shares, shares);
    }
}

#[test]
fn a_mesh_of_one_level_holds_what_an_array_does() {
    is_the_array::<1, 1>(built_in("sod"));
    is_the_array::<2, 2>(built_in("triple_point"));
    let mut deck = built_in("timing_h");
    deck.mesh.cells = vec![8; 3];
    is_the_array::<3, 2>(deck);
}

#[test]
fn a_cycle_that_keeps_its_mesh_allocates_nothing() {
    for name in ["timing_h", "timing_c"] {
        let mut deck = built_in(name);
        deck.mesh.cells = vec![6; 3];
        deck.mesh.every = 1_000;
        let allocations = |cycles| {
            let mut deck = deck.clone();
            deck.cycles = cycles;
            let before = counted_heap::allocations();
            let outcome = solve(&deck, false);
            assert_eq!(outcome.cycles, cycles);
            counted_heap::allocations() - before
        };
        let (few, many) = (allocations(3), allocations(30));
        assert!(few > 0, "nothing is counted");
        assert_eq!(few, many, "{name}");
    }
}

/// Measures the time of a cell in a cycle, in nanoseconds: on an array, on a constant refined mesh,
/// and on a mesh whose levels are chosen again now and then. `cargo xtask check sage-grind` uses
/// it.
#[test]
#[ignore = "it measures time"]
fn grind_time() {
    let deck = built_in("timing_h");
    let grind = |every| {
        let mut deck = deck.clone();
        deck.mesh.every = every;
        let outcome = solve(&deck, false);
        outcome.elapsed_s * 1e9 / outcome.updates as f64
    };
    let mut plain = deck.clone();
    plain.mesh.cells = vec![32; 3];
    let (mut array, middles) = array::<3, 2>(&plain);
    let start = Instant::now();
    (0..plain.cycles).for_each(|_| {
        array.cycle(plain.courant);
    });
    let updates = plain.cycles * middles.len() as u64;
    println!(
        "array: {}",
        start.elapsed().as_secs_f64() * 1e9 / updates as f64
    );
    println!("mesh: {}", grind(u64::MAX));
    println!("levels: {}", grind(deck.mesh.every));
}
