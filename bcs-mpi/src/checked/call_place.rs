//! The place of a call, in the words of an error.

use crate::recording::Site;
use bcs_core::mapped_code::MappedCode;

/// Returns ", at src/main.rs:17", if the place is known. For another language it is a place in a
/// file of code, for which `bcs run` prints the line.
pub(crate) fn describe_site(site: Site) -> String {
    match crate::foreign::site(site) {
        Site::Rust(place) if crate::call_site::is_own(place.file()) => String::new(),
        Site::Rust(place) => format!(" at {}:{}", place.file(), place.line()),
        Site::Address(address) => describe_address(address),
    }
}

/// Returns the same for the return address of a call.
pub(crate) fn describe_address(address: u64) -> String {
    let place = MappedCode::place_here(address);
    place.map_or_else(String::new, |place| format!(" at {place}"))
}
