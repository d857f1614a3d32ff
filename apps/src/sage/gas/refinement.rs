//! Cells that become finer or coarser, and their contents.

use super::cycle::Gas;
use super::material::Materials;
use super::quantities::{Conserved, Quantities};
use super::slopes::surroundings;
use crate::MessagePassing;
use crate::sage::deck::MeshDeck;
use crate::sage::mesh::Mesh;
use crate::sage::mesh::halo::HaloExchange;
use crate::sage::mesh::key::Key;
use crate::sage::mesh::levels::{RefinementNeed, TargetLevel};

/// Tag of the messages with the contents of ghosts.
const CONTENTS: i32 = 5;

/// Cells along the curve, and their contents.
pub(crate) type Cells<const D: usize, const M: usize> = (Vec<Key<D>>, Vec<Conserved<D, M>>);

impl<const D: usize, const M: usize> Gas<D, M> {
    /// Returns the levels that own cells should have; `None` if all cells of all ranks have theirs.
    /// They follow from the change of density, pressure and shares from cell to cell.
    pub(crate) fn wishes<P: MessagePassing>(
        &mut self,
        mpi: &P,
        mesh: &mut Mesh<D>,
        deck: &MeshDeck,
    ) -> Result<Option<Vec<TargetLevel>>, P::Error> {
        mesh.halo.exchange(
            mpi,
            &mut self.conserved[..],
            CONTENTS,
            &mut HaloExchange::default(),
        )?;
        let mut interest = vec![RefinementNeed::None; mesh.keys.len()];
        for place in mesh.own.clone() {
            let change = self.change(mesh, place);
            interest[place] = match change {
                change if change > deck.refine => RefinementNeed::Much,
                change if change < deck.coarsen => RefinementNeed::None,
                _ => RefinementNeed::Some,
            };
        }
        mesh.spread_need(mpi, &mut interest, deck.around)?;
        let wish = |(place, interest)| mesh.target_level(place, interest, deck.levels);
        let mut wishes: Vec<TargetLevel> = interest.into_iter().enumerate().map(wish).collect();
        Ok(mesh.settle_levels(mpi, &mut wishes)?.then_some(wishes))
    }

    /// Returns the largest change from an own cell to a neighbour, as a part of the smaller value.
    fn change(&self, mesh: &Mesh<D>, place: usize) -> f64 {
        let here = self.materials.primitive(&self.conserved[place]);
        let changes = mesh.beside(place).map(|other| {
            let there = self.materials.primitive(&self.conserved[other]);
            let part = |one: f64, other: f64| (one - other).abs() / one.min(other);
            let shares = here
                .shares
                .iter()
                .zip(there.shares)
                .map(|(one, other)| (one - other).abs());
            let gas = part(here.density(), there.density()).max(part(here.energy, there.energy));
            shares.fold(gas, f64::max)
        });
        changes.fold(0.0, f64::max)
    }

    /// Returns the own cells at those levels, and their contents. The wishes have already brought
    /// the contents of ghosts.
    pub(crate) fn resized(&self, mesh: &Mesh<D>, wishes: &[TargetLevel]) -> Cells<D, M> {
        let (mut keys, mut contents) = (Vec::new(), Vec::new());
        for place in mesh.own.clone() {
            let (key, cell) = (mesh.keys[place], self.conserved[place]);
            match wishes[place].0.cmp(&key.level()) {
                std::cmp::Ordering::Equal => {
                    keys.push(key);
                    contents.push(cell);
                }
                std::cmp::Ordering::Greater => {
                    for (number, part) in self.parts(mesh, place).into_iter().enumerate() {
                        keys.push(key.child(number));
                        contents.push(part);
                    }
                }
                // The first of the siblings becomes their parent, and its owner becomes the
                // parent's owner.
                std::cmp::Ordering::Less if key.number() == 0 => {
                    let brothers = &self.conserved[place..place + (1 << D)];
                    let sum = brothers
                        .iter()
                        .fold(Quantities::ZERO, |sum, part| sum.plus(part));
                    keys.extend(key.parent());
                    contents.push(sum.times(1.0 / f64::from(1_u32 << D)));
                }
                std::cmp::Ordering::Less => {}
            }
        }
        (keys, contents)
    }

    /// Returns the contents of the parts of a cell: along its slopes, unless a part would get an
    /// impossible state.
    fn parts(&self, mesh: &Mesh<D>, place: usize) -> Vec<Conserved<D, M>> {
        let cell = self.conserved[place];
        let rises = surroundings(mesh, &self.ends, &self.conserved, place).rises;
        let part = |number: usize| {
            rises.iter().enumerate().fold(cell, |part, (d, rise)| {
                // The middle of a part is halfway to the side.
                part.plus(&rise.times(if number >> d & 1 == 1 { 0.5 } else { -0.5 }))
            })
        };
        let parts: Vec<_> = (0..1 << D).map(part).collect();
        let possible = parts.iter().all(|part| {
            let whole = part.masses.iter().chain(&part.shares).all(|x| *x >= 0.0);
            whole && part.density() > 0.0 && Materials::internal(part) > 0.0
        });
        if possible { parts } else { vec![cell; 1 << D] }
    }
}
