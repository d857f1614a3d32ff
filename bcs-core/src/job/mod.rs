//! A job: which ranks run on which node, how its runtime is set, and how a rank is received.

mod bad;
mod cores;
mod node;
mod phase;
mod placement;
mod settings;
pub mod welcome;

pub use bad::{BadJob, in_units};
pub use cores::Cores;
pub use node::{NodeId, NodeSet};
pub use phase::{Microphase, NicThreadId};
pub use placement::Placement;
pub use settings::{Collectives, Driver, Folding, Intranode, Road, Settings, Strobe};
