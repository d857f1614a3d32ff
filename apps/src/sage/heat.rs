//! Conduction of heat, implicit in time: a linear system for the new temperatures, solved by
//! conjugate gradients.
//!
//! The flux through a face is that of two half cells in series. Energies change by the fluxes that
//! follow from the computed temperatures. These are equal and opposite for both cells of a face, so
//! energy is conserved even if the iterations stop early.

use super::deck::ConductionDeck;
use super::exact_sum::{ExactSum, allreduce};
use super::gas::{Gas, Materials};
use super::mesh::Mesh;
use super::mesh::faces::OUTSIDE;
use super::mesh::halo::{FixedDoubles, HaloExchange};
use super::mesh::key::Side;
use crate::MessagePassing;

/// Tags of the messages with the ghosts' temperatures and conductivities, and with search
/// directions.
const TEMPERATURES: i32 = 8;
const DIRECTIONS: i32 = 9;

/// The limit of iterations. The diagonal dominates the system unless a cycle is much longer than
/// heat needs to cross the box.
pub(crate) const MOST_ITERATIONS: usize = 2000;

impl FixedDoubles for f64 {
    const WORDS: usize = 1;

    fn put(&self, words: &mut Vec<f64>) {
        words.push(*self);
    }

    fn take(words: &[f64]) -> Self {
        words[0]
    }
}

/// The conducting properties of a cell.
#[derive(Debug, Clone, Copy)]
struct Conductor {
    temperature: f64,
    conductivity: f64,
}

impl FixedDoubles for Conductor {
    const WORDS: usize = 2;

    fn put(&self, words: &mut Vec<f64>) {
        words.extend([self.temperature, self.conductivity]);
    }

    fn take(words: &[f64]) -> Self {
        Self {
            temperature: words[0],
            conductivity: words[1],
        }
    }
}

/// The vectors of a mesh's system: of local cells where ghosts are needed, otherwise of own cells.
#[derive(Debug)]
pub(crate) struct Heat {
    deck: ConductionDeck,
    conductors: Vec<Conductor>,
    /// The conductance of each own cell's sides, in the order of its links: heat per unit of time
    /// and of temperature difference.
    conductances: Vec<f64>,
    /// Heat capacity of a cell, divided by the length of the cycle.
    inertia: Vec<f64>,
    diagonal: Vec<f64>,
    temperature: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    product: Vec<f64>,
    room: Vec<i64>,
}

impl Heat {
    pub(crate) fn new(deck: ConductionDeck) -> Self {
        let vector = Vec::new;
        Self {
            deck,
            conductors: Vec::new(),
            conductances: vector(),
            inertia: vector(),
            diagonal: vector(),
            temperature: vector(),
            residual: vector(),
            direction: vector(),
            product: vector(),
            room: Vec::new(),
        }
    }

    /// Advances by a cycle of that length. Returns whether the iterations converged to the deck's
    /// limit.
    pub(crate) fn step<P: MessagePassing, const D: usize, const M: usize>(
        &mut self,
        mpi: &P,
        mesh: &mut Mesh<D>,
        gas: &mut Gas<D, M>,
        exchange: &mut HaloExchange<P::Request>,
        time: f64,
    ) -> Result<bool, P::Error> {
        self.look(mesh, gas, time);
        mesh.halo
            .exchange(mpi, &mut self.conductors[..], TEMPERATURES, exchange)?;
        self.assemble(mesh);
        self.begin(mesh);
        let converged = self.iterate(mpi, mesh, exchange)?;
        mesh.halo
            .exchange(mpi, &mut self.temperature[..], TEMPERATURES, exchange)?;
        self.warm(mesh, gas, time);
        Ok(converged)
    }

    /// Reads own cells.
    fn look<const D: usize, const M: usize>(&mut self, mesh: &Mesh<D>, gas: &Gas<D, M>, time: f64) {
        let cells = mesh.keys.len();
        self.conductors.resize(
            cells,
            Conductor {
                temperature: 0.0,
                conductivity: 0.0,
            },
        );
        self.temperature.resize(cells, 0.0);
        self.direction.resize(cells, 0.0);
        for vector in [
            &mut self.inertia,
            &mut self.diagonal,
            &mut self.residual,
            &mut self.product,
        ] {
            vector.resize(mesh.own.len(), 0.0);
        }
        for (own, place) in mesh.own.clone().enumerate() {
            let cell = &gas.conserved[place];
            let capacity = gas.materials.heat_capacity(cell);
            self.inertia[own] = capacity * mesh.extent.volume(mesh.keys[place].level()) / time;
            self.conductors[place] = Conductor {
                temperature: Materials::internal(cell) / capacity,
                conductivity: gas.materials.heat_conductivity(cell),
            };
        }
    }

    fn assemble<const D: usize>(&mut self, mesh: &Mesh<D>) {
        self.conductances.clear();
        for (own, place) in mesh.own.clone().enumerate() {
            let start = self.conductances.len();
            let level = mesh.keys[place].level();
            let here = resistance(mesh.extent.edge(level), self.conductors[place].conductivity);
            for beyond in beyond(mesh, own) {
                let conductance = if beyond == OUTSIDE {
                    0.0
                } else {
                    let other = mesh.keys[beyond as usize].level();
                    let edge = mesh.extent.edge(other);
                    let there = resistance(edge, self.conductors[beyond as usize].conductivity);
                    let finer = level.max(other);
                    let area = mesh.extent.volume(finer) / mesh.extent.edge(finer);
                    area / (here + there)
                };
                self.conductances.push(conductance);
            }
            let sum: f64 = self.conductances[start..].iter().sum();
            self.diagonal[own] = self.inertia[own] + self.deck.implicit * sum;
        }
    }

    /// Computes the residual of the old temperatures, and the first direction.
    fn begin<const D: usize>(&mut self, mesh: &Mesh<D>) {
        for (temperature, conductor) in self.temperature.iter_mut().zip(&self.conductors) {
            *temperature = conductor.temperature;
        }
        // The heat flow at the old temperatures is the residual, for any implicit part.
        let mut link = 0;
        for (own, place) in mesh.own.clone().enumerate() {
            let here = self.conductors[place].temperature;
            let mut flow = 0.0;
            for beyond in beyond(mesh, own) {
                if beyond != OUTSIDE {
                    flow += self.conductances[link]
                        * (self.conductors[beyond as usize].temperature - here);
                }
                link += 1;
            }
            self.residual[own] = flow;
            self.direction[place] = flow / self.diagonal[own];
        }
    }

    fn iterate<P: MessagePassing, const D: usize>(
        &mut self,
        mpi: &P,
        mesh: &mut Mesh<D>,
        exchange: &mut HaloExchange<P::Request>,
    ) -> Result<bool, P::Error> {
        let first = self.norm(mpi)?;
        let mut norm = first;
        // Values below the smallest normal double are not worth iterations.
        let goal = (first * self.deck.residual * self.deck.residual).max(f64::MIN_POSITIVE);
        for _ in 0..MOST_ITERATIONS {
            if norm <= goal || !norm.is_finite() {
                break;
            }
            mesh.halo
                .exchange(mpi, &mut self.direction[..], DIRECTIONS, exchange)?;
            let curvature = self.multiply(mpi, mesh)?;
            let length = norm / curvature;
            for (own, place) in mesh.own.clone().enumerate() {
                self.temperature[place] += length * self.direction[place];
                self.residual[own] -= length * self.product[own];
            }
            let next = self.norm(mpi)?;
            let turn = next / norm;
            norm = next;
            for (own, place) in mesh.own.clone().enumerate() {
                self.direction[place] =
                    self.residual[own] / self.diagonal[own] + turn * self.direction[place];
            }
        }
        Ok(norm <= goal && norm.is_finite())
    }

    /// Returns the square of the residual, each component divided by its diagonal.
    fn norm<P: MessagePassing>(&mut self, mpi: &P) -> Result<f64, P::Error> {
        let mut sum = ExactSum::default();
        for (residual, diagonal) in self.residual.iter().zip(&self.diagonal) {
            sum.add(residual * residual / diagonal);
        }
        allreduce(mpi, [sum], &mut self.room).map(|[sum]| sum)
    }

    /// Multiplies the direction by the system. Returns the product's scalar product with the
    /// direction.
    fn multiply<P: MessagePassing, const D: usize>(
        &mut self,
        mpi: &P,
        mesh: &Mesh<D>,
    ) -> Result<f64, P::Error> {
        let mut sum = ExactSum::default();
        let mut link = 0;
        for (own, place) in mesh.own.clone().enumerate() {
            let here = self.direction[place];
            let mut flow = 0.0;
            for beyond in beyond(mesh, own) {
                if beyond != OUTSIDE {
                    flow += self.conductances[link] * (self.direction[beyond as usize] - here);
                }
                link += 1;
            }
            let product = self.inertia[own] * here - self.deck.implicit * flow;
            self.product[own] = product;
            sum.add(product * here);
        }
        allreduce(mpi, [sum], &mut self.room).map(|[sum]| sum)
    }

    /// Changes energies by the heat that flows.
    fn warm<const D: usize, const M: usize>(&self, mesh: &Mesh<D>, gas: &mut Gas<D, M>, time: f64) {
        let mean = |place: usize| {
            let before = self.conductors[place].temperature;
            before + self.deck.implicit * (self.temperature[place] - before)
        };
        let mut link = 0;
        for (own, place) in mesh.own.clone().enumerate() {
            let here = mean(place);
            let mut flow = 0.0;
            for beyond in beyond(mesh, own) {
                if beyond != OUTSIDE {
                    flow += self.conductances[link] * (mean(beyond as usize) - here);
                }
                link += 1;
            }
            let volume = mesh.extent.volume(mesh.keys[place].level());
            gas.conserved[place].energy += flow * time / volume;
        }
    }
}

/// Returns the thermal resistance of half a cell.
fn resistance(edge: f64, conductivity: f64) -> f64 {
    0.5 * edge / conductivity
}

/// Returns the places beyond the links of the n-th own cell, in the order of its links.
fn beyond<const D: usize>(mesh: &Mesh<D>, own: usize) -> impl Iterator<Item = u32> {
    let sides = (0..D).flat_map(|direction| Side::BOTH.map(|side| (direction, side)));
    let links = sides.flat_map(move |(direction, side)| mesh.links.at::<D>(own, direction, side));
    links.map(|link| link.beyond)
}
