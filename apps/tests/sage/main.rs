//! Tests SAGE against exact solutions, and against itself on other numbers of ranks.

#[path = "../threads/mod.rs"]
mod threads;

mod exact;
mod gas;
mod heat;
mod identity;
mod refused;
mod restart;
mod round;

use apps::sage::{Deck, SageArguments, SageError, SageOutcome, deck::BUILT_IN, run};

/// Returns a deck that comes with the program.
fn built_in(name: &str) -> Deck {
    let (_, text) = BUILT_IN
        .iter()
        .find(|(known, _)| *known == name)
        .expect("it comes with the program");
    text.parse().expect("it is right")
}

/// Returns the outcome of rank 0 in a job of `ranks` ranks.
fn solve(deck: &Deck, ranks: usize) -> Result<SageOutcome, SageError> {
    let arguments = SageArguments {
        deck: deck.clone(),
        gather: true,
        restart: None,
        checkpoint: None,
    };
    let mut outcomes = threads::run(ranks, |rank| run(rank, &arguments, &mut std::io::sink()));
    outcomes.swap_remove(0)
}
