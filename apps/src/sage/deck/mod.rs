//! The input deck, in TOML: what to compute, and on which mesh.
//!
//! ```toml
//! title = "a shock tube"
//! end_time = 0.2
//!
//! [mesh]
//! cells = [100]        # of level 0, which are cubes
//! size = 1.0           # of the box in its first direction
//! levels = 2           # above level 0
//!
//! [[material]]
//! gamma = 1.4
//!
//! [[region]]           # later regions lie over earlier ones
//! density = 1.0
//! pressure = 1.0
//!
//! [[region]]
//! box = [[0.5], [1.0]]
//! density = 0.125
//! pressure = 0.1
//! ```
//!
//! Lengths, times and masses have whatever units the deck has; nothing in the equations is measured.

mod check;
mod ends;
mod shape;

use serde::Deserialize;

pub use check::DeckError;
pub(crate) use ends::BoxEnds;
use shape::Region;

/// What to compute.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deck {
    /// What it is called in the report.
    pub title: String,
    /// When the run ends, in the deck's unit of time.
    #[serde(default = "forever")]
    pub end_time: f64,
    /// After how many cycles it ends, if it has not before.
    #[serde(default = "forever_cycles")]
    pub cycles: u64,
    /// What part of the time in which a wave crosses a cell a cycle may take, more than 0 and less than 1.
    #[serde(default = "courant")]
    pub courant: f64,
    /// The mesh.
    pub mesh: MeshDeck,
    /// The materials: gamma-law gases.
    #[serde(rename = "material")]
    pub materials: Vec<MaterialDeck>,
    /// What is where at the beginning; later regions lie over earlier ones.
    #[serde(rename = "region")]
    pub regions: Vec<Region>,
    /// Conduction of heat; without it there is none.
    pub conduction: Option<ConductionDeck>,
}

/// The mesh.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshDeck {
    /// Cells of level 0 in each direction: one number for each dimension.
    pub cells: Vec<u32>,
    /// Length of the box in its first direction. Cells are cubes, so that gives the others.
    pub size: f64,
    /// Where the box begins; the origin unless it is said.
    pub low: Option<Vec<f64>>,
    /// Levels above level 0.
    #[serde(default)]
    pub levels: u8,
    /// What is at the low and the high end of each direction; walls unless it is said.
    pub ends: Option<Vec<[BoxEnd; 2]>>,
    /// A cell becomes finer where density or pressure changes by more than this part of itself from cell to cell.
    #[serde(default = "refine")]
    pub refine: f64,
    /// It may become coarser where they change by less than this.
    #[serde(default = "coarsen")]
    pub coarsen: f64,
    /// How many cells around those are made as fine.
    #[serde(default = "around")]
    pub around: u32,
    /// Levels are chosen anew after so many cycles.
    #[serde(default = "every")]
    pub every: u64,
}

/// What is at an end of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxEnd {
    /// A wall, from which everything is reflected; a mirror is the same.
    Wall,
    /// Nothing: what comes there leaves.
    Open,
}

/// A gamma-law gas.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaterialDeck {
    /// What regions call it.
    #[serde(default)]
    pub name: String,
    /// Ratio of its heat capacities, more than 1.
    pub gamma: f64,
    /// Heat capacity at constant volume of a unit of mass.
    #[serde(default = "one")]
    pub heat_capacity: f64,
    /// Heat through a unit of area, time and gradient of temperature.
    #[serde(default)]
    pub conductivity: f64,
}

/// How heat is conducted.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConductionDeck {
    /// How much of the new temperatures is in the fluxes: 1 is stable in any cycle, 0.5 is of second order in time.
    #[serde(default = "one")]
    pub implicit: f64,
    /// By how much of itself what is left of the residual may differ from none when iterations end.
    #[serde(default = "residual")]
    pub residual: f64,
    /// Whether the gas stays where it is: nothing but heat flows.
    #[serde(default)]
    pub only: bool,
}

fn forever() -> f64 {
    f64::INFINITY
}

fn forever_cycles() -> u64 {
    u64::MAX
}

fn courant() -> f64 {
    0.8
}

fn refine() -> f64 {
    0.1
}

fn coarsen() -> f64 {
    0.03
}

fn around() -> u32 {
    2
}

fn every() -> u64 {
    4
}

fn one() -> f64 {
    1.0
}

fn residual() -> f64 {
    1e-10
}

/// The decks that come with the program.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("timing_h", include_str!("timing_h.toml")),
    ("timing_c", include_str!("timing_c.toml")),
    ("sod", include_str!("sod.toml")),
    ("sedov", include_str!("sedov.toml")),
    ("triple_point", include_str!("triple_point.toml")),
];
