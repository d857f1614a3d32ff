//! The names by which node managers are started, and the answer to people who type one.

use std::process::ExitCode;

/// The last argument of a node manager whose ranks another launcher has started.
pub const ADOPTING: &str = "adopting";

/// The role of a node manager that gets all its data from its standard input.
pub const FAR_ROLE: &str = "far-node-manager";

/// Prints why there is no node manager.
pub(crate) fn by_hand(why: &str) -> ExitCode {
    eprintln!("bcs: {why}");
    ExitCode::from(2)
}
