//! The Main MDS: what one rank does, recorded inside the rank by the MPI library (paper, section 5.1).

mod primitive;
mod rank_recorder;

pub use primitive::Primitive;
pub use rank_recorder::RankRecorder;
