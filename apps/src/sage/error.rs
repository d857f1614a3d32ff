//! Why a run ends before its time.

use super::checkpoint::CheckpointError;
use super::deck::DeckError;

/// Why a run ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SageError {
    /// The deck cannot be computed.
    #[error(transparent)]
    Deck(#[from] DeckError),
    /// No region of the deck has this point.
    #[error(
        "no region has the point {point:?}: the materials must fill the box; a region without `box` and `ball` has all of it"
    )]
    Unfilled {
        /// It is in a cell of the mesh.
        point: Vec<f64>,
    },
    /// A cell has come to a state that no gas can have.
    #[error(
        "cycle {cycle}: the cell of level {level} at {middle:?} has density {density:e} and internal energy {energy:e}, and both must be positive: try a smaller `courant`"
    )]
    Impossible {
        /// Cycles done.
        cycle: u64,
        /// The cell's level.
        level: u8,
        /// Its middle.
        middle: Vec<f64>,
        /// Its density.
        density: f64,
        /// Its internal energy in a unit of volume.
        energy: f64,
    },
    /// A checkpoint could not be written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// There is no checkpoint of this deck to go on from.
    #[error(transparent)]
    Restart(CheckpointError),
    /// The temperatures of a cycle were not found.
    #[error(
        "cycle {cycle}: the temperatures have not converged after {iterations} iterations: write a larger `conduction.residual`"
    )]
    NotConverged {
        /// Cycles done.
        cycle: u64,
        /// Iterations done.
        iterations: usize,
    },
    /// The report could not be written.
    #[error("failed to write the report: {0}")]
    Report(#[from] std::io::Error),
    /// A message was not passed.
    #[error("failed to pass messages: {0}")]
    MessagePassing(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl SageError {
    pub(crate) fn message_passing(
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> SageError {
        SageError::MessagePassing(Box::new(error))
    }
}
