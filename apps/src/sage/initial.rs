//! The initial contents of the cells.

use super::deck::Deck;
use super::exact_sum::{ExactSum, allreduce};
use super::gas::{Conserved, Materials, Quantities};
use super::mesh::Extent;
use super::mesh::key::Key;
use crate::MessagePassing;

/// Sample points in each direction of a cell. Most of them decide the content of the cell.
const POINTS: u32 = 4;

/// A deck, prepared for lookups by cells.
#[derive(Debug)]
pub(crate) struct InitialState<'a, const M: usize> {
    deck: &'a Deck,
    materials: Materials<M>,
    /// The material of each region, by number.
    material: Vec<usize>,
    /// Internal energy of a unit of volume of each region, if the deck gives the energy of the
    /// whole region.
    energies: Vec<Option<f64>>,
}

impl<'a, const M: usize> InitialState<'a, M> {
    pub(crate) fn new(deck: &'a Deck, materials: Materials<M>) -> Self {
        let number = |name: &Option<String>| {
            let named = deck
                .materials
                .iter()
                .position(|material| name.as_ref() == Some(&material.name));
            named.unwrap_or(0)
        };
        Self {
            deck,
            materials,
            material: deck
                .regions
                .iter()
                .map(|region| number(&region.material))
                .collect(),
            energies: vec![None; deck.regions.len()],
        }
    }

    /// Spreads the energies of whole regions over the volume of their cells on all ranks.
    pub(crate) fn spread<Mp: MessagePassing, const D: usize>(
        &mut self,
        mpi: &Mp,
        extent: &Extent<D>,
        own: &[Key<D>],
    ) -> Result<(), Mp::Error> {
        for (n, region) in self.deck.regions.iter().enumerate() {
            let Some(energy) = region.energy else {
                continue;
            };
            let mut volume = ExactSum::default();
            for key in own {
                let part = extent.volume(key.level()) / f64::from(count::<D>());
                points(extent, *key)
                    .filter(|point| self.region(point) == Some(n))
                    .for_each(|_| volume.add(part));
            }
            let [volume] = allreduce(mpi, [volume], &mut Vec::new())?;
            self.energies[n] = (volume > 0.0).then(|| energy / volume);
        }
        Ok(())
    }

    /// Returns the last region that contains a point.
    fn region(&self, point: &[f64]) -> Option<usize> {
        self.deck
            .regions
            .iter()
            .rposition(|region| region.contains(point))
    }

    /// Returns the content of a cell; or a point of it that is in no region.
    pub(crate) fn cell<const D: usize>(
        &self,
        extent: &Extent<D>,
        key: Key<D>,
    ) -> Result<Conserved<D, M>, [f64; D]> {
        let mut sum = Quantities::ZERO;
        for point in points(extent, key) {
            let region = self.region(&point).ok_or(point)?;
            sum = sum.plus(&self.at(region, &point));
        }
        Ok(sum.times(1.0 / f64::from(count::<D>())))
    }

    fn at<const D: usize>(&self, number: usize, point: &[f64; D]) -> Conserved<D, M> {
        let (region, material) = (&self.deck.regions[number], self.material[number]);
        let mut state = Quantities::<D, M>::ZERO;
        state.masses[material] = region.density;
        state.shares[material] = 1.0;
        if let Some(velocity) = &region.velocity {
            state.motion.copy_from_slice(velocity);
        }
        // A region without cells on any rank needs no energy.
        let energy = self.energies[number].unwrap_or(0.0);
        state.energy = region
            .pressure
            .unwrap_or(energy / self.materials.inverse[material]);
        if let Some(bump) = &region.bump {
            let heat = region.density * self.materials.capacity[material] * bump.at(point);
            state.energy += heat / self.materials.inverse[material];
        }
        self.materials.conserved(&state)
    }
}

/// Returns the number of sample points in a cell.
fn count<const D: usize>() -> u32 {
    [POINTS; D].iter().product()
}

/// Returns the sample points of a cell.
fn points<const D: usize>(extent: &Extent<D>, key: Key<D>) -> impl Iterator<Item = [f64; D]> {
    let (middle, edge) = (extent.middle(key), extent.edge(key.level()));
    (0..count::<D>()).map(move |n| {
        let mut rest = n;
        std::array::from_fn(|d| {
            let along = rest % POINTS;
            rest /= POINTS;
            middle[d] + edge * ((f64::from(along) + 0.5) / f64::from(POINTS) - 0.5)
        })
    })
}
