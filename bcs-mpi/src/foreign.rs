//! Calls from another language: where in the program they are is known by their return addresses, and not by the lines
//! that the compiler of Rust leaves.

use mmds::Site;
use std::sync::OnceLock;

/// Knows the return address of the call that this thread is in.
static ADDRESS: OnceLock<fn() -> u64> = OnceLock::new();

/// From now on calls are from where this function says.
pub(crate) fn calls_are_from(address: fn() -> u64) {
    let _once = ADDRESS.set(address);
}

/// The address from which this thread has called the library, if calls come from another language.
#[inline]
pub(crate) fn address() -> Option<u64> {
    ADDRESS.get().map(|address| address())
}

/// Where the call is that is at this line of Rust, which may be one of the binding's.
#[inline]
pub(crate) fn site(of_rust: Site) -> Site {
    address().map_or(of_rust, Site::Address)
}
