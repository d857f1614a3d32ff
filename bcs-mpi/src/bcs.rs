//! The BCS API (paper Table 4.1): untyped communication over NIC memory.
//!
//! ```text
//!  rank                              NIC memory                       NIC
//!  bcs_send ── Outbox ── ring full? held back in rank memory ──► send ring ───────► BS
//!  bcs_recv, bcs_probe ── Outbox ─────────────────────────────► receive ring ────► BR
//!  bcs_barrier, bcs_bcast, bcs_reduce ── Outbox ──────────────► collective ring ─► BS, BR
//!  the same, if all members are on this node ── SmartMap: no NIC takes part
//!  bcs_scatter, bcs_gather, bcs_allgather, bcs_alltoall ── Schedules: sends and receives as above
//!  bcs_scan, bcs_fold ── the same, with the program's functions in between
//!  the calls above, if all members are on this node ── SmartMap: exchanges
//!  bcs_between, bcs_fold_between ── the same, between two groups
//!  bcs_test ◄── Requests ◄──────────────────────────────────── request slots ◄─── completion
//! ```
//!
//! An [`Endpoint`] is one rank's end. A call only posts a descriptor. It returns a [`Request`] that
//! [`bcs_test`](Endpoint::bcs_test) polls or waits for. Every call first passes on the descriptors
//! that had to wait in rank memory (law 5).
//!
//! The calls are those of [`Endpoint`] (`crate::endpoint`: messages, probes, waits;
//! `crate::collective`: collectives). An endpoint may be shared by threads.
//!
//! A [`DataView`] with a layout describes data that are not contiguous. Ranks pack and unpack short
//! messages and small pieces. The NIC reads and writes larger ones in place.
//!
//! Addresses are `u64`: the NIC is in another process and needs numbers. The code that makes a
//! [`DataView`] from an address promises that the memory stays valid as long as an operation uses
//! it. So making one is unsafe, and the calls are safe.

pub use crate::collective::{Contributions, Correspondents, Parcel, Participation};
pub use crate::data::{ByteRange, DataView, DataViews, EvenBlocks};
pub(crate) use crate::data::{copy, gather, scatter};
pub use crate::endpoint::{
    Endpoint, FinalizeOutcome, LeakCounts, MatchedMessage, RankLocation, ReceiveOutcome,
    ReplaceRequests, Request, SendAttempt, TableUsage,
};
pub use crate::schedules::{COLLECTIVE_MESSAGES, Members, MembersByNode};
pub use crate::steps::{Fold, ReductionFunction};
pub use crate::transport::{Blocking, OutgoingMessage, RequestOutcome, SendMode, TooManyRequests};
