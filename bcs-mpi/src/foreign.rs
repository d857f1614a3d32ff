//! Calls from another language: their place in the program is a return address, not a line that the
//! Rust compiler records.

use bcs_core::job::handshake::FromRank;
use bcs_core::mapped_code::{MappedCode, scripts};
use mmds::Site;
use std::sync::OnceLock;

/// Returns the return address of the call that this thread is in.
static ADDRESS: OnceLock<fn() -> u64> = OnceLock::new();

/// Where the addresses of the last call of the thread that initializes MPI are.
static LAST_CALL_AT: OnceLock<u64> = OnceLock::new();

/// Makes this function provide the place of calls from now on. The addresses of this thread's last
/// call are at the given address, if they are in memory.
pub(crate) fn calls_are_from(address: fn() -> u64, last_call_at: Option<u64>) {
    let _once = ADDRESS.set(address);
    if let Some(at) = last_call_at {
        let _once = LAST_CALL_AT.set(at);
    }
}

/// Returns the messages that tell the node manager how to find the places of calls from another
/// language.
pub(crate) fn place_messages() -> Vec<FromRank> {
    if ADDRESS.get().is_none() {
        return Vec::new();
    }
    let code = MappedCode::of_this_process().ok().map(FromRank::Code);
    let last_call = LAST_CALL_AT.get().copied().map(FromRank::LastCallAt);
    code.into_iter().chain(last_call).collect()
}

/// Returns the address from which this thread has called the library, if calls come from another
/// language.
#[inline]
pub(crate) fn address() -> Option<u64> {
    ADDRESS.get().map(|address| address())
}

/// Returns the place of the call. A line of Rust may belong to a language binding, so the call that
/// this thread is in counts instead. An address is a place already, perhaps that of an earlier
/// call.
#[inline]
pub(crate) fn site(place: Site) -> Site {
    match place {
        Site::Rust(_) => address().map_or(place, Site::Address),
        Site::Address(_) => place,
    }
}

/// Returns the message that the node manager needs to find this thread's call, if the call comes
/// from a line that an interpreter runs: the node manager cannot read such a place itself.
pub(crate) fn script_places() -> Option<FromRank> {
    scripts::line_at(address()?)?;
    MappedCode::of_this_process().ok().map(FromRank::Code)
}
