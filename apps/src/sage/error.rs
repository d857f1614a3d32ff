//! The reasons why a run fails.

use super::checkpoint::CheckpointError;
use super::deck::DeckError;

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SageError {
    /// The deck cannot be computed.
    #[error(transparent)]
    Deck(#[from] DeckError),
    /// A point is in no region of the deck.
    #[error(
        "no region has the point {point:?}: the materials must fill the box; a region without `box` and `ball` has all of it"
    )]
    Unfilled {
        /// The point, in a cell of the mesh.
        point: Vec<f64>,
    },
    /// A cell has a physically impossible state.
    #[error(
        "cycle {cycle}: the cell of level {level} at {middle:?} has density {density:e} and internal energy {energy:e}, and both must be positive: try a smaller `courant`"
    )]
    Impossible {
        /// Cycles done.
        cycle: u64,
        /// The cell's level.
        level: u8,
        /// The middle of the cell.
        middle: Vec<f64>,
        /// The density of the cell.
        density: f64,
        /// The internal energy of a unit of volume.
        energy: f64,
    },
    /// A checkpoint could not be written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The checkpoint to continue from is missing or unusable.
    #[error(transparent)]
    Restart(CheckpointError),
    /// The iterations for the temperatures of a cycle did not converge.
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
    /// A message failed.
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
