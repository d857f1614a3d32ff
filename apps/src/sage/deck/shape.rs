//! Regions of the box, and their contents.

use serde::Deserialize;

/// The initial content of a part of the box.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// The name of its material; by default the first one.
    pub material: Option<String>,
    /// Mass of a unit of volume.
    pub density: f64,
    /// Pressure; or `energy` is given instead.
    pub pressure: Option<f64>,
    /// Internal energy of the whole region, spread evenly over its cells.
    pub energy: Option<f64>,
    /// Velocity; by default the region is at rest.
    pub velocity: Option<Vec<f64>>,
    /// Its low and its high corner.
    #[serde(rename = "box")]
    pub corners: Option<[Vec<f64>; 2]>,
    /// A ball.
    pub ball: Option<Ball>,
    /// A bump of temperature, `height` times exp(-r^2 / (4 `width`)), added to that of the region.
    pub bump: Option<Bump>,
}

/// A ball: all points within a radius.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ball {
    /// Its middle.
    pub middle: Vec<f64>,
    /// Its radius.
    pub radius: f64,
}

/// A Gaussian, as it spreads from a point by conduction.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bump {
    /// Its middle.
    pub middle: Vec<f64>,
    /// Temperature in the middle, above the region's.
    pub height: f64,
    /// Diffusivity times the time since it was a point.
    pub width: f64,
}

impl Region {
    /// Returns whether a point is in it. Corners and surfaces belong to it.
    pub(crate) fn contains(&self, point: &[f64]) -> bool {
        let in_box = self.corners.as_ref().is_none_or(|[low, high]| {
            let coordinates = point.iter().zip(low.iter().zip(high));
            coordinates
                .into_iter()
                .all(|(x, (low, high))| low <= x && x <= high)
        });
        let in_ball = self
            .ball
            .as_ref()
            .is_none_or(|ball| square(point, &ball.middle) <= ball.radius * ball.radius);
        in_box && in_ball
    }
}

impl Bump {
    /// Returns what it adds to the temperature at a point.
    pub(crate) fn at(&self, point: &[f64]) -> f64 {
        self.height * (-square(point, &self.middle) / (4.0 * self.width)).exp()
    }
}

/// Returns the square of the distance.
fn square(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(x, y)| (x - y) * (x - y)).sum()
}
