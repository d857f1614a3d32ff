//! Where in the program a call is, for whoever wonders why it does not return.
//!
//! A call that may wait leaves the place when it begins to wait, and not before: one that is over at once costs
//! nothing. Of calls that the library makes inside of others the outermost counts.

use crate::foreign;
use crate::recording::Site;
use bcs_core::whereabouts::{self, Source};
use std::cell::Cell;

thread_local! {
    static WAITS_AT: Cell<Option<Site>> = const { Cell::new(None) };
}

/// This thread is in a call that may wait while this lives.
#[derive(Debug)]
pub(crate) struct At {
    outermost: bool,
}

/// This thread is about to wait, or may be, in a call at this place.
pub(crate) fn at(site: Site) -> At {
    let outermost = WAITS_AT.get().is_none();
    if outermost {
        WAITS_AT.set(Some(foreign::site(site)));
    }
    At { outermost }
}

impl Drop for At {
    fn drop(&mut self) {
        if self.outermost {
            WAITS_AT.set(None);
        }
    }
}

/// The place for those to whom this rank says where it is. Destructors wait at places of this crate, which nobody
/// has called: these are none.
pub(crate) fn told() -> Option<whereabouts::Site> {
    of(WAITS_AT.get()?)
}

/// A place as others are told of it.
pub(crate) fn of(site: Site) -> Option<whereabouts::Site> {
    match foreign::site(site) {
        Site::Rust(place) if is_own(place.file()) => None,
        Site::Rust(place) => Some(whereabouts::Site::Line(Source::new(
            place.file(),
            place.line(),
        ))),
        Site::Address(address) => Some(whereabouts::Site::Address(address)),
    }
}

/// Whether a file is one of this crate.
pub(crate) fn is_own(file: &str) -> bool {
    let folder = file!().trim_end_matches("call_site.rs");
    let inside = file.strip_prefix(folder);
    inside.is_some_and(|inside| !inside.starts_with("tests"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn waits(outer: Option<Site>) -> Option<whereabouts::Site> {
        let _outer = outer.map(at);
        let _inner = at(Site::here());
        WAITS_AT.get().map(|site| match site {
            Site::Rust(place) => whereabouts::Site::Line(Source::new(place.file(), place.line())),
            Site::Address(address) => whereabouts::Site::Address(address),
        })
    }

    #[test]
    fn the_outermost_call_counts_as_long_as_it_waits() {
        let (found, line) = (waits(None), line!());
        let here = whereabouts::Site::Line(Source::new(file!(), line));
        assert_eq!(found, Some(here));
        let outer = waits(Some(Site::Address(7)));
        assert_eq!(outer, Some(whereabouts::Site::Address(7)));
        assert_eq!(told(), None, "nobody waits");
    }

    #[test]
    fn places_of_this_crate_are_none_of_the_program() {
        assert!(is_own(file!()) && is_own(&file!().replace("call_site", "rust/owned")));
        assert!(!is_own("src/main.rs") && !is_own("/home/me/prog/src/main.rs"));
    }
}
