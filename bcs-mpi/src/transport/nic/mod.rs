//! The road by the NIC: descriptors in its memory, and what it completes.
//!
//! ```text
//!  rank                              NIC memory                       NIC
//!  send ─────────── Outbox ── ring full? held back in rank memory ──► send ring ──────► BS
//!  receive, probe ── Outbox ───────────────────────────────────────► receive ring ───► BR
//!  collective ────── Outbox ───────────────────────────────────────► collective ring ► BS, BR
//!  take ◄── Requests ◄──────────────────────────────────────────── request slots ◄─── completion
//! ```
//!
//! A post never blocks (law 4) and asks for slices as law 2 says ([`demand`]). Nothing here waits, or knows of
//! another road: whoever owns this [`NicTransport`] calls [`progress`](NicTransport::progress) in every call.
//!
//! | file | is |
//! |---|---|
//! | `state.rs` | [`NicTransport`]: what it remembers, and how it moves on |
//! | `requests.rs`, `outbox.rs`, `payload_slots.rs` | request slots, rings, eager payloads |
//! | `sending.rs`, `receiving.rs`, `probing.rs`, `probes.rs` | messages |
//! | `arrivals.rs` | collectives |
//! | `unpacking.rs` | what came packed and is long is unpacked without the endpoint's lock |
//! | `demand.rs` | when a slice is asked for |
//! | `leftovers.rs` | what is left when the rank ends |

mod arrivals;
mod demand;
mod leaks;
mod outbox;
mod payload_slots;
mod probes;
mod probing;
mod receiving;
mod requests;
mod sending;
mod state;
mod transport_impl;
mod unpacking;

pub(crate) use arrivals::Arrival;
pub(crate) use state::NicTransport;
pub(crate) use unpacking::DeferredUnpack;
