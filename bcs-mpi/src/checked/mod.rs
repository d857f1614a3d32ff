//! What a rank of a checked job (`bcs run --checked`) knows beside what others know.
//!
//! **Types of messages.** A message bears a [`Mark`](bcs_core::mark::Mark) of 28 bits, which lie free in all that
//! brings it: 20 of the signature of its types ([`crate::mpi::datatype`], `signature`), and 8 that name its *kind*. The
//! receiver compares the 20 with those of what it receives into, cut to as many bytes as have come: a message
//! may be shorter. Two signatures that differ have the same bits once in a million times; so it is
//! never said of a right message, and hardly ever not said of a wrong one.
//!
//! **Kinds.** What an error has to say of the other end (its types, its call, the line) does not fit a mark. A rank sends
//! from few places, and few types: each pair of both is a kind, and is numbered. Before the first message of a kind to a
//! rank goes a description of it, by the same road and so before it, with a context that nobody
//! receives from until something is wrong. It goes in parts of 32 bytes, which are complete when they
//! are posted: a rank that ends owes nothing for them. What nobody asks for lies apart from the messages of the
//! program, so that it does not close the short way to them ([`crate::roads::smartmap`]).
//!
//! **Time.** The bits of a signature are kept from one message to the next, and where a call is and what it is of find
//! their kind by one look into a table: half a round trip of 8 B takes some nanoseconds more.
//!
//! **Collectives.** They go by many ways, of which some meet at nobody. So what is called is compared apart from how it
//! is done: a member tells the next one what it is about to call, in 24 bytes, and waits for what the one
//! before it says of the same call. If any two call differently, so do two that follow each other. A call that does
//! not block tells, and takes what has come; the rest is taken by the next that blocks, or at the end.
//!
//! Where messages of 32 bytes are not eager (`--eager-limit 0`) there are neither descriptions nor
//! comparisons of calls: each would wait for its receiver.
//!
//! **Memory.** A long buffer in the rank's slot is [compared](beneath) with what is mapped there.
//!
//! **Given up.** A header before the bytes of each message had room for all of it, but is another message:
//! longer, in pieces, and seen by probes. A field of the envelope of its own would be there in jobs that are not
//! checked, too.

mod calls;
mod kinds;
mod mapping_check;

pub(crate) use calls::{AnnouncedCall, CallPredecessor, UncheckedCalls};
pub(crate) use kinds::{MessageKinds, SIGNATURE_BITS, bits, is_of, mark, may_tell};
pub(crate) use mapping_check::unknown_mapping;

use crate::recording::Site;
use bcs_core::mapped_code::MappedCode;

/// What a rank of a checked job knows.
#[derive(Debug)]
pub(crate) struct JobChecks {
    pub(crate) kinds: MessageKinds,
    pub(crate) calls: UncheckedCalls,
}

impl JobChecks {
    /// Of a rank in a job of so many.
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            kinds: MessageKinds::new(ranks),
            calls: UncheckedCalls::default(),
        }
    }
}

/// ", at src/main.rs:17", if the place is known. Of another language it is a place in a file of code, of which
/// `bcs run` says the line.
pub(crate) fn describe_site(site: Site) -> String {
    match crate::foreign::site(site) {
        Site::Rust(place) if crate::call_site::is_own(place.file()) => String::new(),
        Site::Rust(place) => format!(" at {}:{}", place.file(), place.line()),
        Site::Address(address) => {
            let code = MappedCode::of_this_process().ok();
            let place = code.and_then(|code| code.place(address));
            place.map_or_else(String::new, |place| format!(" at {place}"))
        }
    }
}
