//! Refuses decks that cannot be computed, with the key and the reason.

use std::str::FromStr;

use super::shape::Region;
use super::{Deck, MeshDeck};
use crate::sage::mesh::limits::{LARGEST_EDGE, LEVELS, MOST_CELLS};

/// The reason why a deck is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeckError {
    /// The text is not valid TOML, or has unknown keys.
    #[error("{0}")]
    Format(String),
    /// A key has a value with which nothing can be computed.
    #[error("`{key}` {why}")]
    Value {
        /// The key. A key of several regions or materials has its number, from 1.
        key: String,
        /// The reason, and the valid values.
        why: String,
    },
}

/// The most materials of a deck: the kernels are compiled for each number of materials.
pub(crate) const MOST_MATERIALS: usize = 3;

fn refuse(key: impl Into<String>, why: impl Into<String>) -> Result<(), DeckError> {
    Err(DeckError::Value {
        key: key.into(),
        why: why.into(),
    })
}

fn demand(holds: bool, key: impl Into<String>, why: impl Into<String>) -> Result<(), DeckError> {
    if holds { Ok(()) } else { refuse(key, why) }
}

fn positive(value: f64, key: &str) -> Result<(), DeckError> {
    let why = format!("is {value}: it must be more than 0");
    demand(value > 0.0 && value.is_finite(), key, why)
}

impl FromStr for Deck {
    type Err = DeckError;

    fn from_str(text: &str) -> Result<Self, DeckError> {
        let deck: Deck =
            toml::from_str(text).map_err(|error| DeckError::Format(in_a_line(&error, text)))?;
        deck.check()?;
        Ok(deck)
    }
}

/// Returns the parser's error, with the line.
fn in_a_line(error: &toml::de::Error, text: &str) -> String {
    let said = error.message().lines().collect::<Vec<_>>().join(" ");
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| before.matches('\n').count() + 1);
    match line {
        Some(line) => format!("line {line}: {said}"),
        None => said,
    }
}

impl Deck {
    /// Returns the dimensions of the box: the length of `mesh.cells`.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.mesh.cells.len()
    }

    /// Returns the same problem with `factor` times the cells of level 0 in each direction.
    #[must_use]
    pub fn scaled(mut self, factor: u32) -> Self {
        self.mesh
            .cells
            .iter_mut()
            .for_each(|cells| *cells = cells.saturating_mul(factor));
        self
    }

    /// Checks that the deck can be computed. If you change a deck, check it again.
    ///
    /// # Errors
    /// The deck cannot be computed.
    pub fn check(&self) -> Result<(), DeckError> {
        self.mesh.check()?;
        demand(
            self.end_time > 0.0,
            "end_time",
            format!("is {}: it must be more than 0", self.end_time),
        )?;
        demand(
            self.end_time.is_finite() || self.cycles < u64::MAX,
            "end_time",
            "and `cycles` are both missing: one of them must say when the run ends",
        )?;
        demand(
            self.courant > 0.0 && self.courant < 1.0,
            "courant",
            format!(
                "is {}: it must be more than 0 and less than 1",
                self.courant
            ),
        )?;
        self.check_materials()?;
        demand(
            !self.regions.is_empty(),
            "region",
            "is missing: something must fill the box",
        )?;
        for (n, region) in self.regions.iter().enumerate() {
            self.check_region(region, &format!("region[{}]", n + 1))?;
        }
        if let Some(conduction) = self.conduction {
            let implicit = conduction.implicit;
            demand(
                (0.5..=1.0).contains(&implicit),
                "conduction.implicit",
                format!("is {implicit}: it must be from 0.5 to 1"),
            )?;
            positive(conduction.residual, "conduction.residual")?;
        }
        Ok(())
    }

    fn check_materials(&self) -> Result<(), DeckError> {
        let count = self.materials.len();
        demand(
            (1..=MOST_MATERIALS).contains(&count),
            "material",
            format!("has {count} entries: there may be 1 to {MOST_MATERIALS}"),
        )?;
        for (n, material) in self.materials.iter().enumerate() {
            let key = format!("material[{}]", n + 1);
            let gamma = material.gamma;
            let why = format!("is {gamma}: it must be more than 1");
            demand(
                gamma > 1.0 && gamma.is_finite(),
                format!("{key}.gamma"),
                why,
            )?;
            positive(material.heat_capacity, &format!("{key}.heat_capacity"))?;
            let conductivity = material.conductivity;
            let why = format!("is {conductivity}: it must not be negative");
            demand(
                conductivity >= 0.0 && conductivity.is_finite(),
                format!("{key}.conductivity"),
                why,
            )?;
            let same = self.materials[..n]
                .iter()
                .any(|other| other.name == material.name);
            demand(
                !same,
                format!("{key}.name"),
                format!("is `{}`, as another's is", material.name),
            )?;
        }
        Ok(())
    }

    fn check_region(&self, region: &Region, key: &str) -> Result<(), DeckError> {
        let dimensions = self.dimensions();
        let is_point = |point: &[f64], key: String| {
            let finite = point.len() == dimensions && point.iter().all(|x| x.is_finite());
            demand(
                finite,
                key,
                format!("must have {dimensions} numbers, one for each direction"),
            )
        };
        if let Some(name) = &region.material {
            let known = self.materials.iter().any(|material| material.name == *name);
            demand(
                known,
                format!("{key}.material"),
                format!("is `{name}`: there is no such material"),
            )?;
        }
        positive(region.density, &format!("{key}.density"))?;
        match (region.pressure, region.energy) {
            (Some(pressure), None) => positive(pressure, &format!("{key}.pressure"))?,
            (None, Some(energy)) => positive(energy, &format!("{key}.energy"))?,
            _ => refuse(key, "must have either `pressure` or `energy`")?,
        }
        if let Some(velocity) = &region.velocity {
            is_point(velocity, format!("{key}.velocity"))?;
        }
        if let Some([low, high]) = &region.corners {
            is_point(low, format!("{key}.box"))?;
            is_point(high, format!("{key}.box"))?;
            let ordered = low.iter().zip(high).all(|(low, high)| low < high);
            demand(
                ordered,
                format!("{key}.box"),
                "must have its low corner first",
            )?;
        }
        if let Some(ball) = &region.ball {
            is_point(&ball.middle, format!("{key}.ball.middle"))?;
            positive(ball.radius, &format!("{key}.ball.radius"))?;
        }
        if let Some(bump) = &region.bump {
            is_point(&bump.middle, format!("{key}.bump.middle"))?;
            positive(bump.height, &format!("{key}.bump.height"))?;
            positive(bump.width, &format!("{key}.bump.width"))?;
        }
        Ok(())
    }
}

impl MeshDeck {
    fn check(&self) -> Result<(), DeckError> {
        let dimensions = self.cells.len();
        demand(
            (1..=3).contains(&dimensions),
            "mesh.cells",
            format!("has {dimensions} numbers: there must be one for each of 1 to 3 directions"),
        )?;
        let most = LARGEST_EDGE[dimensions];
        for cells in &self.cells {
            let why = format!("has {cells} in a direction: there may be 1 to {most}");
            demand((1..=most).contains(cells), "mesh.cells", why)?;
        }
        let product = |all: u32, cells: &u32| all.checked_mul(*cells);
        let all = self.cells.iter().try_fold(1, product);
        let why =
            format!("has more than {MOST_CELLS} in all: let cells become finer by `mesh.levels`");
        demand(all.is_some_and(|all| all <= MOST_CELLS), "mesh.cells", why)?;
        positive(self.size, "mesh.size")?;
        if let Some(low) = &self.low {
            let right = low.len() == dimensions && low.iter().all(|x| x.is_finite());
            demand(
                right,
                "mesh.low",
                format!("must have {dimensions} numbers, as `mesh.cells` has"),
            )?;
        }
        let finest = LEVELS - 1;
        let why = format!("is {}: there may be 0 to {finest}", self.levels);
        demand(self.levels <= finest, "mesh.levels", why)?;
        if let Some(ends) = &self.ends {
            let why = format!("must have {dimensions} pairs, as `mesh.cells` has numbers");
            demand(ends.len() == dimensions, "mesh.ends", why)?;
        }
        positive(self.refine, "mesh.refine")?;
        let ordered = self.coarsen >= 0.0 && self.coarsen < self.refine;
        let why = format!(
            "is {}: it must be from 0 to less than `mesh.refine`",
            self.coarsen
        );
        demand(ordered, "mesh.coarsen", why)?;
        demand(self.every > 0, "mesh.every", "is 0: it must be 1 at least")?;
        demand(
            self.around <= 8,
            "mesh.around",
            format!("is {}: it may be 0 to 8", self.around),
        )
    }
}
