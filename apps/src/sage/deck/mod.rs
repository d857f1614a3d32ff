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
//! Lengths, times and masses have whatever units the deck has; nothing in the equations is
//! measured.

mod check;
mod shape;

use serde::Deserialize;

pub use check::DeckError;
use shape::Region;

/// A problem to compute.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deck {
    /// The title, for the report.
    pub title: String,
    /// The time at which the run ends, in the deck's unit of time.
    #[serde(default = "forever")]
    pub end_time: f64,
    /// The cycle after which the run ends, if `end_time` does not come first.
    #[serde(default = "forever_cycles")]
    pub cycles: u64,
    /// The length of a cycle, as a part of the time in which a wave crosses a cell: more than 0 and
    /// less than 1.
    #[serde(default = "courant")]
    pub courant: f64,
    /// The mesh.
    pub mesh: MeshDeck,
    /// The materials: gamma-law gases.
    #[serde(rename = "material")]
    pub materials: Vec<MaterialDeck>,
    /// The initial state; later regions lie over earlier ones.
    #[serde(rename = "region")]
    pub regions: Vec<Region>,
    /// Conduction of heat; without it heat is not conducted.
    pub conduction: Option<ConductionDeck>,
}

/// The mesh.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshDeck {
    /// Cells of level 0 in each direction: one number for each dimension.
    pub cells: Vec<u32>,
    /// Length of the box in its first direction. Cells are cubes, so the other lengths follow.
    pub size: f64,
    /// The low corner of the box; by default the origin.
    pub low: Option<Vec<f64>>,
    /// Levels above level 0.
    #[serde(default)]
    pub levels: u8,
    /// The kinds of the low and the high end of each direction; by default walls.
    pub ends: Option<Vec<[BoxEnd; 2]>>,
    /// A cell becomes finer where density or pressure changes by more than this relative amount
    /// from cell to cell.
    #[serde(default = "refine")]
    pub refine: f64,
    /// It may become coarser where they change by less than this.
    #[serde(default = "coarsen")]
    pub coarsen: f64,
    /// The width, in cells, of the layer around such cells that is made as fine.
    #[serde(default = "around")]
    pub around: u32,
    /// The number of cycles after which levels are chosen again.
    #[serde(default = "every")]
    pub every: u64,
}

/// The kind of an end of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxEnd {
    /// A wall, which reflects everything; a mirror is the same.
    Wall,
    /// An open end: what arrives there leaves the box.
    Open,
}

/// A gamma-law gas.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaterialDeck {
    /// The name that regions use.
    #[serde(default)]
    pub name: String,
    /// Ratio of its heat capacities, more than 1.
    pub gamma: f64,
    /// Heat capacity at constant volume of a unit of mass.
    #[serde(default = "one")]
    pub heat_capacity: f64,
    /// Thermal conductivity: heat through a unit of area, per unit of time and of temperature
    /// gradient.
    #[serde(default)]
    pub conductivity: f64,
}

/// How heat is conducted.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConductionDeck {
    /// The weight of the new temperatures in the fluxes: 1 is stable in any cycle, 0.5 is of second
    /// order in time.
    #[serde(default = "one")]
    pub implicit: f64,
    /// Iterations end when the residual is at most this part of its initial norm.
    #[serde(default = "residual")]
    pub residual: f64,
    /// Whether the gas is at rest, so that only heat flows.
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
