//! The results of a run.

/// The results of a run, the same on all processes.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep3dOutcome {
    /// Every iteration.
    pub iterations: Vec<Iteration>,
    /// The balance of the neutrons of the last iteration.
    pub balance: Balance,
    /// Times of the slowest process.
    pub times: Times,
    /// Messages that all processes sent to their neighbours in all iterations.
    pub messages: i64,
    /// With DSA, the largest violation of a cell's balance by its face currents, relative to the
    /// neutrons born in the cell or removed.
    pub dsa_imbalance: Option<f64>,
}

/// The results of an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// Largest relative change of the scalar flux.
    pub err: f64,
    /// Cells and angles that needed a fix-up.
    pub fixups: i64,
}

/// The sources and sinks of neutrons, per unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Balance {
    /// Born of the external source.
    pub external_source: f64,
    /// Absorbed.
    pub absorption: f64,
    /// Net flow through the low and the high face in I, J, K, in the direction of the axis.
    pub leakage: [[f64; 2]; 3],
}

impl Balance {
    /// Returns the absorption plus the leakage; as iterations proceed this approaches the external
    /// source.
    pub fn sinks(&self) -> f64 {
        self.absorption
            + self
                .leakage
                .iter()
                .map(|[low, high]| high - low)
                .sum::<f64>()
    }
}

/// The duration of the iterations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// CPU time of a process, in seconds.
    pub cpu_s: f64,
    /// Elapsed time, in seconds.
    pub elapsed_s: f64,
    /// CPU time per cell, angle and iteration of the whole grid, in microseconds.
    pub cpu_grind_us: f64,
    /// Elapsed time per cell, angle and iteration of the whole grid, in microseconds.
    pub elapsed_grind_us: f64,
}
