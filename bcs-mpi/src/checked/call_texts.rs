//! Texts of calls with their places, which other ranks read out of this rank's memory.

use super::call_place::describe_site;
use crate::recording::Site;
use bcs_core::lockstep;
use std::collections::HashMap;
use std::sync::Mutex;

/// The longest text, in bytes.
pub(crate) const MOST_TEXT_BYTES: usize = 512;

/// The texts of a rank. A program has few places, so they stay until it ends.
#[derive(Debug, Default)]
pub(crate) struct CallTexts(Mutex<HashMap<(&'static str, u64), &'static str>>);

impl CallTexts {
    /// Returns "`MPI_Put` at src/main.rs:17".
    pub(crate) fn of(&self, call: &'static str, site: Option<Site>) -> &'static str {
        let key = match site {
            None => 0,
            Some(Site::Address(address)) => address,
            Some(Site::Rust(place)) => std::ptr::from_ref(place).addr() as u64,
        };
        let mut known = lockstep::lock(&self.0);
        known.entry((call, key)).or_insert_with(|| {
            let mut text = format!("{call}{}", site.map_or_else(String::new, describe_site));
            text.truncate(text.floor_char_boundary(MOST_TEXT_BYTES));
            text.leak()
        })
    }
}
