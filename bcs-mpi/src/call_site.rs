//! Where in the program a call is, to explain why it does not return.
//!
//! A call that may wait publishes the place only when it begins to wait, so a call that returns at
//! once costs nothing. If the library makes calls inside of others, the outermost one counts.

use crate::foreign;
use crate::recording::Site;
use bcs_core::mapped_code::scripts;
use bcs_core::wait_state::{self, SourceLine};
use std::cell::Cell;

thread_local! {
    static WAITS_AT: Cell<Option<Site>> = const { Cell::new(None) };
    static STARTED_AT: Cell<Option<Site>> = const { Cell::new(None) };
}

/// Marks this thread as waiting for what a call at some place has started, as long as it lives.
#[derive(Debug)]
pub(crate) struct StartSiteGuard {
    before: Option<Site>,
}

/// Begins to wait for what a call at this place has started.
pub(crate) fn completes(started: Site) -> StartSiteGuard {
    StartSiteGuard {
        before: STARTED_AT.replace(Some(started)),
    }
}

impl Drop for StartSiteGuard {
    fn drop(&mut self) {
        STARTED_AT.set(self.before);
    }
}

/// Returns the place of the call that started what this thread waits for, as it is published.
pub(crate) fn published_start() -> Option<wait_state::Site> {
    to_published(STARTED_AT.get()?)
}

/// Marks this thread as being in a call that may wait, as long as it lives.
#[derive(Debug)]
pub(crate) struct CallSiteGuard {
    outermost: bool,
}

/// Enters a call at this place that waits or may wait.
pub(crate) fn enter(site: Site) -> CallSiteGuard {
    let outermost = WAITS_AT.get().is_none();
    if outermost {
        WAITS_AT.set(Some(foreign::site(site)));
    }
    CallSiteGuard { outermost }
}

impl Drop for CallSiteGuard {
    fn drop(&mut self) {
        if self.outermost {
            WAITS_AT.set(None);
        }
    }
}

/// Returns the place of the call that this thread is in, as far as it is known.
pub(crate) fn current() -> Option<Site> {
    foreign::address().map(Site::Address).or(WAITS_AT.get())
}

/// Returns the place that this rank publishes. Destructors wait at places of this crate, which are
/// not calls of the program; these are not published.
pub(crate) fn published_site() -> Option<wait_state::Site> {
    to_published(WAITS_AT.get()?)
}

/// Converts a place to the form in which it is published.
pub(crate) fn to_published(site: Site) -> Option<wait_state::Site> {
    match foreign::site(site) {
        Site::Rust(place) if is_own(place.file()) => None,
        Site::Rust(place) => Some(wait_state::Site::Line(SourceLine::new(
            place.file(),
            place.line(),
        ))),
        Site::Address(address) => Some(published_address(address)),
    }
}

/// Converts an address to the form in which it is published. Other processes do not know which
/// lines have addresses.
pub(crate) fn published_address(address: u64) -> wait_state::Site {
    match scripts::line_at(address) {
        Some(it) => {
            let line = SourceLine::in_function(&it.file, it.line, &it.function);
            wait_state::Site::Line(line)
        }
        None => wait_state::Site::Address(address),
    }
}

/// Returns whether a file is one of this crate.
pub(crate) fn is_own(file: &str) -> bool {
    let folder = file!().trim_end_matches("call_site.rs");
    let inside = file.strip_prefix(folder);
    inside.is_some_and(|inside| !inside.starts_with("tests"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn waits(outer: Option<Site>) -> Option<wait_state::Site> {
        let _outer = outer.map(enter);
        let _inner = enter(Site::here());
        WAITS_AT.get().map(|site| match site {
            Site::Rust(place) => {
                wait_state::Site::Line(SourceLine::new(place.file(), place.line()))
            }
            Site::Address(address) => wait_state::Site::Address(address),
        })
    }

    #[test]
    fn the_outermost_call_counts_as_long_as_it_waits() {
        let (found, line) = (waits(None), line!());
        let here = wait_state::Site::Line(SourceLine::new(file!(), line));
        assert_eq!(found, Some(here));
        let outer = waits(Some(Site::Address(7)));
        assert_eq!(outer, Some(wait_state::Site::Address(7)));
        assert_eq!(published_site(), None, "nobody waits");
    }

    #[test]
    fn places_of_this_crate_are_none_of_the_program() {
        assert!(is_own(file!()) && is_own(&file!().replace("call_site", "rust/owned")));
        assert!(!is_own("src/main.rs") && !is_own("/home/me/prog/src/main.rs"));
    }
}
