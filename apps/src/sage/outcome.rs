//! The arguments and the results of a run.

use std::path::PathBuf;

use super::deck::Deck;

/// The arguments of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SageArguments {
    /// The problem.
    pub deck: Deck,
    /// Whether rank 0 gets all cells at the end.
    pub gather: bool,
    /// A checkpoint of the same deck to continue from.
    pub restart: Option<PathBuf>,
    /// The path of a checkpoint, and the number of cycles between writes; it is also written at the
    /// end.
    pub checkpoint: Option<(PathBuf, u64)>,
}

/// The results of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SageOutcome {
    /// Cycles done.
    pub cycles: u64,
    /// The time of the deck that has passed.
    pub time: f64,
    /// The mass of each material, at the beginning and at the end.
    pub masses: [Vec<f64>; 2],
    /// Total energy, at the beginning and at the end.
    pub energies: [f64; 2],
    /// Momentum, at the beginning and at the end.
    pub momenta: [Vec<f64>; 2],
    /// Cells of all ranks at the end.
    pub cells: usize,
    /// Cells computed, over all cycles.
    pub updates: u64,
    /// Wall time of the cycles, in seconds.
    pub elapsed_s: f64,
    /// A hash of the contents of all cells, to the bit and in any order: equal for equal results.
    pub digest: u64,
    /// On rank 0, all cells along the curve, if they were requested; elsewhere empty.
    pub mesh: Vec<SageCell>,
}

/// A cell at the end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SageCell {
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
    /// The volume fraction of each material.
    pub shares: Vec<f64>,
}

impl SageCell {
    /// Returns the density of all materials together.
    #[must_use]
    pub fn density(&self) -> f64 {
        self.masses.iter().sum()
    }
}
