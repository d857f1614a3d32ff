//! The exact solution of a Riemann problem of one gas (Toro, chapter 4).

/// Density, velocity and pressure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) density: f64,
    pub(crate) velocity: f64,
    pub(crate) pressure: f64,
}

impl State {
    fn sound(&self, gamma: f64) -> f64 {
        (gamma * self.pressure / self.density).sqrt()
    }

    /// Returns the change of the velocity across the wave that takes this state to a pressure, and
    /// its derivative.
    fn wave(&self, gamma: f64, pressure: f64) -> (f64, f64) {
        if pressure > self.pressure {
            let a = 2.0 / ((gamma + 1.0) * self.density);
            let b = (gamma - 1.0) / (gamma + 1.0) * self.pressure;
            let root = (a / (pressure + b)).sqrt();
            let jump = pressure - self.pressure;
            (jump * root, root * (1.0 - jump / (2.0 * (pressure + b))))
        } else {
            let (sound, ratio) = (self.sound(gamma), pressure / self.pressure);
            let power = (gamma - 1.0) / (2.0 * gamma);
            let slope = ratio.powf(-(gamma + 1.0) / (2.0 * gamma)) / (self.density * sound);
            (
                2.0 * sound / (gamma - 1.0) * (ratio.powf(power) - 1.0),
                slope,
            )
        }
    }
}

/// Returns the density at x / t = `speed`, for the initial states `left` and `right` of 0.
pub(crate) fn density(left: State, right: State, gamma: f64, speed: f64) -> f64 {
    let mut pressure = 0.5 * (left.pressure + right.pressure);
    for _ in 0..100 {
        let ((f, df), (g, dg)) = (left.wave(gamma, pressure), right.wave(gamma, pressure));
        pressure -= (f + g + right.velocity - left.velocity) / (df + dg);
    }
    let velocity = 0.5 * (left.velocity + right.velocity)
        + 0.5 * (right.wave(gamma, pressure).0 - left.wave(gamma, pressure).0);
    if speed < velocity {
        side(left, gamma, pressure, velocity, speed, -1.0)
    } else {
        side(right, gamma, pressure, velocity, speed, 1.0)
    }
}

/// Returns the density on one side of the contact; `out` is the direction away from it.
fn side(outer: State, gamma: f64, pressure: f64, velocity: f64, speed: f64, out: f64) -> f64 {
    let (sound, ratio) = (outer.sound(gamma), pressure / outer.pressure);
    let step = (gamma - 1.0) / (gamma + 1.0);
    if pressure > outer.pressure {
        let shock = (ratio * (gamma + 1.0) / (2.0 * gamma) + (gamma - 1.0) / (2.0 * gamma)).sqrt();
        let behind = outer.density * (ratio + step) / (ratio * step + 1.0);
        return if out * speed > out * outer.velocity + sound * shock {
            outer.density
        } else {
            behind
        };
    }
    let behind = outer.density * ratio.powf(1.0 / gamma);
    let inner_sound = sound * ratio.powf((gamma - 1.0) / (2.0 * gamma));
    if out * speed > out * outer.velocity + sound {
        outer.density
    } else if out * speed < out * velocity + inner_sound {
        behind
    } else {
        let here = 2.0 / (gamma + 1.0) - out * step / sound * (outer.velocity - speed);
        outer.density * here.powf(2.0 / (gamma - 1.0))
    }
}

/// The density of a blast wave in the plane, in a gas at rest of density 1 without pressure: the
/// similarity solution in closed form (Sedov 1959, as written by Kamm and Timmes 2007).
pub(crate) struct Blast {
    /// Fractions of the shock's radius, and densities there, from the middle on.
    profile: Vec<(f64, f64)>,
}

impl Blast {
    pub(crate) fn new(gamma: f64) -> Self {
        const STEPS: u32 = 4_000;
        // Two dimensions, and the same density everywhere.
        let (j, both) = (2.0, 4.0);
        let slow = 2.0 * (gamma - 1.0) + j;
        let fast = j * (2.0 - gamma);
        let spread = 2.0 + j * (gamma - 1.0);
        let a2 = -(gamma - 1.0) / slow;
        let a1 = both * gamma / spread * (2.0 * fast / (gamma * both * both) - a2);
        let a3 = j / slow;
        let a4 = both * j * a1 / fast;
        let a5 = -2.0 * j / fast;
        let b = (gamma + 1.0) / (gamma - 1.0);
        let d = both * (gamma + 1.0) / (both * (gamma + 1.0) - 2.0 * spread);
        let (first, last) = (2.0 / (both * gamma), 4.0 / (both * (gamma + 1.0)));
        let point = |n: u32| {
            // The density falls steeply from the shock inwards, so points lie close there.
            let part = f64::from(n) / f64::from(STEPS);
            let v = first + (last - first) * part.powi(6);
            let x1 = 0.25 * both * (gamma + 1.0) * v;
            let x2 = b * (0.5 * both * gamma * v - 1.0);
            let x3 = d * (1.0 - 0.5 * spread * v);
            let x4 = b * (1.0 - 0.5 * both * v);
            let radius = x1.powf(-2.0 / both) * x2.powf(-a2) * x3.powf(-a1);
            (radius, b * x2.powf(a3) * x3.powf(a4) * x4.powf(a5))
        };
        Self {
            profile: (1..=STEPS).map(point).collect(),
        }
    }

    /// Returns the density at that fraction of the shock's radius.
    pub(crate) fn density(&self, part: f64) -> f64 {
        let beyond = self.profile.partition_point(|(radius, _)| *radius < part);
        match (
            self.profile.get(beyond.wrapping_sub(1)),
            self.profile.get(beyond),
        ) {
            (_, None) => 1.0,
            (None, Some((_, density))) => *density,
            (Some((low, below)), Some((high, above))) => {
                below + (above - below) * (part - low) / (high - low)
            }
        }
    }
}

#[test]
fn the_blast_wave_has_swept_up_what_was_there() {
    const STEPS: u32 = 20_000;
    let blast = Blast::new(1.4);
    assert!((blast.density(1.0 - 1e-9) - 6.0).abs() < 1e-3);
    let ring = |n: u32| {
        let middle = (f64::from(n) + 0.5) / f64::from(STEPS);
        2.0 * middle * blast.density(middle) / f64::from(STEPS)
    };
    let mass: f64 = (0..STEPS).map(ring).sum();
    assert!((mass - 1.0).abs() < 1e-3, "{mass}");
}
