//! The names of our options.

use clap::Arg;

/// Returns the name of an option in a file.
#[must_use]
pub fn key(option: &Arg) -> &str {
    option.get_long().unwrap_or(option.get_id().as_str())
}
