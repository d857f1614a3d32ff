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

    /// By how much the velocity changes across the wave that takes this state to a pressure, and the derivative of that.
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

/// The density at x / t = `speed`, of what was `left` and `right` of 0.
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

/// On one side of the contact; `out` is the direction away from it.
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
