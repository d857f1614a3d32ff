//! The flux between two states: HLLC (Toro, Spruce and Speares 1994) for a mixture, and HLL
//! (Harten, Lax and van Leer 1983) in a shock.
//!
//! HLLC keeps contacts and shear sharp. A shock that runs in a direction of the mesh can therefore
//! break up: the carbuncle. The known cure is a flux that smears those waves in the cells of a
//! shock, and only there (Quirk 1994; FLASH and CASTRO do the same).
//! [`Surroundings`](super::slopes::Surroundings) finds these cells.

use super::material::Materials;
use super::quantities::{Flux, Primitive, Quantities};

/// One side of a face as the solver sees it.
struct FaceState {
    density: f64,
    /// Velocity across the face.
    velocity: f64,
    /// Speed of sound.
    sound: f64,
}

impl FaceState {
    #[inline(always)]
    fn new<const D: usize, const M: usize>(
        materials: &Materials<M>,
        state: &Primitive<D, M>,
        direction: usize,
    ) -> Self {
        let density = state.density();
        Self {
            density,
            velocity: state.motion[direction],
            sound: (materials.bulk(state) / density).sqrt(),
        }
    }
}

/// Returns the flux through a face between `low` and `high`, in its direction. `shock` is the
/// strength of a shock in the cells on either side, from 0 to 1.
///
/// The pressure jump gives the speed of the contact. Everything that is carried along (masses,
/// shares, transverse momentum) comes from the side from which the contact moves, so that resting
/// contacts stay sharp.
#[inline(always)]
pub(crate) fn flux<const D: usize, const M: usize>(
    materials: &Materials<M>,
    [low, high]: [&Primitive<D, M>; 2],
    direction: usize,
    shock: f64,
) -> Flux<D, M> {
    let left = FaceState::new(materials, low, direction);
    let right = FaceState::new(materials, high, direction);
    let first = (left.velocity - left.sound).min(right.velocity - right.sound);
    let last = (left.velocity + left.sound).max(right.velocity + right.sound);
    let (inflow, outflow) = (
        left.density * (first - left.velocity),
        right.density * (last - right.velocity),
    );
    let contact = (high.energy - low.energy + inflow * left.velocity - outflow * right.velocity)
        / (inflow - outflow);
    let sharp = if contact >= 0.0 {
        upwind(materials, low, &left, first.min(0.0), contact, direction)
    } else {
        upwind(materials, high, &right, last.max(0.0), contact, direction)
    };
    // If even the outer waves have passed the face, both fluxes equal that of this side.
    if shock > 0.0 && first < 0.0 && last > 0.0 {
        let smeared = smeared(materials, [low, high], [first, last], direction);
        return sharp.zip(&smeared, |sharp, smeared| sharp + shock * (smeared - sharp));
    }
    sharp
}

/// Returns the HLL flux, with a single state between the outer waves. Few faces are in a shock.
#[inline(never)]
fn smeared<const D: usize, const M: usize>(
    materials: &Materials<M>,
    sides: [&Primitive<D, M>; 2],
    [first, last]: [f64; 2],
    direction: usize,
) -> Flux<D, M> {
    let [below, above] = sides.map(|state| materials.conserved(state));
    let [inflow, outflow] = [(sides[0], &below), (sides[1], &above)].map(|(state, conserved)| {
        let (velocity, pressure) = (state.motion[direction], state.energy);
        let mut flux = conserved.times(velocity);
        flux.motion[direction] += pressure;
        flux.energy += pressure * velocity;
        flux
    });
    let jump = above.minus(&below).times(first * last);
    let sum = inflow.times(last).minus(&outflow.times(first)).plus(&jump);
    sum.times(1.0 / (last - first))
}

/// Returns the flux from the side from which the contact moves. `wave` is the speed of that side's
/// outer wave, 0 if even that wave has passed the face.
#[inline(always)]
fn upwind<const D: usize, const M: usize>(
    materials: &Materials<M>,
    state: &Primitive<D, M>,
    side: &FaceState,
    wave: f64,
    contact: f64,
    direction: usize,
) -> Flux<D, M> {
    let energy = materials.total(state, side.density);
    // Between the wave and the contact the state is compressed by this factor, and moves with the
    // contact. Neither applies where the wave does not reach the face.
    let reached = wave != 0.0;
    let squeeze = if reached {
        (wave - side.velocity) / (wave - contact)
    } else {
        1.0
    };
    let velocity = if reached { contact } else { side.velocity };
    let pressure = if reached {
        state.energy + side.density * (wave - side.velocity) * (contact - side.velocity)
    } else {
        state.energy
    };
    let inner = if reached {
        squeeze
            * (energy
                + (contact - side.velocity)
                    * (side.density * contact + state.energy / (wave - side.velocity)))
    } else {
        energy
    };
    let volume = velocity * squeeze;
    let mass = side.density * volume;
    let mut motion = state.motion.map(|velocity| velocity * mass);
    motion[direction] = mass * velocity + pressure;
    Quantities {
        masses: state.masses.map(|mass| mass * volume),
        motion,
        energy: (inner + pressure) * velocity,
        shares: state.shares.map(|share| share * volume),
    }
}
