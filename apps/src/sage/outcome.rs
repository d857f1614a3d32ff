//! What a run is asked for, and what it comes to.

use std::path::PathBuf;

use super::deck::Deck;

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    /// The problem.
    pub deck: Deck,
    /// Whether rank 0 shall have all cells at the end.
    pub gather: bool,
    /// A checkpoint of the same deck to go on from.
    pub restart: Option<PathBuf>,
    /// Where a checkpoint is written at the end, and after every so many cycles.
    pub checkpoint: Option<(PathBuf, u64)>,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct SageOutcome {
    /// Cycles done.
    pub cycles: u64,
    /// The time of the deck that has passed.
    pub time: f64,
    /// Of each material, at the beginning and at the end.
    pub masses: [Vec<f64>; 2],
    /// Total energy, at the beginning and at the end.
    pub energies: [f64; 2],
    /// Momentum, at the beginning and at the end.
    pub momenta: [Vec<f64>; 2],
    /// Cells of all ranks at the end.
    pub cells: usize,
    /// Cells that were computed, over all cycles.
    pub updates: u64,
    /// Wall time of the cycles, in seconds.
    pub elapsed_s: f64,
    /// Of the contents of all cells, to the bit, in whatever order: equal for equal results.
    pub digest: u64,
    /// On rank 0, all cells along the curve, if they were asked for; elsewhere nothing.
    pub mesh: Vec<Cell>,
}

/// A cell at the end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its middle.
    pub middle: Vec<f64>,
    /// Its edge.
    pub edge: f64,
    /// Mass of each material in a unit of volume.
    pub masses: Vec<f64>,
    /// Velocity.
    pub velocity: Vec<f64>,
    /// Pressure.
    pub pressure: f64,
    /// Each material's share of the volume.
    pub shares: Vec<f64>,
}

impl Cell {
    /// Of all materials.
    #[must_use]
    pub fn density(&self) -> f64 {
        self.masses.iter().sum()
    }
}
