//! One iteration: all octants, block by block.

use super::block::{Block, Faces};
use super::boundary::Boundary;
use super::currents::Currents;
use super::deck::Deck;
use super::decomposition::Decomposition;
use super::exchange::BlockExchange;
use super::fields::Fields;
use super::octant::{Axis, Octant, SweepStep, steps};
use super::problem::ordinates;
use super::ray::Ray;
use crate::MessagePassing;

/// The state of a process, for `NM` flux moments.
#[derive(Debug)]
pub(super) struct Sweeper<const NM: usize> {
    extent: [usize; 3],
    mk: usize,
    steps: Vec<SweepStep>,
    /// The angles of every octant, in the octants' order.
    rays: [Vec<Ray<NM>>; 8],
    /// Fluxes and sources.
    pub fields: Fields,
    /// Flows through the faces of the grid.
    pub boundary: Boundary,
    /// Face currents, if the deck requests them.
    pub currents: Option<Currents>,
    faces: Faces,
}

impl<const NM: usize> Sweeper<NM> {
    /// Makes the state before the first iteration.
    pub(super) fn new(deck: &Deck, decomposition: &Decomposition) -> Sweeper<NM> {
        assert_eq!(
            deck.moments(),
            NM,
            "the deck decides about the number of moments"
        );
        let extent = decomposition.extent();
        let ordinates = ordinates(deck.mm);
        let cell = [deck.dx, deck.dy, deck.dz];
        let rays = Octant::ALL.map(|octant| {
            ordinates
                .iter()
                .map(|ordinate| Ray::new(ordinate, &octant, cell))
                .collect()
        });
        Sweeper {
            extent,
            mk: deck.mk,
            steps: steps(deck),
            rays,
            fields: Fields::new(deck, decomposition),
            boundary: Boundary::new(deck, decomposition, ordinates),
            currents: deck.dsa.then(|| Currents::new(extent)),
            faces: Faces::with_k(deck, extent),
        }
    }

    /// Runs an iteration and returns the number of cells of this process that needed a fix-up.
    pub(super) fn iterate<M: MessagePassing>(
        &mut self,
        exchange: &mut BlockExchange<'_, M>,
        decomposition: &Decomposition,
        fixups: bool,
    ) -> Result<u64, M::Error> {
        self.fields.begin_iteration();
        if let Some(currents) = &mut self.currents {
            currents.clear();
        }
        let mut fixed = 0;
        exchange.begin(&self.steps[0])?;
        for (index, step) in self.steps.iter().enumerate() {
            [self.faces.i, self.faces.j] = exchange.inflows(step, self.steps.get(index + 1))?;
            let Faces { i, j, k } = &mut self.faces;
            for (axis, face) in [(Axis::I, &mut *i), (Axis::J, &mut *j)] {
                if decomposition.upstream(axis, &step.octant).is_none() {
                    self.boundary.enter(axis, step, face);
                }
            }
            if step.enters_k() {
                self.boundary.enter_k(step, k);
            }
            let rays = &self.rays[step.octant.index()][step.angles.clone()];
            if let Some(currents) = &mut self.currents {
                currents.enter(step, rays, self.mk, [i, j, k]);
            }
            fixed += Block {
                step,
                extent: self.extent,
                mk: self.mk,
                rays,
                fixups,
                source: &self.fields.source,
                flux: &mut self.fields.flux,
                faces: &mut self.faces,
                currents: self.currents.as_mut(),
            }
            .sweep();
            let Faces { i, j, k } = &mut self.faces;
            for (axis, face) in [(Axis::I, &*i), (Axis::J, &*j)] {
                if decomposition.downstream(axis, &step.octant).is_none() {
                    self.boundary.leave(axis, step, face);
                }
            }
            if step.leaves_k(self.extent[2]) {
                self.boundary.leave_k(step, k);
            }
            exchange.outflows(step, [std::mem::take(i), std::mem::take(j)])?;
        }
        exchange.finish()?;
        Ok(fixed)
    }

    /// Returns the bytes of the arrays of this process, without message buffers.
    pub(super) fn bytes(&self) -> usize {
        let currents = self.currents.as_ref().map_or(0, Currents::bytes);
        self.fields.bytes() + self.boundary.bytes() + currents + self.faces.bytes()
    }
}

impl Faces {
    fn bytes(&self) -> usize {
        (self.i.len() + self.j.len() + self.k.len()) * size_of::<f64>()
    }
}
